// CUDA device: error handling, stream, memory allocation, copies, kernel launch (cudaLaunchKernel).
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gpu/batch_size.h"

namespace jf::gpu {

// --- Errors of the CUDA runtime become exceptions with file and line.

struct CudaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[noreturn]] inline void throw_error(cudaError_t code, const char* what, const char* file,
                                     int line) {
  (void)cudaGetLastError();  // do not let the next call report it again
  const std::string text = std::string(what) + ": " + cudaGetErrorString(code) + " (" +
                           cudaGetErrorName(code) + ", " + file + ":" + std::to_string(line) + ")";
  if (code == cudaErrorMemoryAllocation) throw OutOfMemory(text);
  throw CudaError(text);
}

}  // namespace jf::gpu

#define JF_CUDA_TRY(call)                                                                   \
  do {                                                                                      \
    const cudaError_t jf_code = (call);                                                     \
    if (jf_code != cudaSuccess) ::jf::gpu::throw_error(jf_code, #call, __FILE__, __LINE__); \
  } while (0)

namespace jf::gpu {

// --- The current device is that of the calling thread.

inline int current_device() {
  int device = 0;
  JF_CUDA_TRY(cudaGetDevice(&device));
  return device;
}

inline int device_attribute(cudaDeviceAttr attribute) {
  int value = 0;
  JF_CUDA_TRY(cudaDeviceGetAttribute(&value, attribute, current_device()));
  return value;
}

// Throws the reason why the current device can not be used, if it can not.
inline void require_device() {
  const std::string why = status();
  if (!why.empty()) throw std::runtime_error(why);
}

// Lets blocks of a kernel have so much shared memory. Attributes hold for all threads of the
// process, and another may be about to launch the kernel with another size. So the allowed size is
// always the maximum of the device. The carveout, the part of the cache that serves as shared
// memory, is a hint, which cannot make a launch fail: what the resident blocks need. It is set for
// every kernel: one without it would run with that of the kernel before.
inline void prepare_kernel(const void* kernel, int block, std::int64_t shared_bytes) {
  using Shape = std::pair<int, std::int64_t>;
  static std::mutex mutex;
  static std::map<std::pair<int, const void*>, Shape> prepared;  // by device and kernel
  const int device = current_device();
  const std::lock_guard hold(mutex);
  const auto found = prepared.find({device, kernel});
  if (found != prepared.end() && found->second == Shape{block, shared_bytes}) return;
  const auto set = [kernel](cudaFuncAttribute attribute, int value) {
    JF_CUDA_TRY(cudaFuncSetAttribute(kernel, attribute, value));
  };
  if (found == prepared.end())
    set(cudaFuncAttributeMaxDynamicSharedMemorySize,
        device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  set(cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
  int blocks = 0;
  JF_CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, kernel, block, static_cast<std::size_t>(shared_bytes)));
  const std::int64_t available = device_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor),
                     per_block =
                         shared_bytes + device_attribute(cudaDevAttrReservedSharedMemoryPerBlock);
  const std::int64_t percent =
      available > 0 ? (100 * per_block * blocks + available - 1) / available : 100;
  set(cudaFuncAttributePreferredSharedMemoryCarveout,
      static_cast<int>(percent < 100 ? percent : 100));
  prepared[{device, kernel}] = {block, shared_bytes};
}

// The Device of run.cuh and of congestion/run.cuh. Everything goes through one stream, in order.
class Gpu {
 public:
  Gpu() { JF_CUDA_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Gpu() { (void)cudaStreamDestroy(stream_); }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  cudaStream_t stream() const { return stream_; }

  // All memory of a run, freed at its end. Arrays are not initialized.
  class Arena {
   public:
    Arena(const Gpu& gpu, std::int64_t bytes) : gpu_(gpu), left_(bytes) {
      if (bytes > 0) JF_CUDA_TRY(cudaMalloc(&memory_, static_cast<std::size_t>(bytes)));
      next_ = static_cast<char*>(memory_);
    }
    ~Arena() { (void)cudaFree(memory_); }
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    template <class T>
    T* allocate(std::int64_t count) {
      const std::int64_t bytes = array_bytes<T>(count);
      if (bytes > left_) throw std::logic_error("a run takes more memory than it asked for");
      T* const array = reinterpret_cast<T*>(next_);
      next_ += bytes;
      left_ -= bytes;
      return count > 0 ? array : nullptr;
    }
    template <class T>
    T* upload(const std::vector<T>& v) {
      const auto count = static_cast<std::int64_t>(v.size());
      T* const array = allocate<T>(count);
      if (count > 0) gpu_.copy(v.data(), count, array);  // waits: the vector may be temporary
      return array;
    }

   private:
    const Gpu& gpu_;
    void* memory_ = nullptr;
    char* next_ = nullptr;
    std::int64_t left_;
  };

  template <class... P, class... A>
  void launch(void (*kernel)(P...), std::int64_t grid, int block, std::int64_t shared_bytes,
              const A&... arguments) const {
    const auto* const address = reinterpret_cast<const void*>(kernel);
    prepare_kernel(address, block, shared_bytes);
    std::tuple<P...> values(arguments...);
    std::apply(
        [&](auto&... value) {
          void* pointers[] = {&value...};
          JF_CUDA_TRY(cudaLaunchKernel(address, dim3(static_cast<unsigned>(grid)),
                                       dim3(static_cast<unsigned>(block)), pointers,
                                       static_cast<std::size_t>(shared_bytes), stream_));
        },
        values);
  }
  void wait() const { JF_CUDA_TRY(cudaStreamSynchronize(stream_)); }
  // To the device, and from it. Both wait for everything before, and for the copy.
  template <class T>
  void copy(const T* from, std::int64_t count, T* to) const {
    transfer(from, count, to, cudaMemcpyHostToDevice);
  }
  template <class T>
  void download(const T* from, std::int64_t count, T* to) const {
    transfer(from, count, to, cudaMemcpyDeviceToHost);
  }

 private:
  template <class T>
  void transfer(const T* from, std::int64_t count, T* to, cudaMemcpyKind kind) const {
    JF_CUDA_TRY(
        cudaMemcpyAsync(to, from, static_cast<std::size_t>(count) * sizeof(T), kind, stream_));
    wait();
  }

  cudaStream_t stream_{};
};

}  // namespace jf::gpu
