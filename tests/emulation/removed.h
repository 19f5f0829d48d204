// The tests make errors in copies of the kernels: this is the number of the one to be made.
#pragma once

inline int removed = -1;
