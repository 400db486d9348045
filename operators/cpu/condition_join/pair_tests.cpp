#include "operators/cpu/condition_join/pair_tests.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace garuda::cpu {
namespace {

template <class Column>
expr::Kind kind_of(Column const& column) {
  return column.is_wide() ? expr::Kind::uint64 : expr::Kind::uint32;
}

}  // namespace

template <class Word>
Result<Word const*> BuildRows::in_order(Word const* words) {
  if (!order_) return words;
  GARUDA_TRY_ASSIGN(auto buffer, AlignedBuffer::allocate(static_cast<std::int64_t>(size_ * sizeof(Word))));
  auto* const taken = buffer.template as<Word>();
  for (std::uint64_t p = 0; p < size_; ++p) taken[p] = words[(*order_)[p]];
  owned_.push_back(std::move(buffer));
  return taken;
}

Result<std::uint8_t const*> BuildRows::validity(expr::ColumnWords const& column) {
  GARUDA_TRY_ASSIGN(auto buffer, AlignedBuffer::allocate(static_cast<std::int64_t>(size_)));
  auto* const valid = buffer.as<std::uint8_t>();
  for (std::uint64_t p = 0; p < size_; ++p) valid[p] = column.is_valid(row(p)) ? 1 : 0;
  owned_.push_back(std::move(buffer));
  return valid;
}

Result<BuildRows> BuildRows::create(expr::PairCondition const& condition, Side side, contract::RowSpan span,
                                    std::optional<std::vector<std::uint32_t>> order,
                                    std::vector<std::uint32_t> const& used) {
  BuildRows rows;
  rows.size_ = order ? order->size() : span.rows;
  rows.order_ = std::move(order);
  auto const source = expr::columns_of(condition, side, span.first);
  rows.columns_.resize(source.size());
  for (auto const c : used) {
    auto& column = rows.columns_[c];
    if (column.words32 != nullptr || column.words64 != nullptr || rows.size_ == 0) continue;
    if (source[c].is_wide()) {
      GARUDA_TRY_ASSIGN(column.words64, rows.in_order(source[c].words64()));
    } else {
      GARUDA_TRY_ASSIGN(column.words32, rows.in_order(source[c].words32()));
    }
    if (source[c].has_nulls()) {
      GARUDA_TRY_ASSIGN(column.valid, rows.validity(source[c]));
    }
  }
  return rows;
}

PairTests::PairTests(expr::PairCondition const& condition, expr::ConditionParts const& parts, Side build,
                     std::optional<std::uint32_t> sorted_by)
    : build_(build), bounds_(expr::bounds_of(parts, build)) {
  if (sorted_by) std::erase_if(bounds_, [&](expr::ColumnBounds const& bounds) { return bounds.column == *sorted_by; });
  if (!parts.rest.empty()) rest_ = expr::pair_program(condition, parts.rest);
}

std::vector<std::uint32_t> PairTests::build_columns() const {
  std::vector<std::uint32_t> columns;
  for (auto const& bounds : bounds_) columns.push_back(bounds.column);
  if (!rest_) return columns;
  for (auto const& input : rest_->inputs)
    if (input.side == build_) columns.push_back(input.column);
  return columns;
}

RowTests::RowTests(PairTests const& tests, std::vector<expr::ColumnWords> const& probe, BuildRows const& build)
    : tests_(tests), probe_(probe), build_(build), kernels_(expr::mask_kernels()), ranges_(tests.bounds_.size()) {
  if (tests.rest_) {
    rest_.emplace(tests.rest_->program);
    words_.resize(tests.rest_->inputs.size());
  }
  for (std::size_t b = 0; b < ranges_.size(); ++b) ranges_[b].column = build.column(tests.bounds_[b].column);
}

bool RowTests::begin(std::uint64_t probe_row) {
  row_ = probe_row;
  if (rest_) set_probe_row();
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
  if (ranges_.size() == 1 && !tests_.rest_) {
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
  if (tests_.rest_) {
    // Most blocks have no row left by now.
    if (!ranges_.empty() && std::memchr(mask, 1, count) == nullptr) return 0;
    kernels_.and_masks(mask_rest(first, count), count, mask);
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

/// The probe row's values are constants of every block.
void RowTests::set_probe_row() {
  static constexpr std::uint8_t kNull = 0;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    auto const& input = tests_.rest_->inputs[i];
    if (input.side == tests_.build_) continue;
    auto const& column = probe_[input.column];
    words_[i] = column.word(row_);
    rest_->inputs()[i] = {kind_of(column), true, &words_[i], column.is_valid(row_) ? nullptr : &kNull};
  }
}

std::uint8_t const* RowTests::mask_rest(std::uint64_t first, std::size_t count) {
  for (std::size_t i = 0; i < words_.size(); ++i) {
    auto const& input = tests_.rest_->inputs[i];
    if (input.side != tests_.build_) continue;
    auto const& column = build_.column(input.column);
    auto const* const words =
        column.is_wide() ? static_cast<void const*>(column.words64 + first) : column.words32 + first;
    rest_->inputs()[i] = {kind_of(column), false, words, column.valid == nullptr ? nullptr : column.valid + first};
  }
  return rest_->mask(count);
}

}  // namespace garuda::cpu
