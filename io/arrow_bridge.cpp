#include "io/arrow_bridge.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <future>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "core/buffer.hpp"
#include "core/kept_memory.hpp"
#include "core/nested/nested_take.hpp"
#include "core/os/file.hpp"
#include "core/shortage.hpp"
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

/// Smaller buffers are not worth a place in the table, nor pages of their own.
constexpr std::int64_t kPooledBytes = 64 << 10;

class KeptPool final : public arrow::ProxyMemoryPool {
 public:
  KeptPool() : arrow::ProxyMemoryPool(arrow::system_memory_pool()) {}

  using arrow::ProxyMemoryPool::Allocate;
  arrow::Status Allocate(std::int64_t size, std::int64_t alignment, std::uint8_t** out) override {
    if (size < kPooledBytes || alignment > buffer_alignment() || !KeptMemory::instance().is_keeping())
      return allocate_of_system(size, alignment, out);
    auto buffer = AlignedBuffer::allocate(size);
    if (!buffer) return arrow::Status::OutOfMemory(buffer.error().describe());
    auto* const first = buffer->as<std::uint8_t>();
    std::lock_guard const lock(mutex_);
    buffers_.emplace(first, *std::move(buffer));
    *out = first;
    return arrow::Status::OK();
  }

  using arrow::ProxyMemoryPool::Reallocate;
  arrow::Status Reallocate(std::int64_t old_size, std::int64_t new_size, std::int64_t alignment,
                           std::uint8_t** memory) override {
    auto const capacity = pooled_bytes(*memory);
    if (capacity == 0 && (new_size < kPooledBytes || !KeptMemory::instance().is_keeping()))
      return reallocate_of_system(old_size, new_size, alignment, memory);
    if (new_size <= capacity && new_size > capacity / 2) return arrow::Status::OK();
    std::uint8_t* moved = nullptr;
    ARROW_RETURN_NOT_OK(Allocate(new_size, alignment, &moved));
    std::memcpy(moved, *memory, static_cast<std::size_t>(std::min(old_size, new_size)));
    Free(*memory, old_size, alignment);
    *memory = moved;
    return arrow::Status::OK();
  }

  using arrow::ProxyMemoryPool::Free;
  void Free(std::uint8_t* memory, std::int64_t size, std::int64_t alignment) override {
    std::unique_lock lock(mutex_);
    auto const buffer = buffers_.extract(memory);
    lock.unlock();
    if (!buffer.empty()) return;
    arrow::ProxyMemoryPool::Free(memory, size, alignment);
    ceiling_.give(static_cast<std::uint64_t>(size));
  }

 private:
  arrow::Status allocate_of_system(std::int64_t size, std::int64_t alignment, std::uint8_t** out) {
    if (!ceiling_.take(static_cast<std::uint64_t>(size))) return refused(size);
    auto status = arrow::ProxyMemoryPool::Allocate(size, alignment, out);
    if (!status.ok()) ceiling_.give(static_cast<std::uint64_t>(size));
    return status;
  }

  arrow::Status reallocate_of_system(std::int64_t old_size, std::int64_t new_size, std::int64_t alignment,
                                     std::uint8_t** memory) {
    if (!ceiling_.take(static_cast<std::uint64_t>(new_size))) return refused(new_size);
    auto status = arrow::ProxyMemoryPool::Reallocate(old_size, new_size, alignment, memory);
    ceiling_.give(static_cast<std::uint64_t>(status.ok() ? old_size : new_size));
    return status;
  }

  static arrow::Status refused(std::int64_t size) {
    return arrow::Status::OutOfMemory("a buffer does not fit the memory limit beside those in use, bytes: ", size);
  }

  /// 0: the system's.
  std::int64_t pooled_bytes(std::uint8_t const* memory) {
    std::lock_guard const lock(mutex_);
    auto const buffer = buffers_.find(memory);
    return buffer == buffers_.end() ? 0 : buffer->second.capacity_bytes();
  }

  BufferCeiling& ceiling_ = BufferCeiling::instance();
  std::mutex mutex_;
  std::unordered_map<std::uint8_t const*, AlignedBuffer> buffers_;
};

}  // namespace

arrow::MemoryPool* memory_pool() {
  // Leaked on purpose: arrays may be freed after every static object.
  static auto* const pool = new KeptPool;
  return pool;
}

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
