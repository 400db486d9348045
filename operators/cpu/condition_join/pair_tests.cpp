#include "operators/cpu/condition_join/pair_tests.hpp"

#include <algorithm>
#include <cstring>

namespace garuda::cpu {
namespace {

using contract::Comparison;
using contract::ConditionStep;
using contract::Operand;
using Kind = ConditionStep::Kind;

std::size_t depth_of(std::vector<ConditionStep> const& steps) {
  std::size_t depth = 0;
  std::size_t most = 0;
  for (auto const& step : steps) {
    if (step.kind == Kind::comparison)
      most = std::max(most, ++depth);
    else
      --depth;
  }
  return most;
}

}  // namespace

std::vector<ColumnBounds> bounds_of(keyless::ConditionParts const& parts, Side build) {
  std::vector<ColumnBounds> all;
  for (auto const& comparison : parts.cross) {
    auto const column = comparison.column(build);
    auto found = std::ranges::find(all, column, &ColumnBounds::column);
    if (found == all.end()) found = all.insert(all.end(), ColumnBounds{column, {}});
    if (build == Side::left)
      found->bounds.push_back({comparison.comparator, comparison.right});
    else
      found->bounds.push_back({keyless::mirrored(comparison.comparator), comparison.left});
  }
  return all;
}

PairTests::PairTests(contract::Condition const& condition, keyless::ConditionParts const& parts, Side build,
                     std::optional<std::uint32_t> sorted_by)
    : condition_(&condition), build_(build), bounds_(bounds_of(parts, build)), rest_(parts.rest) {
  if (sorted_by) std::erase_if(bounds_, [&](ColumnBounds const& bounds) { return bounds.column == *sorted_by; });
  depth_ = depth_of(rest_);
}

std::vector<std::uint32_t> PairTests::build_columns() const {
  std::vector<std::uint32_t> columns;
  for (auto const& bounds : bounds_) columns.push_back(bounds.column);
  auto const own = build_ == Side::left ? Operand::Source::left : Operand::Source::right;
  for (auto const& step : rest_) {
    if (step.kind != Kind::comparison) continue;
    auto const& comparison = condition_->comparisons[step.comparison];
    for (auto const& operand : {comparison.first, comparison.second})
      if (operand.source == own) columns.push_back(operand.column);
  }
  return columns;
}

RowTests::RowTests(PairTests const& tests, std::vector<keyless::ColumnWords> const& probe, BuildRows const& build)
    : tests_(tests),
      probe_(probe),
      build_(build),
      kernels_(mask_kernels()),
      ranges_(tests.bounds_.size()),
      masks_(tests.depth_) {
  for (std::size_t b = 0; b < ranges_.size(); ++b) ranges_[b].column = build.column(tests.bounds_[b].column);
}

bool RowTests::begin(std::uint64_t probe_row) {
  row_ = probe_row;
  for (std::size_t b = 0; b < ranges_.size(); ++b) {
    auto range = tests_.bounds_[b].range_of(probe_, probe_row);
    if (!ranges_[b].column.is_wide()) range.high = std::min<std::uint64_t>(range.high, 0xffff'ffff);
    if (range.is_empty()) return false;
    ranges_[b].low = range.low;
    ranges_[b].span = range.high - range.low;
  }
  return true;
}

std::uint32_t RowTests::count(std::uint64_t first, std::size_t count) {
  if (!tests_.any()) return static_cast<std::uint32_t>(count);
  if (ranges_.size() == 1 && tests_.rest_.empty()) {
    auto const& [column, low, span] = ranges_.front();
    if (column.is_wide()) return kernels_.count_64(column.words64 + first, count, low, span);
    return kernels_.count_32(column.words32 + first, count, static_cast<std::uint32_t>(low),
                             static_cast<std::uint32_t>(span));
  }
  Mask found;
  return mask(first, count, found.data());
}

std::uint32_t RowTests::mask(std::uint64_t first, std::size_t count, std::uint8_t* mask) {
  mask_bounds(first, count, mask);
  if (!tests_.rest_.empty()) {
    // Most blocks have no row left by now.
    if (!ranges_.empty() && std::memchr(mask, 1, count) == nullptr) return 0;
    mask_rest(first, count);
    kernels_.and_masks(masks_.front().data(), count, mask);
  }
  return kernels_.count_mask(mask, count);
}

void RowTests::mask_bounds(std::uint64_t first, std::size_t count, std::uint8_t* mask) const {
  if (ranges_.empty()) std::memset(mask, 1, count);
  bool is_first = true;
  for (auto const& [column, low, span] : ranges_) {
    if (column.is_wide()) {
      (is_first ? kernels_.range_64 : kernels_.and_range_64)(column.words64 + first, count, low, span, mask);
    } else {
      (is_first ? kernels_.range_32 : kernels_.and_range_32)(
          column.words32 + first, count, static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(span), mask);
    }
    is_first = false;
  }
}

void RowTests::mask_rest(std::uint64_t first, std::size_t count) {
  std::size_t depth = 0;
  for (auto const& step : tests_.rest_) {
    if (step.kind == Kind::comparison) {
      mask_comparison(tests_.condition_->comparisons[step.comparison], first, count, masks_[depth++].data());
      continue;
    }
    --depth;
    (step.kind == Kind::all ? kernels_.and_masks : kernels_.or_masks)(masks_[depth].data(), count,
                                                                      masks_[depth - 1].data());
  }
}

bool RowTests::is_of_build(Operand const& operand) const {
  return operand.source == (tests_.build_ == Side::left ? Operand::Source::left : Operand::Source::right);
}

std::optional<std::uint64_t> RowTests::word_of(Operand const& operand) const {
  if (operand.source == Operand::Source::constant) return operand.word;
  auto const& column = probe_[operand.column];
  if (!column.is_valid(row_)) return std::nullopt;
  return column.word(row_);
}

void RowTests::mask_comparison(Comparison const& comparison, std::uint64_t first, std::size_t count,
                               std::uint8_t* mask) const {
  auto const& [comparator, a, b] = comparison;
  bool const of_build[] = {is_of_build(a), is_of_build(b)};
  if (of_build[0] && of_build[1]) {
    auto const& left = build_.column(a.column);
    auto const& right = build_.column(b.column);
    if (left.is_wide())
      kernels_.compare_columns_64(comparator, left.words64 + first, right.words64 + first, count, mask);
    else
      kernels_.compare_columns_32(comparator, left.words32 + first, right.words32 + first, count, mask);
  } else if (!of_build[0] && !of_build[1]) {
    auto const left = word_of(a);
    auto const right = word_of(b);
    std::memset(mask, left && right && keyless::holds(comparator, *left, *right) ? 1 : 0, count);
    return;
  } else {
    auto const word = word_of(of_build[0] ? b : a);
    if (!word) {
      std::memset(mask, 0, count);
      return;
    }
    auto const turned = of_build[0] ? comparator : keyless::mirrored(comparator);
    auto const& column = build_.column(of_build[0] ? a.column : b.column);
    if (column.is_wide())
      kernels_.compare_64(turned, column.words64 + first, count, *word, mask);
    else
      kernels_.compare_32(turned, column.words32 + first, count, static_cast<std::uint32_t>(*word), mask);
  }
  for (auto const& operand : {a, b})
    if (is_of_build(operand) && build_.column(operand.column).valid != nullptr)
      kernels_.and_masks(build_.column(operand.column).valid + first, count, mask);
}

}  // namespace garuda::cpu
