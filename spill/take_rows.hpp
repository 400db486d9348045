// Rows of a batch in another order.
#pragma once

#include <cstdint>
#include <memory>

#include "garuda/error.hpp"
#include "io/arrow_bridge.hpp"

namespace garuda::spill {

/// Returns the rows of `batch`, of any types, that `positions` names: `count` × uint32, each below the batch's rows.
/// Runs on the calling thread. Errors: out_of_memory, invalid_input.
Result<std::shared_ptr<arrow::RecordBatch>> take_rows(arrow::RecordBatch const& batch,
                                                      std::shared_ptr<arrow::Buffer> positions, std::int64_t count);

}  // namespace garuda::spill
