// Converts statuses, types and batches between Arrow C++ and garuda. Nothing is copied.
#pragma once

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>
#include <arrow/c/bridge.h>
#include <arrow/compute/exec.h>
#include <arrow/csv/api.h>
#include <arrow/extension_type.h>
#include <arrow/io/file.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/result.h>
#include <arrow/scalar.h>
#include <arrow/status.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/util/byte_size.h>
#include <arrow/util/io_util.h>
#include <arrow/util/thread_pool.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/arrow/writer.h>
#include <parquet/exception.h>

#include <memory>
#include <string>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/table.hpp"

namespace garuda::io {

/// The pool of every allocation in io/ and spill/. Buffers of kPooledBytes and more are AlignedBuffers while freed host
/// memory is kept (KeptMemory): on huge pages, and used again without a page fault. Everything else is the system's, so
/// that what is freed goes back at once and a memory limit can be kept. Thread-safe.
arrow::MemoryPool* memory_pool();

using ArrowBatches = std::vector<std::shared_ptr<arrow::RecordBatch>>;

/// Has Arrow's functions run on the calling thread alone: a limit on threads is the caller's, and batches are worked on
/// side by side.
arrow::compute::ExecContext single_threaded();

/// True when Arrow may use its threads: `wanted`, and its pool has one. Starts the pool's threads, or as many as there
/// can be, which are its capacity from then on: where Arrow misses one later, it leaves a parallel loop whose tasks go
/// on with variables that are gone. Thread-safe.
bool may_use_threads(bool wanted);

/// Returns `sentence` with `status` as its cause, in the operating system's words where the failure is its own (no
/// space left on device). Lack of memory or threads and cancellation keep their code, the rest get `code`.
Error to_error(arrow::Status const& status, ErrorCode code, std::string sentence);

/// Returns `field` as garuda knows it.
/// Errors: invalid_input, naming column and type, for types that garuda does not have.
Result<Field> to_field(arrow::Field const& field);

/// Returns a table that keeps `batches` alive. Requires: each batch has `schema`.
/// Errors: invalid_input for types that garuda does not have and for arrays that break the format.
Result<Table> to_table(std::shared_ptr<arrow::Schema> const& schema, ArrowBatches batches);

/// The inverse of to_field for all columns.
Result<std::shared_ptr<arrow::Schema>> to_arrow_schema(Schema const& schema);

/// Moves `batch` into a record batch that keeps its owner alive.
Result<std::shared_ptr<arrow::RecordBatch>> to_arrow_batch(Schema const& schema, Batch batch);

}  // namespace garuda::io

/// Returns from the calling function when `expression`, an arrow::Status, failed; see garuda::io::to_error.
#define GARUDA_ARROW_TRY(expression, code, sentence)                                                                   \
  do {                                                                                                                 \
    auto const garuda_arrow_status = (expression);                                                                     \
    if (!garuda_arrow_status.ok()) return tl::unexpected(::garuda::io::to_error(garuda_arrow_status, code, sentence)); \
  } while (false)

/// Declares `declaration` from the value of `expression`, an arrow::Result, or returns its error.
#define GARUDA_ARROW_TRY_ASSIGN(declaration, expression, code, sentence) \
  GARUDA_ARROW_TRY_ASSIGN_INNER(GARUDA_CONCAT(garuda_arrow_result_, __LINE__), declaration, expression, code, sentence)
#define GARUDA_ARROW_TRY_ASSIGN_INNER(result, declaration, expression, code, sentence)              \
  auto result = (expression);                                                                       \
  if (!result.ok()) return tl::unexpected(::garuda::io::to_error(result.status(), code, sentence)); \
  declaration = std::move(result).ValueUnsafe()
