#include "cli/engine_start.hpp"

#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "core/stopwatch.hpp"
#include "vk_runtime/device/process_end.hpp"

namespace garuda::cli {

EngineStart::EngineStart(RunOptions const& options, std::uint64_t kept_beside_limit_bytes) {
  vk::leave_devices_to_process_end();
  bool const has_devices = options.path != Path::cpu;
  // Shared with the thread, which may still be at it when this has gone.
  auto const make = std::make_shared<std::packaged_task<Made()>>([has_devices, kept_beside_limit_bytes] {
    Stopwatch const watch;
    auto engine = Engine::create(
        {.vulkan = has_devices, .calibrate_in_background = false, .kept_beside_limit_bytes = kept_beside_limit_bytes});
    return Made{std::move(engine), watch.elapsed_ns()};
  });
  made_ = make->get_future();
  try {
    if (has_devices)
      std::thread([make] { (*make)(); }).detach();
    else
      (*make)();
  } catch (std::system_error const&) {
    (*make)();  // the process may have no further thread
  }
}

Result<Engine> EngineStart::take() {
  Stopwatch const waiting;
  auto made = made_.get();
  times_ = {made.ns, waiting.elapsed_ns()};
  return std::move(made.engine);
}

}  // namespace garuda::cli
