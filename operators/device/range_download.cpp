#include "operators/device/range_download.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "operators/materialize/column_words.hpp"

namespace garuda::device {
namespace {

constexpr std::uint64_t kColumnAlignment = 4096;  // of a batch's columns: pages of their own

std::uint64_t page_aligned(std::uint64_t bytes) {
  return (bytes + kColumnAlignment - 1) / kColumnAlignment * kColumnAlignment;
}

}  // namespace

Result<RangeDownload> RangeDownload::create(DeviceTableState const& table, DownloadedRange range,
                                            GatheredColumns strings, vk::Device* pinned) {
  RangeDownload download;
  download.table_ = &table;
  download.range_ = std::move(range);
  download.strings_ = std::move(strings);
  download.strings_.resize(download.range_.columns.size());
  GARUDA_TRY(download.take_words(pinned));
  for (auto const& gathered : download.strings_)
    if (gathered) download.bytes_ += (download.range_.count + 1) * materialize::kWordBytes + gathered->num_bytes;
  return download;
}

/// One block for all words, a column's pages after another's.
Result<void> RangeDownload::take_words(vk::Device* pinned) {
  std::vector<bool> comes_down(table_->stored.size());
  for (std::size_t i = 0; i < range_.columns.size(); ++i) {
    auto const& from = table_->columns[range_.columns[i]];
    if (!strings_[i]) comes_down[from.stored] = true;
    if (from.nulls) comes_down[*from.nulls] = true;
  }
  auto const bytes_of = [&](std::size_t stored) {
    return comes_down[stored] ? range_.count * table_->stored[stored].words * materialize::kWordBytes : 0;
  };
  std::uint64_t block_bytes = 0;
  for (std::size_t s = 0; s < comes_down.size(); ++s) {
    bytes_ += bytes_of(s);
    block_bytes += page_aligned(bytes_of(s));
  }
  block_ = std::make_shared<Block>();
  block_bytes = std::max(block_bytes, kColumnAlignment);
  if (pinned != nullptr)
    if (auto memory = pinned->pinned().allocate(block_bytes)) block_->pinned = std::move(*memory);
  if (!is_pinned()) {
    GARUDA_TRY_ASSIGN(block_->ordinary, AlignedBuffer::allocate(static_cast<std::int64_t>(block_bytes)));
  }
  auto* next = is_pinned() ? block_->pinned.data() : block_->ordinary.data();
  for (std::size_t s = 0; s < comes_down.size(); ++s) {
    words_.push_back(comes_down[s] ? next : nullptr);
    next += page_aligned(bytes_of(s));
  }
  return {};
}

std::vector<vk::HostCopy> RangeDownload::copies() {
  std::vector<vk::HostCopy> copies;
  for (std::size_t s = 0; s < words_.size(); ++s) {
    auto const width = table_->stored[s].words * materialize::kWordBytes;
    if (range_.count > 0 && words_[s] != nullptr)
      copies.push_back({&table_->stored[s].buffer, range_.first * width, words_[s], range_.count * width});
  }
  for (auto& gathered : strings_)
    if (gathered) gathered->add_copies(range_.count, copies);
  return copies;
}

Result<void> RangeDownload::await(vk::CopyTeam& team, contract::StatsSink& stats) {
  GARUDA_TRY(team.wait(*group_));
  stats.add_phase("download", vk::CopyTeam::elapsed_ns(*group_), bytes_, range_.count);
  stats.add_counter(contract::kCopiedDown, vk::CopyTeam::copied_bytes(*group_));
  return {};
}

Result<Batch> RangeDownload::finish() {
  Batch batch;
  batch.num_rows = static_cast<std::int64_t>(range_.count);
  for (std::size_t i = 0; i < range_.columns.size(); ++i) {
    GARUDA_TRY_ASSIGN(auto const array, column(i));
    batch.columns.push_back(array);
  }
  // Arrays of the batch are exported and outlive each other in any order.
  batch.owner = block_;
  return batch;
}

Result<ArrayView> RangeDownload::column(std::size_t position) {
  auto const& from = table_->columns[range_.columns[position]];
  auto const& type = table_->schema[range_.columns[position]].type;
  auto& made = block_->made;
  auto const at = [&](std::size_t stored) { return reinterpret_cast<std::uint32_t const*>(words_[stored]); };
  materialize::ColumnWords const words{at(from.stored), table_->stored[from.stored].words,
                                       from.nulls ? at(*from.nulls) : nullptr, from.null_bit};
  if (auto& gathered = strings_[position]) return gathered->array(range_.count, type, words, made);
  if (type.id != TypeId::dictionary) return materialize::array_of_words(words, range_.count, type, made.buffers);
  GARUDA_TRY_ASSIGN(auto codes, materialize::array_of_words(words, range_.count, DataType{type.index}, made.buffers));
  codes.dictionary = made.dictionaries.emplace_back(from.strings->dictionary).get();
  return codes;
}

}  // namespace garuda::device
