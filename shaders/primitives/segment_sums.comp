#version 450
#extension GL_GOOGLE_include_directive : require
// Sums of segments of an array, 64 bits each.
//
// Buffers: SegmentsPush, by address. Invocation: kItems elements each, kGroup apart. A subgroup whose elements all lie in
// one segment adds them up before its single atomic; else each invocation adds its own. Work is the same however long
// the segments are. Writes: results, by atomics with carry.

#include "primitives_layout.h"
#include "words.glsl"
#include "block.glsl"

layout(push_constant) uniform Push { SegmentsPush push; };

// The segment of an element: the last that starts at or before it (empty segments before it are skipped).
uint segment_of(uint element) {
  uint low = 0u;
  uint high = push.num_segments;
  while (low < high) {
    uint middle = low + (high - low) / 2u;
    if (InputWords(push.starts).at[middle + 1u] <= element) {
      low = middle + 1u;
    } else {
      high = middle;
    }
  }
  return low;
}

void add(uint segment, uvec2 sum) {
  uint before = atomicAdd(Words(push.results).at[2u * segment], sum.x);
  uint carry = before + sum.x < before ? 1u : 0u;
  if (sum.y + carry > 0u) atomicAdd(Words(push.results).at[2u * segment + 1u], sum.y + carry);
}

void main() {
  uint first = group_index() * kGroup * kItems + gl_SubgroupID * kSubgroup * kItems;
  uint last = min(first + kSubgroup * kItems, push.num_elements);
  if (first >= last) return;
  uint low_segment = segment_of(first);
  uint end = InputWords(push.starts).at[low_segment + 1u];
  bool is_one = last <= end;
  uint low = 0u;
  uint high = 0u;
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint element = first + i * kSubgroup + gl_SubgroupInvocationID;
    if (element >= last) break;
    uint value = InputWords(push.values).at[element];
    if (is_one) {
      low += value & 0xffffu;
      high += value >> 16;
    } else {
      add(segment_of(element), uvec2(value, 0u));
    }
  }
  if (!is_one) return;
  low = subgroupAdd(low);
  high = subgroupAdd(high);
  if (subgroupElect()) {
    uint carry;
    uint word = uaddCarry(low, high << 16, carry);
    add(low_segment, uvec2(word, (high >> 16) + carry));
  }
}
