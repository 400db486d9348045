// Import and export through the Arrow C data and C stream interfaces.
#pragma once

#include <cstdint>
#include <memory>

#include "garuda/error.hpp"
#include "garuda/table.hpp"

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4
extern "C" {
struct ArrowSchema {
  char const* format;
  char const* name;
  char const* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  void const** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};
}
#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
extern "C" {
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  char const* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};
}
#endif

namespace garuda {

/// Takes over a struct array (a record batch) and its schema, without copying; both are marked released in every case.
/// The schema is released by this call, the array by it on failure and with the last owner of the table's batch
/// otherwise. Everything is validated before it is returned: lengths, offsets, null counts (recounted), buffers that
/// must be present, variable offsets that must rise and start at or above 0; dictionary indices must be in range,
/// except in null slots. Not checked: UTF-8, and buffers shorter than lengths and offsets say, for the interface
/// carries no sizes. A buffer that is not aligned to its type is copied. Requires: neither pointer is null. Errors:
/// invalid_input, naming the column and what is wrong with it; nested and view types are invalid_input too;
/// out_of_memory, when there is no room for the copy of an unaligned buffer.
Result<Table> import_arrow(ArrowArray* array, ArrowSchema* schema);

/// Takes over a stream and reads it to its end; released in every case. Each batch is validated as by import_arrow.
/// Errors: as import_arrow; what the producer reports comes back as invalid_input with its message.
Result<Table> import_arrow(ArrowArrayStream* stream);

/// Moves `batch` into `out` and `out_schema` as a struct array; the consumer releases both. Nothing is copied: the
/// exported arrays keep `batch.owner` alive, each child for itself. On failure neither is written to, or both are
/// marked released. Requires: one column a field, all of `batch.num_rows` rows, in memory that the host can read.
/// Errors: out_of_memory.
Result<void> export_arrow(Schema const& schema, Batch batch, ArrowArray* out, ArrowSchema* out_schema);

/// Moves `stream` into `out`; errors met while it is read reach the consumer through get_last_error, and again on every
/// later call.
void export_arrow(std::unique_ptr<BatchStream> stream, ArrowArrayStream* out);

}  // namespace garuda
