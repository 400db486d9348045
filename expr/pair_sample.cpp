#include "expr/pair_sample.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "expr/comparators.hpp"
#include "expr/pair_filter.hpp"
#include "expr/sides.hpp"

namespace garuda::expr {
namespace {

/// Rows of a side that are looked at where one is searched in the other, and where each meets each.
constexpr std::uint64_t kSearchedRows = std::uint64_t{1} << 12;
constexpr std::uint64_t kMetRows = std::uint64_t{1} << 8;
/// Pairs of a range that are tested.
constexpr std::uint32_t kTestedOfRange = 16;

std::uint64_t rows_of(OrderWords const& column) {
  return std::visit([](auto const& words) { return static_cast<std::uint64_t>(words.size()); }, column.words);
}

/// Row i of n that stand for all `rows`, evenly spread.
std::uint64_t sampled_row(std::uint64_t i, std::uint64_t n, std::uint64_t rows) {
  return static_cast<std::uint64_t>((static_cast<double>(i) + 0.5) / static_cast<double>(n) *
                                    static_cast<double>(rows));
}

struct SampledWord {
  std::uint64_t word = 0;
  std::uint64_t row = 0;

  friend auto operator<=>(SampledWord const&, SampledWord const&) = default;
};

/// The words of a column's sample in order; those of nulls are left out.
struct SampledColumn {
  std::vector<SampledWord> words;
  double rows_of_each = 1;

  SampledColumn(ColumnWords const& column, std::uint64_t rows) {
    auto const n = std::min(rows, kSearchedRows);
    for (std::uint64_t i = 0; i < n; ++i)
      if (auto const row = sampled_row(i, n, rows); column.is_valid(row)) words.push_back({column.word(row), row});
    std::ranges::sort(words);
    rows_of_each = static_cast<double>(rows) / static_cast<double>(std::max<std::uint64_t>(n, 1));
  }

  std::pair<std::size_t, std::size_t> find(WordRange const& range) const {
    if (range.is_empty()) return {0, 0};
    auto const low = std::ranges::lower_bound(words, range.low, {}, &SampledWord::word);
    auto const high = std::ranges::upper_bound(words, range.high, {}, &SampledWord::word);
    return {static_cast<std::size_t>(low - words.begin()), static_cast<std::size_t>(high - words.begin())};
  }
};

/// Calls visit(probe row, first, last of the sample) for sampled rows of the other side; returns how many pairs of rows
/// each pair of samples stands for.
template <class Visit>
double visit_ranges(PairCondition const& condition, ConditionParts const& parts, Side build, std::uint32_t column,
                    Visit const& visit) {
  auto const other = other_side(build);
  auto const probe = columns_of(condition, other, 0);
  auto const probe_rows = rows_of(condition.of(other).front());
  auto const build_rows = rows_of(condition.of(build)[column]);
  SampledColumn const sorted(ColumnWords(condition.of(build)[column], 0), build_rows);
  auto const all = bounds_of(parts, build);
  auto const bounds = std::ranges::find(all, column, &ColumnBounds::column);
  auto const n = std::min(probe_rows, kSearchedRows);
  for (std::uint64_t i = 0; i < n; ++i) {
    auto const row = sampled_row(i, n, probe_rows);
    // Nothing is found for null.
    if (!std::ranges::all_of(bounds->bounds, [&](auto const& b) { return probe[b.probe_column].is_valid(row); }))
      continue;
    auto const [first, last] = sorted.find(bounds->range_of(probe, row));
    if (first < last) visit(row, std::span(sorted.words).subspan(first, last - first));
  }
  return sorted.rows_of_each * static_cast<double>(probe_rows) / static_cast<double>(std::max<std::uint64_t>(n, 1));
}

/// Pairs of rows, tested together.
struct TestedPairs {
  std::vector<std::uint64_t> left;
  std::vector<std::uint64_t> right;

  void add(std::uint64_t left_row, std::uint64_t right_row) {
    left.push_back(left_row);
    right.push_back(right_row);
  }
  std::vector<std::uint8_t> test(PairCondition const& condition) const {
    std::vector<std::uint8_t> passes(left.size());
    PairFilter(condition).test<std::uint64_t>(left, right, passes);
    return passes;
  }
};

/// Of rows here and there.
double met_pairs(PairCondition const& condition, std::uint64_t left_rows, std::uint64_t right_rows) {
  TestedPairs pairs;
  auto const left = std::min(left_rows, kMetRows);
  auto const right = std::min(right_rows, kMetRows);
  for (std::uint64_t l = 0; l < left; ++l)
    for (std::uint64_t r = 0; r < right; ++r)
      pairs.add(sampled_row(l, left, left_rows), sampled_row(r, right, right_rows));
  auto const passes = pairs.test(condition);
  return static_cast<double>(std::ranges::count(passes, 1)) / static_cast<double>(left * right) *
         static_cast<double>(left_rows) * static_cast<double>(right_rows);
}

}  // namespace

double pairs_in_range(PairCondition const& condition, ConditionParts const& parts, Side build, std::uint32_t column) {
  std::uint64_t found = 0;
  auto const each = visit_ranges(condition, parts, build, column,
                                 [&](std::uint64_t, std::span<SampledWord const> words) { found += words.size(); });
  return static_cast<double>(found) * each;
}

double expected_pairs(PairCondition const& condition, std::uint64_t left_rows, std::uint64_t right_rows) {
  if (left_rows == 0 || right_rows == 0) return 0;
  auto const parts = parts_of(condition);
  if (parts.is_never) return 0;
  if (condition.steps.empty()) return static_cast<double>(left_rows) * static_cast<double>(right_rows);
  if (parts.cross.empty()) return met_pairs(condition, left_rows, right_rows);
  std::optional<std::pair<Side, std::uint32_t>> best;
  double least = 0;
  for (auto const side : {Side::left, Side::right})
    for (auto const& comparison : parts.cross)
      if (auto const found = pairs_in_range(condition, parts, side, comparison.column(side)); !best || found < least) {
        best.emplace(side, comparison.column(side));
        least = found;
      }
  TestedPairs pairs;
  std::vector<double> stands_for;  // of the range's words, a tested pair
  auto const each = visit_ranges(
      condition, parts, best->first, best->second, [&](std::uint64_t row, std::span<SampledWord const> words) {
        auto const tested = std::min<std::size_t>(words.size(), kTestedOfRange);
        for (std::size_t i = 0; i < tested; ++i) {
          auto const other = words[i * words.size() / tested].row;
          if (best->first == Side::right)
            pairs.add(row, other);
          else
            pairs.add(other, row);
          stands_for.push_back(static_cast<double>(words.size()) / static_cast<double>(tested));
        }
      });
  auto const passes = pairs.test(condition);
  double found = 0;
  for (std::size_t i = 0; i < passes.size(); ++i) found += passes[i] != 0 ? stands_for[i] : 0;
  return found * each;
}

}  // namespace garuda::expr
