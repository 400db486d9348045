#include "operators/cpu/group_by/sum_rows.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <type_traits>
#include <utility>

#include "core/load.hpp"
#include "core/look_ahead.hpp"
#include "core/numbers/wide_integer.hpp"
#include "operators/cpu/group_by/column_values.hpp"
#include "operators/cpu/group_by/sum_kernels.hpp"

namespace garuda::cpu {
namespace {

using contract::ValueKind;

/// Fewest words that sum_kernels add: fewer are added as quickly one by one.
constexpr std::size_t kFewestKernelWords = 3;
/// Most columns that one loop over rows adds.
constexpr std::size_t kMostAtOnce = 4;

template <ValueKind kKind>
bool is_fitting(contract::StateRequest const& request) noexcept {
  return sums_fitting_word(request) && request.kind == kKind;
}

std::size_t width_of(contract::StateRequest const& request) noexcept { return sums_floats(request) ? 2 : 1; }

/// Whether sum_kernels add a list.
bool is_of_words(std::span<contract::StateRequest const> requests, std::span<Summed const> list) noexcept {
  return list.size() >= kFewestKernelWords && list.size() <= kSumRowWords &&
         std::ranges::all_of(
             list, [&](Summed summed) { return !summed || is_fitting<ValueKind::uint64>(requests[*summed]); });
}

/// The columns that `is_such`.
std::vector<Summed> columns_of(std::span<contract::StateRequest const> requests,
                               bool (*is_such)(contract::StateRequest const&) noexcept) {
  std::vector<Summed> columns;
  for (std::size_t c = 0; c < requests.size(); ++c)
    if (is_such(requests[c])) columns.emplace_back(c);
  return columns;
}

/// Adds column values of type T, and 1 where rows are counted, to the words from `sums` on of each group's row.
template <class T, bool kCountsRows, std::size_t... kColumns>
void add_columns(std::array<std::byte const*, kMostAtOnce> const& columns, std::span<std::uint32_t const> groups,
                 std::uint64_t* sums, std::size_t row_words, std::index_sequence<kColumns...>) {
  // Copies: what is reached by reference would be read again for every row.
  std::byte const* const from[] = {columns[kColumns]..., nullptr};
  auto const add_row = [=, groups = groups.data()](std::size_t i) {
    auto* const row = sums + row_words * groups[i];
    if constexpr (kCountsRows) row[0] += 1;
    ((row[kColumns + (kCountsRows ? 1 : 0)] +=
      static_cast<std::uint64_t>(load<T>(from[kColumns], static_cast<std::int64_t>(i)))),
     ...);
  };
  constexpr std::size_t kStep = 64 / sizeof(T);
  std::size_t i = 0;
  for (; i + kStep <= groups.size(); i += kStep) {
    (look_ahead(from[kColumns] + i * sizeof(T)), ...);
    for (std::size_t j = 0; j < kStep; ++j) add_row(i + j);
  }
  for (; i < groups.size(); ++i) add_row(i);
}

template <class T, bool kCountsRows>
void add_columns(std::array<std::byte const*, kMostAtOnce> const& columns, std::size_t count,
                 std::span<std::uint32_t const> groups, std::uint64_t* sums, std::size_t row_words) {
  auto const add = [&](auto indices) { add_columns<T, kCountsRows>(columns, groups, sums, row_words, indices); };
  switch (count) {
    case 0:
      return add(std::make_index_sequence<0>());
    case 1:
      return add(std::make_index_sequence<1>());
    case 2:
      return add(std::make_index_sequence<2>());
    case 3:
      return add(std::make_index_sequence<3>());
    default:
      return add(std::make_index_sequence<kMostAtOnce>());
  }
}

template <class Float>
using BitsOf = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;

/// A finite float as an integer over the bit at `position`: split_float's parts, found without a branch.
template <class Float>
UInt128 fixed_point_value(Float value, std::uint32_t position) noexcept {
  using Bits = BitsOf<Float>;
  auto const bits = std::bit_cast<Bits>(value);
  auto const magnitude = static_cast<Bits>(bits << 1) >> 1;
  auto const exponent = static_cast<std::uint32_t>(magnitude >> kMantissaBits<Float>);
  auto const is_normal = exponent != 0 ? Bits{1} : Bits{0};
  auto const mantissa = (magnitude & ((Bits{1} << kMantissaBits<Float>)-1)) | is_normal << kMantissaBits<Float>;
  // Only zeros lie below the lowest bit: however far they are shifted.
  auto const shift = (exponent - static_cast<std::uint32_t>(is_normal) - position) % 128;
  auto const sign = UInt128{0} - (bits >> (8 * sizeof(Bits) - 1));
  return ((UInt128{mantissa} << shift) ^ sign) - sign;
}

}  // namespace

FloatTotals::FloatTotals(contract::ValueKind kind, FixedPoint fixed_point) noexcept
    : kind_(kind), fixed_(fixed_point) {}

/// Rows that are looked at and added while they lie in the first-level cache: a multiple of 32.
constexpr std::size_t kFloatsAtOnce = 256;

/// The words of floats that are integers, at most kFloatsAtOnce from row `first` on.
template <class Float>
void FloatTotals::read_integers(contract::AggregateInput const& input, std::uint64_t first, std::size_t count,
                                std::uint64_t* low, std::uint64_t* high) {
  auto const* values = reinterpret_cast<std::byte const*>(input.values.data()) + first * sizeof(Float);
  if (input.kind == ValueKind::int64) return float_kernels().round_int64(values, count, low, high);
  Float valid[kFloatsAtOnce];
  if (!input.validity.empty()) {
    // The values of nulls are any.
    for (std::size_t i = 0; i < count; ++i)
      valid[i] = is_valid(input, first + i) ? load<Float>(values, static_cast<std::int64_t>(i)) : Float{0};
    values = reinterpret_cast<std::byte const*>(valid);
  }
  std::int64_t integers[kFloatsAtOnce];
  auto const& kernels = float_kernels();
  auto* const to_integers = sizeof(Float) == 4 ? kernels.integers_32 : kernels.integers_64;
  are_integers_ = to_integers(values, count, integers) && are_integers_;
  for (std::size_t i = 0; i < count; ++i) {
    low[i] = static_cast<std::uint64_t>(integers[i]);
    high[i] = static_cast<std::uint64_t>(integers[i] >> 63);
  }
}

/// Calls add(begin, count, low, high) for consecutive rows behind `first`, with the words of their integers.
template <class Float, class Add>
void FloatTotals::for_integers_of(contract::AggregateInput const& input, std::uint64_t first, std::size_t num_rows,
                                  Add const& add) {
  auto const split = float_split(fixed_, kMantissaBits<Float>, contract::unit_exponent(kind_));
  auto const* const values = reinterpret_cast<std::byte const*>(input.values.data()) + first * sizeof(Float);
  auto const& kernels = float_kernels();
  auto* const split_values = sizeof(Float) == 4 ? kernels.split_32 : kernels.split_64;
  std::uint64_t low[kFloatsAtOnce];
  std::uint64_t high[kFloatsAtOnce];
  for (std::size_t begin = 0; begin < num_rows; begin += kFloatsAtOnce) {
    auto const count = std::min(kFloatsAtOnce, num_rows - begin);
    if (fixed_.is_guess && !fixed_.is_integral) seen_.add(input, first + begin, count);
    if (fixed_.is_integral) {
      read_integers<Float>(input, first + begin, count, low, high);
    } else if (split) {
      for_ranges_ahead(values + begin * sizeof(Float), sizeof(Float), count,
                       [&](std::size_t first_of, std::size_t end) {
                         split_values(values + (begin + first_of) * sizeof(Float), end - first_of, *split,
                                      low + first_of, high + first_of);
                       });
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        auto const value = load<Float>(values, static_cast<std::int64_t>(begin + i));
        auto const integer = fixed_point_value(value, fixed_.position);
        low[i] = static_cast<std::uint64_t>(integer);
        high[i] = static_cast<std::uint64_t>(integer >> 64);
      }
    }
    add(begin, count, low, high);
  }
}

