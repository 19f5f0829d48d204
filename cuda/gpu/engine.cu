// The CUDA engine: the runtime and Thrust behind the passes of run.cuh.
#include <thrust/execution_policy.h>
#include <thrust/fill.h>
#include <thrust/functional.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/discard_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/reduce.h>
#include <thrust/transform.h>

#include "error.h"
#include "run.cuh"

namespace jf::gpu {
namespace {

struct MergeObservations {
  __host__ __device__ Observation operator()(Observation a, const Observation& b) const {
    a.merge(b);
    return a;
  }
};

struct DivideBy {
  std::int64_t by;
  __host__ __device__ std::int64_t operator()(std::int64_t i) const { return i / by; }
};

struct MaximumOf {
  __host__ __device__ Tick operator()(const Observation& o) const { return o.max; }
};

// Memory of the device, without content.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::int64_t count) {
    if (count > 0) JF_CUDA_TRY(cudaMalloc(&data_, static_cast<std::size_t>(count) * sizeof(T)));
  }
  DeviceArray(const std::vector<T>& v, cudaStream_t stream)
      : DeviceArray(static_cast<std::int64_t>(v.size())) {
    if (v.empty()) return;
    JF_CUDA_TRY(
        cudaMemcpyAsync(data_, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice, stream));
  }
  ~DeviceArray() { (void)cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  T* data() const { return static_cast<T*>(data_); }

 private:
  void* data_ = nullptr;
};

constexpr std::int64_t kPlainSharedBytes = 48 * 1024;  // a block that wants more has to say so

// How the tiles of a program are run on the current device.
TilePlan tiles_of(const Program& program) {
  int device = 0, shared = 0;
  JF_CUDA_TRY(cudaGetDevice(&device));
  JF_CUDA_TRY(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  return plan_tiles(program, shared);
}

// The Device of run.cuh. Everything goes through one stream, in order.
class Gpu {
 public:
  template <class T>
  using Array = DeviceArray<T>;

  Gpu() { JF_CUDA_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Gpu() { (void)cudaStreamDestroy(stream_); }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  auto policy() const { return thrust::cuda::par.on(stream_); }
  template <class T>
  Array<T> allocate(std::int64_t count) const {
    return Array<T>(count);
  }
  template <class T>
  Array<T> upload(const std::vector<T>& v) const {
    return Array<T>(v, stream_);
  }

  template <class T>
  void fill(T* to, std::int64_t count, const T& value) const {
    thrust::fill_n(policy(), to, count, value);
  }
  template <class... P, class... A>
  void launch(void (*kernel)(P...), std::int64_t grid, int block, std::int64_t shared_bytes,
              const A&... arguments) const {
    if (shared_bytes > kPlainSharedBytes) {
      JF_CUDA_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(shared_bytes)));
      // As many blocks at a time as registers allow; little is left for the cache to do.
      JF_CUDA_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                       cudaSharedmemCarveoutMaxShared));
    }
    kernel<<<static_cast<unsigned>(grid), static_cast<unsigned>(block),
             static_cast<std::size_t>(shared_bytes), stream_>>>(arguments...);
    JF_CUDA_TRY(cudaGetLastError());
  }
  // to[i] = all of from[i * partials] ... merged.
  void merge(const Observation* from, std::int64_t count, std::int64_t partials,
             Observation* to) const {
    const auto keys = thrust::make_transform_iterator(
        thrust::make_counting_iterator(std::int64_t{0}), DivideBy{partials});
    thrust::reduce_by_key(policy(), keys, keys + count * partials, from,
                          thrust::make_discard_iterator(), to, thrust::equal_to<std::int64_t>(),
                          MergeObservations());
  }
  void maxima(const Observation* from, std::int64_t count, Tick* to) const {
    thrust::transform(policy(), from, from + count, to, MaximumOf());
  }
  // Waits until the memory of the host may change.
  template <class T>
  void copy(const T* from, std::int64_t count, T* to) const {
    JF_CUDA_TRY(cudaMemcpyAsync(to, from, static_cast<std::size_t>(count) * sizeof(T),
                                cudaMemcpyHostToDevice, stream_));
    wait();
  }
  void wait() const { JF_CUDA_TRY(cudaStreamSynchronize(stream_)); }
  // Waits for everything before, and for the copy.
  void download(const Tick* from, std::int64_t count, Tick* to) const {
    JF_CUDA_TRY(cudaMemcpyAsync(to, from, static_cast<std::size_t>(count) * sizeof(Tick),
                                cudaMemcpyDeviceToHost, stream_));
    wait();
  }

 private:
  cudaStream_t stream_{};
};

// " on NVIDIA A100, compute capability 8.0": the current device, where the driver tells.
std::string on_device() {
  int device = 0;
  cudaDeviceProp p{};
  if (cudaGetDevice(&device) != cudaSuccess || cudaGetDeviceProperties(&p, device) != cudaSuccess)
    return "";
  return std::string(" on ") + p.name + ", compute capability " + std::to_string(p.major) + "." +
         std::to_string(p.minor);
}

}  // namespace

std::string status() {
  int count = 0, driver = 0;
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0)
    return "no usable GPU: no NVIDIA driver found";
  cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaSuccess && count > 0) {
    // Finds out whether this build has code for the device, and whether others may use it.
    cudaFuncAttributes attributes{};
    code = cudaFuncGetAttributes(&attributes, &tile_kernel<1, true, NoNoise, NoJitter>);
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
  const std::string why = status();
  if (!why.empty()) throw std::runtime_error(why);
  if (request.count == 0) return;
  Gpu gpu;
  BatchPlan plan(program, tiles_of(program));
  plan.fit(request.count, available_memory());
  Run<Gpu>(gpu, program, request, plan).simulate(out, poll);
}

std::int64_t available_memory() {
  if (!status().empty()) return 0;
  std::size_t free = 0, total = 0;
  JF_CUDA_TRY(cudaMemGetInfo(&free, &total));
  return static_cast<std::int64_t>(free / 10 * 8);
}

std::int64_t memory(const Program& program, const Request& request) {
  const std::string why = status();
  if (!why.empty()) throw std::runtime_error(why);
  if (request.count == 0) return 0;
  BatchPlan plan(program, tiles_of(program));
  const std::int64_t least = plan.bytes(1), room = available_memory();
  if (least > room) return least;
  plan.fit(request.count, room);
  return plan.bytes(plan.batch);
}

}  // namespace jf::gpu
