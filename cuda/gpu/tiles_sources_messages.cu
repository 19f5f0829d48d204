// Tile kernels under any noise of the CPUs and of the network.
#include "gpu/tile_kernel.cuh"

namespace jf::gpu {

template TileKernelFunction<Sources, Messages> find_tile_kernel<Sources, Messages>(int, bool);

}  // namespace jf::gpu
