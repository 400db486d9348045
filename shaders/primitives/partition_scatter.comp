#version 450
#extension GL_GOOGLE_include_directive : require
// Last pass of a radix partition: rows go to their bins. Each tile is ordered by digit in shared memory first, so that
// rows of a bin leave together.
//
// Buffers: PartitionPush, by address. Invocation: a chunk of at most kGroup × kItems rows, a tile, a workgroup; a subgroup has
// kSubgroup × kItems consecutive ones. Writes: keys_out and the payload columns' targets. Stable: rows of a bin keep
// their order; each subgroup counts its digits by itself, rows of the same digit find each other by masks. Else each
// tile takes the next rows of its bins from counters in memory, so that what is written at one time lies together.

#include "primitives_layout.h"
#include "words.glsl"
#include "block.glsl"

layout(push_constant) uniform Push { PartitionPush push; };

#include "radix.glsl"

layout(constant_id = 11) const uint kIota = 0u;
layout(constant_id = 12) const uint kScratch = 4096u;
layout(constant_id = 13) const uint kMasks = 0u;  // rows of a digit find each other in shared memory (1) or by ballots (0)

layout(constant_id = 14) const uint kPaired = 0u;  // keys and first column are staged together: one word each
layout(constant_id = 15) const uint kMore = 1u;    // there are other columns

layout(buffer_reference, std430, buffer_reference_align = 8) readonly restrict buffer Columns { PayloadColumn at[]; };

const uint kBinsEach = (kBins + kGroup - 1u) / kGroup;

// Places of rows past the end of the tile: everything is done for them, too, so that loads need no branches.
const uint kNowhere = kTile;
const uint kNoBin = kBins;

// Where the masks of (subgroup, bin) begin in scratch, behind the counts.
const uint kFirstMask = kSubgroups * kBins;

shared uint scratch[kScratch];   // a tile's words by position, kNowhere last; before that, stable: by (subgroup, bin)
shared uint counts[kBins + 1u];  // rows of the tile by bin, then their first position in the tile
shared uint shifts[kBins];       // from a position in the tile to where it goes

// Invocations of the subgroup that are valid and have the same digit. Subgroups of up to 32 take one word.
uvec4 peers_of(uint digit, bool is_valid) {
  if (kMasks != 0u) {
    uint mask = kFirstMask + gl_SubgroupID * kBins + digit;
    if (is_valid) atomicOr(scratch[mask], 1u << gl_SubgroupInvocationID);
    subgroupMemoryBarrierShared();
    subgroupBarrier();
    return uvec4(scratch[mask], 0u, 0u, 0u);
  }
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
    rank = atomicAdd(counts[is_valid ? digit : kNoBin], 1u);
  } else {
    uvec4 peers = peers_of(digit, is_valid);
    uint counter = gl_SubgroupID * kBins + digit;
    uint before = peers_before(peers);
    uint base = scratch[counter];
    subgroupMemoryBarrierShared();
    subgroupBarrier();
    if (is_valid && before == 0u) {
      scratch[counter] = base + peer_count(peers);
      if (kMasks != 0u) scratch[kFirstMask + counter] = 0u;
    }
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

// From counts to positions in the tile and to where bins go: the chunk's rows of them (stable), or the next that no tile
// has taken yet. Called by all, between barriers.
void place_bins(PartitionChunk chunk) {
  uint first = thread_index() * kBinsEach;
  uint own[kBinsEach];
  uint begins[kBinsEach];
  uint sum = 0u;
  [[unroll]] for (uint i = 0u; i < kBinsEach; ++i) {
    uint bin = first + i;
    own[i] = bin < kBins ? counts[bin] : 0u;
    begins[i] = 0u;
    if (own[i] > 0u) {
      uint cell = chunk.first + bin * chunk.stride;
      begins[i] = kStable != 0u ? Words(push.matrix).at[cell] : atomicAdd(Words(push.matrix).at[cell], own[i]);
    }
    sum += own[i];
  }
  uint inclusive = subgroupInclusiveAdd(sum);
  if (gl_SubgroupInvocationID == kSubgroup - 1u) block_sums[gl_SubgroupID] = inclusive;
  barrier();
  uint position = inclusive - sum;
  for (uint subgroup = 0u; subgroup < gl_SubgroupID; ++subgroup) position += block_sums[subgroup];
  [[unroll]] for (uint i = 0u; i < kBinsEach; ++i) {
    if (first + i < kBins) {
      counts[first + i] = position;
      shifts[first + i] = begins[i] - position;
    }
    position += own[i];
  }
}

void clear_counts() {
  uint thread = thread_index();
  if (kStable == 0u) {
    // kNoBin too: ranks past the tile's end share a word with digits, which index this memory.
    for (uint bin = thread; bin <= kNoBin; bin += kGroup) counts[bin] = 0u;
  } else {
    for (uint i = thread; i < (1u + kMasks) * kSubgroups * kBins; i += kGroup) scratch[i] = 0u;
  }
}

// The row of the array that item `i` of this invocation is; past the tile's end its last row.
uint row_of(uint tile, uint tile_rows, uint i) {
  uint own = (gl_SubgroupID * kItems + i) * kSubgroup + gl_SubgroupInvocationID;
  return tile + min(own, tile_rows - 1u);
}

bool is_row(uint tile_rows, uint i) {
  return (gl_SubgroupID * kItems + i) * kSubgroup + gl_SubgroupInvocationID < tile_rows;
}

void load_column(PayloadColumn column, uint word, bool is_number, uint tile, uint tile_rows, out uint values[kItems]) {
  if (is_number) {
    [[unroll]] for (uint i = 0u; i < kItems; ++i) values[i] = row_of(tile, tile_rows, i);
  } else {
    [[unroll]] for (uint i = 0u; i < kItems; ++i) {
      values[i] = InputWords(column.source).at[row_of(tile, tile_rows, i) * column.words + word];
    }
  }
}

// Orders one word of each row by position in shared memory, once what is there has been read. Called by all.
void stage(uint positions[kItems], uint values[kItems]) {
  barrier();
  [[unroll]] for (uint i = 0u; i < kItems; ++i) scratch[positions[i]] = values[i];
  barrier();
}

// Sends the words in shared memory to their rows' places.
void send(uvec2 target, uint words, uint word, uint targets[kItems], uint tile_rows) {
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint position = i * kGroup + thread_index();
    uint value = scratch[position];
    if (position < tile_rows) Words(target).at[targets[i] * words + word] = value;
  }
}

