// Chooses how Parquet holds a column best, by a sample of it.
#pragma once

#include "io/arrow_bridge.hpp"

namespace garuda::io {

/// Whether values come so often again that a dictionary makes the column shorter, and this is not given up because it
/// grows too large: from a sample, of which the number of values that are in it again says how many different ones
/// there are.
bool repeats_values(arrow::ChunkedArray const& column);

/// Whether the differences of neighbouring integers, or of what Parquet stores as such, take half of their bits or
/// less: DELTA_BINARY_PACKED is then shorter than what Snappy makes of them, and quicker to write and read.
bool packs_well(arrow::ChunkedArray const& column);

}  // namespace garuda::io
