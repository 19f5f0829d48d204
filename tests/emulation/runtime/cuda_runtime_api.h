// Fake CUDA runtime API for testing gpu/device.h: devices that only remember what they were told.
// See device.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

enum cudaError_t { cudaSuccess, cudaErrorInvalidValue, cudaErrorMemoryAllocation };
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize,
  cudaFuncAttributePreferredSharedMemoryCarveout
};
enum cudaDeviceAttr {
  cudaDevAttrMaxSharedMemoryPerBlockOptin,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor,
  cudaDevAttrReservedSharedMemoryPerBlock
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
constexpr int cudaSharedmemCarveoutMaxShared = 100;
constexpr unsigned cudaStreamNonBlocking = 1;
using cudaStream_t = int;

struct dim3 {
  unsigned x, y = 1, z = 1;
  explicit dim3(unsigned count) : x(count) {}
};

// A device: its limits, and what has been done to it.
struct FakeDevice {
  int optin = 100'000, of_multiprocessor = 200'000, reserved = 1000, threads = 2048;
  std::size_t memory = 0, taken = 0;
  struct Kernel {
    int shared = 48 * 1024, carveout = -1;
    std::vector<int> told;  // how much shared memory it may have, each time
    int launches = 0;
  };
  std::map<const void*, Kernel> kernels;
  std::map<void*, std::size_t> allocations;
  std::mutex mutex;
};
constexpr int kFakeDevices = 4;
inline FakeDevice fakes[kFakeDevices];
inline FakeDevice& fake = fakes[0];
inline thread_local int current_fake = 0;  // the device of a thread of the host

inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline const char* cudaGetErrorString(cudaError_t) { return "an error"; }
inline const char* cudaGetErrorName(cudaError_t) { return "name"; }
inline cudaError_t cudaGetDevice(int* device) {
  *device = current_fake;
  return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= kFakeDevices) return cudaErrorInvalidValue;
  current_fake = device;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  const FakeDevice& fake = fakes[device];
  *value = attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin       ? fake.optin
           : attribute == cudaDevAttrMaxSharedMemoryPerMultiprocessor ? fake.of_multiprocessor
                                                                      : fake.reserved;
  return cudaSuccess;
}
inline cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute,
                                        int value) {
  FakeDevice& fake = fakes[current_fake];
  const std::lock_guard hold(fake.mutex);
  FakeDevice::Kernel& k = fake.kernels[kernel];
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    k.shared = value;
    k.told.push_back(value);
  } else {
    k.carveout = value;
  }
  return value > fake.optin ? cudaErrorInvalidValue : cudaSuccess;
}
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*,
                                                                 int block, std::size_t shared) {
  const FakeDevice& fake = fakes[current_fake];
  const auto each = static_cast<int>(shared) + fake.reserved;
  *blocks = std::min(fake.threads / block, fake.of_multiprocessor / each);
  return cudaSuccess;
}
inline cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3, void** arguments,
                                    std::size_t shared, cudaStream_t stream) {
  if (stream != current_fake) return cudaErrorInvalidValue;  // a stream is one device's
  FakeDevice& fake = fakes[current_fake];
  const std::lock_guard hold(fake.mutex);
  FakeDevice::Kernel& k = fake.kernels[kernel];
  if (grid.x == 0 || arguments == nullptr || static_cast<int>(shared) > k.shared)
    return cudaErrorInvalidValue;
  ++k.launches;
  return cudaSuccess;
}
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = current_fake;
  return cudaSuccess;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaMalloc(void** to, std::size_t bytes) {
  FakeDevice& fake = fakes[current_fake];
  const std::lock_guard hold(fake.mutex);
  if (fake.taken + bytes > fake.memory) return cudaErrorMemoryAllocation;
  *to = std::malloc(bytes);
  fake.allocations[*to] = bytes;
  fake.taken += bytes;
  return cudaSuccess;
}
inline cudaError_t cudaFree(void* data) {
  FakeDevice& fake = fakes[current_fake];
  const std::lock_guard hold(fake.mutex);
  if (data == nullptr) return cudaSuccess;
  fake.taken -= fake.allocations.at(data);
  fake.allocations.erase(data);
  std::free(data);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                                   cudaStream_t) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
