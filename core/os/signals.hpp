// Events that end a process: Ctrl-C, a terminal that goes, aborts, mapped files that are cut off. Their handlers
// may come at any moment, on Windows on a thread of their own, and call only what a signal handler may call.
#pragma once

#include <chrono>

namespace garuda::os {

using Handler = void (*)();

/// Has `handler` called when the process is asked to end: SIGINT, SIGTERM and SIGHUP (unless it is ignored, as under
/// nohup); on Windows Ctrl-C, Ctrl-Break and a console that is closed. Writes to closed pipes and to too large files
/// become errors instead of signals.
void handle_interrupts(Handler handler) noexcept;

/// Has `handler` called once a time set by start_alarm has passed. One a process.
void handle_alarm(Handler handler) noexcept;
/// May be called by a handler; without effect before handle_alarm.
void start_alarm(std::chrono::nanoseconds time) noexcept;

/// Has `handler` called when the process aborts, which goes on when it returns.
void handle_abort(Handler handler) noexcept;

/// Has `handler` called when a mapped file lacks the bytes that are read; the process ends when it returns.
void handle_cut_file(Handler handler) noexcept;

/// Opens what the C library would open when a thread first ends by a call, and abort without room for it.
void prepare_thread_ends() noexcept;

}  // namespace garuda::os
