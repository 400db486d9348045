// One process at a time measures without being asked, and none again soon where it did not work.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "core/os/file_lock.hpp"

namespace garuda::rates {

/// Held from take() to its end; lost with the process. Movable.
class MeasuringLock {
 public:
  /// The lock of `folder`, which is made where it is missing; nothing while another process has it, or where nothing
  /// can be written. Does not wait.
  static std::optional<MeasuringLock> take(std::filesystem::path const& folder);

  /// Whether `file` of the folder, which measuring would write, could not be measured by this version of garuda within
  /// the last day.
  bool failed_lately(std::string const& file) const;
  /// Says that it could not be measured now.
  void remember_failure(std::string const& file) const;

 private:
  MeasuringLock(std::filesystem::path folder, os::FileLock lock) : folder_(std::move(folder)), lock_(std::move(lock)) {}

  std::filesystem::path folder_;
  os::FileLock lock_;
};

}  // namespace garuda::rates
