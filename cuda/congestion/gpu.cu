// The CUDA engine for congestion: the runtime behind run.cuh.
#include <utility>

#include "../engine.h"
#include "../gpu/error.h"
#include "run.cuh"

namespace jf::congestion::gpu {
namespace {

// Memory of the device, without content.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::int64_t count) {
    if (count > 0) JF_CUDA_TRY(cudaMalloc(&data_, static_cast<std::size_t>(count) * sizeof(T)));
  }
  ~DeviceArray() { (void)cudaFree(data_); }
  DeviceArray(DeviceArray&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  T* data() const { return static_cast<T*>(data_); }

 private:
  void* data_ = nullptr;
};

// The Device of run.cuh. Everything goes through one stream, in order.
class Gpu {
 public:
  Gpu() { JF_CUDA_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Gpu() { (void)cudaStreamDestroy(stream_); }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  template <class T>
  DeviceArray<T> allocate(std::int64_t count) const {
    return DeviceArray<T>(count);
  }
  template <class T>
  DeviceArray<T> upload(const std::vector<T>& v) const {
    DeviceArray<T> array(static_cast<std::int64_t>(v.size()));
    if (!v.empty())
      JF_CUDA_TRY(cudaMemcpyAsync(array.data(), v.data(), v.size() * sizeof(T),
                                  cudaMemcpyHostToDevice, stream_));
    return array;
  }
  template <class... P, class... A>
  void launch(void (*kernel)(P...), std::int64_t grid, int block, std::int64_t shared_bytes,
              const A&... arguments) const {
    JF_CUDA_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(shared_bytes)));
    kernel<<<static_cast<unsigned>(grid), static_cast<unsigned>(block),
             static_cast<std::size_t>(shared_bytes), stream_>>>(arguments...);
    JF_CUDA_TRY(cudaGetLastError());
  }
  template <class T>
  void download(const T* from, std::int64_t count, T* to) const {
    JF_CUDA_TRY(cudaMemcpyAsync(to, from, static_cast<std::size_t>(count) * sizeof(T),
                                cudaMemcpyDeviceToHost, stream_));
    JF_CUDA_TRY(cudaStreamSynchronize(stream_));
  }

 private:
  cudaStream_t stream_{};
};

}  // namespace

std::string status() { return jf::gpu::status(); }

void simulate(const Program& program, const Request& request, std::int64_t* out,
              std::uint64_t* histogram, const Poll& poll) {
  const std::string why = status();
  if (!why.empty()) throw std::runtime_error(why);
  if (request.count == 0) return;
  int device = 0, shared = 0, processors = 0;
  JF_CUDA_TRY(cudaGetDevice(&device));
  JF_CUDA_TRY(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  JF_CUDA_TRY(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  constexpr std::int64_t kBlocksAtOnce = 4;  // 512 threads each fill a multiprocessor
  const std::int64_t each = std::max<std::int64_t>(1, Layout(program, shared).global_bytes);
  const std::int64_t room = jf::gpu::available_memory() / 2 / each;
  if (room < 1)
    throw std::runtime_error("one realization needs " + std::to_string(each) +
                             " bytes of GPU memory");
  Gpu gpu;
  run(gpu, program, request, shared, std::min(processors * kBlocksAtOnce, room), out, histogram,
      poll);
}

}  // namespace jf::congestion::gpu
