// Host loop of congestion on the GPU: batches of realizations, memory, kernel launches.
#pragma once

#include <algorithm>
#include <chrono>

#include "congestion/kernel.cuh"
#include "gpu/batch_size.h"

namespace jf::congestion::gpu {

// Realizations of the first and of any launch.
constexpr std::int64_t kFirstBatch = 256, kMaxBatch = std::int64_t{1} << 20;

// Runs all realizations from `done` on, with `blocks` blocks at a time.
template <class Device>
void run_blocks(Device& device, const Program& program, const Request& request,
                const Layout& layout, std::int64_t blocks, std::int64_t batch, std::int64_t& done,
                std::int64_t* out, std::uint64_t* histogram, const Poll& poll) {
  std::vector<std::uint64_t> bins(histogram != nullptr ? program.most_messages() + 1 : 0);
  typename Device::Arena arena(
      device, jf::gpu::vector_bytes(program.offsets, program.senders, program.receivers,
                                    program.chain, program.next, program.head, bins) +
                  jf::gpu::array_bytes<unsigned char>(layout.global_bytes * blocks) +
                  jf::gpu::array_bytes<std::int64_t>(batch * kWords));
  Job job{
      program.view(request.seed, request.full_statistics), layout, 0, 0, nullptr, nullptr, nullptr};
  job.view.offsets = arena.upload(program.offsets);
  job.view.senders = arena.upload(program.senders);
  job.view.receivers = arena.upload(program.receivers);
  job.view.chain = arena.upload(program.chain);
  TableView table = program.table();
  table.next = arena.upload(program.next);
  table.head = arena.upload(program.head);
  std::uint64_t* const device_bins = arena.upload(bins);
  job.histogram = reinterpret_cast<unsigned long long*>(device_bins);
  job.memory = arena.template allocate<unsigned char>(layout.global_bytes * blocks);
  job.out = arena.template allocate<std::int64_t>(batch * kWords);

  const auto launch = [&](const auto& router) {
    using Router = std::remove_cvref_t<decltype(router)>;
    const auto kernel = layout.short_counters ? &congestion_kernel<Router, std::uint16_t>
                                              : &congestion_kernel<Router, std::uint32_t>;
    device.launch(kernel, std::min(job.count, blocks), kBlock, layout.shared_bytes, job, router);
  };
  using Clock = std::chrono::steady_clock;
  jf::gpu::BatchSize size(batch, 1);
  size.begin_with(kFirstBatch);
  while (done < request.count) {
    job.first = static_cast<std::uint32_t>(request.first + done);
    job.count = std::min(size.next(), request.count - done);
    const auto start = Clock::now();
    if (program.fat_tree)
      launch(program.tree);
    else
      launch(table);
    device.download(job.out, job.count * kWords, out + done * kWords);
    size.took(std::chrono::duration<double>(Clock::now() - start).count());
    done += job.count;
    if (poll && !poll(done)) throw Cancelled();
  }
  if (histogram != nullptr) {
    device.download(device_bins, static_cast<std::int64_t>(bins.size()), bins.data());
    for (std::size_t w = 0; w < bins.size(); ++w) histogram[w] += bins[w];
  }
}

// Batches become smaller where less memory is free than was reported. Only the allocation at the
// begin can fail, so that nothing has been computed then, and nothing was added to `histogram`.
// Each block has memory of its own: half as many realizations at a time have half as many blocks.
template <class Device>
void run(Device& device, const Program& program, const Request& request, std::int64_t max_shared,
         std::int64_t max_blocks, std::int64_t* out, std::uint64_t* histogram, const Poll& poll) {
  const Layout layout(program, max_shared);
  const std::int64_t batch = std::min(request.count, kMaxBatch);
  const std::int64_t blocks = std::max<std::int64_t>(1, std::min(request.count, max_blocks));
  std::int64_t done = 0;
  jf::gpu::run_in_batches(batch, [&](std::int64_t at_once) {
    run_blocks(device, program, request, layout,
               std::max<std::int64_t>(1, blocks * at_once / batch), at_once, done, out, histogram,
               poll);
  });
}

}  // namespace jf::congestion::gpu
