#version 450
#extension GL_GOOGLE_include_directive : require
// Sorts blocks of at most kBlockRows entries in shared memory, or finishes a stage of the merge of longer runs.
//
// All comparisons of this bitonic network put the smaller entry first (the first step of a stage mirrors instead of
// reversing half of the sequences), so entries past the end of a run, had they been there with the greatest key, would
// never move: the network sorts runs of any length by leaving them out.
//
// Bindings: work list of (begin, length, block), rows and keys of the runs. Invocation: a workgroup per block. Writes:
// the block's entries. push.stage 0: all stages up to kBlockRows; else the steps of distance kBlockRows / 2 and less of
// that stage. Overflow: none.

#include "../shared/join_layout.h"
#include "../points/groups.glsl"
#include "run_entries.glsl"

layout(push_constant) uniform Push { SortPush push; };
layout(set = 0, binding = kBindRunLists, std430) readonly buffer Blocks { uvec4 blocks[]; };

shared uint rows[kBlockRows];
#ifdef HASH_ADDRESS
shared uint lows[kBlockRows];
shared uint highs[kBlockRows];
#endif

Entry load_shared(uint i) {
#ifdef HASH_ADDRESS
  return Entry(lows[i], kKeyWords == 2u ? highs[i] : 0u, rows[i]);
#else
  return Entry(0u, 0u, rows[i]);
#endif
}

void store_shared(uint i, Entry entry) {
  rows[i] = entry.row;
#ifdef HASH_ADDRESS
  lows[i] = entry.low;
  if (kKeyWords == 2u) highs[i] = entry.high;
#endif
}

void compare(uint i, uint partner, uint length) {
  if (partner <= i || partner >= length) return;
  Entry a = load_shared(i);
  Entry b = load_shared(partner);
  if (entry_less(b, a)) {
    store_shared(i, b);
    store_shared(partner, a);
  }
}

// One step over the whole block: partners are i ^ mask.
void step_all(uint mask, uint length) {
  for (uint i = gl_LocalInvocationID.x; i < kBlockRows; i += kGroupSize) compare(i, i ^ mask, length);
  barrier();
}

void main() {
  if (linear_group() >= push.num_entries) return;
  uvec4 block = blocks[push.first_entry + linear_group()];
  uint begin = block.x + block.z * kBlockRows;
  uint length = block.y == 0u ? 0u : min(block.y - block.z * kBlockRows, kBlockRows);
  for (uint i = gl_LocalInvocationID.x; i < length; i += kGroupSize) store_shared(i, load_entry(begin + i));
  barrier();

  if (push.stage == 0u) {
    for (uint stage = 2u; stage <= kBlockRows; stage *= 2u) {
      step_all(stage - 1u, length);
      for (uint stride = stage / 4u; stride > 0u; stride /= 2u) step_all(stride, length);
    }
  } else {
    for (uint stride = kBlockRows / 2u; stride > 0u; stride /= 2u) step_all(stride, length);
  }

  for (uint i = gl_LocalInvocationID.x; i < length; i += kGroupSize) store_entry(begin + i, load_shared(i));
}
