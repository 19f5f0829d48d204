// Host code that the emulated kernels' programs share, compiled once. Each file has checks of its
// own under one name.
#define require require_of_program
#include "core/host_program.cpp"
#undef require
#define require require_of_noise
#include "noise/host_noise.cpp"
#undef require
#define require require_of_delay
#include "noise/host_delay.cpp"
#undef require
#define require require_of_loads
#include "congestion/loads.cpp"
#undef require
#include "congestion/program.cpp"
#include "congestion/vector_isa.cpp"
