#include "core/os/signals.hpp"

#include <execinfo.h>

#include <cerrno>
#include <csignal>
#include <ctime>

namespace garuda::os {
namespace {

// A signal handler has no argument to find its state by, so this state is the process's.
Handler on_interrupt = nullptr;
Handler on_alarm = nullptr;
Handler on_abort = nullptr;
Handler on_cut_file = nullptr;
timer_t alarm_timer{};
bool has_alarm_timer = false;

extern "C" void interrupt_signal(int) {
  int const saved = errno;
  on_interrupt();
  errno = saved;
}

extern "C" void alarm_signal(int) { on_alarm(); }

extern "C" void abort_signal(int) { on_abort(); }

/// Any other such error is a bug, and goes on.
extern "C" void bus_error_signal(int, siginfo_t* info, void*) {
  if (info->si_code == BUS_ADRERR) on_cut_file();
  ::signal(SIGBUS, SIG_DFL);
}

void handle(int signal_number, void (*handler)(int)) noexcept {
  struct sigaction action {};
  action.sa_handler = handler;
  ::sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  ::sigaction(signal_number, &action, nullptr);
}

}  // namespace

void handle_interrupts(Handler handler) noexcept {
  on_interrupt = handler;
  handle(SIGINT, interrupt_signal);
  handle(SIGTERM, interrupt_signal);
  // nohup has it ignored, and means it.
  struct sigaction hang_up {};
  if (::sigaction(SIGHUP, nullptr, &hang_up) != 0 || hang_up.sa_handler != SIG_IGN) handle(SIGHUP, interrupt_signal);
  handle(SIGPIPE, SIG_IGN);
  handle(SIGXFSZ, SIG_IGN);
}

void handle_alarm(Handler handler) noexcept {
  on_alarm = handler;
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGALRM;
  handle(SIGALRM, alarm_signal);
  has_alarm_timer = ::timer_create(CLOCK_MONOTONIC, &event, &alarm_timer) == 0;
}

void start_alarm(std::chrono::nanoseconds time) noexcept {
  auto const seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  itimerspec when{};
  when.it_value.tv_sec = seconds.count();
  when.it_value.tv_nsec = (time - seconds).count();
  if (has_alarm_timer) ::timer_settime(alarm_timer, 0, &when, nullptr);
}

void handle_abort(Handler handler) noexcept {
  on_abort = handler;
  handle(SIGABRT, abort_signal);
}

void handle_cut_file(Handler handler) noexcept {
  on_cut_file = handler;
  struct sigaction action {};
  action.sa_sigaction = bus_error_signal;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}

void prepare_thread_ends() noexcept {
  // glibc opens the unwinder's library.
  void* frame = nullptr;
  ::backtrace(&frame, 1);
}

}  // namespace garuda::os
