#include "python/extension/watch.hpp"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <thread>

namespace nb = nanobind;

namespace garuda::python {
namespace {

/// How long a signal waits at most before it is looked at.
constexpr std::chrono::milliseconds kAttention{25};
/// How long a call that has to end is waited for, before it is left.
constexpr std::chrono::milliseconds kPatience{100};

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

/// Where a call of another thread is at.
struct Progression {
  std::mutex mutex;
  std::condition_variable ended;
  bool has_ended = false;
  bool was_left = false;
};

/// Calls that go on without anyone who waits for their end.
class LeftCalls {
 public:
  static LeftCalls& instance() {
    static auto& calls = *new LeftCalls;  // calls may end after all else
    return calls;
  }

  void add() {
    std::lock_guard const lock(mutex_);
    ++count_;
  }
  void remove() {
    std::lock_guard const lock(mutex_);
    --count_;
    ended_.notify_all();
  }
  /// False: some are still there.
  bool wait_for(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return ended_.wait_for(lock, time, [&] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  std::size_t count_ = 0;
};

}  // namespace

bool is_main_thread() noexcept { return ::gettid() == ::getpid(); }

Watch::~Watch() {
  if (Py_IsInitialized() == 0) {
    (void)on_progress_.release();
    return;
  }
  nb::gil_scoped_acquire const locked;
  on_progress_.reset();
}

Control Watch::control() {
  Control control{.cancelled = &cancelled_};
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
  if (event && !nb::cast<bool>(on_progress_(event->phase.c_str(), event->done, event->total, event->rows_out)))
    cancelled_ = true;
}

void Watch::run_work(std::function<void()> work) {
  require_not_forked();
  if ((is_main_thread() && !is_brief_) || !on_progress_.is_none()) return wait_for(std::move(work));
  nb::gil_scoped_release const unlocked;
  work();
}

void Watch::wait_for(std::function<void()> work) {
  auto const progression = std::make_shared<Progression>();
  Helpers::instance().start([work = std::move(work), progression]() mutable {
    work();
    work = nullptr;  // what a call holds that was left goes before that call is at its end
    std::lock_guard const lock(progression->mutex);
    progression->has_ended = true;
    progression->ended.notify_one();
    if (progression->was_left) LeftCalls::instance().remove();
  });
  std::exception_ptr thrown;
  std::chrono::steady_clock::time_point last{};
  while (true) {
    {
      nb::gil_scoped_release const unlocked;
      std::unique_lock lock(progression->mutex);
      if (progression->ended.wait_for(lock, kAttention, [&] { return progression->has_ended; })) break;
      if (thrown && std::chrono::steady_clock::now() > last) {
        progression->was_left = true;
        LeftCalls::instance().add();
        break;
      }
    }
    if (thrown) continue;
    try {
      attend();
    } catch (...) {
      thrown = std::current_exception();
      cancelled_ = true;
      last = std::chrono::steady_clock::now() + kPatience;
    }
  }
  if (thrown) std::rethrow_exception(thrown);
  attend();  // to the last of the progress, and to a signal that came meanwhile
}

void wait_for_left_calls() {
  while (!is_forked()) {
    {
      nb::gil_scoped_release const unlocked;
      if (LeftCalls::instance().wait_for(kAttention)) return;
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

}  // namespace garuda::python
