// Import and export through the Arrow C data and C stream interfaces.
#pragma once

#include <cstdint>
#include <memory>

#include "garuda/arrow_abi.h"
#include "garuda/error.hpp"
#include "garuda/table.hpp"

namespace garuda {

/// Whether the offsets of columns of strings and binary, which takes reading them all, are checked at once.
enum class Offsets : std::uint8_t { checked, deferred };

/// Takes over a struct array (a record batch) and its schema, without copying; both are marked released in every case.
/// The schema is released by this call, the array by it on failure and with the last owner of the table's batch
/// otherwise. Everything is validated before it is returned: lengths, offsets, null counts (recounted), buffers that
/// must be present, variable offsets that must rise and start at or above 0; dictionary indices must be in range,
/// except in null slots. Not checked: UTF-8, and buffers shorter than lengths and offsets say, for the interface
/// carries no sizes. A buffer that is not aligned to its type is copied. Requires: neither pointer is null. Errors:
/// invalid_input, naming the column and what is wrong with it; out_of_memory, when there is no room for the copy of an
/// unaligned buffer.
Result<Table> import_arrow(ArrowArray* array, ArrowSchema* schema);

/// Takes over a stream and reads it to its end; released in every case. Each batch is validated as by import_arrow.
/// Errors: as import_arrow; what the producer reports comes back as invalid_input with its message.
/// Columns whose offsets or views are deferred must not be read before check_offsets, but may be left alone.
Result<Table> import_arrow(ArrowArrayStream* stream, Offsets offsets = Offsets::checked);

/// Checks the offsets or views of a column of strings or binary, as import_arrow does where it does not defer them;
/// nothing to do for other types. Errors: invalid_input, where the sentence does not name the column.
Result<void> check_offsets(ArrayView const& column, DataType const& type);

/// Moves `batch` into `out` and `out_schema` as a struct array; the consumer releases both. Nothing is copied: the
/// exported arrays keep `batch.owner` alive, each child for itself. On failure neither is written to, or both are
/// marked released. Requires: one column a field, all of `batch.num_rows` rows, in memory that the host can read.
/// Errors: out_of_memory.
Result<void> export_arrow(Schema const& schema, Batch batch, ArrowArray* out, ArrowSchema* out_schema);

/// Moves `stream` into `out`; errors met while it is read reach the consumer through get_last_error, and again on every
/// later call.
void export_arrow(std::unique_ptr<BatchStream> stream, ArrowArrayStream* out);

/// Exports the batches of a table in the host's memory, which they share.
void export_arrow(std::shared_ptr<Table const> table, ArrowArrayStream* out);

}  // namespace garuda
