#include "operators/group_by/product_columns.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/load.hpp"
#include "core/look_ahead.hpp"
#include "core/parallel_blocks.hpp"
#include "keys/group_keys.hpp"
#include "operators/group_by/numbers/exact_numbers.hpp"
#include "operators/group_by/numbers/number_kernels.hpp"
#include "operators/materialize/column_bytes.hpp"

namespace garuda::group_by {
namespace {

using resolve::ExactSum;
using resolve::StateColumn;
using resolve::ValueForm;

/// Bits of a part's magnitude in the kinds of signed integers.
constexpr std::uint32_t kNarrowBits = 31;
constexpr std::uint32_t kWordBits = 63;
constexpr std::uint32_t kWideBits = 126;

/// Where the bits of a column's numbers lie: all are multiples of 2^lowest below 2^highest.
struct NumberRange {
  std::int32_t lowest = std::numeric_limits<std::int32_t>::max();
  std::int32_t highest = std::numeric_limits<std::int32_t>::min();
  UInt128 most = 0;  ///< of integers: the largest magnitude
  bool has_negative = false;
  bool has_special = false;

  void add(ExactNumber const& number) noexcept {
    has_special |= number.is_special;
    has_negative = has_negative || number.is_negative;
    most = std::max(most, number.magnitude);
    if (number.magnitude == 0) return;
    auto const low = static_cast<std::uint64_t>(number.magnitude);
    auto const high = static_cast<std::uint64_t>(number.magnitude >> 64);
    auto const zeros = low != 0 ? std::countr_zero(low) : 64 + std::countr_zero(high);
    auto const bits = high != 0 ? 64 + std::bit_width(high) : std::bit_width(low);
    lowest = std::min(lowest, number.exponent + static_cast<std::int32_t>(zeros));
    highest = std::max(highest, number.exponent + static_cast<std::int32_t>(bits));
  }
  void add(NumberRange const& other) noexcept {
    lowest = std::min(lowest, other.lowest);
    highest = std::max(highest, other.highest);
    most = std::max(most, other.most);
    has_negative = has_negative || other.has_negative;
    has_special = has_special || other.has_special;
  }
  bool is_zero() const noexcept { return lowest > highest; }

