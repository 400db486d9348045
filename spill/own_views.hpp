// Views of strings and binary refer to whole buffers, most of which may be other rows' values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "io/arrow_bridge.hpp"

namespace garuda::spill {

/// Bytes of an array's views and of the values that they refer to; nullopt: it has no views.
std::optional<std::int64_t> view_bytes(arrow::Array const& array);

/// Returns `batch` with copies of the values that its columns of views refer to, where the buffers that these are in
/// hold over twice as much.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> with_own_views(std::shared_ptr<arrow::RecordBatch> batch);

}  // namespace garuda::spill
