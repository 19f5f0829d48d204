// Found in place of the CUDA toolkit's header of this name (-I tests/emulation),
// so that a kernel header may include <cuda_runtime.h> as usual.
#pragma once

#include "cuda_emulation.h"
