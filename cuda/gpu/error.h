// Turns an error of the CUDA runtime into an exception that says where.
#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace jf::gpu {

struct CudaError : std::runtime_error {
  CudaError(cudaError_t code, const char* what, const char* file, int line)
      : std::runtime_error(std::string(what) + ": " + cudaGetErrorString(code) + " (" +
                           cudaGetErrorName(code) + ", " + file + ":" + std::to_string(line) +
                           ")") {}
};

}  // namespace jf::gpu

#define JF_CUDA_TRY(call)                                                      \
  do {                                                                         \
    const cudaError_t jf_code = (call);                                        \
    if (jf_code != cudaSuccess) {                                              \
      (void)cudaGetLastError(); /* do not let the next call report it again */ \
      throw ::jf::gpu::CudaError(jf_code, #call, __FILE__, __LINE__);          \
    }                                                                          \
  } while (0)
