#include "operators/compute/join/key_bitmap.hpp"

#include <span>
#include <string_view>

#include "shaders/compute/key_bitmap_layout.h"

namespace garuda::compute {
namespace {

constexpr char const* kSetBitsPhase = "set key bits";
constexpr char const* kTestBitsPhase = "test key bits";
constexpr std::uint32_t kRowsEach = 8;
static_assert(kMostBitmapSpan < shaders::kNoSlot - 1);

PassShape set_bits_shape(std::uint32_t key_words, bool wants_repeats) {
  return {"compute/key_bitmap.comp:SET",
          0,
          kRowsEach,
          sizeof(shaders::KeyBitmapPush),
          {{shaders::kSpecWords, key_words}, {shaders::kSpecRepeats, wants_repeats ? 1U : 0U}}};
}

PassShape test_bits_shape(std::uint32_t key_words) {
  return {
      "compute/key_bitmap.comp:TEST", 0, kRowsEach, sizeof(shaders::KeyBitmapPush), {{shaders::kSpecWords, key_words}}};
}

std::uint64_t bitmap_blocks(ComputeContext const& context, std::uint64_t rows) {
  return groups_for(rows, std::uint64_t{context.tuning().group_size} * kRowsEach);
}

shaders::KeyBitmapPush bitmap_push(BitmapRows const& rows, KeyRange const& range, bool null_is_key) {
  GARUDA_EXPECTS(rows.rows <= std::uint64_t{1} << 31 && (rows.keys.words == 1 || rows.keys.words == 2));
  shaders::KeyBitmapPush push{};
  push.keys = rows.keys.address;
  push.nulls = rows.nulls ? rows.nulls->words : 0;
  push.null_mask = rows.nulls ? 1U << rows.nulls->bit : 0;
  push.null_slot = null_is_key ? static_cast<std::uint32_t>(range.span) + 1 : shaders::kNoSlot;
  push.least_low = static_cast<std::uint32_t>(range.least);
  push.least_high = static_cast<std::uint32_t>(range.least >> 32);
  push.span = static_cast<std::uint32_t>(range.span);
  push.num_rows = static_cast<std::uint32_t>(rows.rows);
  return push;
}

}  // namespace

Result<KeyBitmap> KeyBitmap::create(ComputeContext& context, KeyRange const& range, bool null_is_key) {
  GARUDA_EXPECTS(range.span <= kMostBitmapSpan);
  KeyBitmap made;
  made.range_ = range;
  made.null_is_key_ = null_is_key;
  GARUDA_TRY_ASSIGN(made.bitmap_, context.device_buffer(bitmap_bytes(range.span), "bitmap of keys"));
  return made;
}

Result<void> KeyBitmap::record_keys(ComputeContext& context, BitmapRows const& rows) {
  return record_keys(context, rows, 0);
}

Result<bool> KeyBitmap::set_unique_keys(ComputeContext& context, BitmapRows const& rows) {
  GARUDA_TRY_ASSIGN(auto const repeats, context.device_buffer(sizeof(std::uint32_t), "repeated keys"));
  GARUDA_TRY(context.fill(kSetBitsPhase, repeats, 0));
  GARUDA_TRY(record_keys(context, rows, repeats.address()));
  GARUDA_TRY(context.order_all(kSetBitsPhase));
  std::uint32_t found = 0;
  GARUDA_TRY(context.read_back(kSetBitsPhase, repeats, 0, std::as_writable_bytes(std::span(&found, 1))));
  return found == 0;
}

Result<void> KeyBitmap::record_keys(ComputeContext& context, BitmapRows const& rows, VkDeviceAddress repeats) {
  GARUDA_TRY(context.fill(kSetBitsPhase, bitmap_, 0));
  auto push = bitmap_push(rows, range_, null_is_key_);
  push.bitmap = bitmap_.address();
  push.repeats = repeats;
  return context.dispatch(kSetBitsPhase, set_bits_shape(rows.keys.words, repeats != 0), push,
                          bitmap_blocks(context, rows.rows), rows.rows);
}

Result<void> KeyBitmap::record_marks(ComputeContext& context, BitmapRows const& rows, vk::Buffer const& marks) const {
  auto push = bitmap_push(rows, range_, null_is_key_);
  push.bitmap = bitmap_.address();
  push.marks = marks.address();
  return context.dispatch(kTestBitsPhase, test_bits_shape(rows.keys.words), push, bitmap_blocks(context, rows.rows),
                          rows.rows);
}

std::vector<vk::ComputePipelineSpec> key_bitmap_pipelines(ComputeTuning const& tuning) {
  std::vector<vk::ComputePipelineSpec> specs;
  for (std::uint32_t const key_words : {1U, 2U})
    for (auto const& shape :
         {set_bits_shape(key_words, false), set_bits_shape(key_words, true), test_bits_shape(key_words)})
      specs.push_back(compute_pipeline(shape, tuning));
  return specs;
}

}  // namespace garuda::compute
