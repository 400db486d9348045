#include "operators/device/strings/string_download.hpp"

#include <fmt/format.h>

#include <utility>

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

}  // namespace garuda::device
