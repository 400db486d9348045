// Host threads that copy between host and device memory together: one thread alone is slower than the bus.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "garuda/error.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/memory/memory.hpp"
#include "vk_runtime/memory/transfer.hpp"
#include "vk_runtime/timeline.hpp"

namespace garuda::vk {

enum class CopyDirection : std::uint8_t { up, down };

/// Bytes that are made when they are copied up: a column in another layout than the device's. Called by several
/// threads.
class HostSource {
 public:
  virtual ~HostSource() = default;
  /// Writes the bytes [first, first + out.size()) of the whole, any of them. Throws std::bad_alloc at most.
  virtual void write(std::uint64_t first, std::span<std::byte> out) const = 0;
};
/// Bytes that a source makes at a time: they stay in a core's cache until they are copied. A multiple of values of 1 to
/// 4 words.
inline constexpr std::uint64_t kSourcePieceBytes = std::uint64_t{3} << 18;

/// One contiguous copy. The direction says which end is read; the host's end is not written on the way up.
struct HostCopy {
  Buffer const* buffer = nullptr;
  std::uint64_t offset = 0;  ///< in the buffer
  std::byte* host = nullptr;
  std::uint64_t bytes = 0;
  HostSource const* source = nullptr;  ///< up, in place of `host`; in place until wait() returned
  std::uint64_t first = 0;             ///< of the source's bytes
};

/// Copies that were started together. Shared by the team and whoever waits.
class CopyGroup;

struct CopyTeamOptions {
  CopyDirection direction = CopyDirection::up;
  std::uint32_t threads = 1;
  TransferOptions transfer;  ///< of each thread; `queue` among them
  /// Largest piece that a thread copies at a time.
  std::uint64_t piece_bytes = std::uint64_t{8} << 20;
  WaitOptions wait;  ///< of every wait; a cancelled wait ends its group with Error(cancelled)
};

/// Threads that stream whole tables one way, through staging memory unless `mode` says otherwise. More of them are not
/// faster than the bus.
inline constexpr std::uint32_t kMostStreamingThreads = 8;
inline CopyTeamOptions streaming_team(CopyDirection direction, std::uint32_t threads, UploadMode mode) {
  CopyTeamOptions options;
  options.direction = direction;
  options.threads = threads;
  options.transfer.mode = mode;
  options.transfer.queue = direction == CopyDirection::down ? 1 : 0;
  options.transfer.segment_bytes = std::uint64_t{2} << 20;
  options.transfer.segments = 4;
  return options;
}

/// Owns the threads, each with a Transfer of its own. Groups are begun in the order in which they were started; pieces
/// of a group are copied in any order. start() and wait() are for one thread; does not move.
class CopyTeam {
 public:
  /// Errors: those of Transfer::create; out_of_memory when no thread can be started.
  static Result<std::unique_ptr<CopyTeam>> create(Device& device, Queue& fallback_queue,
                                                  CopyTeamOptions const& options);
  CopyTeam(CopyTeam const&) = delete;
  CopyTeam& operator=(CopyTeam const&) = delete;
  /// Drops what was not begun, and waits for the rest.
  ~CopyTeam();

  /// Starts `copies`, on the device after `after`. Their memory stays in place until wait() returned.
  std::shared_ptr<CopyGroup> start(std::vector<HostCopy> copies, Ticket after = {});

  /// Waits until the host has done its part. On the way up returns tickets to wait for; on the way down the host memory
  /// holds the data. Errors: the first that a piece met.
  Result<std::vector<Ticket>> wait(CopyGroup& group);

  /// Nanoseconds from the group's first piece to the end of the host's part. After wait().
  static std::uint64_t elapsed_ns(CopyGroup const& group) noexcept;
  /// Bytes that were copied; those that were made where the device reads them were not. After wait().
  static std::uint64_t copied_bytes(CopyGroup const& group) noexcept;

 private:
  explicit CopyTeam(CopyTeamOptions const& options) : options_(options) {}
  void run(std::size_t worker);
  Result<Ticket> copy_made(Transfer& transfer, CopyGroup const& group, HostCopy const& piece);
  Result<Ticket> copy_up(Transfer& transfer, CopyGroup const& group, HostCopy const& piece);
  Result<Ticket> copy(Transfer& transfer, CopyGroup const& group, HostCopy const& piece);

  CopyTeamOptions options_;
  std::vector<std::unique_ptr<Transfer>> transfers_;  // one a thread
  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable done_;
  std::deque<std::shared_ptr<CopyGroup>> queue_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;  // last: they use everything above
};

}  // namespace garuda::vk
