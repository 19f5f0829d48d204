// Instantiates the kernels of segments for each kind of noise; run.cuh launches them.
#include "gpu/segment_kernel.cuh"

namespace jf::gpu {

template SegmentKernel<Periodic, NoJitter> find_segment_kernel<Periodic, NoJitter>();
template SegmentKernel<Periodic, Jitter> find_segment_kernel<Periodic, Jitter>();
template SegmentKernel<Sources, NoJitter> find_segment_kernel<Sources, NoJitter>();
template SegmentKernel<Sources, Messages> find_segment_kernel<Sources, Messages>();

}  // namespace jf::gpu
