#version 450
#extension GL_GOOGLE_include_directive : require
// Last pass of a radix partition: rows go to their bins. Each tile is ordered by digit in shared memory first, so that
// rows of a bin leave together.
//
// Buffers: PartitionPush, by address. Invocation: a chunk a workgroup, a tile of kGroup × kItems rows at a time; a subgroup
// has kSubgroup × kItems consecutive ones. Writes: keys_out and the payload columns' targets. Stable: rows of a bin keep
// their order; each subgroup counts its digits by itself, rows of the same digit find each other by ballots. Else their
// order within a tile is any, but the same for the keys and all columns.

#include "primitives_layout.h"
#include "words.glsl"
#include "block.glsl"

layout(push_constant) uniform Push { PartitionPush push; };

#include "radix.glsl"

layout(constant_id = 7) const uint kStable = 1u;
layout(constant_id = 11) const uint kIota = 0u;
layout(constant_id = 12) const uint kScratch = 4096u;

layout(buffer_reference, std430, buffer_reference_align = 8) readonly restrict buffer Columns { PayloadColumn at[]; };

const uint kBinsEach = (kBins + kGroup - 1u) / kGroup;
const uint kNowhere = 0xffffffffu;

shared uint scratch[kScratch];  // a tile's words by position; before that, stable: counts by (subgroup, bin)
shared uint counts[kBins];      // rows of the tile by bin, then their first position in the tile
shared uint cursors[kBins];     // where the bin's next row goes
shared uint shifts[kBins];      // from a position in the tile to where it goes

// Invocations of the subgroup that are valid and have the same digit. Subgroups of up to 32 take one word.
uvec4 peers_of(uint digit, bool is_valid) {
  uvec4 peers = subgroupBallot(is_valid);
  [[unroll]] for (uint bit = 0u; bit < kBits; ++bit) {
    bool is_set = (digit >> bit & 1u) != 0u;
    uvec4 set = subgroupBallot(is_set);
    if (kSubgroup <= 32u) {
      peers.x &= is_set ? set.x : ~set.x;
    } else {
      peers &= is_set ? set : ~set;
    }
  }
  return peers;
}

uint peers_before(uvec4 peers) {
  return kSubgroup <= 32u ? bitCount(peers.x & gl_SubgroupLtMask.x) : subgroupBallotExclusiveBitCount(peers);
}

uint peer_count(uvec4 peers) { return kSubgroup <= 32u ? bitCount(peers.x) : subgroupBallotBitCount(peers); }

// Rank of a row among those of its digit: in its subgroup (stable) or in the tile. Counts on the way.
uint rank_of(uint digit, bool is_valid) {
  uint rank = 0u;
  if (kStable == 0u) {
    if (is_valid) rank = atomicAdd(counts[digit], 1u);
  } else {
    uvec4 peers = peers_of(digit, is_valid);
    uint counter = gl_SubgroupID * kBins + digit;
    uint before = peers_before(peers);
    uint base = scratch[counter];
    subgroupMemoryBarrierShared();
    subgroupBarrier();
    if (is_valid && before == 0u) scratch[counter] = base + peer_count(peers);
    subgroupMemoryBarrierShared();
    subgroupBarrier();
    rank = base + before;
  }
  return rank;
}

// Counts of subgroups become sums over the subgroups before; their totals go to `counts`. Called by all.
void scan_subgroup_counts() {
  for (uint bin = thread_index(); bin < kBins; bin += kGroup) {
    uint sum = 0u;
    for (uint subgroup = 0u; subgroup < kSubgroups; ++subgroup) {
      uint count = scratch[subgroup * kBins + bin];
      scratch[subgroup * kBins + bin] = sum;
      sum += count;
    }
    counts[bin] = sum;
  }
}

// From counts to positions in the tile and to where bins go. Called by all, between barriers.
void place_bins() {
  uint first = thread_index() * kBinsEach;
  uint own[kBinsEach];
  uint sum = 0u;
  [[unroll]] for (uint i = 0u; i < kBinsEach; ++i) {
    own[i] = first + i < kBins ? counts[first + i] : 0u;
    sum += own[i];
  }
  uint ignored;
  uint position = block_exclusive_add(sum, ignored);
  [[unroll]] for (uint i = 0u; i < kBinsEach; ++i) {
    if (first + i < kBins) {
      counts[first + i] = position;
      shifts[first + i] = cursors[first + i] - position;
      cursors[first + i] += own[i];
    }
    position += own[i];
  }
}

