#version 450
#extension GL_GOOGLE_include_directive : require
// Sum, least or greatest of an array. Sums of u32 are 64 bits; extremes are of u32 or u64 elements.
//
// Buffers: ReductionPush, by address. Invocation: tiles_each tiles of kGroup × kItems elements a workgroup, which combines
// its own and then adds to the result. Writes: result, by atomics. Extremes of 64 bits take two dispatches: the first
// decides the high words, the second (PHASE_LOW) the low words among elements with that high word.

#include "primitives_layout.h"
#include "words.glsl"
#include "block.glsl"

layout(constant_id = 4) const uint kWords = 1u;
layout(constant_id = 9) const uint kOperation = 0u;
layout(push_constant) uniform Push { ReductionPush push; };

void main() {
  bool is_min = kOperation == kReduceMin;
  uint neutral = is_min ? 0xffffffffu : 0u;
  uint low = 0u;  // sums: of the low halves
  uint high = 0u;
  uint extreme = neutral;
#ifdef PHASE_LOW
  uint wanted = Words(push.result).at[1];
#endif
  uint first = group_index() * push.tiles_each * kGroup * kItems + thread_index();
  for (uint i = 0u; i < push.tiles_each * kItems; ++i) {
    uint element = first + i * kGroup;
    bool is_valid = element < push.num_elements;
    uint value = neutral;
    if (is_valid) {
#ifdef PHASE_LOW
      if (InputWords(push.source).at[2u * element + 1u] == wanted) value = InputWords(push.source).at[2u * element];
#else
      value = InputWords(push.source).at[kWords * element + kWords - 1u];
#endif
    }
    if (kOperation == kReduceAdd) {
      low += value & 0xffffu;
      high += value >> 16;
    } else {
      extreme = is_min ? min(extreme, value) : max(extreme, value);
    }
  }
  if (kOperation == kReduceAdd) {
    uint low_sum = block_add(low);
    uint high_sum = block_add(high);
    if (thread_index() == 0u) {
      uint carry;
      uint word = uaddCarry(low_sum, high_sum << 16, carry);
      uint before = atomicAdd(Words(push.result).at[0], word);
      uint over = before + word < before ? 1u : 0u;
      atomicAdd(Words(push.result).at[1], (high_sum >> 16) + carry + over);
    }
    return;
  }
  uint of_subgroup = is_min ? subgroupMin(extreme) : subgroupMax(extreme);
  if (subgroupElect()) {
#ifdef PHASE_LOW
    uint word = 0u;
#else
    uint word = kWords - 1u;
#endif
    if (is_min) {
      atomicMin(Words(push.result).at[word], of_subgroup);
    } else {
      atomicMax(Words(push.result).at[word], of_subgroup);
    }
  }
}
