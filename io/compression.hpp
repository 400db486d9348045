// Compression of output files.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "garuda/error.hpp"
#include "io/file_format.hpp"

namespace garuda::io {

enum class Compression : std::uint8_t { none, snappy, zstd, lz4, gzip };

/// Parses a name as above. Errors: usage, naming all.
Result<Compression> parse_compression(std::string_view text);

/// The compression of a file of `format`: `wanted`, or the format's usual one (Parquet: snappy; others: none).
/// Errors: usage for what the format does not have, naming what it has.
Result<Compression> compression_for(FileFormat format, std::optional<Compression> wanted);

}  // namespace garuda::io
