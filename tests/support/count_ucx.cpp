// LD_PRELOAD library that counts the messages of an MPI library (UCX sends and receives). It counts
// between two calls.
//
// MPICH prints nowhere which algorithm it takes. Its messages tell: how many a rank sends, of how
// many bytes, and from whom it receives. The declarations are those of UCX's ucp.h as far as they
// are needed.
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace {

constexpr uint32_t kHasDatatype = 1u << 6;  // UCP_OP_ATTR_FIELD_DATATYPE
constexpr uint64_t kDatatypeBits = 3;       // a contiguous datatype is its size, shifted

struct Parameters {  // ucp_request_param_t
  uint32_t attributes;
  uint32_t flags;
  void* request;
  void* callback;
  uint64_t datatype;
};

bool counting = false;
FILE* file = nullptr;

unsigned long long bytes(size_t count, const Parameters* parameters) {
  const bool typed = parameters != nullptr && (parameters->attributes & kHasDatatype) != 0;
  return typed ? count * (parameters->datatype >> kDatatypeBits) : count;
}

// Python loads MPI with its own libraries at run time: they do not come after this one in a list.
template <class Function>
Function original(const char* name) {
  void* library = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
  return reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

extern "C" {

void count_start(const char* path) {
  file = fopen(path, "w");
  counting = true;
}

void count_stop() {
  counting = false;
  fclose(file);
}

void* ucp_tag_send_nbx(void* endpoint, const void* buffer, size_t count, uint64_t tag,
                       const Parameters* parameters) {
  using Function = void* (*)(void*, const void*, size_t, uint64_t, const Parameters*);
  if (counting)
    fprintf(file, "send %llu %016llx\n", bytes(count, parameters), (unsigned long long)tag);
  return original<Function>("ucp_tag_send_nbx")(endpoint, buffer, count, tag, parameters);
}

void* ucp_tag_send_sync_nbx(void* endpoint, const void* buffer, size_t count, uint64_t tag,
                            const Parameters* parameters) {
  using Function = void* (*)(void*, const void*, size_t, uint64_t, const Parameters*);
  if (counting)
    fprintf(file, "send %llu %016llx\n", bytes(count, parameters), (unsigned long long)tag);
  return original<Function>("ucp_tag_send_sync_nbx")(endpoint, buffer, count, tag, parameters);
}

void* ucp_tag_recv_nbx(void* worker, void* buffer, size_t count, uint64_t tag, uint64_t mask,
                       const Parameters* parameters) {
  using Function = void* (*)(void*, void*, size_t, uint64_t, uint64_t, const Parameters*);
  if (counting) {
    fprintf(file, "receive %llu %016llx\n", bytes(count, parameters), (unsigned long long)tag);
  }
  return original<Function>("ucp_tag_recv_nbx")(worker, buffer, count, tag, mask, parameters);
}
}
