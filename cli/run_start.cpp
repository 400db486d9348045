#include "cli/run_start.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "cli/file_commands.hpp"
#include "cli/terminal.hpp"
#include "core/os/memory.hpp"
#include "core/shortage.hpp"
#include "core/stopwatch.hpp"
#include "operators/run/query_run.hpp"
#include "vk_runtime/device/instance.hpp"

namespace garuda::cli {
namespace {

/// Large blocks are mappings, which go back when they are freed. The C library would otherwise raise its threshold with
/// every one that is freed, up to 32 MiB, and the holes of its heaps, one a thread, count against a memory limit.
void give_freed_memory_back() noexcept { os::give_freed_memory_back(1 << 20); }

/// Files below this size are small; compressed ones may hold twenty times as much. Copying their tables takes less time
/// than opening a device's other queues, and reading them less than opening the device.
constexpr std::uint64_t kSmallBytes = std::uint64_t{4} << 20;

/// Keeps the calling thread until the process ends. When a thread ends that made an instance, NVIDIA's driver (580)
/// takes down what it has of the thread: 11 ms in which it gives no other thread anything.
[[noreturn]] void stay() {
  while (true) std::this_thread::sleep_for(std::chrono::hours(24));
}

template <class T>
bool is_ready(std::shared_future<T> const& future) {
  return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace

std::optional<std::vector<SharedEngine::Start>> SharedEngine::kept_;

/// An engine that could not be made serves nobody; one that is still being made may.
bool SharedEngine::Start::serves(EngineStart::Wanted const& wanted) const {
  return (!is_ready(made) || made.get().engine) && (made_for.devices || !wanted.devices) &&
         made_for.kept_beside_limit_bytes == wanted.kept_beside_limit_bytes;
}

EngineStart::EngineStart(RunOptions const& options, std::uint64_t kept_beside_limit_bytes, std::uint64_t input_bytes) {
  auto& kept = SharedEngine::kept_;
  if (!kept) vk::leave_devices_to_process_end();
  bool const is_small = input_bytes < kSmallBytes;
  Wanted const wanted{options.path != Path::cpu, kept_beside_limit_bytes, !kept && is_small};
  if (kept) {
    auto const serving = std::ranges::find_if(*kept, [&](auto const& one) { return one.serves(wanted); });
    if (serving != kept->end()) {
      is_new_ = false;
      made_ = serving->made;
      return;
    }
  }
  RunOptions opened;
  opened.path = options.path;
  opened.device = options.device;
  bool const opens_device = wanted.devices && opened.path != Path::automatic;
  std::promise<void> drivers_loaded;
  if (opens_device && is_small) drivers_loaded_ = drivers_loaded.get_future();
  // Shared with the thread, which may still be at it when this has gone.
  auto const make = std::make_shared<std::packaged_task<StartedEngine()>>(
      [wanted, opened, opens_device, loaded = std::move(drivers_loaded)]() mutable -> StartedEngine {
        Stopwatch const watch;
        auto engine = [&]() -> Result<Engine> {
          try {
            return Engine::create({.vulkan = wanted.devices,
                                   .single_queue = wanted.single_queue,
                                   .calibrate_in_background = false,
                                   .kept_beside_limit_bytes = wanted.kept_beside_limit_bytes});
          } catch (...) {
            loaded.set_value();  // somebody waits for the drivers, whatever becomes of them
            throw;
          }
        }();
        auto const made_ns = watch.elapsed_ns();
        loaded.set_value();
        if (!engine) return {tl::unexpected(std::move(engine).error()), made_ns, 0};
        StartedEngine made{std::make_shared<Engine>(*std::move(engine)), made_ns, 0};
        if (!opens_device) return made;
        Stopwatch const opening;
        (void)(*made.engine)->open_device(opened);  // the run says what is wrong
        made.opened_ns = opening.elapsed_ns();
        return made;
      });
  made_ = make->get_future();
  if (kept) kept->push_back({made_, wanted});
  try {
    if (wanted.devices)
      std::thread([make = make, made = made_]() mutable {
        (*make)();
        bool has_driver = false;
        try {
          has_driver = made.get().engine.has_value();
        } catch (std::exception const&) {  // whoever takes the engine says why there is none
        }
        make.reset();  // and what both hold of the engine
        made = {};
        if (has_driver) stay();
      }).detach();
    else
      (*make)();
  } catch (std::exception const&) {
    (*make)();  // the process may have no further thread, or no memory for one
  }
}

void EngineStart::let_drivers_load() {
  if (!drivers_loaded_.valid()) return;
  Stopwatch const waiting;
  drivers_loaded_.wait();
  times_.waited_ns += waiting.elapsed_ns();
}

bool EngineStart::is_on_its_way() const { return !is_ready(made_); }

Result<std::shared_ptr<Engine>> EngineStart::take() {
  Stopwatch const waiting;
  auto const& made = made_.get();
  times_ = {is_new_ ? made.made_ns : 0, is_new_ ? made.opened_ns : 0, times_.waited_ns + waiting.elapsed_ns()};
  return made.engine;
}

SharedEngine::SharedEngine() { kept_.emplace(); }

SharedEngine::~SharedEngine() {
  vk::leave_devices_to_process_end();
  kept_.reset();
}

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
