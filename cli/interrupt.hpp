// Ctrl-C: the first asks the work to stop, the second ends the process.
#pragma once

#include <atomic>
#include <string>

namespace garuda::cli {

/// Makes SIGINT and SIGTERM set the flag below, a second one of them delete the file of the TemporaryFileGuard that is
/// alive and exit with 130 at once. Writes to closed pipes and to too large files become errors instead of signals.
void install_signal_handlers() noexcept;

/// Set by the first signal. For Control::cancelled and ReadOptions::cancelled.
std::atomic<bool> const& interrupted() noexcept;

/// Lets the signal handler delete a temporary file. One at a time.
class TemporaryFileGuard {
 public:
  explicit TemporaryFileGuard(std::string const& path) noexcept;
  ~TemporaryFileGuard();
  TemporaryFileGuard(TemporaryFileGuard const&) = delete;
  TemporaryFileGuard& operator=(TemporaryFileGuard const&) = delete;

 private:
  std::string path_;
};

}  // namespace garuda::cli
