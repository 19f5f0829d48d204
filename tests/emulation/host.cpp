// Host code that the emulated kernels' programs share, compiled once.
#include "congestion/loads.cpp"
#include "congestion/program.cpp"
#include "congestion/simd_loops_isa.cpp"
#include "core/host_program.cpp"
#include "cpu/hardware_threads.cpp"
#include "noise/host_delay.cpp"
#include "noise/host_noise.cpp"
