// Unions, where Arrow does not take them as they come from or go into IPC files.
#pragma once

#include <cstdint>
#include <memory>

#include "io/arrow_bridge.hpp"

namespace garuda::io {

/// Returns `batch` with copies of its columns that have unions in them. Arrow's IPC writer (26.0) writes types and
/// offsets of a union's slice in multiples of 64 bytes, whether the buffer ends before or not.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> with_own_unions(std::shared_ptr<arrow::RecordBatch> batch);

/// Bytes that the values of `column` take in its buffers, those of dictionaries included. Arrow's own function (26.0)
/// reads the types and offsets of unions without rows, which its IPC readers leave out.
arrow::Result<std::int64_t> referenced_bytes(arrow::ArrayData const& column);

}  // namespace garuda::io