  /// Whether a finite float's exponent alone says that it adds nothing.
  template <class Float>
  bool holds_bits_of(Float value) const noexcept {
    constexpr auto kDigits = std::numeric_limits<Float>::digits;
    using Bits = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;
    auto const field = static_cast<std::int32_t>(static_cast<Bits>(std::bit_cast<Bits>(value) << 1) >> kDigits);
    auto const exponent = field - 1 + kUnitExponent<Float>;
    return field != 0 && exponent >= lowest && exponent + kDigits <= highest &&
           exponent + kDigits <= std::numeric_limits<Float>::max_exponent;
  }
};

/// Adds the values of a block. Of integers the least and the greatest say where the highest bit is.
template <class T>
void add_values(ArrayView const& array, keys::RowBlock const& block, NumberRange& range) {
  auto const* const values =
      static_cast<std::byte const*>(array.values) + (array.offset + block.begin) * static_cast<std::int64_t>(sizeof(T));
  T least{};
  T greatest{};
  auto const add_words = [&](std::byte const* first, std::size_t count) {
    if constexpr (std::is_same_v<T, std::int32_t>)
      number_kernels().extremes_32(first, count, &least, &greatest);
    else if constexpr (std::is_same_v<T, std::int64_t>)
      number_kernels().extremes_64(first, count, &least, &greatest);
    return std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::int64_t>;
  };
  auto const add = [&](T value) {
    if constexpr (std::is_same_v<T, Half>) {
      range.add(number_of(value));
    } else if constexpr (std::is_floating_point_v<T>) {
      if (!range.holds_bits_of(value)) range.add(number_of(value));
    } else {
      least = value < least ? value : least;
      greatest = value > greatest ? value : greatest;
    }
  };
  if (array.validity == nullptr)
    for_ranges_ahead(values, sizeof(T), static_cast<std::size_t>(block.length),
                     [&](std::size_t begin, std::size_t end) {
                       if (add_words(values + begin * sizeof(T), end - begin)) return;
                       for (auto i = begin; i < end; ++i) add(load<T>(values, static_cast<std::int64_t>(i)));
                     });
  else
    for (std::int64_t i = 0; i < block.length; ++i)
      if (!array.is_null(block.begin + i)) add(load<T>(values, i));
  range.add(number_of(least));
  range.add(number_of(greatest));
}

/// Widens the range by decimals of 256 bits: multiples of 1, those of negative ones within a bit.
void add_wide_values(ArrayView const& array, keys::RowBlock const& block, NumberRange& range) {
  std::int32_t highest = 0;
  for (auto row = block.begin; row < block.begin + block.length; ++row) {
    if (array.is_null(row)) continue;
    auto const words = load<Words256>(static_cast<std::byte const*>(array.values), array.offset + row);
    auto const sign = words[3] >> 63 != 0 ? ~std::uint64_t{0} : 0;
    for (std::size_t w = words.size(); w-- > 0;) {
      auto const word = words[w] ^ sign;
      if (word == 0 && (w > 0 || sign == 0)) continue;
      auto const bits =
          static_cast<std::int32_t>(64 * w) + static_cast<std::int32_t>(std::bit_width(word)) + (sign != 0 ? 1 : 0);
      highest = std::max(highest, bits);
      break;
    }
  }
  if (highest > 0) range.add({.lowest = 0, .highest = highest});
}

Result<NumberRange> find_range(TableView table, std::size_t column, Control const& control) {
  NumberRange range;
  std::mutex mutex;
  auto const blocks = keys::cut_row_blocks(table);
  GARUDA_TRY(for_each_block(blocks.size(), &control, [&](std::size_t b) {
    NumberRange part;
    auto const& array = table.batch(blocks[b].batch).columns[column];
    auto const& type = table.schema()[column].type;
    if (is_wide(type))
      add_wide_values(array, blocks[b], part);
    else
      with_type(type, [&]<class T>(T*) { add_values<T>(array, blocks[b], part); });
    std::lock_guard const lock(mutex);
    range.add(part);
  }));
  return range;
}

contract::ValueKind kind_of(std::uint32_t bits) noexcept {
  return bits <= kNarrowBits ? contract::ValueKind::int32
         : bits <= kWordBits ? contract::ValueKind::int64
                             : contract::ValueKind::int128;
}

/// Makes state columns of what an aggregate multiplies.
class ProductCutter {
 public:
  ProductCutter(resolve::GroupByRequest& request, run::QueryRun& run) : request_(request), run_(run) {}

  Result<void> cut(resolve::ResolvedAggregate& aggregate) {
    auto const x = *aggregate.column;
    auto const y = aggregate.second.value_or(x);
    GARUDA_TRY_ASSIGN(auto const range_x, range_of(x));
    GARUDA_TRY_ASSIGN(auto const range_y, range_of(y));
    ranges_ = {range_x, range_y};
    columns_ = {x, aggregate.second};
    auto& moments = aggregate.moments;
    moments.scale = aggregate.input.scale + request_.table.schema()[y].type.scale;
    std::vector<WantedSum> wanted{{&moments.x, {1, 0}}};
    auto const function = aggregate.row->function;
    bool const is_moment = function != AggregateFunction::sum && function != AggregateFunction::mean;
    if (is_moment) {
      wanted.push_back({&moments.xy, aggregate.second ? Powers{1, 1} : Powers{2, 0}});
      if (aggregate.second) wanted.push_back({&moments.y, {0, 1}});
    }
    if (function == AggregateFunction::corr) {
      wanted.push_back({&moments.xx, {2, 0}});
      wanted.push_back({&moments.yy, {0, 2}});
    }
    if (!pack(wanted))
      for (auto const& [sum, powers] : wanted) *sum = sum_of(powers);
    aggregate.state = moments.x.parts.front().state;
    request_.columns.states[aggregate.state].states |= contract::kCountState;
    if (!is_moment) return {};
    if (range_x.has_special || range_y.has_special) {
      StateColumn special{columns_[0], contract::ValueKind::uint32, contract::kMaxState};
      special.form = ValueForm::special;
      special.second = columns_[1];
      moments.special = resolve::add_states(request_.columns, special);
    }
    return {};
  }

