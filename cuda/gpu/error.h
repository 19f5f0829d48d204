// Turns an error of the CUDA runtime into an exception that says where.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "arena.h"

namespace jf::gpu {

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
