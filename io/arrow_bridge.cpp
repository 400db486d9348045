#include "io/arrow_bridge.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <future>
#include <mutex>
#include <utility>

#include "core/nested/nested_take.hpp"
#include "core/os/file.hpp"
#include "garuda/arrow_c.hpp"

namespace garuda::io {
namespace {

/// Arrow's messages may hold the offending text with its line breaks; ours are one sentence.
std::string one_line(std::string const& text) {
  constexpr std::size_t kMostChars = 400;
  std::string line;
  for (char const c : text.substr(0, kMostChars)) line += (c == '\n' || c == '\r' || c == '\t') ? ' ' : c;
  if (text.size() > kMostChars) line += "…";
  return line;
}

/// Memory that arrays without rows refer to.
struct EmptyArrays {
  std::vector<std::unique_ptr<ArrayView>> dictionaries;
  std::vector<std::unique_ptr<NestedArray>> nested;
};

/// An array without rows, its buffers present as the format asks for.
Result<ArrayView> empty_array(DataType const& type, EmptyArrays& arrays) {
  alignas(64) static constexpr std::array<std::byte, 64> kZeros{};
  ArrayView array;
  array.null_count = 0;
  array.values = kZeros.data();
  static constexpr ViewBuffers kNoBuffers{};
  if (is_variable_width(type)) array.offsets = kZeros.data();
  if (is_view(type)) array.offsets = &kNoBuffers;
  if (type.id == TypeId::dictionary) {
    GARUDA_TRY_ASSIGN(auto const values, empty_array(*type.value, arrays));
    arrays.dictionaries.push_back(std::make_unique<ArrayView>(values));
    array.dictionary = arrays.dictionaries.back().get();
  }
  if (type.id == TypeId::nested) {
    GARUDA_TRY_ASSIGN(auto nested, take_nested(*type.nested, {}, {}));
    array.values = &nested->array;
    arrays.nested.push_back(std::move(nested));
  }
  return array;
}

/// Arrow has no codes of its own for a thread that does not start and for a codec that finds no memory.
bool lacks_memory_or_threads(arrow::Status const& status) {
  return status.IsOutOfMemory() || status.message().starts_with("Failed to launch worker thread") ||
         status.message().ends_with("ERROR_allocation_failed");
}

}  // namespace

arrow::compute::ExecContext single_threaded() {
  arrow::compute::ExecContext context(memory_pool());
  context.set_use_threads(false);
  return context;
}

bool may_use_threads(bool wanted) {
  if (!wanted) return false;
  static std::mutex mutex;
  static int started = 0;
  std::lock_guard const lock(mutex);
  auto* const pool = arrow::internal::GetCpuThreadPool();
  int const capacity = pool->GetCapacity();
  if (started >= capacity) return true;
  // Each task holds its thread until all are there, so that every task needs another.
  std::promise<void> all_started;
  int threads = 0;
  for (auto const gate = all_started.get_future().share(); threads < capacity; ++threads)
    if (!pool->Spawn([gate] { gate.wait(); }).ok()) break;
  all_started.set_value();
  if (threads == 0) return false;
  started = threads;
  return threads == capacity || pool->SetCapacity(threads).ok();
}

Error to_error(arrow::Status const& status, ErrorCode code, std::string sentence) {
  if (lacks_memory_or_threads(status)) code = ErrorCode::out_of_memory;
  if (status.IsCancelled()) code = ErrorCode::cancelled;
  int const error_number = arrow::internal::ErrnoFromStatus(status);
  auto cause = error_number != 0 ? os::system_message(error_number) : one_line(status.message());
  return Error(code, std::move(cause)).wrap(std::move(sentence));
}

Result<Field> to_field(arrow::Field const& field) {
  auto const schema = arrow::schema({field.Copy()});
  auto table = to_table(schema, {});
  if (!table) return propagate(std::move(table));
  return table->schema().front();
}

Result<Table> to_table(std::shared_ptr<arrow::Schema> const& schema, ArrowBatches batches) {
  auto reader = arrow::RecordBatchReader::Make(std::move(batches), schema);
  if (!reader.ok()) return tl::unexpected(to_error(reader.status(), ErrorCode::invalid_input, "unusable table"));
  ArrowArrayStream stream{};
  GARUDA_ARROW_TRY(arrow::ExportRecordBatchReader(*std::move(reader), &stream), ErrorCode::invalid_input,
                   "unusable table");
  return import_arrow(&stream);
}

Result<std::shared_ptr<arrow::RecordBatch>> to_arrow_batch(Schema const& schema, Batch batch) {
  ArrowArray c_array{};
  ArrowSchema c_schema{};
  GARUDA_TRY(export_arrow(schema, std::move(batch), &c_array, &c_schema));
  GARUDA_ARROW_TRY_ASSIGN(auto result, arrow::ImportRecordBatch(&c_array, &c_schema), ErrorCode::invalid_input,
                          "result has a type that Arrow C++ does not know");
  return result;
}

Result<std::shared_ptr<arrow::Schema>> to_arrow_schema(Schema const& schema) {
  auto const arrays = std::make_shared<EmptyArrays>();
  Batch empty;
  for (auto const& field : schema) {
    GARUDA_TRY_ASSIGN(auto const array, empty_array(field.type, *arrays));
    empty.columns.push_back(array);
  }
  empty.owner = arrays;
  GARUDA_TRY_ASSIGN(auto const batch, to_arrow_batch(schema, std::move(empty)));
  return batch->schema();
}

}  // namespace garuda::io
