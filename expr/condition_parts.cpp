#include "expr/condition_parts.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "expr/comparators.hpp"
#include "expr/evaluator.hpp"
#include "expr/pair_filter.hpp"
#include "expr/sides.hpp"
#include "garuda/error.hpp"

namespace garuda::expr {
namespace {

using Source = WordOperand::Source;
using StepKind = PairStep::Kind;

/// Steps [begin, end) of one conjunct.
struct StepRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// The operands of the outermost `and`, in order.
std::vector<StepRange> conjuncts_of(std::vector<PairStep> const& steps) {
  if (steps.empty()) return {};
  std::vector<std::size_t> begins(steps.size());  // of the expression that ends with each step
  std::vector<std::size_t> open;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    begins[s] = s;
    if (steps[s].kind != StepKind::comparison) {
      GARUDA_EXPECTS(open.size() >= 2);
      open.pop_back();
      begins[s] = open.back();
      open.pop_back();
    }
    open.push_back(begins[s]);
  }
  GARUDA_EXPECTS(open.size() == 1);
  std::vector<StepRange> found;
  std::vector<StepRange> left{{0, steps.size()}};
  while (!left.empty()) {
    auto const range = left.back();
    left.pop_back();
    if (steps[range.end - 1].kind != StepKind::all) {
      found.push_back(range);
      continue;
    }
    auto const middle = begins[range.end - 2];
    left.push_back({middle, range.end - 1});
    left.push_back({range.begin, middle});
  }
  return found;
}

/// The side whose columns alone a comparison looks at; nullopt: both. A comparison of constants is of neither.
std::optional<Side> side_of(WordComparison const& comparison) {
  for (auto const side : {Side::left, Side::right}) {
    auto const other = side == Side::left ? Source::right : Source::left;
    if (comparison.first.source != other && comparison.second.source != other) return side;
  }
  return std::nullopt;
}

void add_comparison(PairCondition const& condition, StepRange range, ConditionParts& parts,
                    std::vector<StepRange>& rest) {
  auto const& step = condition.steps[range.end - 1];
  auto const& comparison = condition.comparisons.at(step.comparison);
  auto const& [comparator, first, second] = comparison;
  if (first.source == Source::constant && second.source == Source::constant) {
    parts.is_never = parts.is_never || !holds(comparator, first.word, second.word);
  } else if (auto const side = side_of(comparison)) {
    auto& own = *side == Side::left ? parts.left : parts.right;
    own.push_back(step);
    if (own.size() > 1) own.push_back({StepKind::all, 0});
  } else if (comparator == Comparator::not_equal) {
    rest.push_back(range);
  } else if (first.source == Source::left) {
    parts.cross.push_back({comparator, first.column, second.column});
  } else {
    parts.cross.push_back({mirrored(comparator), second.column, first.column});
  }
}

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

/// Estimates the pairs that pass the condition from rows here and there.
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

ConditionParts parts_of(PairCondition const& condition) {
  ConditionParts parts;
  std::vector<StepRange> rest;
  for (auto const& range : conjuncts_of(condition.steps)) {
    auto const& last = condition.steps[range.end - 1];
    if (last.kind == StepKind::comparison)
      add_comparison(condition, range, parts, rest);
    else
      rest.push_back(range);
  }
  for (std::size_t r = 0; r < rest.size(); ++r) {
    for (auto s = rest[r].begin; s < rest[r].end; ++s) parts.rest.push_back(condition.steps[s]);
    if (r > 0) parts.rest.push_back({StepKind::all, 0});
  }
  return parts;
}

ColumnWords::ColumnWords(OrderWords const& column, std::uint64_t first)
    : valid_(column.valid.empty() ? nullptr : column.valid.data()), first_(first) {
  if (auto const* const narrow = std::get_if<std::span<std::uint32_t const>>(&column.words))
    words32_ = narrow->data() + first;
  else
    words64_ = std::get<std::span<std::uint64_t const>>(column.words).data() + first;
}

std::vector<ColumnBounds> bounds_of(ConditionParts const& parts, Side build) {
  std::vector<ColumnBounds> all;
  for (auto const& comparison : parts.cross) {
    auto const column = comparison.column(build);
    auto found = std::ranges::find(all, column, &ColumnBounds::column);
    if (found == all.end()) found = all.insert(all.end(), ColumnBounds{column, {}});
    if (build == Side::left)
      found->bounds.push_back({comparison.comparator, comparison.right});
    else
      found->bounds.push_back({mirrored(comparison.comparator), comparison.left});
  }
  return all;
}

std::vector<ColumnWords> columns_of(PairCondition const& condition, Side side, std::uint64_t first) {
  std::vector<ColumnWords> columns;
  for (auto const& column : condition.of(side)) columns.emplace_back(column, first);
  return columns;
}

Vector ColumnWords::vector(std::uint64_t row, std::size_t count, std::uint8_t* valid) const {
  Vector vector;
  vector.kind = is_wide() ? Kind::uint64 : Kind::uint32;
  vector.values = is_wide() ? static_cast<void const*>(words64_ + row) : words32_ + row;
  if (!has_nulls()) return vector;
  for (std::size_t i = 0; i < count; ++i) valid[i] = is_valid(row + i) ? 1 : 0;
  vector.valid = valid;
  return vector;
}

std::optional<std::vector<std::uint32_t>> rows_that_may_match(PairCondition const& condition,
                                                              ConditionParts const& parts, Side side,
                                                              std::uint64_t first, std::uint64_t rows) {
  auto const columns = columns_of(condition, side, first);
  std::vector<std::uint32_t> compared;
  for (auto const& comparison : parts.cross)
    if (auto const column = comparison.column(side); columns[column].has_nulls()) compared.push_back(column);
  if (compared.empty() && parts.of(side).empty()) return std::nullopt;
  std::vector<std::uint8_t> may(rows, 1);
  for (auto const column : compared)
    for (std::size_t row = 0; row < rows; ++row) may[row] = may[row] != 0 && columns[column].is_valid(row);
  if (!parts.of(side).empty()) {
    auto const program = pair_program(condition, parts.of(side));
    Evaluator evaluator(program.program);
    auto const inputs = evaluator.inputs();
    std::vector<std::uint8_t> valid(inputs.size() * kVectorRows);
    for (std::uint64_t row = 0; row < rows; row += kVectorRows) {
      auto const count = static_cast<std::size_t>(std::min<std::uint64_t>(kVectorRows, rows - row));
      for (std::size_t i = 0; i < inputs.size(); ++i)
        inputs[i] = columns[program.inputs[i].column].vector(row, count, valid.data() + i * kVectorRows);
      mask_kernels().and_masks(evaluator.mask(count), count, may.data() + row);
    }
  }
  std::vector<std::uint32_t> chosen(rows);
  std::size_t count = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    chosen[count] = static_cast<std::uint32_t>(row);
    count += may[row];
  }
  if (count == rows) return std::nullopt;
  chosen.resize(count);
  return chosen;
}

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
