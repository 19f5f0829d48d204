// Instantiates the kernels of message passes for each kind of noise; run.cuh launches them.
#include "gpu/message_kernel.cuh"

namespace jf::gpu {

template MessageKernel<NoNoise, NoJitter> find_message_kernel<NoNoise, NoJitter>(bool);
template MessageKernel<Periodic, NoJitter> find_message_kernel<Periodic, NoJitter>(bool);
template MessageKernel<Periodic, Messages> find_message_kernel<Periodic, Messages>(bool);
template MessageKernel<Sources, NoJitter> find_message_kernel<Sources, NoJitter>(bool);
template MessageKernel<Sources, Messages> find_message_kernel<Sources, Messages>(bool);

}  // namespace jf::gpu
