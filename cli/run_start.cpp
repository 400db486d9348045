#include "cli/run_start.hpp"

#include <algorithm>
#include <thread>

#include "cli/file_commands.hpp"
#include "cli/terminal/standard_streams.hpp"
#include "core/os/memory.hpp"
#include "core/shortage.hpp"
#include "operators/run/query_run.hpp"

namespace garuda::cli {
namespace {

/// Large blocks are mappings, which go back when they are freed. The C library would otherwise raise its threshold with
/// every one that is freed, up to 32 MiB, and the holes of its heaps, one a thread, count against a memory limit.
void give_freed_memory_back() noexcept { os::give_freed_memory_back(1 << 20); }

}  // namespace

RunStart::RunStart(RunRequest const& request, RunOptions& options) : request_(request), options_(options) {
  bound_memory();
  if (options.memory_limit_bytes == 0) {
    // Reading comes before any engine's query, and wants its buffers again and again.
    KeptMemory::instance().set_limit(run::most_kept_host_bytes());
    return;
  }
  keep_within(options.memory_limit_bytes);
  if (!request.output) return;
  // Raw bytes, encoded bytes and dictionaries of a row group stay within four times its size, which is half the limit
  // at most; the rest is the operator's.
  constexpr std::uint64_t kMostRowGroupBytes = 64 << 20;
  auto const row_group_bytes = std::clamp<std::uint64_t>(options.memory_limit_bytes / 8, 1, kMostRowGroupBytes);
  row_group_bytes_ = static_cast<std::int64_t>(row_group_bytes);
  auto const kept = std::min(4 * row_group_bytes, options.memory_limit_bytes - 1);
  options.memory_limit_bytes -= kept;
  if (options.device_memory_limit_bytes == 0) kept_for_writing_ = kept;
}

/// Buffers may take all of the limit but the share of freed ones that are kept; a run that needs more of them than was
/// reckoned ends with an error. So does one whose process has outgrown the limit, unless a driver may have done so.
void RunStart::bound_memory() noexcept {
  auto const limit = options_.memory_limit_bytes;
  if (limit == 0) return BufferCeiling::instance().set(0, 0);
  constexpr std::uint64_t kKeptShare = 16;
  constexpr std::uint64_t kBesideShare = 6;
  /// Smaller limits hold for rows alone: reading and writing a file takes some buffers, and a process some heap.
  constexpr std::uint64_t kLeastBufferBytes = std::uint64_t{32} << 20;
  constexpr std::uint64_t kLeastProcessBytes = std::uint64_t{64} << 20;
  BufferCeiling::instance().set(
      std::max(limit - limit / kKeptShare, kLeastBufferBytes),
      options_.path == Path::cpu ? std::max(limit + limit / kBesideShare, kLeastProcessBytes) : 0);
}

/// Takes shares of the limit for memory that is freed and not given back.
void RunStart::keep_within(std::uint64_t& limit_bytes) {
  constexpr std::uint64_t kShare = 16;
  /// A smaller share would hold no column of a row group.
  constexpr std::uint64_t kLeastBytes = 4 << 20;
  /// Size of a heap of the C library; each thread may have one.
  constexpr std::uint64_t kHeapBytes = 64 << 20;
  auto const threads = options_.threads != 0 ? options_.threads : std::thread::hardware_concurrency();
  auto const share = limit_bytes / kShare;
  if (share < kLeastBytes) {
    KeptMemory::instance().set_limit(0);
    return give_freed_memory_back();
  }
  kept_beside_limit_ = share;
  limit_bytes -= share;
  KeptMemory::instance().set_limit(share);
  if (threads * kHeapBytes > share)
    give_freed_memory_back();
  else
    limit_bytes -= share;
}

Result<void> RunStart::open() {
  thread_limit_.emplace(options_.threads);
  if (request_.output) {
    // First of all, so that nobody waits for a result that has nowhere to go.
    GARUDA_TRY_ASSIGN(file_, os::OutputFile::create(*request_.output, request_.sync));
    guard_.emplace(file_->temporary_path());
  } else {
    GARUDA_TRY(check_output_is_open());
  }
  engine_.emplace(options_, kept_beside_limit_, request_.input_bytes);
  return {};
}

Result<FileCommands const*> RunStart::file_commands() {
  engine_->let_drivers_load();
  Stopwatch const loading;
  auto commands = load_file_commands();
  library_ns_ = loading.elapsed_ns();
  return commands;
}

}  // namespace garuda::cli
