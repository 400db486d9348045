#include "core/os/signals.hpp"

#include <csignal>

#include "core/os/windows/windows.hpp"

namespace garuda::os {
namespace {

// A handler has no argument to find its state by, so this state is the process's.
Handler on_interrupt = nullptr;
Handler on_alarm = nullptr;
Handler on_abort = nullptr;
Handler on_cut_file = nullptr;
PTP_TIMER alarm_timer = nullptr;

BOOL WINAPI console_event(DWORD) {
  on_interrupt();
  return TRUE;
}

void CALLBACK alarm_over(PTP_CALLBACK_INSTANCE, void*, PTP_TIMER) { on_alarm(); }

void abort_signal(int) { on_abort(); }

LONG CALLBACK exception_raised(EXCEPTION_POINTERS* exception) {
  if (exception->ExceptionRecord->ExceptionCode == static_cast<DWORD>(EXCEPTION_IN_PAGE_ERROR)) on_cut_file();
  return EXCEPTION_CONTINUE_SEARCH;
}

}  // namespace

void handle_interrupts(Handler handler) noexcept {
  on_interrupt = handler;
  ::SetConsoleCtrlHandler(console_event, TRUE);
}

void handle_alarm(Handler handler) noexcept {
  on_alarm = handler;
  alarm_timer = ::CreateThreadpoolTimer(alarm_over, nullptr, nullptr);
}

void start_alarm(std::chrono::nanoseconds time) noexcept {
  constexpr std::int64_t kTickNs = 100;
  if (alarm_timer == nullptr) return;
  ULARGE_INTEGER ticks{};
  ticks.QuadPart = static_cast<ULONGLONG>(-(time.count() / kTickNs));  // negative: from now on
  FILETIME when{ticks.LowPart, ticks.HighPart};
  ::SetThreadpoolTimer(alarm_timer, &when, 0, 0);
}

void handle_abort(Handler handler) noexcept {
  on_abort = handler;
  std::signal(SIGABRT, abort_signal);
}

void handle_cut_file(Handler handler) noexcept {
  on_cut_file = handler;
  ::AddVectoredExceptionHandler(1, exception_raised);
}

void prepare_thread_ends() noexcept {}

}  // namespace garuda::os
