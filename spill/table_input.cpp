#include "spill/table_input.hpp"

#include <utility>

#include "io/file_dictionaries.hpp"
#include "operators/contract/sizing.hpp"

namespace garuda::spill {

Result<TableInput> TableInput::open(FileInput const& file, std::int64_t batch_rows, std::string row_column,
                                    std::uint64_t ahead_bytes) {
  GARUDA_TRY_ASSIGN(auto stream, io::TableStream::open(file.files, file.options, batch_rows, ahead_bytes));
  GARUDA_TRY_ASSIGN(auto blocks, io::TableBlocks::open(file.files, file.options, 1));
  TableInput input(file, std::move(blocks), std::move(stream));
  input.row_column_ = std::move(row_column);
  if (!input.row_column_.empty()) GARUDA_TRY(input.number_rows());
  return input;
}

Result<void> TableInput::number_rows() {
  while (!schema_->GetAllFieldIndices(row_column_).empty()) row_column_ += '_';
  GARUDA_ARROW_TRY_ASSIGN(schema_,
                          schema_->AddField(schema_->num_fields(), arrow::field(row_column_, arrow::int64(), false)),
                          ErrorCode::invalid_input, sentence_);
  return {};
}

Result<Table> TableInput::without_rows() const { return io::to_table(stream_.schema(), {}); }

Result<std::shared_ptr<arrow::RecordBatch>> TableInput::read_batch() {
  GARUDA_TRY_ASSIGN(auto batch, stream_.next());
  at_end_ = batch == nullptr;
  if (batch == nullptr) return nullptr;
  auto const first_row = static_cast<std::int64_t>(read_.rows);
  GARUDA_TRY_ASSIGN(auto const volume, volume_of(*batch));
  read_ += volume;
  if (row_column_.empty()) return batch;
  read_.bytes += volume.rows * sizeof(std::int64_t);
  GARUDA_ARROW_TRY_ASSIGN(batch, numbered(*batch, row_column_, first_row), ErrorCode::out_of_memory, sentence_);
  return arrow::RecordBatch::Make(schema_, batch->num_rows(), batch->columns());
}

std::optional<std::uint64_t> TableInput::known_rows() const {
  if (!blocks_ || blocks_->num_blocks() == 0) return std::nullopt;
  return blocks_->num_rows();
}

Result<bool> TableInput::read_whole(MemoryShare const& share, std::uint64_t most_weight) {
  auto const all_rows = known_rows();
  if (!all_rows || share.weight({*all_rows, 0}) > most_weight) return false;
  auto const blocks = *std::exchange(blocks_, std::nullopt);
  io::ArrowBatches batches;
  RowVolume volume;
  for (std::size_t first = 0; first < blocks.num_blocks();) {
    // One row group, then those that take half of what is left, by the rows so far.
    auto const weight_of = [&](std::uint64_t rows) {
      auto const bytes_of_row = static_cast<double>(volume.bytes) / static_cast<double>(volume.rows);
      return share.weight({rows, static_cast<std::uint64_t>(bytes_of_row * static_cast<double>(rows))});
    };
    auto end = first + 1;
    if (volume.rows > 0) {
      if (weight_of(blocks.num_rows()) > most_weight) return false;
      auto const left = most_weight - share.weight(volume);
      auto rows = blocks.rows_of(first);
      while (end < blocks.num_blocks() && weight_of(rows + blocks.rows_of(end)) <= left / 2)
        rows += blocks.rows_of(end++);
    }
    auto more = blocks.read(first, end, file_.options.threads);
    // Row groups that take more than was reckoned are streamed.
    if (!more && contract::is_shortage(more.error())) return false;
    if (!more) return propagate(std::move(more));
    for (auto& batch : *more) {
      GARUDA_TRY_ASSIGN(auto const of_batch, volume_of(*batch));
      volume += of_batch;
      batches.push_back(std::move(batch));
    }
    if (share.weight(volume) > most_weight) return false;
    first = end;
  }
  auto const schema = batches.front()->schema();
  GARUDA_TRY_ASSIGN(stored_, unified(schema, std::move(batches)));
  held_ = read_ = volume;
  at_end_ = is_stored_ = true;
  return true;
}

void TableInput::forget_whole() {
  stored_.reset();
  is_stored_ = false;
  held_ = read_ = {};
  at_end_ = false;
}

Result<void> TableInput::hold(MemoryShare const& share, std::uint64_t most_weight) {
  blocks_.reset();  // a stream from here on: not every file stays open beside spill files
  while (!at_end_ && share.weight(held_) <= most_weight) {
    GARUDA_TRY_ASSIGN(auto batch, read_batch());
    if (batch == nullptr) break;
    GARUDA_TRY_ASSIGN(auto const volume, volume_of(*batch));
    held_ += volume;
    batches_.push_back(std::move(batch));
  }
  return {};
}

RowVolume TableInput::estimated_volume() const noexcept {
  auto const fraction = stream_.fraction_read();
  if (at_end_ || fraction <= 0) return read_;
  auto const scaled = [&](std::uint64_t value) {
    return static_cast<std::uint64_t>(static_cast<double>(value) / fraction);
  };
  return {scaled(read_.rows), scaled(read_.bytes)};
}

Result<Table> TableInput::whole_table() {
  GARUDA_EXPECTS(at_end_);
  if (is_stored_) return std::move(*stored_);
  io::ArrowBatches batches(batches_.begin(), batches_.end());
  for (auto& batch : batches) {
    if (row_column_.empty()) break;
    GARUDA_ARROW_TRY_ASSIGN(batch, batch->RemoveColumn(batch->num_columns() - 1), ErrorCode::invalid_input, sentence_);
  }
  return unified(stream_.schema(), std::move(batches));
}

Result<Table> TableInput::unified(std::shared_ptr<arrow::Schema> const& schema, io::ArrowBatches batches) const {
  GARUDA_ARROW_TRY_ASSIGN(batches, io::unify_dictionaries(std::move(batches)), ErrorCode::invalid_input, sentence_);
  auto table = io::to_table(schema, std::move(batches));
  if (!table) return tl::unexpected(std::move(table).error().wrap(sentence_));
  return table;
}

Result<std::shared_ptr<arrow::RecordBatch>> TableInput::next_rows() {
  if (batches_.empty()) {
    if (at_end_) return nullptr;
    return read_batch();
  }
  auto batch = std::move(batches_.front());
  batches_.pop_front();
  return batch;
}

void TableInput::put_back(io::ArrowBatches batches) {
  batches_.insert(batches_.begin(), std::make_move_iterator(batches.begin()), std::make_move_iterator(batches.end()));
}

Result<void> TableInput::start_handing_over() {
  GARUDA_TRY_ASSIGN(dictionaries_, DictionaryColumns::create(schema(), sentence_));
  return {};
}

Result<std::shared_ptr<arrow::RecordBatch>> TableInput::hand_over() {
  GARUDA_TRY_ASSIGN(auto batch, next_rows());
  if (batch == nullptr) return nullptr;
  GARUDA_TRY_ASSIGN(batch, dictionaries_->detach(std::move(batch)));
  rows_handed_over_ += static_cast<std::uint64_t>(batch->num_rows());
  return batch;
}

Result<std::uint64_t> TableInput::finish() {
  GARUDA_TRY(dictionaries_->finish());
  return dictionaries_->bytes();
}

Result<Table> TableInput::to_table(io::ArrowBatches batches) const {
  if (batches.empty()) {
    // Without a batch, the table would not have the dictionaries that all other parts of the file have.
    GARUDA_ARROW_TRY_ASSIGN(auto nothing, arrow::RecordBatch::MakeEmpty(spilled_schema(), io::memory_pool()),
                            ErrorCode::out_of_memory, sentence_);
    batches.push_back(std::move(nothing));
  }
  for (auto& batch : batches) {
    GARUDA_TRY_ASSIGN(batch, dictionaries_->attach(std::move(batch)));
  }
  return io::to_table(schema(), std::move(batches));
}

}  // namespace garuda::spill
