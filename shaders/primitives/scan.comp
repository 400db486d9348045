#version 450
#extension GL_GOOGLE_include_directive : require
// Exclusive sum of u32 values, a tile a workgroup; or a compaction, which lists the elements that are 1 where the sum
// says. Two variants:
//   LOOK_BACK   single pass: workgroups take tiles in the order they start, publish their tile's sum, and add up what the
//               tiles before have published (Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled
//               Look-back). A tile whose sum stays missing is summed again here, so no workgroup ever waits for another
//               (Smith, Levien and Owens, Decoupled Fallback): no forward progress between workgroups is assumed.
//   ONE_GROUP   few tiles, which one workgroup takes one after another.
//
// Buffers: PrefixPush, by address. Invocation: see scan_tile.glsl. Writes: target and its copy (with kLists the numbers
// of elements, in order, to target), in look-back the states, and the total.
// Overflow: output words are modulo 2^32; the total is exact below 2^60.

#include "primitives_layout.h"
#include "words.glsl"
#include "block.glsl"
#include "sum60.glsl"

layout(constant_id = 22) const uint kLists = 0u;
layout(push_constant) uniform Push { PrefixPush push; };

#include "scan_tile.glsl"

#ifdef LOOK_BACK
layout(buffer_reference, std430, buffer_reference_align = 8) coherent volatile buffer States { uint at[]; };

shared uint ticket;
shared uvec4 found_sums[kSubgroup];
shared uint next_tile;  // tiles at and past it have been added; its predecessor is missing
shared uint is_done;

void publish(uint tile, uint state, uvec2 sum) {
  atomicExchange(States(push.states).at[2u + 2u * tile], state << kStateShift | sum.x);
  atomicExchange(States(push.states).at[3u + 2u * tile], state << kStateShift | sum.y);
}

// Publishes the sum of a tile of another workgroup, unless that one has published it, or more, meanwhile.
void publish_for_other(uint tile, uvec2 sum) {
  atomicCompSwap(States(push.states).at[2u + 2u * tile], 0u, kStateTile << kStateShift | sum.x);
  atomicCompSwap(States(push.states).at[3u + 2u * tile], 0u, kStateTile << kStateShift | sum.y);
}

// State of the tile `distance` before tile `end`; before the first tile everything is known to be zero. Without
// branches: subgroup operations follow.
uint read_state(uint end, uint distance, out uvec2 sum) {
  bool is_before_all = distance > end;
  uint tile = is_before_all ? 0u : end - distance;
  uint low = States(push.states).at[2u + 2u * tile];
  uint high = States(push.states).at[3u + 2u * tile];
  sum = is_before_all ? uvec2(0u) : uvec2(low & kSumMask, high & kSumMask);
  uint state = low >> kStateShift;
  state = state == high >> kStateShift ? state : kStateMissing;
  return is_before_all ? kStatePrefix : state;
}

// Adds up published sums backwards from `end`, by subgroup 0 alone, a tile an invocation at a time. Ends at a prefix, or
// before a tile that stays missing. Invocations leave their sums in shared memory for the workgroup to add up: one driver
// (NVIDIA 580) returned -1 from subgroupAdd here, depending on the code around it.
void look_back(uint end) {
  bool is_prefix = false;
  uint spins = 0u;
  uvec2 own_sum = uvec2(0u);
  while (!is_prefix && spins <= push.spins) {
    uvec2 own;
    uint state = read_state(end, gl_SubgroupInvocationID + 1u, own);
    uvec4 missing = subgroupBallot(state == kStateMissing);
    uvec4 prefixes = subgroupBallot(state == kStatePrefix);
    uint known = missing == uvec4(0u) ? kSubgroup : subgroupBallotFindLSB(missing);
    uint last = prefixes == uvec4(0u) ? kSubgroup : subgroupBallotFindLSB(prefixes);
    is_prefix = last < known;
    uint taken = is_prefix ? last + 1u : known;
    bool is_taken = gl_SubgroupInvocationID < taken;
    own_sum = sum60_add(own_sum, is_taken ? own : uvec2(0u));
    end -= is_prefix ? 0u : taken;
    spins = taken > 0u ? 0u : spins + 1u;
  }
  // Parts whose sums over at most 128 invocations fit a word.
  found_sums[gl_SubgroupInvocationID] = uvec4(own_sum.x & 0x7fffu, own_sum.x >> 15u, own_sum.y, 0u);
  if (gl_SubgroupInvocationID == 0u) {
    next_tile = end;
    is_done = is_prefix ? 1u : 0u;
  }
}

// The sum of all tiles before `tile`.
uvec2 prefix_of(uint tile) {
  uint end = tile;
  uvec2 sum = uvec2(0u);
  bool is_known = false;
  while (!is_known) {
    if (gl_SubgroupID == 0u) look_back(end);
    barrier();
    end = next_tile;
    uvec3 found = uvec3(0u);
    for (uint i = 0u; i < kSubgroup; ++i) found += found_sums[i].xyz;
    sum = sum60_add(sum, sum60_add(uvec2(found.x, found.z), uvec2((found.y & 0x7fffu) << 15u, found.y >> 15u)));
    is_known = is_done != 0u;
    barrier();
    if (!is_known) {
      uvec2 missing = sum_of_tile(end - 1u);
      if (thread_index() == 0u) publish_for_other(end - 1u, missing);
      sum = sum60_add(sum, missing);
      --end;
    }
  }
  return sum;
}
#endif

