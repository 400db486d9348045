// The rows of a whole table, block by block, with their values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/parallel_blocks.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "operators/cpu/group_by/group_table.hpp"

namespace garuda::cpu {

/// Calls body(range), which returns Result<void>, for every one of `ranges`, on the threads of the calling task arena.
/// Errors: cancelled, the first of body's.
template <class Body>
Result<void> for_each_range(std::span<contract::TableBlock const> ranges, Control const* control, Body const& body) {
  FirstError errors;
  GARUDA_TRY(for_each_block(ranges.size(), control, [&](std::size_t i) {
    if (!errors.failed()) errors.keep(body(ranges[i]));
  }));
  return errors.result();
}

/// The lowest bits of a key that direct addressing leaves out.
inline std::uint32_t shift_of(contract::WholeTable const& table) noexcept {
  auto const* keys = std::get_if<contract::KeySpan>(&table.keys);
  // All keys equal: no bit is left, and none is needed.
  return keys == nullptr || keys->min == keys->max ? 0 : table.common_low_bits;
}

/// Rows whose values are made or gathered at once: all columns of them stay in a core's second-level cache.
inline constexpr std::uint64_t kMadeRows = std::uint64_t{1} << 11;
static_assert(kMadeRows % 32 == 0, "no word of a validity bitmap belongs to two blocks");

/// A WholeTable whose keys are of type Word.
template <class Word>
class TableRows {
 public:
  explicit TableRows(contract::WholeTable const& table) : table_(table) {
    if (auto const* keys = std::get_if<contract::KeySpan>(&table.keys))
      keys_ = std::get<std::span<Word const>>(keys->words);
    for (std::size_t c = 0; c < table_.requests.size(); ++c)
      makes_values_ =
          makes_values_ || (contract::value_words(table_.requests[c].kind) > 0 && table_.values->in_place(c).empty());
  }

  contract::WholeTable const& table() const noexcept { return table_; }
  std::span<Word const> keys() const noexcept { return keys_; }
  bool has_keys() const noexcept { return std::holds_alternative<contract::KeySpan>(table_.keys); }

  /// The words of the rows from `first` on behind their first one.
  MoreWords more_words(std::uint64_t first) const {
    MoreWords words;
    for (auto const& column : table_.more_words) words.push_back(column.data() + first);
    return words;
  }

  /// Adds the rows of one block to `groups`. Errors: those of TableValues::read.
  Result<void> add(contract::TableBlock const& block, GroupTable<Word>& groups) const {
    auto const step = makes_values_ ? kMadeRows : block.count;
    for (std::uint64_t first = 0; first < block.count; first += step)
      GARUDA_TRY(add_part({block.first + first, std::min(step, block.count - first)}, groups));
    return {};
  }

 private:
  Result<void> add_part(contract::TableBlock const& block, GroupTable<Word>& groups) const {
    std::vector<contract::SliceValues> values(table_.requests.size());
    std::vector<contract::AggregateInput> inputs(values.size());
    for (std::size_t c = 0; c < values.size(); ++c) {
      GARUDA_TRY_ASSIGN(values[c], table_.values->read(c, {block.first, block.count, nullptr}));
      inputs[c] = values[c].input;
    }
    GroupedRows<Word> rows;
    if (has_keys()) rows.keys = keys_of(block);
    rows.more_words = more_words(block.first);
    rows.values = inputs;
    rows.count = block.count;
    rows.first_row = block.first;
    groups.add(rows);
    return {};
  }

  /// Keys of rows within one batch.
  std::span<Word const> keys_of(contract::TableBlock const& rows) const {
    if (table_.key_parts.empty()) return keys_.subspan(rows.first, rows.count);
    auto const part = std::ranges::upper_bound(table_.key_parts, rows.first, {}, &keys::WordPart::first_row) - 1;
    return {static_cast<Word const*>(part->words) + (rows.first - part->first_row), rows.count};
  }

  contract::WholeTable table_;
  std::span<Word const> keys_;
  bool makes_values_ = false;  ///< some values do not lie in the table as they are added
};

}  // namespace garuda::cpu
