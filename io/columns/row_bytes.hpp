// Memory that rows of batches take.
#pragma once

#include <cstdint>

#include "io/arrow_bridge.hpp"

namespace garuda::io {

/// Bytes of the rows of `batch` alone: strings of views as long as they are, whatever their buffers hold beside them;
/// dictionaries by their indices.
std::int64_t row_bytes(arrow::RecordBatch const& batch);

}  // namespace garuda::io
