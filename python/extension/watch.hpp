// Long calls from Python: without the global lock, ended by signals, with progress.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "garuda/control.hpp"
#include "python/extension/failure.hpp"

namespace garuda::python {

/// What ends a call early, and hears of its progress; outlives the result of the call.
class Watch {
 public:
  /// `on_progress`: called as f(phase, done, total, rows_out) -> bool, False: stop; None: not called. `is_brief`: the
  /// call takes some hundredths of a second at most, so signals can wait for its end.
  explicit Watch(nanobind::object on_progress, bool is_brief = false)
      : on_progress_(std::move(on_progress)), is_brief_(is_brief) {}
  Watch(Watch const&) = delete;
  Watch& operator=(Watch const&) = delete;
  /// With the global lock or without.
  ~Watch();

  /// For the options of the call: a reference to this.
  Control control();

  /// Runs `call`, which gives a Result<T>, without the global lock and returns its T. A call of the main thread that is
  /// not brief, or whose progress is wanted, is worked on by another thread: waking it takes longer than a small join.
  /// This one looks every some milliseconds after Python's signals and hands progress on; an exception that comes of
  /// these ends the call, and is thrown when it has ended. Requires: the global lock is held. Throws Failure,
  /// nanobind::python_error.
  template <class Call>
  auto run(Call call) {
    std::optional<decltype(call())> result;
    run_work([&] { result.emplace(call()); });
    return unwrap(*std::move(result));
  }

 private:
  struct Event {
    std::string phase;
    std::uint64_t done, total, rows_out;
  };

  void run_work(std::function<void()> const& work);
  /// Waits until `work` has ended in a thread of its own.
  void wait_for(std::function<void()> const& work);
  /// Signals and progress; throws what they throw.
  void attend();

  nanobind::object on_progress_;
  bool is_brief_;
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;
  std::optional<Event> latest_;  // not handed on yet
};

}  // namespace garuda::python