 private:
  using Powers = std::array<std::uint8_t, 2>;
  struct WantedSum {
    ExactSum* sum = nullptr;
    Powers powers{};
  };

  /// Bits of the sum of a product over all rows of the table.
  std::uint32_t sum_bits(Powers powers) const {
    auto most = static_cast<UInt128>(request_.table.num_rows());
    for (std::size_t f = 0; f < powers.size(); ++f)
      for (std::uint8_t power = 0; power < powers[f]; ++power) most *= ranges_[f].most;
    auto const high = static_cast<std::uint64_t>(most >> 64);
    return std::max(high != 0 ? 65U : static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint64_t>(most))), 1U);
  }

  /// Whether values of a factor are integers without nulls and signs that write_packed takes.
  bool is_packable(std::size_t f) const {
    if (!columns_[f]) return true;
    constexpr auto kMost = std::numeric_limits<std::uint32_t>::max();
    return type_row(request_.table.schema()[*columns_[f]].type.id).family == TypeFamily::integer &&
           !materialize::has_nulls(request_.table, *columns_[f]) && !ranges_[f].has_negative &&
           ranges_[f].most <= kMost;
  }

  /// Sums that share words, each of which is one pass over the rows: as few words as first fit, by falling size, finds.
  /// False, and nothing is changed: that saves none.
  bool pack(std::span<WantedSum const> wanted) {
    constexpr std::int64_t kMostRows = std::int64_t{1} << 40;
    if (!is_packable(0) || !is_packable(1) || request_.table.num_rows() > kMostRows) return false;
    std::vector<WantedSum> order(wanted.begin(), wanted.end());
    std::ranges::stable_sort(order, std::greater<>(), [&](WantedSum const& sum) { return sum_bits(sum.powers); });
    if (sum_bits(order.front().powers) > 64) return false;
    struct Word {
      std::vector<WantedSum> sums;
      std::vector<resolve::PackedProduct> terms;
      std::uint32_t bits = 0;
    };
    std::vector<Word> words;
    for (auto const& sum : order) {
      auto const bits = sum_bits(sum.powers);
      auto word = std::ranges::find_if(words, [=](Word const& one) { return one.bits + bits <= 64; });
      if (word == words.end()) word = words.insert(word, Word{});
      word->sums.push_back(sum);
      word->terms.push_back({sum.powers, word->bits});
      word->bits += bits;
    }
    if (words.size() == wanted.size()) return false;
    for (auto const& word : words) {
      StateColumn column{columns_[0], contract::ValueKind::uint64, contract::kSumState};
      column.form = ValueForm::packed;
      column.second = columns_[1];
      column.packed = word.terms;
      auto const state = resolve::add_states(request_.columns, column);
      for (std::size_t i = 0; i < word.sums.size(); ++i)
        *word.sums[i].sum = {{{state, column.kind, word.terms[i].shift, sum_bits(word.sums[i].powers)}}, 0, 0};
    }
    // Values that are words of their own move with their keys, so that the words are made of them there.
    for (auto const& column : columns_)
      if (column) plain_state(*column, 0);
    return true;
  }

