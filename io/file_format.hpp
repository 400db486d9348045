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

/// The same of a file that is to be written: .arrows, a stream, is none. Errors: usage.
Result<FileFormat> output_format_of(std::filesystem::path const& path);

}  // namespace garuda::io
