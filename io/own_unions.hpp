// Unions on their way into Arrow IPC files.
#pragma once

#include <memory>

#include "io/arrow_bridge.hpp"

namespace garuda::io {

/// Returns `batch` with copies of its columns that have unions in them. Of a slice of a union Arrow's IPC writer (26.0)
/// writes types and offsets in multiples of 64 bytes, whether the buffer ends before or not.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> with_own_unions(std::shared_ptr<arrow::RecordBatch> batch);

}  // namespace garuda::io