  Result<NumberRange> range_of(std::size_t column) {
    if (auto const known = known_.find(column); known != known_.end()) return known->second;
    run::PhaseTimer const timer(run_.recorder, "range", 0, static_cast<std::uint64_t>(request_.table.num_rows()));
    GARUDA_TRY_ASSIGN(auto range,
                      run_.arena.execute([&] { return find_range(request_.table, column, request_.options.control); }));
    // Integers that are summed as they are count units.
    if (!is_float(column) && !range.is_zero()) range.lowest = 0;
    known_.emplace(column, range);
    return range;
  }

  bool is_float(std::size_t column) const {
    return contract::is_float(resolve::value_source(request_.table.schema()[column].type).kind);
  }

  /// The column that stands alone in a product, and loses no row to a null of the other.
  std::optional<std::size_t> lone_column(Powers powers) const {
    if (powers[0] + powers[1] != 1) return std::nullopt;
    auto const& other = columns_[powers[0]];
    if (other && materialize::has_nulls(request_.table, *other)) return std::nullopt;
    return columns_[powers[1]];
  }

  /// The column's values as they are. `states` 0: for products that are made of them where they move with their keys.
  std::size_t plain_state(std::size_t column, contract::StateSet states) {
    auto const kind = resolve::value_source(request_.table.schema()[column].type).kind;
    if (materialize::has_nulls(request_.table, column)) states |= contract::kCountState;
    auto const state = resolve::add_states(request_.columns, {column, kind, states});
    request_.columns.states[state].kind = kind;  // so far its values may have been counted only
    return state;
  }

  ExactSum sum_of(Powers powers) {
    ExactSum sum;
    auto const lone = lone_column(powers);
    bool const is_cut = lone && is_wide(request_.table.schema()[*lone].type);
    if (lone && !is_cut && !is_float(*lone)) {
      auto const state = plain_state(*lone, contract::kSumState);
      sum.parts.push_back({state, request_.columns.states[state].kind});
      return sum;
    }
    if (lone && !is_cut && !materialize::has_nulls(request_.table, *lone)) plain_state(*lone, 0);
    std::int32_t lowest = 0;
    std::int32_t highest = 0;
    for (std::size_t f = 0; f < powers.size(); ++f) {
      if (powers[f] == 0 || ranges_[f].is_zero()) continue;
      lowest += powers[f] * ranges_[f].lowest;
      highest += powers[f] * ranges_[f].highest;
    }
    sum.exponent = lowest;
    auto const bits = static_cast<std::uint32_t>(std::max(highest - lowest, 1));
    // Sums of parts stay within 127 bits, where they are quick; of a single one they need not.
    auto const rows = static_cast<std::uint64_t>(request_.table.num_rows());
    sum.part_bits = bits <= kWideBits ? bits : kWideBits - static_cast<std::uint32_t>(std::bit_width(rows));
    for (std::uint32_t first = 0; first < bits; first += sum.part_bits) {
      auto const part_bits = std::min(sum.part_bits, bits - first);
      StateColumn part{columns_[0], kind_of(part_bits), contract::kSumState};
      part.form = ValueForm::product;
      part.second = columns_[1];
      part.part = {powers, lowest, first, part_bits};
      sum.parts.push_back({resolve::add_states(request_.columns, part), part.kind});
    }
    return sum;
  }

  resolve::GroupByRequest& request_;
  run::QueryRun& run_;
  std::map<std::size_t, NumberRange> known_;
  std::array<NumberRange, 2> ranges_;
  std::array<std::optional<std::size_t>, 2> columns_;
};

}  // namespace

Result<void> cut_products(resolve::GroupByRequest& request, run::QueryRun& run) {
  if (request.table.resident() != nullptr) return {};
  ProductCutter cutter(request, run);
  for (auto& aggregate : request.columns.aggregates)
    if (aggregate.row->making == resolve::Making::moments && aggregate.moments.x.parts.empty())
      GARUDA_TRY(cutter.cut(aggregate));
  return {};
}

}  // namespace garuda::group_by
