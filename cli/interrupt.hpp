// Ctrl-C, or a terminal that goes: the first asks the work to stop and ends the process when it has not soon; the
// second ends it at once.
#pragma once

#include <atomic>
#include <filesystem>

namespace garuda::cli {

/// Makes SIGINT, SIGTERM and SIGHUP (unless it is ignored, as under nohup) set the flag below. A second one of them, or
/// 100 ms without an end, delete the file of the TemporaryFileGuard that is alive and exit with 130. Writes to closed
/// pipes and to too large files become errors instead of signals.
void install_signal_handlers() noexcept;

/// Makes an input file that is cut off while it is mapped end the process with a sentence and exit code 3, and lack of
/// memory or threads that nobody catches with exit code 5, without the
/// file of the TemporaryFileGuard that is alive: oneTBB's workers start one another, and where that fails they throw
/// out of their threads, and others abort. Any other exception or abort ends the process as before.
void install_terminate_handler() noexcept;

/// From now on what other threads lack does not end the process: the result is whole, and what is left for this thread
/// to do needs none of them. A worker that cannot start another one may say so at any later time.
void keep_the_result() noexcept;

/// Set by the first signal. For Control::cancelled and ReadOptions::cancelled.
std::atomic<bool> const& interrupted() noexcept;

/// True for the first caller: whoever may write the sentence that says that the run was interrupted.
bool claim_interrupt_sentence() noexcept;

/// Lets the handlers delete a temporary file when they end the process. One at a time, to outlive the os::OutputFile: a
/// handler on another thread may end the process while this one is still about to delete the file itself.
class TemporaryFileGuard {
 public:
  explicit TemporaryFileGuard(std::filesystem::path path);
  ~TemporaryFileGuard();
  TemporaryFileGuard(TemporaryFileGuard const&) = delete;
  TemporaryFileGuard& operator=(TemporaryFileGuard const&) = delete;
};

}  // namespace garuda::cli
