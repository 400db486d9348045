#include "tests/workloads/condition_problem.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>

namespace garuda::testing {
namespace {

using contract::RowPair;
using expr::Comparator;
using expr::PairCondition;
using expr::PairStep;
using expr::WordOperand;
using Kind = PairStep::Kind;

WordOperand left(std::uint32_t column) { return {WordOperand::Source::left, column, 0}; }
WordOperand right(std::uint32_t column) { return {WordOperand::Source::right, column, 0}; }
WordOperand constant(std::uint64_t word) { return {WordOperand::Source::constant, 0, word}; }

std::uint64_t word_of(WordPattern pattern, std::uint64_t most, std::uint64_t rows, std::mt19937_64& random) {
  switch (pattern) {
    case WordPattern::few:
      return most / 2 - 10 + random() % 20;
    case WordPattern::spread:
      return most / 2 - rows / 2 + random() % (rows + 1);
    case WordPattern::extremes: {
      std::uint64_t const words[] = {0, 1, most - 1, most};
      return words[random() % 4];
    }
    case WordPattern::equal:
      return most / 2;
  }
  return 0;
}

bool compare(Comparator comparator, std::uint64_t a, std::uint64_t b) {
  switch (comparator) {
    case Comparator::equal:
      return a == b;
    case Comparator::not_equal:
      return a != b;
    case Comparator::less:
      return a < b;
    case Comparator::less_equal:
      return a <= b;
    case Comparator::greater:
      return a > b;
    case Comparator::greater_equal:
      return a >= b;
  }
  return false;
}

}  // namespace

std::string to_string(ConditionCase const& c) {
  return c.name + " of " + std::to_string(c.left_rows) + " x " + std::to_string(c.right_rows) +
         (c.is_wide ? ", wide" : "") + (c.has_nulls ? ", nulls" : "") + ", pattern " +
         std::to_string(static_cast<int>(c.pattern)) + ", seed " + std::to_string(c.seed);
}

std::vector<std::string> const& condition_names() {
  static std::vector<std::string> const names{"cross",         "less",   "equal",     "not_equal", "band",
                                              "band_and_rest", "either", "own_sides", "never",     "random"};
  return names;
}

ConditionProblem::ConditionProblem(ConditionCase const& condition_case) : case_(condition_case) {
  make_columns(Side::left, case_.left_rows);
  make_columns(Side::right, case_.right_rows);
  make_condition();
}

void ConditionProblem::make_columns(Side side, std::uint64_t rows) {
  std::mt19937_64 random(case_.seed * 2 + (side == Side::left ? 0 : 1));
  auto& columns = side == Side::left ? left_ : right_;
  auto& words = side == Side::left ? condition_.left : condition_.right;
  columns.resize(3);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    auto& column = columns[c];
    bool const is_wide = case_.is_wide != (c == 2);
    auto const most = is_wide ? ~std::uint64_t{0} : std::uint64_t{0xffff'ffff};
    if (c == 0) constant_ = most / 2;
    column.valid.assign((rows + 63) / 64, 0);
    for (std::uint64_t row = 0; row < rows; ++row) {
      auto const word = word_of(case_.pattern, most, std::max(case_.left_rows, case_.right_rows), random);
      if (is_wide)
        column.words64.push_back(word);
      else
        column.words32.push_back(static_cast<std::uint32_t>(word));
      column.has_value.push_back(!case_.has_nulls || random() % 5 != 0);
      if (column.has_value.back()) column.valid[row / 64] |= std::uint64_t{1} << row % 64;
    }
  }
  for (auto const& column : columns) {
    expr::OrderWords own;
    if (case_.is_wide != (&column == &columns[2]))
      own.words = std::span<std::uint64_t const>(column.words64);
    else
      own.words = std::span<std::uint32_t const>(column.words32);
    if (case_.has_nulls) own.valid = column.valid;
    words.push_back(own);
  }
}

void ConditionProblem::add(Comparator comparator, WordOperand first, WordOperand second) {
  condition_.steps.push_back({Kind::comparison, static_cast<std::uint32_t>(condition_.comparisons.size())});
  condition_.comparisons.push_back({comparator, first, second});
}

void ConditionProblem::make_condition() {
  auto const combine = [&](Kind kind) { condition_.steps.push_back({kind, 0}); };
  std::mt19937_64 random(case_.seed);
  if (case_.name == "random") return make_random(random);
  if (case_.name == "less") add(Comparator::less, left(0), right(0));
  if (case_.name == "equal") add(Comparator::equal, right(0), left(0));
  if (case_.name == "not_equal") add(Comparator::not_equal, left(0), right(0));
  if (case_.name == "never") add(Comparator::less, constant(5), constant(5));
  if (case_.name.starts_with("band") || case_.name == "own_sides") {
    add(Comparator::less_equal, right(0), left(0));
    add(Comparator::greater_equal, right(1), left(0));
    combine(Kind::all);
  }
  if (case_.name == "band_and_rest") {
    add(Comparator::not_equal, left(2), right(2));
    add(Comparator::equal, left(1), right(1));
    combine(Kind::any);
    combine(Kind::all);
  }
  if (case_.name == "own_sides") {
    add(Comparator::greater, left(1), constant(constant_));
    combine(Kind::all);
    add(Comparator::less_equal, right(0), right(1));
    add(Comparator::greater, constant(constant_ + 8), right(1));
    combine(Kind::all);
    combine(Kind::all);
  }
  if (case_.name == "either") {
    add(Comparator::less, left(0), right(0));
    add(Comparator::greater, left(2), right(2));
    combine(Kind::any);
  }
}

/// Comparisons of any columns of one width, joined in any order.
void ConditionProblem::make_random(std::mt19937_64& random) {
  auto const operand = [&](bool is_other) {
    auto const column = is_other ? 2U : static_cast<std::uint32_t>(random() % 2);
    auto const kind = random() % 7;
    if (kind == 6 && !is_other) return constant(constant_ - 5 + random() % 10);
    return kind < 3 ? left(column) : right(column);
  };
  auto const comparisons = 1 + random() % 6;
  std::size_t open = 0;
  for (std::size_t c = 0; c < comparisons; ++c) {
    bool const is_other = random() % 4 == 0;
    auto const comparator = static_cast<Comparator>(random() % 6);
    auto const first = operand(is_other);
    add(comparator, first, operand(is_other));
    ++open;
    while (open > 1 && (c + 1 == comparisons || random() % 2 == 0)) {
      condition_.steps.push_back({random() % 3 == 0 ? Kind::any : Kind::all, 0});
      --open;
    }
  }
}

bool ConditionProblem::is_match(std::uint64_t left_row, std::uint64_t right_row) const {
  auto const value = [&](WordOperand const& operand) -> std::optional<std::uint64_t> {
    if (operand.source == WordOperand::Source::constant) return operand.word;
    bool const is_left = operand.source == WordOperand::Source::left;
    auto const& column = (is_left ? left_ : right_)[operand.column];
    auto const row = is_left ? left_row : right_row;
    if (!column.has_value[row]) return std::nullopt;
    return column.words64.empty() ? column.words32[row] : column.words64[row];
  };
  std::uint64_t results = 0;  // the last one lowest
  for (auto const& step : condition_.steps) {
    if (step.kind == Kind::comparison) {
      auto const& comparison = condition_.comparisons[step.comparison];
      auto const a = value(comparison.first);
      auto const b = value(comparison.second);
      results = results << 1U | std::uint64_t{a && b && compare(comparison.comparator, *a, *b)};
      continue;
    }
    auto const last = results & 1U;
    results = step.kind == Kind::all ? (results >> 1U) & (last | ~std::uint64_t{1}) : results >> 1U | last;
  }
  return condition_.steps.empty() || (results & 1U) != 0;
}

std::vector<RowPair> const& ConditionProblem::pairs_of(contract::ConditionSlice const& slice) const {
  auto& [left, right, pairs] = solved_;
  if (left == slice.left && right == slice.right) return pairs;
  left = slice.left;
  right = slice.right;
  pairs.clear();
  for (std::uint32_t l = 0; l < slice.left.rows; ++l)
    for (std::uint32_t r = 0; r < slice.right.rows; ++r)
      if (is_match(slice.left.first + l, slice.right.first + r)) pairs.push_back({l, r});
  return pairs;
}

void expect_solved(ConditionProblem const& problem, contract::ConditionSlice const& slice, contract::JoinKernel& kernel,
                   std::uint64_t window) {
  auto const& expected = problem.pairs_of(slice);
  auto const count = kernel.count();
  ASSERT_TRUE(count) << count.error().describe();
  ASSERT_EQ(*count, expected.size());
  std::vector<RowPair> pairs(expected.size());
  for (std::uint64_t first = 0; first < pairs.size(); first += window)
    ASSERT_TRUE(kernel.pairs(first, std::span(pairs).subspan(first, std::min(window, pairs.size() - first))));
  for (std::uint64_t first = pairs.size() / 3; first < pairs.size(); first += pairs.size() / 2 + 1) {
    std::vector<RowPair> again(std::min<std::uint64_t>(pairs.size() - first, 100));
    ASSERT_TRUE(kernel.pairs(first, again));
    ASSERT_TRUE(std::equal(again.begin(), again.end(), pairs.begin() + static_cast<std::ptrdiff_t>(first)))
        << "restarted at " << first;
  }
  std::ranges::sort(pairs);
  ASSERT_TRUE(pairs == expected);
  for (auto const side : {Side::left, Side::right}) {
    contract::MarkBitmap marks(contract::bitmap_words(slice.of(side).rows));
    for (auto const& pair : expected) {
      auto const row = side == Side::left ? pair.left : pair.right;
      marks[row / 64] |= std::uint64_t{1} << row % 64;
    }
    auto const found = kernel.mark(side);
    ASSERT_TRUE(found) << found.error().describe();
    ASSERT_TRUE(*found == marks) << "marks of side " << static_cast<int>(side);
  }
}

}  // namespace garuda::testing
