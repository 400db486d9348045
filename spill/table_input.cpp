#include "spill/table_input.hpp"

#include <utility>

#include "io/file_dictionaries.hpp"

namespace garuda::spill {

Result<TableInput> TableInput::open(FileInput const& file, std::int64_t batch_rows) {
  GARUDA_TRY_ASSIGN(auto stream, io::TableStream::open(file.path, file.options, batch_rows));
  return TableInput("cannot read " + file.path.string(), std::move(stream));
}

Result<Table> TableInput::without_rows() const { return io::to_table(schema(), {}); }

Result<void> TableInput::hold(MemoryShare const& share, std::uint64_t most_weight) {
  while (!at_end_ && share.weight(held_) <= most_weight) {
    GARUDA_TRY_ASSIGN(auto batch, stream_.next());
    if (batch == nullptr) {
      at_end_ = true;
      break;
    }
    GARUDA_TRY_ASSIGN(auto const volume, volume_of(*batch));
    held_ += volume;
    batches_.push_back(std::move(batch));
  }
  return {};
}

RowVolume TableInput::estimated_volume() const noexcept {
  auto const fraction = stream_.fraction_read();
  if (at_end_ || fraction <= 0) return held_;
  auto const scaled = [&](std::uint64_t value) {
    return static_cast<std::uint64_t>(static_cast<double>(value) / fraction);
  };
  return {scaled(held_.rows), scaled(held_.bytes)};
}

Result<Table> TableInput::take_table() {
  GARUDA_EXPECTS(at_end_);
  io::ArrowBatches batches(std::make_move_iterator(batches_.begin()), std::make_move_iterator(batches_.end()));
  batches_.clear();
  GARUDA_ARROW_TRY_ASSIGN(batches, io::unify_dictionaries(std::move(batches)), ErrorCode::invalid_input, sentence_);
  auto table = io::to_table(schema(), std::move(batches));
  if (!table) return tl::unexpected(std::move(table).error().wrap(sentence_));
  return table;
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
    GARUDA_TRY_ASSIGN(batch, stream_.next());
    at_end_ = batch == nullptr;
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
