// String and binary columns in Arrow's view layout, which garuda does not have, turned into the layout with offsets.
#pragma once

#include <memory>

#include "io/arrow_bridge.hpp"

namespace garuda::io {

/// Returns large_utf8 for utf8_view, large_binary for binary_view, any other type as it is. Large, because the values
/// of one batch of views may exceed what 32-bit offsets reach.
std::shared_ptr<arrow::DataType> offset_layout(std::shared_ptr<arrow::DataType> const& type);

/// Returns `batches` with each column in its offset layout; columns without views are shared, not copied.
/// Requires: the batches have passed arrow::RecordBatch::ValidateFull. Errors: out of memory.
arrow::Result<ArrowBatches> to_offset_layout(ArrowBatches batches);

}  // namespace garuda::io
