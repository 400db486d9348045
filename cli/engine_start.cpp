#include "cli/engine_start.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "core/stopwatch.hpp"
#include "vk_runtime/device/instance.hpp"

namespace garuda::cli {

namespace {

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

}  // namespace garuda::cli
