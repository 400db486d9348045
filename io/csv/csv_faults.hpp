// Where a CSV file is wrong: what the readers, which are in a hurry, cannot tell.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "io/arrow_bridge.hpp"

namespace garuda::io {

/// Reads the file from its start and returns the first fault as the end of a sentence: a line with another number of
/// columns than the header, a quote that is not closed or has text behind it, a value of one of `columns` (positions,
/// ascending) that is not UTF-8. nullopt: none. Slow; fails with Cancelled and with what reading fails with.
arrow::Result<std::optional<std::string>> find_csv_fault(arrow::io::ReadableFile& file, std::vector<int> const& columns,
                                                         std::atomic<bool> const* cancelled);

}  // namespace garuda::io
