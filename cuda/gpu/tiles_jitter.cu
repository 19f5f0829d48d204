// Instantiates the tile kernels for periodic noise and network jitter; run.cuh launches them.
#include "gpu/tile_kernel.cuh"

namespace jf::gpu {

template TileKernelFunction<Periodic, Jitter> find_tile_kernel<Periodic, Jitter>(int, bool);

}  // namespace jf::gpu
