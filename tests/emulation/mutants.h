// Mutation testing: the number of the error (mutant) to make in a copy of the kernels.
#pragma once

inline int removed = -1;
