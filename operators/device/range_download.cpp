#include "operators/device/range_download.hpp"

#include <memory>
#include <utility>

#include "operators/materialize/column_words.hpp"

namespace garuda::device {

Result<RangeDownload> RangeDownload::create(DeviceTableState const& table, std::vector<std::size_t> columns,
                                            std::uint64_t first, std::uint64_t rows, GatheredColumns strings) {
  RangeDownload download;
  download.table_ = &table;
  download.columns_ = std::move(columns);
  download.first_ = first;
  download.rows_ = rows;
  download.strings_ = std::move(strings);
  download.words_.resize(table.stored.size());
  auto const take = [&](std::size_t stored) -> Result<void> {
    if (download.words_[stored].data() != nullptr) return {};
    auto const bytes = rows * table.stored[stored].words * materialize::kWordBytes;
    GARUDA_TRY_ASSIGN(download.words_[stored], AlignedBuffer::allocate(static_cast<std::int64_t>(bytes)));
    download.bytes_ += bytes;
    return {};
  };
  for (std::size_t i = 0; i < download.columns_.size(); ++i) {
    auto const& from = table.columns[download.columns_[i]];
    if (auto const& gathered = download.strings_[i]) {
      download.bytes_ += (rows + 1) * materialize::kWordBytes + gathered->num_bytes;
    } else {
      GARUDA_TRY(take(from.stored));
    }
    if (from.nulls) GARUDA_TRY(take(*from.nulls));
  }
  return download;
}

std::vector<vk::HostCopy> RangeDownload::copies() {
  std::vector<vk::HostCopy> copies;
  for (std::size_t s = 0; s < words_.size(); ++s) {
    auto const width = table_->stored[s].words * materialize::kWordBytes;
    if (rows_ > 0 && words_[s].data() != nullptr)
      copies.push_back({&table_->stored[s].buffer, first_ * width, words_[s].data(), rows_ * width});
  }
  for (auto& gathered : strings_)
    if (gathered) gathered->add_copies(rows_, copies);
  return copies;
}

Result<Batch> RangeDownload::finish() {
  Batch batch;
  batch.num_rows = static_cast<std::int64_t>(rows_);
  // Arrays of the batch are exported and outlive each other in any order.
  auto const memory = std::make_shared<DownloadedMemory>();
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    GARUDA_TRY_ASSIGN(auto const array, column(i, *memory));
    batch.columns.push_back(array);
  }
  for (auto& words : words_) memory->buffers.push_back(std::move(words));
  batch.owner = memory;
  return batch;
}

Result<ArrayView> RangeDownload::column(std::size_t position, DownloadedMemory& memory) {
  auto const& from = table_->columns[columns_[position]];
  auto const& type = table_->schema[columns_[position]].type;
  auto const at = [&](std::size_t stored) { return words_[stored].as<std::uint32_t>(); };
  materialize::ColumnWords const words{at(from.stored), table_->stored[from.stored].words,
                                       from.nulls ? at(*from.nulls) : nullptr, from.null_bit};
  if (auto& gathered = strings_[position]) return gathered->array(rows_, type, words, memory);
  if (type.id != TypeId::dictionary) return materialize::array_of_words(words, rows_, type, memory.buffers);
  GARUDA_TRY_ASSIGN(auto codes, materialize::array_of_words(words, rows_, DataType{type.index}, memory.buffers));
  codes.dictionary = memory.dictionaries.emplace_back(from.strings->dictionary).get();
  return codes;
}

}  // namespace garuda::device
