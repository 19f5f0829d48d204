// Compiles the tile kernels for any noise of the CPUs and of the network; run.cuh launches them.
#include "gpu/tile_kernel.cuh"

namespace jf::gpu {

template TileKernelFunction<Sources, Messages> find_tile_kernel<Sources, Messages>(int, bool);

}  // namespace jf::gpu