template <class Add>
void FloatTotals::for_integers(contract::AggregateInput const& input, std::uint64_t first, std::size_t count,
                               Add const& add) {
  if (!fits()) return;
  if (kind_ == contract::ValueKind::float32)
    for_integers_of<float>(input, first, count, add);
  else
    for_integers_of<double>(input, first, count, add);
}

void FloatTotals::add(contract::AggregateInput const& input, std::uint64_t first, std::span<std::uint32_t const> groups,
                      std::uint64_t* sums, std::size_t stride) {
  for_integers(input, first, groups.size(),
               [&](std::size_t begin, std::size_t count, std::uint64_t const* low, std::uint64_t const* high) {
                 for_valid_rows(input, first + begin, groups.subspan(begin, count),
                                [&](std::uint64_t row, std::uint32_t group) {
                                  auto const i = row - first - begin;
                                  add_words(sums + stride * group, low[i], high[i]);
                                });
               });
}

void FloatTotals::add_to_one(contract::AggregateInput const& input, std::uint64_t first, std::size_t count,
                             std::uint64_t* sums) {
  if (fixed_.is_integral && input.validity.empty()) {
    auto const& kernels = run_kernels();
    bool const is_narrow = kind_ == contract::ValueKind::float32;
    auto const* const values =
        reinterpret_cast<std::byte const*>(input.values.data()) + first * (is_narrow ? sizeof(float) : sizeof(double));
    RunSum sum;
    if (input.kind == ValueKind::int64)
      sum = kernels.sum_rounded_int64(values, count);
    else
      are_integers_ =
          (is_narrow ? kernels.sum_integers_32 : kernels.sum_integers_64)(values, count, &sum) && are_integers_;
    add_words(sums, sum.low, sum.high);
    return;
  }
  UInt128 total = 0;
  for_integers(input, first, count,
               [&](std::size_t begin, std::size_t some, std::uint64_t const* low, std::uint64_t const* high) {
                 for_valid_rows_of_one(input, {first + begin, some},
                                       [&](std::uint64_t i) { total += UInt128{high[i]} << 64 | low[i]; });
               });
  add_words(sums, static_cast<std::uint64_t>(total), static_cast<std::uint64_t>(total >> 64));
}

