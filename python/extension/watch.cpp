#include "python/extension/watch.hpp"

#include <unistd.h>

#include <chrono>
#include <deque>
#include <thread>

namespace nb = nanobind;

namespace garuda::python {
namespace {

/// How long a signal waits at most before it is looked at.
constexpr std::chrono::milliseconds kAttention{25};

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
      auto const work = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      work();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> waiting_;
  std::size_t idle_ = 0;
};

/// Python runs handlers of signals in the main thread alone.
bool is_main_thread() { return ::gettid() == ::getpid(); }

}  // namespace

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

void Watch::run_work(std::function<void()> const& work) {
  require_not_forked();
  std::exception_ptr thrown;
  auto const guarded = [&] {
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
  };
  if ((is_main_thread() && !is_brief_) || !on_progress_.is_none()) {
    wait_for(guarded);
  } else {
    nb::gil_scoped_release const unlocked;
    guarded();
  }
  if (!thrown) return;
  try {
    std::rethrow_exception(thrown);
  } catch (Failure const&) {
    throw;
  } catch (...) {
    raise_current();
  }
}

void Watch::wait_for(std::function<void()> const& work) {
  std::mutex mutex;
  std::condition_variable ended;
  bool has_ended = false;
  Helpers::instance().start([&] {
    work();
    std::lock_guard const lock(mutex);
    has_ended = true;
    ended.notify_one();
  });
  std::exception_ptr thrown;
  for (bool over = false; !over;) {
    {
      nb::gil_scoped_release const unlocked;
      std::unique_lock lock(mutex);
      over = ended.wait_for(lock, kAttention, [&] { return has_ended; });
    }
    if (thrown) continue;
    try {
      attend();
    } catch (...) {
      thrown = std::current_exception();
      cancelled_ = true;
    }
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace garuda::python
