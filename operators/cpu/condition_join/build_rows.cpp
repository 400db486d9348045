#include "operators/cpu/condition_join/build_rows.hpp"

#include <utility>

namespace garuda::cpu {

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

}  // namespace garuda::cpu