bool sums_fitting_word(contract::StateRequest const& request) noexcept {
  return (request.states & contract::kSumState) != 0 && !contract::is_float(request.kind) && request.sums_fit_word &&
         !request.may_have_nulls;
}

std::vector<std::vector<Summed>> side_by_side(std::span<contract::StateRequest const> requests, bool counts_rows) {
  std::vector<std::vector<Summed>> lists;
  std::vector<Summed> counted;
  if (counts_rows) counted.emplace_back(std::nullopt);
  auto words = columns_of(requests, is_fitting<ValueKind::uint64>);
  while (counted.size() + words.size() >= kFewestKernelWords) {
    auto const taken = std::min(words.size(), kSumRowWords - counted.size());
    auto& list = lists.emplace_back(std::exchange(counted, {}));
    list.insert(list.end(), words.begin(), words.begin() + static_cast<std::ptrdiff_t>(taken));
    words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(taken));
  }
  auto others = counted;
  for (auto const& columns : {words, columns_of(requests, is_fitting<ValueKind::int32>),
                              columns_of(requests, is_fitting<ValueKind::uint32>), columns_of(requests, sums_floats)})
    others.insert(others.end(), columns.begin(), columns.end());
  bool const has_floats = std::ranges::any_of(requests, sums_floats);
  if (others.size() < 2 && !has_floats) return lists;
  std::size_t in_list = kMostSumWords;
  for (auto const& summed : others) {
    auto const count = summed ? width_of(requests[*summed]) : 1;
    if (in_list + count > kMostSumWords) {
      lists.emplace_back();
      in_list = 0;
    }
    lists.back().push_back(summed);
    in_list += count;
  }
  return lists;
}

std::size_t row_words(std::span<contract::StateRequest const> requests, std::span<Summed const> list) noexcept {
  if (is_of_words(requests, list)) return kSumRowWords;
  std::size_t words = 0;
  for (auto const& summed : list) words += summed ? width_of(requests[*summed]) : 1;
  return words;
}

SumRows::SumRows(std::span<Summed const> list, std::span<contract::StateRequest const> requests,
                 std::span<FixedPoint const> fixed_points)
    : is_of_words_(is_of_words(requests, list)), row_words_(row_words(requests, list)) {
  std::size_t word = 0;
  for (auto const& summed : list) {
    if (summed) {
      auto const kind = requests[*summed].kind;
      auto& term = terms_.emplace_back(Term{*summed, kind, word, std::nullopt});
      if (contract::is_float(kind)) term.floats.emplace(kind, fixed_points[*summed]);
    } else {
      GARUDA_EXPECTS(word == 0);
      counts_rows_ = true;
    }
    word += summed ? width_of(requests[*summed]) : 1;
  }
}

