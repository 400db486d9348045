#include "expr/pair_filter.hpp"

#include <algorithm>
#include <variant>

#include "garuda/error.hpp"

namespace garuda::expr {

PairFilter::PairFilter(PairCondition const& condition)
    : condition_(condition), program_(pair_program(condition, condition.steps)), evaluator_(program_.program) {
  auto const count = program_.inputs.size();
  words_.resize(count * kVectorRows);
  valid_.resize(count * kVectorRows);
  for (std::size_t i = 0; i < count; ++i)
    evaluator_.inputs()[i] = {program_.program.inputs[i], false, words_.data() + i * kVectorRows, nullptr};
}

/// Fetches what an input has for rows of its side.
template <class Row>
void PairFilter::fetch(std::size_t input, std::span<Row const> rows) {
  auto const& column = condition_.of(program_.inputs[input].side)[program_.inputs[input].column];
  std::visit(
      [&]<class Word>(std::span<Word const> words) {
        auto* const to = reinterpret_cast<Word*>(words_.data() + input * kVectorRows);
        for (std::size_t i = 0; i < rows.size(); ++i) to[i] = words[rows[i]];
      },
      column.words);
  if (column.valid.empty()) return;
  auto* const valid = valid_.data() + input * kVectorRows;
  for (std::size_t i = 0; i < rows.size(); ++i)
    valid[i] = static_cast<std::uint8_t>(column.valid[rows[i] / 64] >> (rows[i] % 64) & 1);
  evaluator_.inputs()[input].valid = valid;
}

template <class Row>
void PairFilter::test(std::span<Row const> left, std::span<Row const> right, std::span<std::uint8_t> passes) {
  GARUDA_EXPECTS(left.size() == right.size() && left.size() == passes.size());
  for (std::size_t first = 0; first < left.size(); first += kVectorRows) {
    auto const count = std::min(kVectorRows, left.size() - first);
    for (std::size_t i = 0; i < program_.inputs.size(); ++i)
      fetch(i, (program_.inputs[i].side == Side::left ? left : right).subspan(first, count));
    std::copy_n(evaluator_.mask(count), count, passes.data() + first);
  }
}

template void PairFilter::test<std::uint32_t>(std::span<std::uint32_t const>, std::span<std::uint32_t const>,
                                              std::span<std::uint8_t>);
template void PairFilter::test<std::uint64_t>(std::span<std::uint64_t const>, std::span<std::uint64_t const>,
                                              std::span<std::uint8_t>);

}  // namespace garuda::expr
