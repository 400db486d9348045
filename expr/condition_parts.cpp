#include "expr/condition_parts.hpp"

#include <algorithm>
#include <utility>

#include "expr/comparators.hpp"
#include "expr/evaluator.hpp"
#include "expr/pair_filter.hpp"
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

}  // namespace garuda::expr
