#include "operators/device/column_upload.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "operators/device/device_table.hpp"
#include "operators/materialize/column_words.hpp"
#include "vk_runtime/memory/pinned_memory.hpp"

namespace garuda::device {
namespace {

constexpr std::uint64_t kNoRow = ~std::uint64_t{0};

/// Rows [first, first + rows) of one column of a table, for an upload to where these rows belong in `target`.
void add_copies(TableView table, std::size_t column, std::uint32_t words, std::uint64_t first, std::uint64_t rows,
                vk::Buffer const& target, std::vector<vk::HostCopy>& copies) {
  auto const width = std::uint64_t{words} * materialize::kWordBytes;
  materialize::visit_parts(table, column, first, rows,
                           [&](ArrayView const& array, std::int64_t from, std::int64_t count, std::uint64_t row) {
                             auto const* const values = static_cast<std::byte const*>(array.values) +
                                                        static_cast<std::uint64_t>(array.offset + from) * width;
                             // Only read on the way up; the copy's type serves both directions.
                             copies.push_back({&target, (first + row) * width, const_cast<std::byte*>(values),
                                               static_cast<std::uint64_t>(count) * width});
                           });
}

/// A column as the device wants it, made from the table's while it goes up.
class MadeColumn final : public vk::HostSource {
 public:
  /// `wide_row`: the least row whose value does not fit the column's words, kNoRow before there is one.
  MadeColumn(TableView table, UploadColumn column, std::atomic<std::uint64_t>& wide_row)
      : table_(table), column_(std::move(column)), wide_row_(wide_row) {}

  void write(std::uint64_t first, std::span<std::byte> out) const override {
    auto const width = std::uint64_t{column_.words} * materialize::kWordBytes;
    auto const first_row = first / width;
    auto const rows = (first + out.size() + width - 1) / width - first_row;
    if (rows * width == out.size()) return write_rows(first_row, rows, out.data());
    // A piece that begins or ends within a value.
    std::vector<std::byte> whole(rows * width);
    write_rows(first_row, rows, whole.data());
    std::copy_n(whole.begin() + static_cast<std::ptrdiff_t>(first - first_row * width), out.size(), out.begin());
  }

 private:
  void write_rows(std::uint64_t first, std::uint64_t rows, std::byte* out) const {
    auto const& type = table_.schema()[column_.sources[0]].type;
    if (column_.is_nulls) {
      materialize::read_null_words(table_, column_.sources, first, rows, out);
    } else if (type.id == TypeId::decimal128 && column_.words == 2) {
      if (auto const wide = materialize::read_cut_decimals(table_, column_.sources[0], first, rows, out))
        note_wide_row(*wide);
    } else {
      materialize::read_words(table_, column_.sources[0], column_.words, first, rows, out);
    }
  }

  void note_wide_row(std::uint64_t row) const {
    auto least = wide_row_.load();
    while (row < least && !wide_row_.compare_exchange_weak(least, row)) {
    }
  }

  TableView table_;
  UploadColumn column_;
  std::atomic<std::uint64_t>& wide_row_;
};

}  // namespace

UploadColumn value_column(TableView table, std::size_t column) {
  auto const& type = table.schema()[column].type;
  if (is_stored_as_strings(type)) return {{column}, 1, false, true};
  return {{column}, device_words(type).value(), false, materialize::is_whole_words(type)};
}

std::vector<NullBits> add_null_words(std::span<std::size_t const> nullable, std::vector<UploadColumn>& columns) {
  std::vector<NullBits> bits;
  for (std::size_t i = 0; i < nullable.size(); ++i) {
    auto const bit = static_cast<std::uint32_t>(i % materialize::kNullBitsOfWord);
    if (bit == 0) columns.push_back({{}, 1, true, false});
    columns.back().sources.push_back(nullable[i]);
    bits.push_back({nullable[i], columns.size() - 1, bit});
  }
  return bits;
}

std::uint64_t row_bytes(std::span<UploadColumn const> columns) noexcept {
  std::uint64_t bytes = 0;
  for (auto const& column : columns) bytes += column.words * materialize::kWordBytes;
  return bytes;
}

ColumnUpload::ColumnUpload(TableView table, std::span<UploadColumn const> columns,
                           std::vector<vk::Buffer const*> targets)
    : table_(table), columns_(columns), targets_(std::move(targets)), wide_row_(kNoRow) {
  GARUDA_EXPECTS(targets_.size() == columns.size());
  for (auto const& column : columns)
    made_.push_back(column.is_direct ? nullptr : std::make_unique<MadeColumn>(table, column, wide_row_));
}

std::optional<std::uint64_t> ColumnUpload::wide_row() const noexcept {
  auto const row = wide_row_.load();
  return row == kNoRow ? std::nullopt : std::optional(row);
}

bool ColumnUpload::is_pinned(vk::Device& device) const {
  return std::ranges::all_of(copies(0, static_cast<std::uint64_t>(table_.num_rows())), [&](vk::HostCopy const& copy) {
    return copy.source != nullptr || device.pinned().covers(copy.host, copy.bytes);
  });
}

std::vector<vk::HostCopy> ColumnUpload::copies(std::uint64_t first, std::uint64_t rows) const {
  std::vector<vk::HostCopy> copies;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    auto const& column = columns_[i];
    if (column.is_direct) {
      add_copies(table_, column.sources[0], column.words, first, rows, *targets_[i], copies);
      continue;
    }
    auto const width = std::uint64_t{column.words} * materialize::kWordBytes;
    copies.push_back({targets_[i], first * width, nullptr, rows * width, made_[i].get(), first * width});
  }
  return copies;
}

}  // namespace garuda::device
