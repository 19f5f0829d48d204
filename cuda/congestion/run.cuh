// Batches of realizations on a device: the GPU as gpu.cu sees it or, in the tests, an emulated one.
#pragma once

#include <algorithm>
#include <chrono>

#include "../host_program.h"  // Cancelled
#include "kernel.cuh"

namespace jf::congestion::gpu {

// Realizations of a launch: few enough that Ctrl-C is prompt; they grow while launches are quick.
constexpr std::int64_t kFirstBatch = 256, kMostBatch = std::int64_t{1} << 20;

template <class Device>
void run(Device& device, const Program& program, const Request& request, std::int64_t most_shared,
         std::int64_t most_blocks, std::int64_t* out, std::uint64_t* histogram, const Poll& poll) {
  const Layout layout(program, most_shared);
  const std::int64_t blocks = std::max<std::int64_t>(1, std::min(request.count, most_blocks));
  const auto offsets = device.upload(program.offsets);
  const auto senders = device.upload(program.senders);
  const auto receivers = device.upload(program.receivers);
  const auto chain = device.upload(program.chain);
  const auto next = device.upload(program.next);
  const auto head = device.upload(program.head);
  const auto memory = device.template allocate<unsigned char>(layout.global_bytes * blocks);
  const std::int64_t batch = std::min(request.count, kMostBatch);
  const auto results = device.template allocate<std::int64_t>(batch * kWords);
  const std::vector<std::uint64_t> zeros(histogram != nullptr ? program.most_messages() + 1 : 0);
  const auto bins = device.upload(zeros);

  Job job{program.view(request.seed, request.all),
          layout,
          0,
          0,
          results.data(),
          histogram != nullptr ? reinterpret_cast<unsigned long long*>(bins.data()) : nullptr,
          memory.data()};
  job.view.offsets = offsets.data();
  job.view.senders = senders.data();
  job.view.receivers = receivers.data();
  job.view.chain = chain.data();
  TableView table = program.table();
  table.next = next.data();
  table.head = head.data();

  const auto launch = [&](const auto& router) {
    using Router = std::remove_cvref_t<decltype(router)>;
    const auto kernel = layout.short_counters ? &congestion_kernel<Router, std::uint16_t>
                                              : &congestion_kernel<Router, std::uint32_t>;
    device.launch(kernel, std::min(job.count, blocks), kBlock, layout.shared_bytes, job, router);
  };
  using Clock = std::chrono::steady_clock;
  std::int64_t size = std::min(kFirstBatch, batch);
  for (std::int64_t done = 0; done < request.count;) {
    job.first = static_cast<std::uint32_t>(request.first + done);
    job.count = std::min(size, request.count - done);
    const auto start = Clock::now();
    if (program.fat_tree)
      launch(program.tree);
    else
      launch(table);
    device.download(results.data(), job.count * kWords, out + done * kWords);
    const std::chrono::duration<double> took = Clock::now() - start;
    if (took.count() < 0.1) size = std::min(2 * size, batch);
    if (took.count() > 0.3) size = std::max<std::int64_t>(size / 2, 1);
    done += job.count;
    if (poll && !poll(done)) throw Cancelled();
  }
  if (histogram != nullptr) {
    device.download(bins.data(), static_cast<std::int64_t>(zeros.size()), histogram);
  }
}

}  // namespace jf::congestion::gpu
