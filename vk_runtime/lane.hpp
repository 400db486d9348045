// A lane: everything one partition in flight needs on a device. Several lanes run side by side, each on one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "garuda/error.hpp"
#include "vk_runtime/commands.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/memory/memory.hpp"
#include "vk_runtime/memory/transfer.hpp"
#include "vk_runtime/timeline.hpp"

namespace garuda::vk {

struct LaneOptions {
  TransferOptions transfer;
  /// Passes read the host's memory where it is, as far as the device can be given it: see PassContext::input().
  bool reads_in_place = false;
  std::uint64_t block_bytes = std::uint64_t{64} << 20;  ///< of the arena
  char const* name = "lane";
};

/// Owns an arena, command buffers, descriptors, a timeline, a transfer ring and a phase timer; borrows device and
/// queue. Used by one thread at a time; does not move. Its destructor waits for its submissions.
class Lane {
 public:
  static Result<std::unique_ptr<Lane>> create(Device& device, LaneOptions const& options);
  Lane(Lane const&) = delete;
  Lane& operator=(Lane const&) = delete;
  ~Lane();

  Device& device() noexcept { return device_; }
  Queue& queue() noexcept { return queue_; }
  MemoryArena& arena() noexcept { return arena_; }
  Transfer& transfer() noexcept { return *transfer_; }
  PhaseTimer& timer() noexcept { return timer_; }
  bool reads_in_place() const noexcept { return reads_in_place_; }

  /// Starts recording; one recorder at a time. A recorder that is dropped instead of submitted is taken back by the
  /// next begin(). Errors: out_of_memory, device_failure.
  Result<CommandRecorder> begin();

  /// Ends and submits what was recorded, to start after every ticket of `waits`. Does not block.
  Result<Ticket> submit(CommandRecorder recorder, std::span<Ticket const> waits = {});

  /// Blocks until `ticket` is reached. After Error(cancelled), call drain() before destroying what the device still
  /// uses.
  Result<void> wait(Ticket ticket, WaitOptions const& options = {});

  /// submit(), then wait().
  Result<void> submit_and_wait(CommandRecorder recorder, std::span<Ticket const> waits = {},
                               WaitOptions const& options = {});

  /// Blocks until every submission and copy of this lane is complete; not cancellable. Errors: device_failure.
  Result<void> drain();

  /// Drains, then takes command buffers and descriptor sets back and adds up phase times. For the arena see reset().
  Result<void> recycle();

  /// recycle(), then frees the arena: no buffer or image of it is alive. Between partitions.
  Result<void> reset();

 private:
  Lane(Device& device, Queue& queue, LaneOptions const& options, PhaseTimer timer);

  Result<VkCommandBuffer> next_command_buffer();

  Device& device_;
  Queue& queue_;
  bool reads_in_place_;
  MemoryArena arena_;
  Timeline timeline_;
  PhaseTimer timer_;
  DescriptorArena descriptors_;
  std::unique_ptr<Transfer> transfer_;
  Unique<VkCommandPool> command_pool_;
  std::vector<VkCommandBuffer> commands_;
  std::size_t next_commands_ = 0;
  bool recording_ = false;
};

}  // namespace garuda::vk
