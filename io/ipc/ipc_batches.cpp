#include "io/ipc/ipc_batches.hpp"

#include <arrow/io/memory.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "core/os/file.hpp"
#include "io/columns/row_bytes.hpp"

namespace garuda::io {
namespace {

/// A batch of fewer rows costs more to handle, from the file to the result, than to copy: some ten KB and microseconds
/// each (2-core AMD EPYC, 2026-11-22). Joined to so many rows, of so many batches.
constexpr std::int64_t kSmallRows = 1 << 10;
constexpr std::int64_t kJoinedRows = 1 << 16;
constexpr std::size_t kMostJoined = 1 << 12;

/// The bytes with which messages of streams begin.
constexpr std::array<std::uint8_t, 4> kContinuation{0xFF, 0xFF, 0xFF, 0xFF};

arrow::DataType const& stored_type(arrow::DataType const& type) {
  if (type.id() != arrow::Type::EXTENSION) return type;
  return stored_type(*static_cast<arrow::ExtensionType const&>(type).storage_type());
}

/// How many of an array's buffers, from the first on, are no values: validity, and what is behind it.
std::size_t num_places(arrow::DataType const& type) {
  switch (type.id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
    case arrow::Type::STRING_VIEW:
    case arrow::Type::BINARY_VIEW:
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
    case arrow::Type::MAP:
    case arrow::Type::DICTIONARY:
    case arrow::Type::SPARSE_UNION:
      return 2;
    case arrow::Type::LIST_VIEW:
    case arrow::Type::LARGE_LIST_VIEW:
    case arrow::Type::DENSE_UNION:
      return 3;
    default:
      return 1;
  }
}

arrow::Status copy_buffers(arrow::ArrayData& array, std::size_t count) {
  for (std::size_t i = 0; i < count && i < array.buffers.size(); ++i) {
    auto& buffer = array.buffers[i];
    // A buffer of its own is not mapped: it was compressed, or not aligned.
    if (buffer == nullptr || buffer->parent() == nullptr) continue;
    ARROW_ASSIGN_OR_RAISE(buffer, buffer->CopySlice(0, buffer->size(), memory_pool()));
  }
  return arrow::Status::OK();
}

class Mapping final : public arrow::Buffer {
 public:
  explicit Mapping(os::MappedBytes mapped)
      : arrow::Buffer(reinterpret_cast<std::uint8_t const*>(mapped.address), mapped.bytes), mapped_(mapped) {}
  ~Mapping() override { os::unmap_file(mapped_); }

