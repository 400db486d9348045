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

/// Takes over a struct array (a record batch) and its schema, without copying. Both are released by this call on failure
/// and by the returned table otherwise; `array` and `schema` are marked released.
/// Everything is validated before it is returned: lengths, offsets, null counts, buffers that must be present, variable
/// offsets that must rise and start at or above 0, UTF-8-ness excepted; dictionary indices must be in range.
/// Errors: invalid_input, naming the column and what is wrong with it; nested and view types are invalid_input too.
Result<Table> import_arrow(ArrowArray* array, ArrowSchema* schema);

/// Takes over a stream and reads it to its end; released in every case. Each batch is validated as by import_arrow.
/// Errors: as import_arrow; what the producer reports comes back as invalid_input with its message.
Result<Table> import_arrow(ArrowArrayStream* stream);

/// Moves `batch` into `out` and `out_schema` as a struct array; the consumer releases both.
Result<void> export_arrow(Schema const& schema, Batch batch, ArrowArray* out, ArrowSchema* out_schema);

/// Moves `stream` into `out`; errors met while it is read reach the consumer through get_last_error.
void export_arrow(std::unique_ptr<BatchStream> stream, ArrowArrayStream* out);

}  // namespace garuda
