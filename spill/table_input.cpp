#include "spill/table_input.hpp"

#include <numeric>
#include <utility>

#include "io/file_dictionaries.hpp"

namespace garuda::spill {

Result<TableInput> TableInput::open(FileInput const& file, std::int64_t batch_rows, std::string row_column) {
  GARUDA_TRY_ASSIGN(auto stream, io::TableStream::open(file.files, file.options, batch_rows));
  TableInput input("cannot read " + file.files.name, std::move(stream));
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
  auto const rows = batch->num_rows();
  auto const first_row = static_cast<std::int64_t>(read_.rows);
  GARUDA_TRY_ASSIGN(auto const volume, volume_of(*batch));
  read_ += volume;
  if (row_column_.empty()) return batch;
  read_.bytes += volume.rows * sizeof(std::int64_t);
  GARUDA_ARROW_TRY_ASSIGN(std::shared_ptr<arrow::Buffer> numbers,
                          arrow::AllocateBuffer(rows * std::int64_t{sizeof(std::int64_t)}, io::memory_pool()),
                          ErrorCode::out_of_memory, sentence_);
  auto* const first = reinterpret_cast<std::int64_t*>(numbers->mutable_data());
  std::iota(first, first + rows, first_row);
  auto columns = batch->columns();
  columns.push_back(std::make_shared<arrow::Int64Array>(rows, std::move(numbers)));
  return arrow::RecordBatch::Make(schema_, rows, std::move(columns));
}

Result<void> TableInput::hold(MemoryShare const& share, std::uint64_t most_weight) {
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

Result<Table> TableInput::whole_table() const {
  GARUDA_EXPECTS(at_end_);
  io::ArrowBatches batches(batches_.begin(), batches_.end());
  for (auto& batch : batches) {
    if (row_column_.empty()) break;
    GARUDA_ARROW_TRY_ASSIGN(batch, batch->RemoveColumn(batch->num_columns() - 1), ErrorCode::invalid_input, sentence_);
  }
  return unified(stream_.schema(), std::move(batches));
}

Result<Table> TableInput::rows_to_table(io::ArrowBatches batches) const { return unified(schema_, std::move(batches)); }

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
  std::shared_ptr<arrow::RecordBatch> batch;
  if (!batches_.empty()) {
    batch = std::move(batches_.front());
    batches_.pop_front();
  } else if (!at_end_) {
    GARUDA_TRY_ASSIGN(batch, read_batch());
  }
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
  for (auto& batch : batches) {
    GARUDA_TRY_ASSIGN(batch, dictionaries_->attach(std::move(batch)));
  }
  return io::to_table(schema(), std::move(batches));
}

}  // namespace garuda::spill
