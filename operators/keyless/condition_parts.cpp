#include "operators/keyless/condition_parts.hpp"

#include <utility>

#include "garuda/error.hpp"

namespace garuda::keyless {
namespace {

using contract::Comparator;
using contract::Comparison;
using contract::Condition;
using contract::ConditionStep;
using contract::Operand;

using Source = Operand::Source;
using Kind = ConditionStep::Kind;

/// Steps [begin, end) of one conjunct.
struct StepRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// The operands of the outermost `and`, in order.
std::vector<StepRange> conjuncts_of(std::vector<ConditionStep> const& steps) {
  if (steps.empty()) return {};
  std::vector<std::size_t> begins(steps.size());  // of the expression that ends with each step
  std::vector<std::size_t> open;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    begins[s] = s;
    if (steps[s].kind != Kind::comparison) {
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
    if (steps[range.end - 1].kind != Kind::all) {
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
std::optional<Side> side_of(Comparison const& comparison) {
  for (auto const side : {Side::left, Side::right}) {
    auto const other = side == Side::left ? Source::right : Source::left;
    if (comparison.first.source != other && comparison.second.source != other) return side;
  }
  return std::nullopt;
}

void add_comparison(Comparison const& comparison, StepRange range, ConditionParts& parts,
                    std::vector<StepRange>& rest) {
  auto const& [comparator, first, second] = comparison;
  if (first.source == Source::constant && second.source == Source::constant) {
    parts.is_never = parts.is_never || !holds(comparator, first.word, second.word);
  } else if (auto const side = side_of(comparison)) {
    (*side == Side::left ? parts.left : parts.right).push_back(comparison);
  } else if (comparator == Comparator::not_equal) {
    rest.push_back(range);
  } else if (first.source == Source::left) {
    parts.cross.push_back({comparator, first.column, second.column});
  } else {
    parts.cross.push_back({mirrored(comparator), second.column, first.column});
  }
}

/// Whether a row of a side fulfils a conjunct of that side alone.
class SideComparison {
 public:
  SideComparison(Comparison const& comparison, std::vector<ColumnWords> const& columns)
      : comparison_(comparison), columns_(columns) {}

  void narrow_rows(std::vector<std::uint8_t>& may) const {
    for (std::size_t row = 0; row < may.size(); ++row) may[row] = may[row] != 0 && is_true(row) ? 1 : 0;
  }

 private:
  bool has_value(Operand const& operand, std::size_t row) const {
    return operand.source == Source::constant || columns_[operand.column].is_valid(row);
  }
  std::uint64_t word(Operand const& operand, std::size_t row) const {
    return operand.source == Source::constant ? operand.word : columns_[operand.column].word(row);
  }
  bool is_true(std::size_t row) const {
    return has_value(comparison_.first, row) && has_value(comparison_.second, row) &&
           holds(comparison_.comparator, word(comparison_.first, row), word(comparison_.second, row));
  }

  Comparison const& comparison_;
  std::vector<ColumnWords> const& columns_;
};

}  // namespace

contract::Comparator mirrored(contract::Comparator comparator) noexcept {
  switch (comparator) {
    case Comparator::less:
      return Comparator::greater;
    case Comparator::less_equal:
      return Comparator::greater_equal;
    case Comparator::greater:
      return Comparator::less;
    case Comparator::greater_equal:
      return Comparator::less_equal;
    default:
      return comparator;
  }
}

ConditionParts parts_of(Condition const& condition) {
  ConditionParts parts;
  std::vector<StepRange> rest;
  for (auto const& range : conjuncts_of(condition.steps)) {
    auto const& last = condition.steps[range.end - 1];
    if (last.kind == Kind::comparison)
      add_comparison(condition.comparisons.at(last.comparison), range, parts, rest);
    else
      rest.push_back(range);
  }
  for (std::size_t r = 0; r < rest.size(); ++r) {
    for (auto s = rest[r].begin; s < rest[r].end; ++s) parts.rest.push_back(condition.steps[s]);
    if (r > 0) parts.rest.push_back({Kind::all, 0});
  }
  return parts;
}

ColumnWords::ColumnWords(contract::OrderWords const& column, std::uint64_t first)
    : valid_(column.valid.empty() ? nullptr : column.valid.data()), first_(first) {
  if (auto const* const narrow = std::get_if<std::span<std::uint32_t const>>(&column.words))
    words32_ = narrow->data() + first;
  else
    words64_ = std::get<std::span<std::uint64_t const>>(column.words).data() + first;
}

std::vector<ColumnWords> columns_of(Condition const& condition, Side side, std::uint64_t first) {
  std::vector<ColumnWords> columns;
  for (auto const& column : condition.of(side)) columns.emplace_back(column, first);
  return columns;
}

std::optional<std::vector<std::uint32_t>> rows_that_may_match(Condition const& condition, ConditionParts const& parts,
                                                              Side side, std::uint64_t first, std::uint64_t rows) {
  auto const columns = columns_of(condition, side, first);
  std::vector<std::uint32_t> compared;
  for (auto const& comparison : parts.cross)
    if (auto const column = comparison.column(side); columns[column].has_nulls()) compared.push_back(column);
  if (compared.empty() && parts.of(side).empty()) return std::nullopt;
  std::vector<std::uint8_t> may(rows, 1);
  for (auto const column : compared)
    for (std::size_t row = 0; row < rows; ++row) may[row] = may[row] != 0 && columns[column].is_valid(row);
  for (auto const& comparison : parts.of(side)) SideComparison(comparison, columns).narrow_rows(may);
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

}  // namespace garuda::keyless
