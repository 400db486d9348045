#include "operators/device/range_download.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "operators/materialize/column_words.hpp"

namespace garuda::device {
namespace {

constexpr std::uint64_t kOffsetBytes = sizeof(std::uint32_t);
constexpr char const* kGatherStringsPhase = "gather strings";

Result<AlignedBuffer> wide_offsets(std::uint32_t const* offsets, std::uint64_t count) {
  GARUDA_TRY_ASSIGN(auto wide, AlignedBuffer::allocate(static_cast<std::int64_t>(count * sizeof(std::int64_t))));
  for (std::uint64_t i = 0; i < count; ++i) wide.as<std::int64_t>()[i] = offsets[i];
  return wide;
}

/// Views of strings, which `bytes` holds behind one another.
Result<AlignedBuffer> views_of(std::uint32_t const* offsets, char const* bytes, std::uint64_t count) {
  GARUDA_TRY_ASSIGN(auto views, AlignedBuffer::allocate(static_cast<std::int64_t>(count * sizeof(ValueView))));
  for (std::uint64_t i = 0; i < count; ++i) {
    auto const length = offsets[i + 1] - offsets[i];
    auto const value = length == 0 ? std::string_view() : std::string_view(bytes + offsets[i], length);
    views.as<ValueView>()[i] = make_view(value, static_cast<std::int32_t>(offsets[i]));
  }
  return views;
}

constexpr std::uint64_t kColumnAlignment = 4096;  // of a batch's columns: pages of their own

std::uint64_t page_aligned(std::uint64_t bytes) {
  return (bytes + kColumnAlignment - 1) / kColumnAlignment * kColumnAlignment;
}

}  // namespace

void GatheredStrings::add_copies(std::uint64_t rows, std::vector<vk::HostCopy>& copies) {
  if (rows == 0) return;
  copies.push_back({&offsets, 0, host_offsets.data(), (rows + 1) * kOffsetBytes});
  if (num_bytes > 0) copies.push_back({&bytes, 0, host_bytes.data(), num_bytes});
}

Result<ArrayView> GatheredStrings::array(std::uint64_t rows, DataType const& type,
                                         materialize::ColumnWords const& column, DownloadedMemory& memory) {
  ArrayView array;
  array.length = static_cast<std::int64_t>(rows);
  GARUDA_TRY(materialize::set_nulls(column, rows, array, memory.buffers));
  auto const* const narrow = memory.buffers.emplace_back(std::move(host_offsets)).as<std::uint32_t>();
  auto const* const values = memory.buffers.emplace_back(std::move(host_bytes)).as<char>();
  if (is_view(type)) {
    GARUDA_TRY_ASSIGN(auto views, views_of(narrow, values, rows));
    array.values = memory.buffers.emplace_back(std::move(views)).data();
    array.offsets = &memory.viewed.emplace_back(values, static_cast<std::int64_t>(num_bytes)).list;
    return array;
  }
  array.values = values;
  array.offsets = narrow;
  if (!has_large_offsets(type)) return array;
  GARUDA_TRY_ASSIGN(auto wide, wide_offsets(narrow, rows + 1));
  array.offsets = memory.buffers.emplace_back(std::move(wide)).data();
  return array;
}

Result<StringDownload> StringDownload::create(compute::ComputeContext& context, DeviceTableState const& table,
                                              std::span<std::size_t const> columns, std::uint64_t rows) {
  StringDownload download;
  download.context_ = &context;
  download.table_ = &table;
  download.num_columns_ = columns.size();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    auto const& strings = table.columns[columns[i]].strings;
    if (strings == nullptr || table.schema[columns[i]].type.id == TypeId::dictionary) continue;
    GARUDA_TRY_ASSIGN(auto view, view_of(context, *strings, *strings));
    download.columns_.push_back({columns[i], i, std::move(view)});
  }
  if (download.columns_.empty() || rows == 0) return download;
  GARUDA_TRY_ASSIGN(download.gather_, compute::StringGather::create(context, rows));
  return download;
}

compute::StringRows StringDownload::rows_of(Column const& column, std::uint64_t first, std::uint64_t rows) const {
  auto nulls = table_->nulls(column.column);
  if (nulls) nulls->words += first * kOffsetBytes;
  return {rows, table_->words(column.column).address + first * kOffsetBytes, nulls};
}

/// Measures; takes memory for the offsets.
Result<void> StringDownload::gather_column(Column const& column, compute::StringRows const& rows,
                                           GatheredStrings& gathered) {
  auto const offset_bytes = (rows.rows + 4) / 4 * 4 * kOffsetBytes;  // sums are written four at a time
  gathered.arena = column_arena(*table_->device.open.device, offset_bytes);
  GARUDA_TRY_ASSIGN(gathered.offsets,
                    gathered.arena->buffer({offset_bytes, vk::MemoryUse::device, 0, "offsets of strings"}));
  GARUDA_TRY_ASSIGN(gathered.num_bytes, gather_->measure(*context_, column.strings, rows, gathered.offsets.address()));
  return {};
}

Result<GatheredColumns> StringDownload::gather(std::uint64_t first, std::uint64_t& rows, std::uint64_t most_bytes) {
  GatheredColumns columns(num_columns_);
  for (std::size_t c = 0; c < columns_.size();) {
    auto const& column = columns_[c];
    auto& gathered = columns[column.position].emplace();
    if (rows > 0) GARUDA_TRY(gather_column(column, rows_of(column, first, rows), gathered));
    if (gathered.num_bytes <= most_bytes) {
      ++c;
      continue;
    }
    if (rows == 1)
      return fail(ErrorCode::limit_exceeded,
                  fmt::format("a string of '{}' has more than {} bytes: {}", table_->schema[column.column].name,
                              most_bytes, gathered.num_bytes));
    rows /= 2;
    c = 0;
  }
  for (auto const& column : columns_) {
    auto& gathered = *columns[column.position];
    GARUDA_TRY_ASSIGN(gathered.host_offsets,
                      AlignedBuffer::allocate(static_cast<std::int64_t>((rows + 1) * kOffsetBytes)));
    if (rows == 0) gathered.host_offsets.as<std::uint32_t>()[0] = 0;
    GARUDA_TRY_ASSIGN(gathered.host_bytes, AlignedBuffer::allocate(static_cast<std::int64_t>(gathered.num_bytes)));
    if (gathered.num_bytes == 0) continue;
    auto const whole_words = (gathered.num_bytes + kOffsetBytes - 1) / kOffsetBytes * kOffsetBytes;
    GARUDA_TRY_ASSIGN(gathered.bytes,
                      gathered.arena->buffer({whole_words, vk::MemoryUse::device, 0, "bytes of strings"}));
    GARUDA_TRY(gather_->record_copy(*context_, column.strings, rows_of(column, first, rows), gathered.offsets.address(),
                                    gathered.num_bytes, gathered.bytes.address()));
  }
  if (columns_.empty()) return columns;
  GARUDA_TRY(context_->order_all(kGatherStringsPhase));
  GARUDA_TRY(context_->submissions().finish());
  return columns;
}

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
