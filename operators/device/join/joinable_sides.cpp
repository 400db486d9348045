#include "operators/device/join/joinable_sides.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/type_rows.hpp"
#include "expr/sides.hpp"
#include "keys/codes/key_types.hpp"
#include "keys/numbering/mix.hpp"
#include "operators/device/known_values.hpp"
#include "operators/materialize/column_words.hpp"

namespace garuda::device {
namespace {

/// Values tried for null keys: of 2^31 rows a side at most half have a key of 32 bits, and those of 64 hardly ever.
constexpr std::uint64_t kMostTries = 256;

}  // namespace

compute::KeyIndex const* index_of(MovedSides const& sides, Side side) {
  auto const* const index = sides.of(side).index(sides.key_words);
  // Null keys are not in it.
  return index != nullptr && index->rows > 0 && !sides.nulls_equal ? index : nullptr;
}

Result<JoinableSides> JoinableSides::create(compute::ComputeContext& context, MovedSides const& sides,
                                            compute::ResidentJoinStrategy const& way, Control const& control) {
  JoinableSides joinable;
  joinable.left = sides.left.rows();
  joinable.right = sides.right.rows();
  for (auto const side : {Side::left, Side::right}) joinable.nulls_[side_index(side)] = sides.of(side).key_nulls();
  if (sides.key_strings != nullptr) GARUDA_TRY(joinable.number_keys(context, sides, control));
  if (sides.composed) GARUDA_TRY(joinable.compose_keys(context, sides, control));
  std::vector<Side> kept;
  for (auto const side : {Side::left, Side::right}) {
    auto& rows = joinable.own(side);
    auto const* const index = way.method == JoinMethod::global && way.build == side ? index_of(sides, side) : nullptr;
    if (index != nullptr) {
      rows.index = *index;
    } else {
      GARUDA_TRY(joinable.resize_keys(context, sides.of(side), sides.key_words, side_index(side)));
      if (joinable.key_nulls(side) && sides.keeps_null_keys(side)) kept.push_back(side);
    }
  }
  if (way.method == JoinMethod::bitmap) return joinable;
  if (sides.nulls_equal) {
    GARUDA_TRY(joinable.give_null_keys(context, sides, kept));
  } else {
    for (auto const side : kept) GARUDA_TRY(joinable.give_null_keys(context, sides, std::span(&side, 1)));
  }
  for (auto const side : {Side::left, Side::right})
    if (!joinable.own(side).index && joinable.key_nulls(side) && !sides.keeps_null_keys(side))
      GARUDA_TRY(joinable.drop_null_keys(context, side));
  return joinable;
}

Result<void> JoinableSides::number_keys(compute::ComputeContext& context, MovedSides const& sides,
                                        Control const& control) {
  GARUDA_TRY_ASSIGN(auto const numbers, string_numbers(sides.left.table(), *sides.key_strings, control));
  for (auto const side : {Side::left, Side::right}) {
    auto const& moved = sides.of(side);
    auto& made = numbered_[side_index(side)];
    GARUDA_TRY_ASSIGN(made, string_keys(context, moved.table(), moved.key_column(), *sides.key_strings, numbers));
    own(side).keys.address = made->keys.address();
  }
  return {};
}

Result<void> JoinableSides::compose_keys(compute::ComputeContext& context, MovedSides const& sides,
                                         Control const& control) {
  GARUDA_TRY_ASSIGN(composed_,
                    ComposedKeys::create(context, *sides.composed, {sides.left.table(), sides.right.table()}, control));
  for (auto const side : {Side::left, Side::right}) {
    auto const& moved = sides.of(side);
    auto& rows = own(side);
    rows.keys = composed_->keys(side);
    nulls_[side_index(side)] = composed_->flags(side);
    for (std::size_t i = 0; i < moved.num_moved(); ++i) {
      auto& column = rows.payload[i];
      if (auto const key = moved.key_of(i)) {
        GARUDA_TRY_ASSIGN(column.address, composed_->values(context, side, *key, column.words));
      } else if (moved.is_key_nulls(i)) {
        GARUDA_TRY_ASSIGN(column.address, composed_->null_words(context, side));
      }
    }
  }
  return {};
}

Result<void> JoinableSides::resize_keys(compute::ComputeContext& context, MovedSide const& side,
                                        std::uint32_t key_words, std::size_t copy) {
  auto& rows = copy == 0 ? left : right;
  if (rows.keys.words == key_words) return {};
  if (rows.rows == 0) {
    rows.keys.words = key_words;
    return {};
  }
  GARUDA_TRY_ASSIGN(resized_[copy],
                    context.device_buffer(rows.rows * key_words * materialize::kWordBytes, "keys of one width"));
  compute::KeyResize resize{
      rows.keys, {resized_[copy].address(), key_words}, rows.rows, continues_by_sign(side.key_field().type.id)};
  if (rows.keys.words < key_words) {
    GARUDA_TRY(compute::record_key_width(context, resize));
  } else {
    GARUDA_TRY_ASSIGN(auto const wide_row, compute::cut_keys(context, resize, side.key_nulls()));
    if (wide_row) return keys::key_beyond_64_bits(side.key_field(), *wide_row);
  }
  rows.keys = resize.target;
  return {};
}

/// The first value, of a sequence that is the same in all runs, that no other key has.
Result<void> JoinableSides::give_null_keys(compute::ComputeContext& context, MovedSides const& sides,
                                           std::span<Side const> which) {
  for (auto const side : which) {
    auto const bytes = own(side).rows * sides.key_words * materialize::kWordBytes;
    GARUDA_TRY_ASSIGN(given_[side_index(side)], context.device_buffer(bytes, "keys with nulls"));
  }
  auto const mask = sides.key_words == 1 ? std::uint64_t{0xffffffff} : ~std::uint64_t{0};
  for (std::uint64_t i = 0; i < kMostTries; ++i) {
    auto const value = keys::mix(i) & mask;
    if (taken_ == value) continue;
    bool is_free = true;
    for (auto const side : {Side::left, Side::right}) {
      bool const gives = std::ranges::find(which, side) != which.end();
      auto const target = gives ? given_[side_index(side)].address() : VkDeviceAddress{0};
      GARUDA_TRY_ASSIGN(auto const is_free_here,
                        compute::replace_null_keys(context, own(side), key_nulls(side), value, target));
      is_free = is_free && is_free_here;
    }
    if (!is_free) continue;
    for (auto const side : which) own(side).keys.address = given_[side_index(side)].address();
    taken_ = value;
    return {};
  }
  return fail(
      ErrorCode::limit_exceeded,
      fmt::format("null keys take a value of {} bits that no other key has, and none of those tried is free: {}",
                  32 * sides.key_words, kMostTries));
}

Result<void> JoinableSides::drop_null_keys(compute::ComputeContext& context, Side side) {
  auto& rows = own(side);
  if (rows.rows == 0) return {};
  auto& copies = dropped_[side_index(side)];
  GARUDA_TRY_ASSIGN(copies, compute::NonNullRows::create(context, rows));
  GARUDA_TRY_ASSIGN(rows, copies->copy(context, rows, *key_nulls(side)));
  return {};
}

Result<std::optional<compute::KeyRange>> key_range(MovedSides const& sides, Side side, Control const& control) {
  if (sides.composed) return sides.composed->range();
  if (sides.key_strings == nullptr) return value_range(sides.of(side).table(), sides.of(side).key_column(), control);
  return compute::KeyRange{0, std::max<std::uint64_t>(sides.key_strings->count(), 1) - 1};
}

Result<MarkedSide> mark_by_bitmap(compute::ComputeContext& context, MovedSides const& sides, Side build,
                                  compute::ResidentJoinStrategy const& way, Control const& control) {
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
  GARUDA_TRY_ASSIGN(marked.bitmap, compute::KeyBitmap::create(context, *values, sides.nulls_equal, way.scattered_by));
  GARUDA_TRY_ASSIGN(marked.marks, context.device_buffer((probed.rows + 31) / 32 * 4, "marks"));
  GARUDA_TRY(marked.bitmap->record_keys(context, rows_of(build)));
  GARUDA_TRY(marked.bitmap->record_marks(context, rows_of(probe), marked.marks));
  marked.rows = {probed.rows, probed.keys, probed.payload, 0, marked.marks.address()};
  return marked;
}

Result<MarkedSide> mark_left(compute::ComputeContext& context, MovedSides const& sides,
                             compute::ResidentJoinStrategy const& way, Control const& control) {
  if (way.method == JoinMethod::bitmap) return mark_by_bitmap(context, sides, Side::right, way, control);
  MarkedSide left;
  GARUDA_TRY_ASSIGN(left.joinable, JoinableSides::create(context, sides, way, control));
  GARUDA_TRY_ASSIGN(left.join, compute::ResidentJoin::create(context, left.joinable.left, left.joinable.right, 1, way));
  GARUDA_TRY(left.join->record(context));
  GARUDA_TRY_ASSIGN(left.rows, left.join->marked_rows(context, Side::left));
  return left;
}

}  // namespace garuda::device
