#include "io/table_stream.hpp"

#include <tbb/task_arena.h>

#include <algorithm>
#include <utility>

#include "io/streaming/table_parts.hpp"

namespace garuda::io {

TableStream::TableStream() = default;
TableStream::TableStream(TableStream&&) noexcept = default;
TableStream& TableStream::operator=(TableStream&&) noexcept = default;
TableStream::~TableStream() = default;

Result<TableStream> TableStream::open(TableFiles const& files, ReadOptions const& options, std::int64_t batch_rows,
                                      std::uint64_t ahead_bytes) {
  GARUDA_EXPECTS(!files.files.empty() && batch_rows > 0 && (!options.columns || !options.columns->empty()));
  TableStream stream;
  GARUDA_TRY_ASSIGN(stream.parts_, TableParts::open(files, options, batch_rows, ahead_bytes));
  stream.schema_ = stream.parts_->schema();
  if (stream.parts_->side_by_side() < 2) return stream;
  stream.ahead_bytes_ = ahead_bytes;
  auto const threads =
      options.threads == 0 ? static_cast<std::uint32_t>(tbb::this_task_arena::max_concurrency()) : options.threads;
  stream.threads_ = std::min<std::size_t>(stream.parts_->side_by_side(), threads);
  return stream;
}

/// Has the next batch on its way.
Result<void> TableStream::start() {
  if (std::exchange(rests_, false)) GARUDA_TRY(parts_->restart(parts_done_));
  auto ahead = std::make_unique<ReadAhead>(parts_, threads_, ahead_bytes_ / 2);
  if (ahead->num_threads() > 0)
    ahead_ = std::move(ahead);
  else
    threads_ = 1;  // none can be had
  readers_ = threads_;
  return {};
}

Result<std::shared_ptr<arrow::RecordBatch>> TableStream::next_alone() {
  while (true) {
    if (part_ == nullptr) {
      GARUDA_TRY_ASSIGN(part_, parts_->next());
      if (part_ == nullptr) {
        fraction_read_ = 1;
        return nullptr;
      }
    }
    GARUDA_TRY_ASSIGN(auto batch, part_->next());
    fraction_read_ = part_->fraction_read();
    if (batch != nullptr) return batch;
    part_.reset();
  }
}

Result<std::shared_ptr<arrow::RecordBatch>> TableStream::next() {
  if (at_end_) return nullptr;
  if (threads_ > 1 && ahead_ == nullptr) GARUDA_TRY(start());
  while (true) {
    std::shared_ptr<arrow::RecordBatch> batch;
    if (ahead_ != nullptr) {
      GARUDA_TRY_ASSIGN(auto rows, ahead_->next());
      batch = std::move(rows.batch);
      fraction_read_ = rows.fraction_read;
    } else {
      GARUDA_TRY_ASSIGN(batch, next_alone());
    }
    at_end_ = batch == nullptr;
    if (at_end_) ahead_.reset();
    if (at_end_ || rows_to_skip_ == 0) return batch;
    // Batches of a part begin where they did before.
    rows_to_skip_ -= batch->num_rows();
  }
}

void TableStream::rest() {
  if (part_ != nullptr) part_->rest();
  if (ahead_ == nullptr) return;
  rests_ = true;
  parts_done_ += ahead_->parts_done();
  rows_to_skip_ = ahead_->rows_of_part();
  ahead_.reset();
}

}  // namespace garuda::io
