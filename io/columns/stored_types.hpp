// Columns that travel as their file stores them, which is less than what they stand for, and are that again where a
// result goes out: strings as codes of a dictionary, decimals in 32 or 64 bits.
#pragma once

#include <memory>

#include "garuda/table.hpp"
#include "io/arrow_bridge.hpp"

namespace garuda::io {

/// The field of a column that stands for `type`: its metadata says so, and travels with it. Requires: `type` is one of
/// the string and binary types and the field a dictionary, or both are decimals of one precision and scale.
std::shared_ptr<arrow::Field> stored_field(arrow::Field const& field, std::shared_ptr<arrow::DataType> const& type);

/// `field` with the type that it stands for; any other field as it is.
std::shared_ptr<arrow::Field> decoded_field(std::shared_ptr<arrow::Field> const& field);
std::shared_ptr<arrow::Schema> decoded_schema(arrow::Schema const& schema);

/// `column`, of `stored`, as an array of decoded_field's type; of any other field as it is. Thread-safe.
/// Errors: out of memory, capacity of 32-bit offsets.
arrow::Result<std::shared_ptr<arrow::Array>> decoded_column(std::shared_ptr<arrow::Field> const& stored,
                                                            std::shared_ptr<arrow::Array> const& column);

/// `batch` with its columns decoded, side by side on `threads` threads (0: all).
arrow::Result<std::shared_ptr<arrow::RecordBatch>> decoded_batch(std::shared_ptr<arrow::RecordBatch> const& batch,
                                                                 std::uint32_t threads);

}  // namespace garuda::io
