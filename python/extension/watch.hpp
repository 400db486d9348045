// Long calls from Python: without the global lock, ended by signals, with progress.
#pragma once

#include <Python.h>
#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "garuda/control.hpp"
#include "python/extension/failure.hpp"

namespace garuda::python {

/// Runs `call`, which takes the global lock or runs Python. An interpreter that ends stops the other threads there;
/// until Python 3.14 by pthread_exit, which unwinds all frames, and destructors and handlers of C++ in its way end the
/// process by std::terminate. Such a thread waits here for the end of the process, as it does in Python 3.14.
template <class Call>
decltype(auto) in_python(Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (abi::__forced_unwind const&) {
    while (true) ::pause();
  }
}

/// Gives the global lock back and takes it again. Requires: this thread holds it.
class Unlocked {
 public:
  Unlocked() noexcept : state_(PyEval_SaveThread()) {}
  Unlocked(Unlocked const&) = delete;
  Unlocked& operator=(Unlocked const&) = delete;
  ~Unlocked() {
    in_python([this] { PyEval_RestoreThread(state_); });
  }

 private:
  PyThreadState* state_;
};

/// Takes the global lock, on any thread, with it or without.
class Locked {
 public:
  Locked() noexcept : is_held_(Py_IsInitialized() != 0) {
    if (is_held_) state_ = in_python([] { return PyGILState_Ensure(); });
  }
  Locked(Locked const&) = delete;
  Locked& operator=(Locked const&) = delete;
  ~Locked() {
    if (is_held_) PyGILState_Release(state_);
  }

  /// False: the interpreter is at its end, and nothing of it may be touched.
  explicit operator bool() const noexcept { return is_held_; }

 private:
  bool is_held_;
  PyGILState_STATE state_ = PyGILState_LOCKED;
};

/// The one that runs Python's handlers of signals.
bool is_main_thread() noexcept;

/// A flag that ends a call.
using Cancelled = std::shared_ptr<std::atomic<bool>>;

/// A call that goes on, while this lives: the end of the interpreter ends it.
class Going {
 public:
  explicit Going(Cancelled cancelled);
  Going(Going const&) = delete;
  Going& operator=(Going const&) = delete;
  ~Going();

 private:
  Cancelled cancelled_;
};

/// Ends a call early, and hears of its progress; outlives the call, which holds it, and its result.
class Watch {
 public:
  /// `on_progress`: called as f(phase, done, total, rows_out) -> bool, False: stop; None: not called. `is_brief`: the
  /// call takes some hundredths of a second at most, so signals can wait for its end.
  explicit Watch(nanobind::object on_progress, bool is_brief = false)
      : on_progress_(std::move(on_progress)), is_brief_(is_brief) {}
  Watch(Watch const&) = delete;
  Watch& operator=(Watch const&) = delete;
  /// May be called with the global lock or without.
  ~Watch();

  /// A reference to this, for the options of the call.
  Control control();
  Cancelled const& cancelled() const noexcept { return cancelled_; }

  /// Runs `work`, which throws nothing, in place or by another thread; see `run`. Requires: the global lock is held.
  void run_work(std::function<void()> work);

 private:
  struct Event {
    std::string phase;
    std::uint64_t done, total, rows_out;
  };

  /// Waits until `work` has ended in a thread of its own, or was left to it.
  void wait_for(std::function<void()> work);
  /// Signals and progress; throws what they throw.
  void attend();

  nanobind::object on_progress_;
  bool is_brief_;
  Cancelled cancelled_ = std::make_shared<std::atomic<bool>>(false);
  std::mutex mutex_;
  std::optional<Event> latest_;  // not handed on yet
};

/// Shared with the call: it may go on when the caller has left.
using SharedWatch = std::shared_ptr<Watch>;
inline SharedWatch watching(nanobind::object on_progress = nanobind::none(), bool is_brief = false) {
  return std::make_shared<Watch>(std::move(on_progress), is_brief);
}

/// The call that `run` runs; lives as long as either side needs it.
template <class Call>
struct Work {
  Call call;
  std::optional<decltype(std::declval<Call&>()())> outcome{};
  std::exception_ptr thrown{};
};

/// Runs `call`, which gives a Result<T>, without the global lock and returns its T. A call of the main thread that is
/// not brief, or whose progress is wanted, is worked on by another thread: waking it takes longer than a small join.
/// This one looks every some milliseconds after Python's signals and hands progress on; an exception that comes of
/// these ends the call, and is thrown when it has ended or, where it is within what cannot be ended (a driver that
/// compiles, a library that reads), a tenth of a second later: then it goes on to its end without anyone who waits. So
/// `call` owns or shares all that it uses, the watch included. Requires: the global lock is held. Throws Failure,
/// nanobind::python_error.
template <class Call>
auto run(Watch& watch, Call call) {
  auto const work = std::make_shared<Work<Call>>(Work<Call>{std::move(call)});
  watch.run_work([work] {
    try {
      work->outcome.emplace(work->call());
    } catch (...) {
      work->thrown = std::current_exception();
    }
  });
  if (work->thrown) raise_thrown(work->thrown);
  return unwrap(*std::move(work->outcome));
}

/// Waits for the calls that were left, before the process ends beneath them; a signal ends that.
void wait_for_left_calls();

/// Ends the calls of daemon threads and waits for them, once the interpreter has ended and before libraries do.
void end_calls_with_interpreter();

}  // namespace garuda::python
