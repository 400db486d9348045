#include "io/ipc/ipc_batches.hpp"

#include <array>
#include <cstring>
#include <utility>

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

}  // namespace

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
    : sentence_(std::move(sentence)),
      schema_(std::move(schema)),
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
