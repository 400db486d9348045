#include "io/file_format.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace garuda::io {

Result<FileFormat> format_of(std::filesystem::path const& path) {
  auto extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (extension == ".parquet") return FileFormat::parquet;
  if (extension == ".arrow" || extension == ".feather") return FileFormat::ipc;
  if (extension == ".csv") return FileFormat::csv;
  return fail(ErrorCode::usage,
              fmt::format("file name does not end in .parquet, .arrow, .feather or .csv: {}", path.string()));
}

}  // namespace garuda::io
