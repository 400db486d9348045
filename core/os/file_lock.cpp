#include "core/os/file_lock.hpp"

#include <utility>

#include "core/os/file.hpp"

namespace garuda::os {

FileLock::FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) close_file(descriptor_);
}

}  // namespace garuda::os
