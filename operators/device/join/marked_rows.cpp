#include "operators/device/join/marked_rows.hpp"

#include <algorithm>

#include "expr/sides.hpp"
#include "operators/device/known_values.hpp"

namespace garuda::device {

Result<std::optional<compute::KeyRange>> key_range(MovedSides const& sides, Side side, Control const& control) {
  if (sides.composed) return sides.composed->range();
  if (sides.key_strings == nullptr) return value_range(sides.of(side).table(), sides.of(side).key_column(), control);
  return compute::KeyRange{0, std::max<std::uint64_t>(sides.key_strings->count(), 1) - 1};
}

Result<MarkedByBitmap> MarkedByBitmap::create(compute::ComputeContext& context, MovedSides const& sides, Side build,
                                              compute::ResidentJoinWay const& way, Control const& control) {
  GARUDA_TRY_ASSIGN(auto const values, key_range(sides, *way.build, control));
  GARUDA_EXPECTS(values);
  MarkedByBitmap marked;
  GARUDA_TRY_ASSIGN(marked.joinable_, JoinableSides::create(context, sides, way, control));
  auto const rows_of = [&](Side side) {
    auto const& rows = marked.joinable_.of(side);
    return compute::BitmapRows{rows.rows, rows.keys, marked.joinable_.key_nulls(side)};
  };
  auto const probe = other_side(build);
  auto const& probed = probe == Side::left ? marked.joinable_.left : marked.joinable_.right;
  GARUDA_TRY_ASSIGN(marked.bitmap_, compute::KeyBitmap::create(context, *values, sides.nulls_equal, way.dealt_by));
  GARUDA_TRY_ASSIGN(marked.marks_, context.device_buffer((probed.rows + 31) / 32 * 4, "marks"));
  GARUDA_TRY(marked.bitmap_->record_keys(context, rows_of(build)));
  GARUDA_TRY(marked.bitmap_->record_marks(context, rows_of(probe), marked.marks_));
  marked.rows_ = {probed.rows, probed.keys, probed.payload, 0, marked.marks_.address()};
  return marked;
}

Result<std::uint64_t> MarkedByBitmap::count(compute::ComputeContext& context) const {
  GARUDA_TRY_ASSIGN(auto matched, compute::AloneRows::create(context, rows_, contract::Alone::matched));
  GARUDA_TRY(matched.record_count(context));
  return matched.count(context);
}

Result<MarkedLeft> MarkedLeft::create(compute::ComputeContext& context, MovedSides const& sides,
                                      compute::ResidentJoinWay const& way, Control const& control) {
  MarkedLeft left;
  if (way.method == JoinMethod::bitmap) {
    GARUDA_TRY_ASSIGN(left.by_bitmap_, MarkedByBitmap::create(context, sides, Side::right, way, control));
    left.rows_ = left.by_bitmap_->rows();
    return left;
  }
  GARUDA_TRY_ASSIGN(left.joinable_, JoinableSides::create(context, sides, way, control));
  auto const& joinable = left.joinable_;
  GARUDA_TRY_ASSIGN(left.join_, compute::ResidentJoin::create(context, joinable.left, joinable.right, 1, way));
  GARUDA_TRY(left.join_->record(context));
  GARUDA_TRY_ASSIGN(left.rows_, left.join_->marked_rows(context, Side::left));
  return left;
}

}  // namespace garuda::device
