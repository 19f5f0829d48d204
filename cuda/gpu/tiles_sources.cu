// Instantiates the tile kernels for any list of CPU noise sources; run.cuh launches them.
#include "gpu/tile_kernel.cuh"

namespace jf::gpu {

template TileKernelFunction<Sources, NoJitter> find_tile_kernel<Sources, NoJitter>(int, bool);

}  // namespace jf::gpu
