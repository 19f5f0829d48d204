// Program that tests gpu/device.h (launch, memory, errors) on a fake CUDA runtime (runtime/).
#include "gpu/device.h"

#include <cstdio>
#include <functional>
#include <string>
#include <thread>

namespace {

using jf::gpu::Gpu;

void expect(bool right, const char* what, int line) {
  if (!right) throw std::runtime_error("line " + std::to_string(line) + ": " + what);
}
#define EXPECT(right) expect(right, #right, __LINE__)

void small(int) {}
void large(int) {}
void shared_by_threads(long) {}
void of_devices(char) {}

FakeDevice::Kernel& kernel(const void* address) { return fake.kernels.at(address); }
template <class... P>
const void* address_of(void (*function)(P...)) {
  return reinterpret_cast<const void*>(function);
}

// Blocks of any size may be launched after the first, and the size is said once.
void what_a_kernel_may_have() {
  Gpu gpu;
  for (const int bytes : {1000, 90'000, 60'000, 90'000}) gpu.launch(&large, 1, 512, bytes, 7);
  EXPECT(kernel(address_of(&large)).told == std::vector<int>{fake.optin});
  EXPECT(kernel(address_of(&large)).launches == 4);
}

// What one kernel wants set aside is not what the next one finds.
void what_is_set_aside() {
  Gpu gpu;
  gpu.launch(&large, 1, 512, 90'000, 7);
  EXPECT(kernel(address_of(&large)).carveout == 91);  // two blocks of 91,000 bytes, of 200,000
  gpu.launch(&small, 1, 512, 0, 7);
  EXPECT(kernel(address_of(&small)).carveout == 2);  // four blocks, for which 1000 are reserved
  gpu.launch(&large, 1, 1024, 20'000, 7);
  EXPECT(kernel(address_of(&large)).carveout == 21);
}

// Threads of one process that launch a kernel with different sizes do not disturb each other.
void threads_of_one_process() {
  std::vector<std::thread> threads;
  std::vector<std::string> errors(4);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t, &errors] {
      try {
        Gpu gpu;
        for (int i = 0; i < 2000; ++i)
          gpu.launch(&shared_by_threads, 1, 256, 50'000 + 10'000 * t, 7L);
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(t)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : errors) EXPECT(error.empty());
  EXPECT(kernel(address_of(&shared_by_threads)).told == std::vector<int>{fake.optin});
  EXPECT(kernel(address_of(&shared_by_threads)).launches == 8000);
}

// Each thread has a device, which is prepared, launched on and allocated from by itself.
void a_thread_for_each_device() {
  fakes[2].optin = 60'000;  // the devices of a machine need not be alike
  std::vector<std::thread> threads;
  std::vector<std::string> errors(kFakeDevices);
  for (int d = 0; d < kFakeDevices; ++d)
    threads.emplace_back([d, &errors] {
      try {
        EXPECT(jf::gpu::current_device() == 0 && cudaSetDevice(d) == cudaSuccess);
        fakes[d].memory = 10'000;
        Gpu gpu;
        for (int i = 0; i < 1000 + d; ++i) {
          Gpu::Arena arena(gpu, 1024 + 256 * d);
          EXPECT(fakes[d].taken == static_cast<std::size_t>(1024 + 256 * d));
          arena.upload(std::vector<int>{1, 2, 3});
          gpu.launch(&of_devices, 1, 256, 50'000, 'x');
        }
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(d)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : errors) EXPECT(error.empty());
  for (int d = 0; d < kFakeDevices; ++d) {
    const FakeDevice::Kernel& k = fakes[d].kernels.at(address_of(&of_devices));
    EXPECT(k.launches == 1000 + d && k.told == std::vector<int>{fakes[d].optin});
    EXPECT(fakes[d].taken == 0 && fakes[d].allocations.empty());
  }
  EXPECT(jf::gpu::current_device() == 0);  // of this thread
}

void memory_in_one_piece() {
  fake.memory = 10'000;
  Gpu gpu;
  {
    Gpu::Arena arena(gpu, 1024);
    EXPECT(fake.allocations.size() == 1 && fake.taken == 1024);
    int* const numbers = arena.upload(std::vector<int>{1, 2, 3});
    char* const letters = arena.allocate<char>(300);
    EXPECT(reinterpret_cast<char*>(numbers) + 256 == letters);
    EXPECT(arena.allocate<int>(0) == nullptr);
    EXPECT(fake.allocations.size() == 1);
    int found[3];
    gpu.download(numbers, 3, found);
    EXPECT(found[2] == 3);
    bool thrown = false;
    try {
      arena.allocate<char>(257);
    } catch (const std::logic_error&) {
      thrown = true;
    }
    EXPECT(thrown);
  }
  EXPECT(fake.taken == 0);
}

// That there is no memory is told from all other errors.
void memory_that_is_not_there() {
  fake.memory = 1000;
  Gpu gpu;
  std::string out_of_memory, other;
  try {
    Gpu::Arena arena(gpu, 1001);
  } catch (const jf::gpu::OutOfMemory& error) {
    out_of_memory = error.what();
  }
  EXPECT(out_of_memory.find("device.h:") != std::string::npos);
  EXPECT(fake.taken == 0);
  try {
    gpu.launch(&small, 0, 32, 0, 7);
  } catch (const jf::gpu::CudaError& error) {
    other = error.what();
  }
  EXPECT(!other.empty());
}

struct Check {
  const char* name;
  void (*run)();
};
#define CHECK(name) {#name, name}
const Check kChecks[] = {CHECK(what_a_kernel_may_have), CHECK(what_is_set_aside),
                         CHECK(threads_of_one_process), CHECK(a_thread_for_each_device),
                         CHECK(memory_in_one_piece),    CHECK(memory_that_is_not_there)};

}  // namespace

int main(int argc, char** argv) {
  for (const Check& check : kChecks) {
    if (argc < 2) {
      std::puts(check.name);
    } else if (std::string(argv[1]) == check.name) {
      try {
        check.run();
        return 0;
      } catch (const std::exception& error) {
        std::printf("%s: %s\n", check.name, error.what());
        return 1;
      }
    }
  }
  return argc < 2 ? 0 : 2;
}
