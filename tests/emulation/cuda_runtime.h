// CUDA emulation: stand-in for the toolkit's header cuda_runtime.h. It is found in place of that
// one (-I tests/emulation), so that a kernel header may include <cuda_runtime.h> as usual.
#pragma once

#include "cuda_emulation.h"
