#include "cli/interrupt.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace garuda::cli {
namespace {

// A signal handler has no argument to find its state by, so this state is the process's.
std::atomic<bool> interrupt_flag{false};
std::atomic<char const*> temporary_file{nullptr};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<char const*>::is_always_lock_free);

constexpr int kExitInterrupted = 130;

extern "C" void on_interrupt(int) {
  int const saved = errno;
  if (interrupt_flag.exchange(true)) {
    if (auto const* path = temporary_file.load()) ::unlink(path);
    ::_exit(kExitInterrupted);
  }
  errno = saved;
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
  handle(SIGINT, on_interrupt);
  handle(SIGTERM, on_interrupt);
  handle(SIGPIPE, SIG_IGN);
  handle(SIGXFSZ, SIG_IGN);
}

std::atomic<bool> const& interrupted() noexcept { return interrupt_flag; }

TemporaryFileGuard::TemporaryFileGuard(std::string const& path) noexcept : path_(path) {
  temporary_file.store(path_.c_str());
}

TemporaryFileGuard::~TemporaryFileGuard() { temporary_file.store(nullptr); }

}  // namespace garuda::cli