void main() {
  if (group_index() >= push.num_chunks) return;
  PartitionChunk chunk = chunk_at(group_index());
  if (chunk.begin >= chunk.end) return;
  uint tile = chunk.begin;
  uint tile_rows = chunk.end - chunk.begin;
  uvec2 keys[kItems];
  uint values[kItems];
  [[unroll]] for (uint i = 0u; i < kItems; ++i) keys[i] = load_key(row_of(tile, tile_rows, i));
  // The first column's words arrive while rows are ranked; ranking by peers needs the registers itself.
  bool is_ahead = kStable == 0u && push.num_payload > 0u;
  if (is_ahead) load_column(push.first, 0u, kIota != 0u, tile, tile_rows, values);
  clear_counts();
  barrier();

  uint positions[kItems];  // rank | digit << 16, then the position in the tile
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint digit = digit_of(keys[i]);
    positions[i] = rank_of(digit, is_row(tile_rows, i)) | digit << 16;
  }
  barrier();
  if (kStable != 0u && kPaired != 0u) load_column(push.first, 0u, kIota != 0u, tile, tile_rows, values);
  if (kStable != 0u) {
    scan_subgroup_counts();
    if (kBinsEach > 1u) barrier();  // else each invocation goes on with its own bin
  }
  place_bins(chunk);
  barrier();
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint digit = positions[i] >> 16;
    uint position = counts[digit] + (positions[i] & 0xffffu);
    if (kStable != 0u) position += scratch[gl_SubgroupID * kBins + digit];
    positions[i] = is_row(tile_rows, i) ? position : kNowhere;
  }
  if (kStable != 0u) barrier();

  // Where the rows at this invocation's positions in the tile, kGroup apart, go: by their keys, or by digits.
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    scratch[positions[i]] = kWords == 1u ? keys[i].x : digit_of(keys[i]);
    if (kPaired != 0u) scratch[kTile + 1u + positions[i]] = values[i];
  }
  barrier();
  uint targets[kItems];
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint position = i * kGroup + thread_index();
    uint word = scratch[position];
    targets[i] = shifts[kWords == 1u ? digit_of(uvec2(word, 0u)) : word & (kBins - 1u)] + position;
    if (kWords == 1u && position < tile_rows) Words(push.keys_out).at[targets[i]] = word;
    if (kPaired != 0u && position < tile_rows) Words(push.first.target).at[targets[i]] = scratch[kTile + 1u + position];
  }
  if (kWords == 2u) {
    [[unroll]] for (uint word = 0u; word < 2u; ++word) {
      uint words[kItems];
      [[unroll]] for (uint i = 0u; i < kItems; ++i) words[i] = keys[i][word];
      stage(positions, words);
      send(push.keys_out, 2u, word, targets, tile_rows);
    }
  }
  if (kMore == 0u) return;
  for (uint c = kPaired; c < push.num_payload; ++c) {
    PayloadColumn column = push.first;
    if (c > 0u) column = Columns(push.payload).at[c];
    for (uint word = 0u; word < column.words; ++word) {
      if (!is_ahead || c + word > 0u) load_column(column, word, kIota != 0u && c == 0u, tile, tile_rows, values);
      stage(positions, values);
      send(column.target, column.words, word, targets, tile_rows);
    }
  }
}
