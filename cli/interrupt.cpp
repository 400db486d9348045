#include "cli/interrupt.hpp"

#include <execinfo.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "cli/exit_code.hpp"
#include "cli/terminal/terminal.hpp"
#include "core/shortage.hpp"

namespace garuda::cli {
namespace {

// A signal handler has no argument to find its state by, so this state is the process's.
std::atomic<bool> interrupt_flag{false};
std::atomic<bool> sentence_claimed{false};
std::atomic<char const*> temporary_file{nullptr};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<char const*>::is_always_lock_free);
timer_t grace_timer{};
bool has_grace_timer = false;

constexpr int kExitInterrupted = 130;
/// For the work to stop by itself. Whoever presses Ctrl-C waits no longer than about 200 ms, the freeing of the
/// process's memory included, and most phases look at the flag every few; a row group of Parquet, a driver's compiler
/// or a batch of long strings can take seconds.
constexpr long kGraceNs = 100'000'000;

std::terminate_handler usual_terminate = nullptr;

/// Calls functions only that a signal handler may call.
[[noreturn]] void end_at_once(int code = kExitInterrupted) noexcept {
  if (auto const* path = temporary_file.load()) ::unlink(path);
  ::_exit(code);
}

/// Other threads go on meanwhile, and may come here too: the first one speaks.
[[noreturn]] void on_terminate() {
  static std::atomic_flag entered;
  std::optional<int> code;
  try {
    if (auto const shortage = current_shortage()) {
      if (entered.test_and_set()) std::this_thread::sleep_for(std::chrono::hours(1));
      code = report(*shortage);
    }
  } catch (...) {  // not even the sentence finds memory
    write_error("garuda: out of host memory\n");
    code = exit_code(ErrorCode::out_of_memory);
  }
  if (code) end_at_once(*code);
  usual_terminate();
  std::abort();
}

/// What a thread of a library reserves for its heap and stack, about.
constexpr std::size_t kThreadBytes = std::size_t{128} << 20;

/// The C library and Arrow's checks abort where they find no memory; any other abort is a bug, and goes on.
extern "C" void on_abort(int) {
  if (::mmap(nullptr, kThreadBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED)
    return;
  if (!has_reported()) write_error("garuda: out of host memory\n");
  end_at_once(exit_code(ErrorCode::out_of_memory));
}

/// Files are mapped, and somebody has cut off what is read of one. Any other such error is a bug, and goes on.
extern "C" void on_bus_error(int, siginfo_t* info, void*) {
  if (info->si_code == BUS_ADRERR) {
    if (!has_reported()) write_error("garuda: an input file became shorter while it was read\n");
    end_at_once(exit_code(ErrorCode::invalid_input));
  }
  ::signal(SIGBUS, SIG_DFL);
}

extern "C" void on_interrupt(int) {
  if (interrupt_flag.exchange(true)) end_at_once();
  int const saved = errno;
  itimerspec grace{};
  grace.it_value.tv_nsec = kGraceNs;
  if (has_grace_timer) ::timer_settime(grace_timer, 0, &grace, nullptr);
  errno = saved;
}

extern "C" void on_grace_over(int) {
  if (claim_interrupt_sentence()) write_error("garuda: interrupted\n");
  end_at_once();
}

void handle(int signal_number, void (*handler)(int)) noexcept {
  struct sigaction action {};
  action.sa_handler = handler;
  ::sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  ::sigaction(signal_number, &action, nullptr);
}

}  // namespace

void install_signal_handlers() noexcept {
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGALRM;
  handle(SIGALRM, on_grace_over);
  has_grace_timer = ::timer_create(CLOCK_MONOTONIC, &event, &grace_timer) == 0;
  handle(SIGINT, on_interrupt);
  handle(SIGTERM, on_interrupt);
  // nohup has it ignored, and means it.
  struct sigaction hang_up {};
  if (::sigaction(SIGHUP, nullptr, &hang_up) != 0 || hang_up.sa_handler != SIG_IGN) handle(SIGHUP, on_interrupt);
  handle(SIGPIPE, SIG_IGN);
  handle(SIGXFSZ, SIG_IGN);
}

void install_terminate_handler() noexcept {
  usual_terminate = std::set_terminate(on_terminate);
  handle(SIGABRT, on_abort);
  struct sigaction bus_error {};
  bus_error.sa_sigaction = on_bus_error;
  bus_error.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &bus_error, nullptr);
  // glibc opens the unwinder's library when a thread first exits by a call, and aborts when there is no room for it
  // then; so it is opened now.
  void* frame = nullptr;
  ::backtrace(&frame, 1);
}

std::atomic<bool> const& interrupted() noexcept { return interrupt_flag; }

bool claim_interrupt_sentence() noexcept { return !sentence_claimed.exchange(true); }

TemporaryFileGuard::TemporaryFileGuard(std::string path) {
  GARUDA_EXPECTS(temporary_file.load() == nullptr);
  // Never freed: a handler on another thread may be reading it when the guard goes.
  static auto& kept = *new std::string;
  kept = std::move(path);
  temporary_file.store(kept.c_str());
}

TemporaryFileGuard::~TemporaryFileGuard() { temporary_file.store(nullptr); }

}  // namespace garuda::cli
