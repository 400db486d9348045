#include "keys/order/value_ranks.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "core/parallel_blocks.hpp"
#include "keys/codes/value_bytes.hpp"
#include "keys/numbering/value_dictionary.hpp"
#include "keys/numbering/value_order.hpp"

namespace garuda::keys {
namespace {

/// Of values among constants: twice the number of lesser ones, and 1 more at one of them.
class RanksAmongConstants {
 public:
  /// Both are borrowed.
  RanksAmongConstants(ValueBytes const& constants, ValueOrder const& order) : order_(order) {
    for (std::uint64_t i = 0; i < constants.size(); ++i) {
      auto const at = lower_bound(constants[i]);
      if (at == sorted_.end() || *at != constants[i]) sorted_.insert(at, constants[i]);
    }
  }

  std::uint32_t operator()(std::string_view value) const {
    auto const at = lower_bound(value);
    auto const lesser = static_cast<std::uint32_t>(at - sorted_.begin());
    return 2 * lesser + (at != sorted_.end() && *at == value ? 1 : 0);
  }

 private:
  std::vector<std::string_view>::const_iterator lower_bound(std::string_view value) const {
    return std::ranges::lower_bound(sorted_, value,
                                    [&](std::string_view a, std::string_view b) { return order_.is_less(a, b); });
  }

  ValueOrder const& order_;
  std::vector<std::string_view> sorted_;  ///< the different ones
};

Result<ValueBytes> values_of(std::vector<KeyColumn> const& columns) {
  ValueBytes values;
  for (auto const& column : columns)
    if (auto added = add_values(column, values); !added) return propagate(std::move(added));
  return values;
}

Result<OrderedWords> rank_among_constants(std::vector<KeyColumn> const& column, std::vector<KeyColumn> const& constants,
                                          DataType const& as, Control const& control) {
  GARUDA_TRY_ASSIGN(auto const values, values_of(column));
  GARUDA_TRY_ASSIGN(auto const bounds, values_of(constants));
  ValueOrder const order(as);
  RanksAmongConstants const rank(bounds, order);
  OrderedWords words;
  auto& out = words.columns.emplace_back();
  GARUDA_TRY_ASSIGN(out.owned_words, AlignedBuffer::allocate(static_cast<std::int64_t>(values.size() * 4)));
  auto* const of_rows = out.owned_words.as<std::uint32_t>();
  out.words = std::span<std::uint32_t const>(of_rows, values.size());
  GARUDA_TRY(for_each_block((values.size() + kBlockRows - 1) / kBlockRows, &control, [&](std::size_t block) {
    auto const begin = block * kBlockRows;
    values.for_each(
        begin, std::min(values.size(), begin + kBlockRows),
        [&](std::uint64_t row, std::optional<std::string_view> value) { of_rows[row] = value ? rank(*value) : 0; });
  }));
  for (std::uint64_t i = 0; i < bounds.size(); ++i) words.constants.push_back({Place::at, rank(bounds[i])});
  return words;
}

}  // namespace

Result<OrderedWords> rank_values(std::vector<KeyColumn> const& columns, std::vector<KeyColumn> const& constants,
                                 DataType const& as, RankUse use, Control const& control) {
  // The values of a dictionary are fewer than its rows: they are numbered.
  if (columns.size() == 1 && !use.compares_columns && columns.front().type.id != TypeId::dictionary)
    return rank_among_constants(columns, constants, as, control);
  std::vector<KeyColumn> borrowed;
  for (auto const* of : {&columns, &constants})
    for (auto const& column : *of) borrowed.push_back({column.field, column.type, column.arrays, {}});
  GARUDA_TRY_ASSIGN(auto codes,
                    encode_values(borrowed, control, 64, use.compares_order ? CodeOrder::ascending : CodeOrder::any));
  OrderedWords words;
  for (std::size_t c = 0; c < borrowed.size(); ++c) {
    if (c >= columns.size()) {
      words.constants.push_back({Place::at, codes[c].codes[0]});
      continue;
    }
    std::uint64_t rows = 0;
    for (auto const& array : borrowed[c].arrays) rows += static_cast<std::uint64_t>(array.length);
    words.columns.push_back({std::span(codes[c].codes, rows), {}, {}});
    words.memory.push_back(std::move(codes[c].memory));
  }
  return words;
}

}  // namespace garuda::keys
