// Instantiates the tile kernels for any CPU and network noise; run.cuh launches them.
#include "gpu/tile_kernel.cuh"

namespace jf::gpu {

template TileKernelFunction<Sources, Messages> find_tile_kernel<Sources, Messages>(int, bool);

}  // namespace jf::gpu
