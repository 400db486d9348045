#include "operators/compute/primitives/key_width.hpp"

#include <span>

#include "shaders/compute/keys/key_width_layout.h"

namespace garuda::compute {
namespace {

constexpr char const* kKeyWidthPhase = "key width";
constexpr std::uint32_t kNoRow = 0xffffffff;

Result<void> record(ComputeContext& context, KeyResize const& resize, std::optional<NullFlags> const& nulls,
                    VkDeviceAddress wide_row) {
  shaders::KeyWidthPush push{};
  push.source = resize.source.address;
  push.target = resize.target.address;
  push.nulls = nulls ? nulls->words : 0;
  push.wide_row = wide_row;
  push.source_words = resize.source.words;
  push.target_words = resize.target.words;
  push.null_mask = nulls ? 1U << nulls->bit : 0;
  push.is_signed = resize.is_signed ? 1 : 0;
  push.num_rows = static_cast<std::uint32_t>(resize.rows);
  return context.dispatch(kKeyWidthPhase, key_width_shape(), push, groups_for(resize.rows, context.tuning().group_size),
                          resize.rows);
}

}  // namespace

PassShape key_width_shape() { return {"compute/keys/key_width.comp", 0, 1, sizeof(shaders::KeyWidthPush), {}}; }

Result<void> record_key_width(ComputeContext& context, KeyResize const& resize) {
  return record(context, resize, std::nullopt, 0);
}

Result<std::optional<std::uint64_t>> cut_keys(ComputeContext& context, KeyResize const& resize,
                                              std::optional<NullFlags> const& nulls) {
  GARUDA_TRY_ASSIGN(auto const wide_row, context.device_buffer(sizeof(kNoRow), "row of a wide key"));
  GARUDA_TRY(context.fill(kKeyWidthPhase, wide_row, kNoRow));
  GARUDA_TRY(record(context, resize, nulls, wide_row.address()));
  GARUDA_TRY(context.order_all(kKeyWidthPhase));
  std::uint32_t row = kNoRow;
  GARUDA_TRY(context.read_back(kKeyWidthPhase, wide_row, 0, std::as_writable_bytes(std::span(&row, 1))));
  return row == kNoRow ? std::nullopt : std::optional<std::uint64_t>(row);
}

}  // namespace garuda::compute
