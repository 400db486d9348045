// A lock on a file, among processes.
#pragma once

#include <filesystem>
#include <optional>

namespace garuda::os {

/// Held until it is destroyed; lost with the process. Movable.
class FileLock {
 public:
  /// Locks `file`, which is made where it is missing; nothing while another process has it, or where it cannot be
  /// written. Does not wait.
  static std::optional<FileLock> take(std::filesystem::path const& file);

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) noexcept : descriptor_(descriptor) {}

  int descriptor_;
};

}  // namespace garuda::os
