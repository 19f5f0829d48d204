// GPU (CUDA) engine of collectives (core/engine.h): device, free memory, run of run.cuh, Thrust.
#include <thrust/execution_policy.h>
#include <thrust/fill.h>
#include <thrust/transform.h>

#include "gpu/device.h"
#include "gpu/run.cuh"

namespace jf::gpu {
namespace {

struct MaximumOf {
  __host__ __device__ Tick operator()(const Observation& o) const { return o.max; }
};

// The Device of run.cuh: Gpu, and operations that are kernels of Thrust.
class Engine : public Gpu {
  auto policy() const { return thrust::cuda::par_nosync.on(stream()); }

 public:
  template <class T>
  void fill(T* to, std::int64_t count, const T& value) const {
    thrust::fill_n(policy(), to, count, value);
  }
  void maxima(const Observation* from, std::int64_t count, Tick* to) const {
    thrust::transform(policy(), from, from + count, to, MaximumOf());
  }
};

// How the current device runs a program.
BatchPlan plan_of(const Program& program) {
  BatchPlan plan(program,
                 plan_tiles(program, device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)));
  plan.messages.multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  return plan;
}

// For example " on NVIDIA A100, compute capability 8.0": the current device, or "" if unknown.
std::string on_device() {
  int device = 0;
  cudaDeviceProp p{};
  if (cudaGetDevice(&device) != cudaSuccess || cudaGetDeviceProperties(&p, device) != cudaSuccess)
    return "";
  return std::string(" on ") + p.name + ", compute capability " + std::to_string(p.major) + "." +
         std::to_string(p.minor);
}

}  // namespace

int device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  (void)cudaGetLastError();  // status() says why there is none
  return 0;
}

void use_device(int number) { JF_CUDA_TRY(cudaSetDevice(number)); }

std::string status() {
  int count = 0, driver = 0;
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0)
    return "no usable GPU: no NVIDIA driver found";
  cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaSuccess && count > 0) {
    // Fails if this build has no code for the device, or if another process has it exclusively.
    cudaFuncAttributes attributes{};
    code = cudaFuncGetAttributes(
        &attributes, reinterpret_cast<const void*>(find_tile_kernel<Periodic, NoJitter>(1, true)));
  }
  if (code != cudaSuccess) {
    std::string why = std::string("no usable GPU: ") + cudaGetErrorString(code) + " (" +
                      cudaGetErrorName(code) + ")";
    if (count > 0) why += on_device();
    (void)cudaGetLastError();
    return why;
  }
  return count > 0 ? "" : "no usable GPU: the driver reports none";
}

std::vector<Device> devices() {
  std::vector<Device> list;
  if (!status().empty()) return list;
  int count = 0, driver = 0, runtime = 0;
  JF_CUDA_TRY(cudaGetDeviceCount(&count));
  JF_CUDA_TRY(cudaDriverGetVersion(&driver));
  JF_CUDA_TRY(cudaRuntimeGetVersion(&runtime));
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp p{};
    int clock = 0;
    JF_CUDA_TRY(cudaGetDeviceProperties(&p, i));
    JF_CUDA_TRY(cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, i));
    list.push_back({i, p.name, std::to_string(p.major) + "." + std::to_string(p.minor),
                    static_cast<std::int64_t>(p.totalGlobalMem),
                    static_cast<std::int64_t>(p.sharedMemPerBlockOptin), p.multiProcessorCount,
                    clock, driver, runtime});
  }
  return list;
}

void simulate(const Program& program, const Request& request, Tick* out, const Poll& poll) {
  require_device();
  if (request.count == 0) return;
  Engine gpu;
  BatchPlan plan = plan_of(program);
  plan.fit(request.count, available_memory());
  simulate_on(gpu, program, request, plan, out, poll);
}

std::int64_t available_memory() {
  if (!status().empty()) return 0;
  std::size_t free = 0, total = 0;
  JF_CUDA_TRY(cudaMemGetInfo(&free, &total));
  return static_cast<std::int64_t>(free / 10 * 8);
}

std::int64_t memory(const Program& program, const Request& request) {
  require_device();
  if (request.count == 0) return 0;
  BatchPlan plan = plan_of(program);
  const std::int64_t least = plan.bytes(1), room = available_memory();
  if (least > room) return least;
  plan.fit(request.count, room);
  return plan.bytes(plan.batch);
}

}  // namespace jf::gpu
