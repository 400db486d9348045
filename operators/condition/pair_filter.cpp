#include "operators/condition/pair_filter.hpp"

#include <algorithm>
#include <variant>

#include "garuda/error.hpp"

namespace garuda::condition {
namespace {

using contract::ConditionStep;
using Source = contract::Operand::Source;

template <class Word>
std::span<Word const> words_of(contract::OrderWords const& column) {
  return std::get<std::span<Word const>>(column.words);
}

template <class Word, class Row>
void fetch(std::span<Word const> words, Row const* rows, std::size_t count, Word* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] = words[rows[i]];
}

/// flags[i] = first[i] compared with second(i).
template <class Word, class Second>
void compare_all(Comparator comparator, Word const* first, Second const& second, std::size_t count,
                 std::uint8_t* flags) {
  auto const put = [&](auto const& holds) {
    for (std::size_t i = 0; i < count; ++i) flags[i] = holds(first[i], second(i)) ? 1 : 0;
  };
  switch (comparator) {
    case Comparator::equal:
      return put([](Word a, Word b) { return a == b; });
    case Comparator::not_equal:
      return put([](Word a, Word b) { return a != b; });
    case Comparator::less:
      return put([](Word a, Word b) { return a < b; });
    case Comparator::less_equal:
      return put([](Word a, Word b) { return a <= b; });
    case Comparator::greater:
      return put([](Word a, Word b) { return a > b; });
    case Comparator::greater_equal:
      return put([](Word a, Word b) { return a >= b; });
  }
}

template <class Row>
void keep_valid(std::span<std::uint64_t const> valid, Row const* rows, std::size_t count, std::uint8_t* flags) {
  if (valid.empty()) return;
  for (std::size_t i = 0; i < count; ++i)
    flags[i] = static_cast<std::uint8_t>(flags[i] & (valid[rows[i] / 64] >> (rows[i] % 64) & 1));
}

/// Most results that stand on the stack at once.
std::size_t depth_of(contract::Condition const& condition) {
  std::size_t depth = 0;
  std::size_t most = 0;
  for (auto const& step : condition.steps) {
    depth += step.kind == ConditionStep::Kind::comparison ? 1 : std::size_t(-1);
    most = std::max(most, depth);
  }
  return most;
}

}  // namespace

PairFilter::PairFilter(contract::Condition const& condition) : condition_(condition), stack_(depth_of(condition)) {
  GARUDA_EXPECTS(!condition.steps.empty());
}

contract::OrderWords const& PairFilter::column(contract::Operand const& operand) const {
  return (operand.source == Source::left ? condition_.left : condition_.right)[operand.column];
}

template <class Word, class Row>
void PairFilter::compare_words(contract::Comparison const& comparison, Rows<Row> const& rows, std::uint8_t* flags) {
  auto const rows_of = [&](contract::Operand const& operand) {
    return operand.source == Source::left ? rows.left : rows.right;
  };
  auto const words = [&](contract::Operand const& operand, Word* fetched) {
    if (operand.source == Source::constant)
      std::fill_n(fetched, rows.count, static_cast<Word>(operand.word));
    else
      fetch(words_of<Word>(column(operand)), rows_of(operand), rows.count, fetched);
    return fetched;
  };
  std::array<Word, kBlockPairs> of_first;
  std::array<Word, kBlockPairs> of_second;
  auto const* const first = words(comparison.first, of_first.data());
  if (comparison.second.source == Source::constant) {
    auto const constant = static_cast<Word>(comparison.second.word);
    compare_all(
        comparison.comparator, first, [=](std::size_t) { return constant; }, rows.count, flags);
  } else {
    auto const* const second = words(comparison.second, of_second.data());
    compare_all(
        comparison.comparator, first, [=](std::size_t i) { return second[i]; }, rows.count, flags);
  }
  for (auto const* const operand : {&comparison.first, &comparison.second})
    if (operand->source != Source::constant) keep_valid(column(*operand).valid, rows_of(*operand), rows.count, flags);
}

template <class Row>
void PairFilter::compare(contract::Comparison const& comparison, Rows<Row> const& rows, std::uint8_t* flags) {
  auto const& operand = comparison.first.source == Source::constant ? comparison.second : comparison.first;
  if (std::holds_alternative<std::span<std::uint32_t const>>(column(operand).words))
    compare_words<std::uint32_t>(comparison, rows, flags);
  else
    compare_words<std::uint64_t>(comparison, rows, flags);
}

template <class Row>
void PairFilter::test_block(Rows<Row> const& rows, std::uint8_t* passes) {
  std::size_t depth = 0;
  for (auto const& step : condition_.steps) {
    if (step.kind == ConditionStep::Kind::comparison) {
      compare(condition_.comparisons[step.comparison], rows, stack_[depth++].data());
      continue;
    }
    auto const& last = stack_[--depth];
    auto& result = stack_[depth - 1];
    if (step.kind == ConditionStep::Kind::all)
      for (std::size_t i = 0; i < rows.count; ++i) result[i] &= last[i];
    else
      for (std::size_t i = 0; i < rows.count; ++i) result[i] |= last[i];
  }
  std::copy_n(stack_.front().data(), rows.count, passes);
}

template <class Row>
void PairFilter::test(std::span<Row const> left, std::span<Row const> right, std::span<std::uint8_t> passes) {
  GARUDA_EXPECTS(left.size() == right.size() && left.size() == passes.size());
  for (std::size_t first = 0; first < left.size(); first += kBlockPairs)
    test_block(Rows<Row>{left.data() + first, right.data() + first, std::min(kBlockPairs, left.size() - first)},
               passes.data() + first);
}

template void PairFilter::test<std::uint32_t>(std::span<std::uint32_t const>, std::span<std::uint32_t const>,
                                              std::span<std::uint8_t>);
template void PairFilter::test<std::uint64_t>(std::span<std::uint64_t const>, std::span<std::uint64_t const>,
                                              std::span<std::uint8_t>);

}  // namespace garuda::condition
