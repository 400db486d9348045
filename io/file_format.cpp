#include "io/file_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace garuda::io {

namespace {

constexpr auto kStreamExtension = ".arrows";

/// The extension of a file, in small letters.
std::string extension_of(std::filesystem::path const& path) {
  auto extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return extension;
}

}  // namespace

Result<FileFormat> format_of(std::filesystem::path const& path) {
  auto const extension = extension_of(path);
  if (extension == ".parquet") return FileFormat::parquet;
  if (extension == ".arrow" || extension == ".feather" || extension == kStreamExtension) return FileFormat::ipc;
  if (extension == ".csv") return FileFormat::csv;
  return fail(ErrorCode::usage,
              fmt::format("file name does not end in .parquet, .arrow, .arrows, .feather or .csv: {}", path.string()));
}

Result<FileFormat> output_format_of(std::filesystem::path const& path) {
  if (extension_of(path) == kStreamExtension)
    return fail(ErrorCode::usage, fmt::format("Arrow streams are read, not written; .arrow makes a file, which can be "
                                              "mapped: {}",
                                              path.string()));
  return format_of(path);
}

}  // namespace garuda::io