void SumRows::add_by_kernel(std::span<contract::AggregateInput const> values, std::uint64_t first,
                            std::span<std::uint32_t const> groups) {
  std::array<void const*, kSumRowWords> columns{};
  for (auto const& term : terms_)
    columns[term.word] = values[term.column].values.data() + first * contract::value_words(term.kind);
  auto const& kernels = sum_kernels();
  auto* const add_rows = terms_.back().word + 1 == kFewestKernelWords ? kernels.add_3 : kernels.add_4;
  add_rows(columns.data(), groups.data(), groups.size(), sums_.data());
}

template <class T>
void SumRows::add_run(std::span<Term const> terms, std::span<contract::AggregateInput const> values,
                      std::uint64_t first, std::span<std::uint32_t const> groups, bool counts_rows) {
  do {
    auto const count = std::min(terms.size(), kMostAtOnce);
    std::array<std::byte const*, kMostAtOnce> columns{};
    for (std::size_t t = 0; t < count; ++t)
      columns[t] = reinterpret_cast<std::byte const*>(values[terms[t].column].values.data()) + first * sizeof(T);
    if (counts_rows)
      add_columns<T, true>(columns, count, groups, sums_.data(), row_words_);
    else
      add_columns<T, false>(columns, count, groups, sums_.data() + terms.front().word, row_words_);
    terms = terms.subspan(count);
    counts_rows = false;
  } while (!terms.empty());
}

void SumRows::add(std::span<contract::AggregateInput const> values, std::uint64_t first,
                  std::span<std::uint32_t const> groups) {
  if (is_of_words_) return add_by_kernel(values, first, groups);
  auto left = std::span(terms_);
  bool counts_rows = counts_rows_;
  auto const add_integers = [&]<class T>(ValueKind kind, T*) {
    auto const end = std::ranges::find_if(left, [=](Term const& term) { return term.kind != kind; });
    auto const run = left.first(static_cast<std::size_t>(end - left.begin()));
    left = left.subspan(run.size());
    if (!run.empty()) add_run<T>(run, values, first, groups, std::exchange(counts_rows, false));
  };
  add_integers(ValueKind::uint64, static_cast<std::uint64_t*>(nullptr));
  add_integers(ValueKind::int32, static_cast<std::int32_t*>(nullptr));
  add_integers(ValueKind::uint32, static_cast<std::uint32_t*>(nullptr));
  if (counts_rows) add_run<std::uint64_t>({}, values, first, groups, true);
  for (auto& term : left) term.floats->add(values[term.column], first, groups, sums_.data() + term.word, row_words_);
}

void SumRows::merge(SumRows const& from, std::span<std::uint32_t const> from_groups,
                    std::span<std::uint32_t const> to_groups) {
  for (std::size_t t = 0; t < terms_.size(); ++t)
    if (terms_[t].floats) terms_[t].floats->merge(*from.terms_[t].floats);
  for (std::size_t i = 0; i < from_groups.size(); ++i) {
    auto* const to = sums_.data() + to_groups[i] * row_words_;
    auto const* const row = from.sums_.data() + from_groups[i] * row_words_;
    if (counts_rows_) to[0] += row[0];
    for (auto const& term : terms_) {
      auto const w = term.word;
      if (term.floats)
        add_words(to + w, row[w], row[w + 1]);
      else
        to[w] += row[w];
    }
  }
}

bool SumRows::fits() const noexcept {
  return std::ranges::all_of(terms_, [](Term const& term) { return !term.floats || term.floats->fits(); });
}

contract::Words SumRows::words_of(std::span<std::uint32_t const> groups, std::size_t word, std::size_t count) const {
  contract::Words picked;
  picked.resize(count * groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i)
    for (std::size_t w = 0; w < count; ++w) picked[count * i + w] = sums_[groups[i] * row_words_ + word + w];
  return picked;
}

void SumRows::write_sums(std::span<std::uint32_t const> groups, std::span<contract::AggregateState> states) const {
  for (auto const& term : terms_) {
    auto& state = states[term.column];
    state.words_per_sum = term.floats ? 2 : 1;
    state.sums = words_of(groups, term.word, state.words_per_sum);
    if (term.floats) state.sum_exponent = term.floats->exponent();
  }
}

}  // namespace garuda::cpu
