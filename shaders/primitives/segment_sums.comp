#version 450
#extension GL_GOOGLE_include_directive : require
// Sums of segments of an array, 64 bits each.
//
// Buffers: SegmentsPush, by address. Invocation: of kSubgroup × kItems elements of its subgroup, which are read in order,
// kItems that follow each other. A subgroup whose elements all lie in one segment adds them up before its single atomic;
// else each invocation adds up its own as far as their segment goes. Writes: results, by atomics with carry.

#include "primitives_layout.h"
#include "words.glsl"
#include "block.glsl"
#include "order_subgroup.glsl"

layout(push_constant) uniform Push { SegmentsPush push; };

// Elements of all subgroups; a word more after each invocation's, so that these are read from different banks.
shared uint elements[kGroup * (kItems + 1u)];

// The segment of an element, one of [low, high]; empty segments before it are skipped.
uint segment_of(uint element, uint low, uint high) { return last_at_or_before(push.starts, low, high, element); }

void add(uint segment, uvec2 sum) {
  uint before = atomicAdd(Words(push.results).at[2u * segment], sum.x);
  uint carry = before + sum.x < before ? 1u : 0u;
  if (sum.y + carry > 0u) atomicAdd(Words(push.results).at[2u * segment + 1u], sum.y + carry);
}

// `halves`: sums of the elements' low and high half words, below 2^32 each.
void add_halves(uint segment, uvec2 halves) {
  uint carry;
  uint word = uaddCarry(halves.x, halves.y << 16, carry);
  add(segment, uvec2(word, (halves.y >> 16) + carry));
}

uvec2 halves_of(uint value) { return uvec2(value & 0xffffu, value >> 16); }

// Adds this invocation's elements, [first, end), of segments [low, high].
void add_own(uint first, uint end, uint low, uint high) {
  uint segment = segment_of(first, low, high);
  uint segment_end = InputWords(push.starts).at[segment + 1u];
  uint own = thread_index() * (kItems + 1u);
  uvec2 halves = uvec2(0u);
  for (uint element = first; element < end; ++element) {
    if (element >= segment_end) {
      add_halves(segment, halves);
      halves = uvec2(0u);
      segment = segment_of(element, segment + 1u, high);
      segment_end = InputWords(push.starts).at[segment + 1u];
    }
    halves += halves_of(elements[own + element - first]);
  }
  add_halves(segment, halves);
}

void main() {
  uint first = group_index() * kGroup * kItems + gl_SubgroupID * kSubgroup * kItems;
  uint last = min(first + kSubgroup * kItems, push.num_elements);
  if (first >= last) return;
  uint low_segment = segment_of(first, 0u, push.num_segments - 1u);
  bool is_one = last <= InputWords(push.starts).at[low_segment + 1u];
  uvec2 halves = uvec2(0u);
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint place = i * kSubgroup + gl_SubgroupInvocationID;
    uint value = first + place < last ? InputWords(push.values).at[first + place] : 0u;
    if (is_one) {
      halves += halves_of(value);
    } else {
      elements[gl_SubgroupID * kSubgroup * (kItems + 1u) + place + place / kItems] = value;
    }
  }
  if (is_one) {
    halves = uvec2(subgroupAdd(halves.x), subgroupAdd(halves.y));
    if (subgroupElect()) add_halves(low_segment, halves);
    return;
  }
  uint high_segment = segment_of(last - 1u, low_segment, push.num_segments - 1u);
  order_subgroup();
  uint own = first + gl_SubgroupInvocationID * kItems;
  if (own < last) add_own(own, min(own + kItems, last), low_segment, high_segment);
}
