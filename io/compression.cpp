#include "io/compression.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

namespace garuda::io {
namespace {

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
