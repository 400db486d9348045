// File formats, known by their extension, and how output files are compressed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "garuda/error.hpp"

namespace garuda::io {

enum class FileFormat : std::uint8_t { parquet, ipc, csv };

/// Returns the format that the extension of `path` stands for: .parquet, .arrow, .arrows or .feather, .csv, in any
/// case. Errors: usage.
Result<FileFormat> format_of(std::filesystem::path const& path);

/// The format in which a file is to be written, by its extension; .arrows, a stream, is only read. Errors: usage.
Result<FileFormat> output_format_of(std::filesystem::path const& path);

enum class Compression : std::uint8_t { none, snappy, zstd, lz4, gzip };

/// Parses the name of one. Errors: usage, naming all.
Result<Compression> parse_compression(std::string_view text);

/// The compression of a file of `format`: `wanted`, or the format's usual one (Parquet: snappy; others: none).
/// Errors: usage for what the format does not have, naming what it has.
Result<Compression> compression_for(FileFormat format, std::optional<Compression> wanted);

}  // namespace garuda::io
