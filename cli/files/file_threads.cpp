#include "cli/files/file_threads.hpp"

#include <utility>

#include "io/table_reader.hpp"

namespace garuda::cli {

Result<FileThreadLimit> FileThreadLimit::set(std::uint32_t threads) {
  if (threads == 0) return FileThreadLimit(0);
  GARUDA_TRY_ASSIGN(auto const before, io::set_arrow_threads(threads));
  return FileThreadLimit(before);
}

FileThreadLimit::FileThreadLimit(FileThreadLimit&& other) noexcept : before_(std::exchange(other.before_, 0)) {}

FileThreadLimit::~FileThreadLimit() {
  if (before_ != 0) (void)io::set_arrow_threads(before_);
}

}  // namespace garuda::cli
