#include "operators/compute/join/key_bitmap.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <string_view>

#include "shaders/compute/join/marked_rows_layout.h"

namespace garuda::compute {
namespace {

constexpr char const* kSetBitsPhase = "set key bits";
constexpr char const* kTestBitsPhase = "test key bits";
constexpr RadixPhases kScatterPhases{"key bits histogram", "key bits scan", "key bits scatter"};
constexpr std::uint32_t kRowsEach = 8;
/// Bits of a piece in shared memory: as many workgroups as a multiprocessor can hold have one each.
constexpr std::uint32_t kPieceBits = 17;
constexpr std::uint32_t kFewestPieceBits = 5;  // whole words
/// Keys of a piece that a workgroup takes: more than a piece has bits, so that keys that occur once make one chunk.
constexpr std::uint32_t kPieceRows = 1U << 18;
static_assert(kMostBitmapSpan < shaders::kNoSlot - 1);

PassShape set_bits_shape(std::uint32_t key_words, bool wants_repeats) {
  return {"compute/join/key_bitmap.comp:SET",
          0,
          kRowsEach,
          sizeof(shaders::KeyBitmapPush),
          {{shaders::kSpecWords, key_words}, {shaders::kSpecRepeats, wants_repeats ? 1U : 0U}}};
}

PassShape test_bits_shape(std::uint32_t key_words) {
  return {"compute/join/key_bitmap.comp:TEST",
          0,
          kRowsEach,
          sizeof(shaders::KeyBitmapPush),
          {{shaders::kSpecWords, key_words}}};
}

PassShape pieces_shape(ComputeTuning const& tuning, std::uint32_t key_words, std::uint32_t bits_of_piece) {
  return {"compute/join/key_bitmap.comp:PIECES",
          table_group_size(tuning),
          kRowsEach,
          sizeof(shaders::KeyBitmapPush),
          {{shaders::kSpecWords, key_words}, {shaders::kSpecScratch, (1U << bits_of_piece) / 32}}};
}

std::uint64_t bitmap_blocks(ComputeContext const& context, std::uint64_t rows) {
  return groups_for(rows, std::uint64_t{context.tuning().group_size} * kRowsEach);
}

}  // namespace

std::uint32_t piece_bits(std::uint64_t span, std::int32_t asked, ComputeTuning const& tuning) noexcept {
  auto const bits = static_cast<std::uint32_t>(std::bit_width(span));
  auto const most_in_piece = static_cast<std::uint32_t>(std::bit_width(std::uint64_t{tuning.shared_bytes} * 8)) - 1;
  if (asked == 0 || bits <= kFewestPieceBits || bits > most_in_piece + partition_bits(tuning) || bits > 31) return 0;
  auto const least = bits > most_in_piece ? bits - most_in_piece : 1;
  auto const most = std::min(bits - kFewestPieceBits, partition_bits(tuning));
  auto const wanted = asked > 0 ? static_cast<std::uint32_t>(asked) : std::max(bits, kPieceBits + 1) - kPieceBits;
  return std::clamp(wanted, std::min(least, most), most);
}

std::uint64_t KeyBitmap::num_slots() const noexcept {
  return scattered_by_ == 0 ? range_.span + 1 : std::uint64_t{1} << std::bit_width(range_.span);
}

std::uint32_t KeyBitmap::bits_of_piece() const noexcept {
  return static_cast<std::uint32_t>(std::bit_width(range_.span)) - scattered_by_;
}

shaders::KeyBitmapPush KeyBitmap::push_for(BitmapRows const& rows) const {
  GARUDA_EXPECTS(rows.rows <= std::uint64_t{1} << 31 && (rows.keys.words == 1 || rows.keys.words == 2));
  shaders::KeyBitmapPush push{};
  push.keys = rows.keys.address;
  push.nulls = rows.nulls ? rows.nulls->words : 0;
  push.null_mask = rows.nulls ? 1U << rows.nulls->bit : 0;
  push.null_slot = null_is_key_ ? static_cast<std::uint32_t>(num_slots()) : shaders::kNoSlot;
  push.least_low = static_cast<std::uint32_t>(range_.least);
  push.least_high = static_cast<std::uint32_t>(range_.least >> 32);
  push.span = static_cast<std::uint32_t>(range_.span);
  push.num_rows = static_cast<std::uint32_t>(rows.rows);
  // Pieces are of keys that agree in their leading bits, whatever the least one is.
  push.base = scattered_by_ == 0 ? 0 : push.least_low;
  push.mask = scattered_by_ == 0 ? ~0U : static_cast<std::uint32_t>(num_slots() - 1);
  push.bitmap = bitmap_.address();
  return push;
}

Result<KeyBitmap> KeyBitmap::create(ComputeContext& context, KeyRange const& range, bool null_is_key,
                                    std::uint32_t scattered_by) {
  GARUDA_EXPECTS(range.span <= kMostBitmapSpan);
  KeyBitmap made;
  made.range_ = range;
  made.null_is_key_ = null_is_key;
  made.scattered_by_ = scattered_by;
  GARUDA_TRY_ASSIGN(made.bitmap_, context.device_buffer(bitmap_bytes(made.num_slots() - 1), "bitmap of keys"));
  return made;
}

Result<void> KeyBitmap::record_keys(ComputeContext& context, BitmapRows const& rows) {
  bool const scatters = scattered_by_ != 0 && rows.rows > 0 && !rows.nulls;
  return scatters ? record_pieces(context, rows) : record_keys(context, rows, 0);
}

Result<bool> KeyBitmap::set_unique_keys(ComputeContext& context, BitmapRows const& rows) {
  GARUDA_TRY_ASSIGN(auto const repeats, context.device_buffer(sizeof(std::uint32_t), "repeated keys"));
  GARUDA_TRY(context.fill(kSetBitsPhase, repeats, 0));
  GARUDA_TRY(record_keys(context, rows, repeats.address()));
  GARUDA_TRY_ASSIGN(auto const found, context.read_value<std::uint32_t>(kSetBitsPhase, repeats));
  return found == 0;
}

Result<void> KeyBitmap::record_keys(ComputeContext& context, BitmapRows const& rows, VkDeviceAddress repeats) {
  GARUDA_TRY(context.fill(kSetBitsPhase, bitmap_, 0));
  auto push = push_for(rows);
  push.repeats = repeats;
  return context.dispatch(kSetBitsPhase, set_bits_shape(rows.keys.words, repeats != 0), push,
                          bitmap_blocks(context, rows.rows), rows.rows);
}

Result<void> KeyBitmap::record_pieces(ComputeContext& context, BitmapRows const& rows) {
  auto const words = rows.keys.words;
  auto& scattered = scattered_.emplace();
  RadixDigit const digit{scattered_by_, bits_of_piece(), false, false, words > 1};
  GARUDA_TRY_ASSIGN(scattered.pass, RadixPass::create(context, rows.rows, 1, digit, 0));
  GARUDA_TRY_ASSIGN(scattered.keys, context.device_buffer(rows.rows * words * 4, "scattered keys"));
  GARUDA_TRY_ASSIGN(scattered.chunks, ChunkTable::create(context, rows.rows, scattered.pass.num_starts(), kPieceRows));
  RadixRows moved;
  moved.rows = rows.rows;
  moved.keys = {rows.keys.address, scattered.keys.address(), words};
  GARUDA_TRY(scattered.pass.record(context, kScatterPhases, moved));
  auto const starts = scattered.pass.starts().address();
  GARUDA_TRY(scattered.chunks.record_firsts(context, kSetBitsPhase, starts, false));
  GARUDA_TRY(context.fill(kSetBitsPhase, bitmap_, 0, true));
  GARUDA_TRY(scattered.chunks.record_chunks(context, kSetBitsPhase, starts, false));
  auto push = push_for(rows);
  push.keys = scattered.keys.address();
  push.chunks = scattered.chunks.chunks().address();
  push.num_chunks = static_cast<std::uint32_t>(scattered.chunks.max_chunks());
  return context.dispatch(kSetBitsPhase, pieces_shape(context.tuning(), words, bits_of_piece()), push,
                          scattered.chunks.max_chunks(), rows.rows);
}

Result<void> KeyBitmap::record_marks(ComputeContext& context, BitmapRows const& rows, vk::Buffer const& marks) const {
  auto push = push_for(rows);
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
  for (std::uint32_t const key_words : {1U, 2U})
    specs.push_back(compute_pipeline(pieces_shape(tuning, key_words, kPieceBits), tuning));
  return specs;
}

}  // namespace garuda::compute
