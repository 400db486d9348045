// The limit on threads that --threads sets, of those that read and write files beside oneTBB's.
#pragma once

#include <cstdint>

#include "garuda/error.hpp"

namespace garuda::cli {

/// Limits the threads of Arrow to `threads` while it lives; 0 leaves them.
class FileThreadLimit {
 public:
  /// Errors: usage, with Arrow's reason.
  static Result<FileThreadLimit> set(std::uint32_t threads);
  FileThreadLimit(FileThreadLimit&& other) noexcept;
  FileThreadLimit& operator=(FileThreadLimit&&) = delete;
  ~FileThreadLimit();

 private:
  explicit FileThreadLimit(std::uint32_t before) noexcept : before_(before) {}

  std::uint32_t before_;  ///< 0: not limited
};

}  // namespace garuda::cli