 private:
  os::MappedBytes mapped_;
};

}  // namespace

arrow::Result<std::shared_ptr<arrow::io::RandomAccessFile>> map_file(arrow::io::ReadableFile const& file) {
  auto const mapped = os::map_file(file.file_descriptor());
  if (mapped.address == nullptr) return arrow::internal::IOErrorFromErrno(mapped.error_number, "cannot map");
  return std::make_shared<arrow::io::BufferReader>(std::make_shared<Mapping>(mapped));
}

arrow::Result<OwnPlaces::Data> OwnPlaces::of(Data const& array) {
  auto own = std::make_shared<arrow::ArrayData>(*array);
  auto const& type = stored_type(*own->type);
  ARROW_RETURN_NOT_OK(copy_buffers(*own, num_places(type)));
  for (auto& child : own->child_data) {
    ARROW_ASSIGN_OR_RAISE(child, of(child));
  }
  if (type.id() == arrow::Type::RUN_END_ENCODED) ARROW_RETURN_NOT_OK(copy_buffers(*own->child_data.front(), 2));
  if (own->dictionary != nullptr) {
    auto& dictionary = present_[own->dictionary];
    if (auto const known = latest_.find(own->dictionary); known != latest_.end()) dictionary = known->second;
    if (dictionary == nullptr) {
      ARROW_ASSIGN_OR_RAISE(dictionary, of(own->dictionary));
    }
    own->dictionary = dictionary;
  }
  return own;
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> OwnPlaces::of(arrow::RecordBatch const& batch) {
  std::vector<Data> columns;
  for (auto const& column : batch.column_data()) {
    ARROW_ASSIGN_OR_RAISE(auto own, of(column));
    columns.push_back(std::move(own));
  }
  latest_ = std::exchange(present_, {});
  return arrow::RecordBatch::Make(batch.schema(), batch.num_rows(), std::move(columns));
}

arrow::ipc::IpcReadOptions ipc_options(std::vector<int> columns, bool use_threads, arrow::MemoryPool* pool) {
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.memory_pool = pool;
  options.included_fields = std::move(columns);
  options.use_threads = may_use_threads(use_threads);
  options.ensure_alignment = arrow::ipc::Alignment::kDataTypeSpecificAlignment;
  return options;
}

arrow::Result<bool> is_ipc_stream(arrow::io::ReadableFile& file) {
  std::array<std::uint8_t, kContinuation.size()> first{};
  ARROW_ASSIGN_OR_RAISE(auto const bytes, file.ReadAt(0, static_cast<std::int64_t>(first.size()), first.data()));
  return bytes == static_cast<std::int64_t>(first.size()) && first == kContinuation;
}

SlicedCursor::SlicedCursor(std::string sentence, std::shared_ptr<arrow::Schema> schema, ReadOptions const& options,
                           std::int64_t batch_rows)
    : BatchCursor(std::move(schema)),
      sentence_(std::move(sentence)),
      cancelled_(options.cancelled),
      batch_rows_(batch_rows) {}

Result<std::shared_ptr<arrow::RecordBatch>> SlicedCursor::next() {
  GARUDA_TRY(check_cancelled(cancelled_));
  while (batch_ == nullptr || taken_ == batch_->num_rows()) {
    batch_.reset();  // before the next one takes memory
    GARUDA_ARROW_TRY_ASSIGN(auto batch, next_batch(), ErrorCode::invalid_input, sentence_);
    if (batch == nullptr) return nullptr;
    GARUDA_ARROW_TRY(batch->Validate(), ErrorCode::invalid_input, sentence_);
    batch_ = std::move(batch);
    piece_rows_ = batch_rows_of(batch_rows_, batch_->num_rows(), row_bytes(*batch_));
    taken_ = 0;
  }
  auto piece = batch_->Slice(taken_, piece_rows_);
  taken_ += piece->num_rows();
  return piece;
}

double SlicedCursor::fraction_given() const noexcept {
  if (batch_ == nullptr || batch_->num_rows() == 0) return 1.0;
  return static_cast<double>(taken_) / static_cast<double>(batch_->num_rows());
}

arrow::Status IpcBatches::add(std::shared_ptr<arrow::RecordBatch> batch) {
  ARROW_ASSIGN_OR_RAISE(batch, places_.of(*batch));
  ARROW_RETURN_NOT_OK(batch->Validate());
  bool const is_small = batch->num_rows() < kSmallRows;
  if (is_small) small_rows_ += batch->num_rows();
  if (is_small) small_.push_back(batch);
  if (!is_small || small_rows_ >= kJoinedRows || small_.size() == kMostJoined) ARROW_RETURN_NOT_OK(join_small());
  if (!is_small) batches_.push_back(std::move(batch));
  return arrow::Status::OK();
}

arrow::Status IpcBatches::join_small() {
  ARROW_ASSIGN_OR_RAISE(small_, dictionaries_.as_one(std::move(small_), threads_));
  batches_.insert(batches_.end(), small_.begin(), small_.end());
  small_.clear();
  small_rows_ = 0;
  return arrow::Status::OK();
}

arrow::Result<ArrowBatches> IpcBatches::take() {
  ARROW_RETURN_NOT_OK(join_small());
  return std::move(batches_);
}

}  // namespace garuda::io
