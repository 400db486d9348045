#include "spill/table_input.hpp"

#include <numeric>
#include <utility>
#include <vector>

#include "io/file_columns.hpp"

namespace garuda::spill {
namespace {

std::shared_ptr<arrow::Schema> with_row_numbers(std::shared_ptr<arrow::Schema> const& schema,
                                                std::optional<std::string> const& name) {
  if (!name) return schema;
  auto fields = schema->fields();
  fields.push_back(arrow::field(*name, arrow::int64(), false));
  return arrow::schema(std::move(fields));
}

}  // namespace

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

Result<void> TableInput::start_handing_over(std::optional<std::string> const& row_numbers) {
  GARUDA_TRY_ASSIGN(dictionaries_, DictionaryColumns::create(schema(), sentence_));
  row_numbers_ = row_numbers;
  spilled_schema_ = with_row_numbers(dictionaries_->spilled_schema(), row_numbers);
  restored_schema_ = with_row_numbers(schema(), row_numbers);
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
  GARUDA_TRY_ASSIGN(batch, add_row_numbers(batch));
  rows_handed_over_ += static_cast<std::uint64_t>(batch->num_rows());
  return batch;
}

Result<std::shared_ptr<arrow::RecordBatch>> TableInput::add_row_numbers(
    std::shared_ptr<arrow::RecordBatch> const& batch) const {
  if (!row_numbers_) return batch;
  GARUDA_ARROW_TRY_ASSIGN(
      std::shared_ptr<arrow::Buffer> numbers,
      arrow::AllocateBuffer(batch->num_rows() * std::int64_t{sizeof(std::int64_t)}, io::memory_pool()),
      ErrorCode::out_of_memory, sentence_);
  auto* const first = reinterpret_cast<std::int64_t*>(numbers->mutable_data());
  std::iota(first, first + batch->num_rows(), static_cast<std::int64_t>(rows_handed_over_));
  auto columns = batch->columns();
  columns.push_back(std::make_shared<arrow::Int64Array>(batch->num_rows(), std::move(numbers)));
  return arrow::RecordBatch::Make(spilled_schema_, batch->num_rows(), std::move(columns));
}

Result<std::uint64_t> TableInput::finish() {
  GARUDA_TRY(dictionaries_->finish());
  return dictionaries_->bytes();
}

Result<Table> TableInput::to_table(io::ArrowBatches batches) const {
  for (auto& batch : batches) {
    GARUDA_TRY_ASSIGN(batch, dictionaries_->attach(std::move(batch)));
  }
  return io::to_table(restored_schema_, std::move(batches));
}

}  // namespace garuda::spill
