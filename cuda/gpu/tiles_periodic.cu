// Instantiates the tile kernels for periodic noise; run.cuh launches them.
#include "gpu/tile_kernel.cuh"

namespace jf::gpu {

template TileKernelFunction<Periodic, NoJitter> find_tile_kernel<Periodic, NoJitter>(int, bool);

}  // namespace jf::gpu
