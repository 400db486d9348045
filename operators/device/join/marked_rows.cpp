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

Result<MarkedSide> mark_by_bitmap(compute::ComputeContext& context, MovedSides const& sides, Side build,
                                  compute::ResidentJoinWay const& way, Control const& control) {
  GARUDA_TRY_ASSIGN(auto const values, key_range(sides, *way.build, control));
  GARUDA_EXPECTS(values);
  MarkedSide marked;
  GARUDA_TRY_ASSIGN(marked.joinable, JoinableSides::create(context, sides, way, control));
  auto const rows_of = [&](Side side) {
    auto const& rows = marked.joinable.of(side);
    return compute::BitmapRows{rows.rows, rows.keys, marked.joinable.key_nulls(side)};
  };
  auto const probe = other_side(build);
  auto const& probed = marked.joinable.of(probe);
  GARUDA_TRY_ASSIGN(marked.bitmap, compute::KeyBitmap::create(context, *values, sides.nulls_equal, way.dealt_by));
  GARUDA_TRY_ASSIGN(marked.marks, context.device_buffer((probed.rows + 31) / 32 * 4, "marks"));
  GARUDA_TRY(marked.bitmap->record_keys(context, rows_of(build)));
  GARUDA_TRY(marked.bitmap->record_marks(context, rows_of(probe), marked.marks));
  marked.rows = {probed.rows, probed.keys, probed.payload, 0, marked.marks.address()};
  return marked;
}

Result<MarkedSide> mark_left(compute::ComputeContext& context, MovedSides const& sides,
                             compute::ResidentJoinWay const& way, Control const& control) {
  if (way.method == JoinMethod::bitmap) return mark_by_bitmap(context, sides, Side::right, way, control);
  MarkedSide left;
  GARUDA_TRY_ASSIGN(left.joinable, JoinableSides::create(context, sides, way, control));
  GARUDA_TRY_ASSIGN(left.join, compute::ResidentJoin::create(context, left.joinable.left, left.joinable.right, 1, way));
  GARUDA_TRY(left.join->record(context));
  GARUDA_TRY_ASSIGN(left.rows, left.join->marked_rows(context, Side::left));
  return left;
}

}  // namespace garuda::device
