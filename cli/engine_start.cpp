#include "cli/engine_start.hpp"

#include <system_error>
#include <thread>
#include <utility>

#include "core/stopwatch.hpp"
#include "vk_runtime/device/process_end.hpp"

namespace garuda::cli {

std::optional<SharedEngine::Last> SharedEngine::last_;

bool SharedEngine::Last::serves(EngineStart::Wanted const& wanted) const noexcept {
  return engine != nullptr && (made_for.devices || !wanted.devices) &&
         made_for.kept_beside_limit_bytes == wanted.kept_beside_limit_bytes;
}

EngineStart::EngineStart(RunOptions const& options, std::uint64_t kept_beside_limit_bytes)
    : wanted_{options.path != Path::cpu, kept_beside_limit_bytes} {
  vk::leave_devices_to_process_end();
  if (SharedEngine::last_ && SharedEngine::last_->serves(wanted_)) {
    std::promise<Made> made;
    made.set_value({SharedEngine::last_->engine, 0});
    made_ = made.get_future();
    return;
  }
  // Shared with the thread, which may still be at it when this has gone.
  auto const make = std::make_shared<std::packaged_task<Made()>>([wanted = wanted_]() -> Made {
    Stopwatch const watch;
    auto engine = Engine::create({.vulkan = wanted.devices,
                                  .calibrate_in_background = false,
                                  .kept_beside_limit_bytes = wanted.kept_beside_limit_bytes});
    if (!engine) return {tl::unexpected(std::move(engine).error()), watch.elapsed_ns()};
    return {std::make_shared<Engine>(*std::move(engine)), watch.elapsed_ns()};
  });
  made_ = make->get_future();
  try {
    if (wanted_.devices)
      std::thread([make] { (*make)(); }).detach();
    else
      (*make)();
  } catch (std::system_error const&) {
    (*make)();  // the process may have no further thread
  }
}

Result<std::shared_ptr<Engine>> EngineStart::take() {
  Stopwatch const waiting;
  auto made = made_.get();
  times_ = {made.ns, waiting.elapsed_ns()};
  if (made.engine && SharedEngine::last_ && SharedEngine::last_->engine != *made.engine)
    *SharedEngine::last_ = {*made.engine, wanted_};
  return std::move(made.engine);
}

SharedEngine::SharedEngine() { last_.emplace(); }
SharedEngine::~SharedEngine() { last_.reset(); }

}  // namespace garuda::cli