void clear_counts() {
  uint thread = thread_index();
  if (kStable == 0u) {
    for (uint bin = thread; bin < kBins; bin += kGroup) counts[bin] = 0u;
  } else {
    for (uint i = thread; i < kSubgroups * kBins; i += kGroup) scratch[i] = 0u;
  }
}

void main() {
  if (group_index() >= push.num_chunks) return;
  uint thread = thread_index();
  PartitionChunk chunk = own_chunk();
  for (uint bin = thread; bin < kBins; bin += kGroup) {
    cursors[bin] = InputWords(push.matrix).at[chunk.first + bin * chunk.stride];
  }
  uint own_first = gl_SubgroupID * kSubgroup * kItems + gl_SubgroupInvocationID;

  for (uint tile = chunk.begin; tile < chunk.end; tile += kTile) {
    uint tile_rows = min(chunk.end - tile, kTile);
    uint first = tile + own_first;
    uvec2 keys[kItems];
    [[unroll]] for (uint i = 0u; i < kItems; ++i) {
      keys[i] = own_first + i * kSubgroup < tile_rows ? load_key(first + i * kSubgroup) : uvec2(0u);
    }
    clear_counts();
    barrier();

    uint positions[kItems];  // rank | digit << 16, then the position in the tile
    [[unroll]] for (uint i = 0u; i < kItems; ++i) {
      uint digit = digit_of(keys[i]);
      positions[i] = rank_of(digit, own_first + i * kSubgroup < tile_rows) | digit << 16;
    }
    barrier();
    if (kStable != 0u) {
      scan_subgroup_counts();
      barrier();
    }
    place_bins();
    barrier();
    [[unroll]] for (uint i = 0u; i < kItems; ++i) {
      uint digit = positions[i] >> 16;
      uint position = counts[digit] + (positions[i] & 0xffffu);
      if (kStable != 0u) position += scratch[gl_SubgroupID * kBins + digit];
      positions[i] = own_first + i * kSubgroup < tile_rows ? position : kNowhere;
    }
    barrier();

    // Where the rows at this invocation's positions in the tile, kGroup apart, go.
    uint targets[kItems];
    [[unroll]] for (uint i = 0u; i < kItems; ++i) {
      if (positions[i] != kNowhere) scratch[positions[i]] = kWords == 1u ? keys[i].x : digit_of(keys[i]);
    }
    barrier();
    [[unroll]] for (uint i = 0u; i < kItems; ++i) {
      uint position = i * kGroup + thread;
      if (position < tile_rows) {
        uint word = scratch[position];
        targets[i] = shifts[kWords == 1u ? digit_of(uvec2(word, 0u)) : word] + position;
        if (kWords == 1u) Words(push.keys_out).at[targets[i]] = word;
      }
    }
    if (kWords == 2u) {
      for (uint word = 0u; word < 2u; ++word) {
        barrier();
        [[unroll]] for (uint i = 0u; i < kItems; ++i) {
          if (positions[i] != kNowhere) scratch[positions[i]] = keys[i][word];
        }
        barrier();
        [[unroll]] for (uint i = 0u; i < kItems; ++i) {
          uint position = i * kGroup + thread;
          if (position < tile_rows) Words(push.keys_out).at[2u * targets[i] + word] = scratch[position];
        }
      }
    }

    for (uint c = 0u; c < push.num_payload; ++c) {
      PayloadColumn column = Columns(push.payload).at[c];
      for (uint word = 0u; word < column.words; ++word) {
        uint values[kItems];
        [[unroll]] for (uint i = 0u; i < kItems; ++i) {
          uint row = first + i * kSubgroup;
          if (kIota != 0u && c == 0u) {
            values[i] = row;
          } else if (positions[i] != kNowhere) {
            values[i] = InputWords(column.source).at[row * column.words + word];
          }
        }
        barrier();
        [[unroll]] for (uint i = 0u; i < kItems; ++i) {
          if (positions[i] != kNowhere) scratch[positions[i]] = values[i];
        }
        barrier();
        [[unroll]] for (uint i = 0u; i < kItems; ++i) {
          uint position = i * kGroup + thread;
          if (position < tile_rows) Words(column.target).at[targets[i] * column.words + word] = scratch[position];
        }
      }
    }
    barrier();
  }
}
