#version 450
#extension GL_GOOGLE_include_directive : require
// The range of a column's values, of its floats also that of their bits.
//
// Buffers: ColumnRangePush, by address. Invocation: a workgroup has rows_each consecutive rows, an invocation every
// kGroup-th of them. Writes: a ColumnRange a subgroup, which the host brings together.

#include "column_values.glsl"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"

layout(constant_id = 20) const uint kKind = 0u;
layout(constant_id = 21) const uint kNullable = 0u;
layout(push_constant) uniform Push { ColumnRangePush push; };

layout(buffer_reference, std430, buffer_reference_align = 4) writeonly restrict buffer Ranges { ColumnRange at[]; };

#include "../../shared/float_parts.glsl"

const bool kWide = kKind == kColumnI64 || kKind == kColumnU64 || kKind == kColumnF64;
const bool kFloat = kKind == kColumnF32 || kKind == kColumnF64;

uvec2 subgroup_least(uvec2 value) {
  uint high = subgroupMin(value.y);
  return uvec2(subgroupMin(value.y == high ? value.x : 0xffffffffu), high);
}

void main() {
  uvec2 least = uvec2(0xffffffffu);
  uvec2 greatest = uvec2(0u);
  uint values = 0u;
  uint lowest = 0xffffffffu;
  uint highest = 0u;
  uint first = 0xffffffffu;
  uint last = 0u;
  uint flags = 0u;
  uint numbers = 0u;
  uint begin = min(group_index() * push.rows_each, push.num_rows);
  uint end = begin + min(push.rows_each, push.num_rows - begin);
  for (uint row = begin + thread_index(); row < end; row += kGroup) {
    if (kNullable != 0u && is_null_row(push.nulls, push.null_mask, row)) continue;
    uvec2 value = kWide ? Pairs(push.values).at[row] : uvec2(InputWords(push.values).at[row], 0u);
    uvec2 image = ordered_image(kKind, value);
    if (is_below(image, least)) least = image;
    if (is_below(greatest, image)) greatest = image;
    values = 1u;
    if (kFloat) {
      FloatParts parts = parts_of(kWide, value);
      flags |= parts.flags;
      if (parts.magnitude != uvec2(0u)) {
        numbers = 1u;
        uint low = parts.magnitude.x != 0u ? uint(findLSB(parts.magnitude.x)) : 32u + uint(findLSB(parts.magnitude.y));
        uint high = parts.magnitude.y != 0u ? 32u + uint(findMSB(parts.magnitude.y)) : uint(findMSB(parts.magnitude.x));
        lowest = min(lowest, parts.position + low);
        highest = max(highest, parts.position + high + 1u);
        first = min(first, parts.position);
        last = max(last, parts.position);
      }
    }
  }
  ColumnRange range;
  least = subgroup_least(least);
  greatest = ~subgroup_least(~greatest);
  range.min_low = least.x;
  range.min_high = least.y;
  range.max_low = greatest.x;
  range.max_high = greatest.y;
  range.values = subgroupMax(values);
  range.lowest_bit = subgroupMin(lowest);
  range.highest_bit = subgroupMax(highest);
  range.first_position = subgroupMin(first);
  range.last_position = subgroupMax(last);
  range.flags = subgroupOr(flags);
  range.numbers = subgroupMax(numbers);
  range.padding = 0u;
  if (subgroupElect()) Ranges(push.ranges).at[group_index() * kSubgroups + gl_SubgroupID] = range;
}