// Sums of each subgroup: modulo 2^32, made exclusive; of low and high halves. The totals are last.
shared uvec3 subgroup_sums[kSubgroups + 1u];

void scan_subgroup_sums() {
  if (gl_SubgroupID != 0u) return;
  uvec3 before = uvec3(0u);
  for (uint first = 0u; first < kSubgroups; first += kSubgroup) {
    uint i = first + gl_SubgroupInvocationID;
    uvec3 own = i < kSubgroups ? subgroup_sums[i] : uvec3(0u);
    uint sum = subgroupInclusiveAdd(own.x);
    if (i < kSubgroups) subgroup_sums[i].x = before.x + sum - own.x;
    before.x += subgroupAdd(own.x);
    before.y += subgroupAdd(own.y);
    before.z += subgroupAdd(own.z);
  }
  if (subgroupElect()) subgroup_sums[kSubgroups] = before;
}

#ifdef ONE_GROUP
uvec2 sum_before = uvec2(0u);  // of the tiles before
#endif

void write_total(uint tile, uvec2 end60) {
  if (thread_index() == 0u && tile == push.num_tiles - 1u) Pairs(push.total).at[0] = sum60_words(end60);
}

// The sum of all tiles before `tile`, of which the workgroup has summed its own. Called by all.
uvec2 base_of(uint tile) {
  uvec2 tile_sum = sum60_of_halves(subgroup_sums[kSubgroups].y, subgroup_sums[kSubgroups].z);
#ifdef ONE_GROUP
  uvec2 base60 = sum_before;
  sum_before = sum60_add(base60, tile_sum);
  write_total(tile, sum_before);
#else
  if (thread_index() == 0u) publish(tile, tile == 0u ? kStatePrefix : kStateTile, tile_sum);
  uvec2 base60 = tile == 0u ? uvec2(0u) : prefix_of(tile);
  uvec2 end60 = sum60_add(base60, tile_sum);
  if (thread_index() == 0u && tile > 0u) publish(tile, kStatePrefix, end60);
  write_total(tile, end60);
#endif
  return base60;
}

void write_sums(uvec2 target, uint position, uvec4 sums) {
  if (position + 4u <= push.num_elements) {
    Quads(target).at[position / 4u] = sums;
  } else {
    [[unroll]] for (uint i = 0u; i < 4u; ++i) {
      if (position + i < push.num_elements) Words(target).at[position + i] = sums[i];
    }
  }
}

// Lists elements whose flag is set; those past the end were loaded as zero.
void list_elements(uint position, uvec4 flags, uvec4 sums) {
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    if (flags[i] != 0u) Words(push.target).at[sums[i]] = position + i;
  }
}

// Called by all; a barrier follows before the next tile.
void scan(uint tile) {
  uvec4 quads[kQuads];
  [[unroll]] for (uint q = 0u; q < kQuads; ++q) quads[q] = load_quad(quad_position(tile, q));

  // Sums before each quad, within the subgroup; of the subgroups; of the tile.
  uint before[kQuads];
  uint subgroup_sum = 0u;
  uint low = 0u;
  uint high = 0u;
  [[unroll]] for (uint q = 0u; q < kQuads; ++q) {
    uint own = quads[q].x + quads[q].y + quads[q].z + quads[q].w;
    before[q] = subgroup_sum + subgroupExclusiveAdd(own);
    subgroup_sum += subgroupAdd(own);
    low += low_halves(quads[q]);
    high += high_halves(quads[q]);
  }
  low = subgroupAdd(low);
  high = subgroupAdd(high);
  if (subgroupElect()) subgroup_sums[gl_SubgroupID] = uvec3(subgroup_sum, low, high);
  barrier();
  scan_subgroup_sums();
  barrier();
  uint in_tile = subgroup_sums[gl_SubgroupID].x;
  uvec2 base = sum60_words(base_of(tile));
  bool has_copy = push.copy != uvec2(0u);
  if (has_copy && thread_index() == 0u && tile == push.num_tiles - 1u) {
    Words(push.copy).at[push.num_elements] = base.x + subgroup_sums[kSubgroups].x;
  }
  [[unroll]] for (uint q = 0u; q < kQuads; ++q) {
    uint position = quad_position(tile, q);
    uvec4 sums;
    sums.x = base.x + in_tile + before[q];
    sums.y = sums.x + quads[q].x;
    sums.z = sums.y + quads[q].y;
    sums.w = sums.z + quads[q].z;
    if (kLists != 0u) {
      list_elements(position, quads[q], sums);
    } else {
      write_sums(push.target, position, sums);
      if (has_copy) write_sums(push.copy, position, sums);
    }
  }
}

void main() {
#ifdef ONE_GROUP
  for (uint tile = 0u; tile < push.num_tiles; ++tile) {
    barrier();
    scan(tile);
  }
#else
  if (thread_index() == 0u) ticket = atomicAdd(States(push.states).at[0], 1u);
  barrier();
  if (ticket < push.num_tiles) scan(ticket);
#endif
}
