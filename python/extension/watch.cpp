#include "python/extension/watch.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <thread>
#include <vector>

namespace nb = nanobind;

namespace garuda::python {
namespace {

/// How long a signal waits at most before it is looked at.
constexpr std::chrono::milliseconds kAttention{25};
/// How long a call that has to end is waited for, before it is left.
constexpr std::chrono::milliseconds kPatience{100};
/// How long the end of the process waits for calls of threads that the interpreter has stopped. Those that were told to
/// end do so within some tens of milliseconds; one that waits for the interpreter never does.
constexpr std::chrono::milliseconds kLastPatience{2'000};

/// Threads that wait for work: starting one takes longer than a small join. Never destroyed, because idle ones live to
/// the end of the process.
class Helpers {
 public:
  static Helpers& instance() {
    static auto& helpers = *new Helpers;
    return helpers;
  }

  /// `work` throws nothing.
  void start(std::function<void()> work) {
    mark_used();  // a forked process has the queue, and none of the threads
    std::lock_guard const lock(mutex_);
    if (idle_ <= waiting_.size()) std::thread([this] { serve(); }).detach();
    waiting_.push_back(std::move(work));
    wake_.notify_one();
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      ++idle_;
      wake_.wait(lock, [&] { return !waiting_.empty(); });
      --idle_;
      auto work = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      work();
      work = nullptr;  // without the mutex: what it held may need the global lock to go
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> waiting_;
  std::size_t idle_ = 0;
};

/// The calls that go on, of all threads.
class Calls {
 public:
  static Calls& instance() {
    static auto& calls = *new Calls;  // calls may end after all else
    return calls;
  }

  void add(Cancelled const& call) {
    std::lock_guard const lock(mutex_);
    going_.push_back({call, false});
    if (is_ending_) *call = true;
  }
  void remove(Cancelled const& call) {
    std::lock_guard const lock(mutex_);
    going_.erase(find(call));
    ended_.notify_all();
  }
  /// Nobody waits for the end of `call` any more.
  void leave(Cancelled const& call) {
    std::lock_guard const lock(mutex_);
    find(call)->was_left = true;
  }
  /// False: some of those that were left are still there.
  bool wait_for_left(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return ended_.wait_for(lock, time, [&] { return std::ranges::none_of(going_, &Call::was_left); });
  }
  void begin() {
    std::lock_guard const lock(mutex_);
    is_ending_ = false;
  }
  /// Ends those that go on and those that follow; waits for `time` at most.
  void end(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    is_ending_ = true;
    for (auto const& call : going_) *call.cancelled = true;
    ended_.wait_for(lock, time, [&] { return going_.empty(); });
  }

 private:
  struct Call {
    Cancelled cancelled;
    bool was_left;
  };
  std::vector<Call>::iterator find(Cancelled const& call) { return std::ranges::find(going_, call, &Call::cancelled); }

  std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<Call> going_;
  bool is_ending_ = false;
};

/// Where a call of another thread is at.
struct Progression {
  explicit Progression(Cancelled const& cancelled) : going(std::in_place, cancelled) {}

  std::mutex mutex;
  std::condition_variable ended;
  bool has_ended = false;
  std::optional<Going> going;
};

}  // namespace

bool is_main_thread() noexcept { return ::gettid() == ::getpid(); }

Going::Going(Cancelled cancelled) : cancelled_(std::move(cancelled)) { Calls::instance().add(cancelled_); }
Going::~Going() { Calls::instance().remove(cancelled_); }

Watch::~Watch() {
  if (Locked const locked; locked)
    in_python([this] { on_progress_.reset(); });
  else
    (void)on_progress_.release();
}

Control Watch::control() {
  Control control{.cancelled = cancelled_.get()};
  if (!on_progress_.is_none())
    control.on_progress = [this](Progress const& progress) {
      std::lock_guard const lock(mutex_);
      latest_ = Event{std::string(progress.phase), progress.done, progress.total, progress.rows_out};
    };
  return control;
}

void Watch::attend() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  if (on_progress_.is_none()) return;
  std::optional<Event> event;
  {
    std::lock_guard const lock(mutex_);
    std::swap(event, latest_);
  }
  if (!event) return;
  bool const goes_on = in_python(
      [&] { return nb::cast<bool>(on_progress_(event->phase.c_str(), event->done, event->total, event->rows_out)); });
  if (!goes_on) *cancelled_ = true;
}

void Watch::run_work(std::function<void()> work) {
  require_not_forked();
  if ((is_main_thread() && !is_brief_) || !on_progress_.is_none()) return wait_for(std::move(work));
  std::optional<Going> going(std::in_place, cancelled_);
  Unlocked const unlocked;
  work();
  going.reset();  // before the lock, for which a thread may wait for ever
}

void Watch::wait_for(std::function<void()> work) {
  auto const progression = std::make_shared<Progression>(cancelled_);
  Helpers::instance().start([work = std::move(work), progression]() mutable {
    work();
    work = nullptr;  // what a call holds that was left goes before that call is at its end
    std::lock_guard const lock(progression->mutex);
    progression->has_ended = true;
    progression->ended.notify_one();
    progression->going.reset();
  });
  std::exception_ptr thrown;
  std::chrono::steady_clock::time_point last{};
  while (true) {
    {
      Unlocked const unlocked;
      std::unique_lock lock(progression->mutex);
      if (progression->ended.wait_for(lock, kAttention, [&] { return progression->has_ended; })) break;
      if (thrown && std::chrono::steady_clock::now() > last) {
        Calls::instance().leave(cancelled_);
        break;
      }
    }
    if (thrown) continue;
    try {
      attend();
    } catch (...) {
      thrown = std::current_exception();
      *cancelled_ = true;
      last = std::chrono::steady_clock::now() + kPatience;
    }
  }
  if (thrown) std::rethrow_exception(thrown);
  attend();  // to the last of the progress, and to a signal that came meanwhile
}

void wait_for_left_calls() {
  // Daemon threads keep what they hold to the end of the process, which is no leak.
  if (nb::cast<int>(nb::module_::import_("threading").attr("active_count")()) > 1) nb::set_leak_warnings(false);
  while (!is_forked()) {
    {
      Unlocked const unlocked;
      if (Calls::instance().wait_for_left(kAttention)) return;
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

void end_calls_with_interpreter() {
  Calls::instance().begin();
  static bool const is_registered = Py_AtExit([] { Calls::instance().end(kLastPatience); }) == 0;
  (void)is_registered;
}

}  // namespace garuda::python
