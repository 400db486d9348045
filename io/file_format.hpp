// File formats, known by their extension.
#pragma once

#include <cstdint>
#include <filesystem>

#include "garuda/error.hpp"

namespace garuda::io {

enum class FileFormat : std::uint8_t { parquet, ipc, csv };

/// Returns the format that the extension of `path` stands for: .parquet, .arrow, .arrows or .feather, .csv, in any
/// case. Errors: usage.
Result<FileFormat> format_of(std::filesystem::path const& path);

/// The format in which a file is to be written, by its extension; .arrows, a stream, is only read. Errors: usage.
Result<FileFormat> output_format_of(std::filesystem::path const& path);

}  // namespace garuda::io
