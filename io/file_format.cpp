#include "io/file_format.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

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

constexpr std::array<std::string_view, 5> kNames{"none", "snappy", "zstd", "lz4", "gzip"};

/// The first one is the usual one.
std::vector<Compression> of_format(FileFormat format) {
  using enum Compression;
  switch (format) {
    case FileFormat::parquet:
      return {snappy, none, zstd, lz4, gzip};
    case FileFormat::ipc:
      return {none, lz4, zstd};
    case FileFormat::csv:
      break;
  }
  return {none};
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

Result<Compression> parse_compression(std::string_view text) {
  auto const name = std::ranges::find(kNames, text);
  if (name != kNames.end()) return static_cast<Compression>(name - kNames.begin());
  return fail(ErrorCode::usage, fmt::format("--compression wants {}: '{}'", fmt::join(kNames, ", "), text));
}

Result<Compression> compression_for(FileFormat format, std::optional<Compression> wanted) {
  auto const known = of_format(format);
  if (!wanted) return known.front();
  if (std::ranges::find(known, *wanted) != known.end()) return *wanted;
  std::vector<std::string_view> names;
  for (auto const compression : known) names.push_back(kNames[static_cast<std::size_t>(compression)]);
  return fail(ErrorCode::usage, fmt::format("--compression of such a file is {}, not {}", fmt::join(names, " or "),
                                            kNames[static_cast<std::size_t>(*wanted)]));
}

}  // namespace garuda::io
