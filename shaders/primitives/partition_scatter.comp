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
// Bits of a digit by which its rows find each other in shared memory, the other bits by ballots; 0: all by ballots.
layout(constant_id = 13) const uint kMaskBits = 0u;
layout(constant_id = 14) const uint kRounds = 1u;  // in which the tile is staged, as many positions each
layout(constant_id = 15) const uint kMore = 1u;    // there are other columns
layout(constant_id = 16) const uint kPacked = 0u;  // places are kept as half words (1)
layout(constant_id = 18) const uint kFullApart = 1u;  // full tiles take a path of their own, which tests no bounds (1)
layout(constant_id = 17) const uint kNarrow = 0u;  // elements of the first column are a word (1)
layout(constant_id = 19) const uint kWide = 1u;    // some column's elements have an even number of words (1)

layout(buffer_reference, std430, buffer_reference_align = 8) readonly restrict buffer Columns { PayloadColumn at[]; };

const uint kBinsEach = (kBins + kGroup - 1u) / kGroup;
const uint kPlaceWords = kPacked != 0u ? (kItems + 1u) / 2u : kItems;

// Places of rows past the end of the tile: everything is done for them, too, so that loads need no branches.
const uint kNowhere = kTile;
const uint kNoBin = kBins;

// Where the masks of subgroups begin in scratch, behind the counts, and how many each has. Sums of parts take their
// place.
const uint kFirstMask = kSubgroups * kBins;
const uint kUsedMaskBits = kMaskBits < kBits ? kMaskBits : kBits;
const uint kMasks = kMaskBits != 0u ? 1u << kUsedMaskBits : 0u;

// Parts of the subgroups, whose counts of a bin are summed side by side.
const uint kParts = kGroup >= 2u * kBins ? kGroup / kBins : 1u;
const uint kPartSubgroups = (kSubgroups + kParts - 1u) / kParts;

// Positions of a round; of values of two words half as many.
const uint kRoundItems = (kItems + kRounds - 1u) / kRounds;
const uint kRound = kRoundItems * kGroup;
const uint kPairItems = (kRoundItems + 1u) / 2u;
const uint kPairRound = kPairItems * kGroup;
const uint kPairRounds = (kItems + kPairItems - 1u) / kPairItems;

shared uint scratch[kScratch];  // words by position in the round, one more for kNowhere; stable: by (subgroup, bin) first
shared uint counts[kBins + 1u];  // by bin: first position in the tile; any order: rows of the tile first
shared uint shifts[kBins];       // from a position in the tile to where it goes

// A tile: its first row, its rows, and whether it has as many as there are invocations and items for: then no row has to
// be looked at, and items lie at fixed distances.
struct Tile {
  uint begin;
  uint rows;
  bool is_full;
};

// The first row of this invocation in a tile; its items are kSubgroup apart.
uint own_row() { return gl_SubgroupID * kItems * kSubgroup + gl_SubgroupInvocationID; }

bool is_row(Tile tile, uint i) { return tile.is_full || own_row() + i * kSubgroup < tile.rows; }

bool is_position(Tile tile, uint position) { return tile.is_full || position < tile.rows; }

// The row of the array that item `i` of this invocation is; past the tile's end its last row.
uint row_of(Tile tile, uint i) { return tile.begin + min(own_row() + i * kSubgroup, tile.rows - 1u); }

uint place_at(uint places[kPlaceWords], uint i) {
  return kPacked != 0u ? places[i / 2u] >> 16u * (i % 2u) & 0xffffu : places[i];
}

// Sets place `i`; called in ascending order of `i`.
void set_place(inout uint places[kPlaceWords], uint i, uint value) {
  if (kPacked == 0u) {
    places[i] = value;
  } else {
    places[i / 2u] = i % 2u == 0u ? value : places[i / 2u] | value << 16;
  }
}

#include "order_subgroup.glsl"

// Invocations of the subgroup that are valid and have the same digit. Subgroups of up to 32 take one word.
uvec4 find_peers(uint digit, bool valid) {
  uvec4 peers = uvec4(0u);
  if (kMaskBits != 0u) {
    uint mask = kFirstMask + gl_SubgroupID * kMasks + (digit & (kMasks - 1u));
    if (valid) atomicOr(scratch[mask], 1u << gl_SubgroupInvocationID);
    order_subgroup();
    peers.x = scratch[mask];
    order_subgroup();
    scratch[mask] = 0u;  // before the next rows' bits by the barriers that their counting has
  } else {
    peers = subgroupBallot(valid);
  }
  [[unroll]] for (uint bit = kUsedMaskBits; bit < kBits; ++bit) {
    bool is_set = (digit & 1u << bit) != 0u;
    uint is_clear = is_set ? 0u : ~0u;  // all bits, or none
    uvec4 set = subgroupBallot(is_set);
    if (kSubgroup <= 32u) {
      peers.x &= set.x ^ is_clear;
    } else {
      peers &= set ^ uvec4(is_clear);
    }
  }
  return peers;
}

uint peers_before(uvec4 peers) {
  return kSubgroup <= 32u ? bitCount(peers.x & gl_SubgroupLtMask.x) : subgroupBallotExclusiveBitCount(peers);
}

bool is_last(uvec4 peers) {
  return kSubgroup <= 32u ? (peers.x & gl_SubgroupGtMask.x) == 0u
                          : subgroupBallotInclusiveBitCount(peers) == subgroupBallotBitCount(peers);
}

// Rank of a row among those of its digit in its subgroup. Counts on the way: the last of peers knows how many they are.
uint rank_in_subgroup(uint digit, bool valid) {
  uvec4 peers = find_peers(digit, valid);
  uint counted = gl_SubgroupID * kBins + digit;
  uint rank = peers_before(peers);
  uint base = scratch[counted];
  order_subgroup();
  if (valid && is_last(peers)) scratch[counted] = base + rank + 1u;
  order_subgroup();
  return base + rank;
}

// Ranks of this invocation's rows, with digits above them where there is room.
void rank_rows(Tile tile, uvec2 keys[kItems], out uint ranks[kPlaceWords]) {
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint digit = digit_of(keys[i]);
    uint rank = kStable == 0u ? atomicAdd(counts[is_row(tile, i) ? digit : kNoBin], 1u)
                              : rank_in_subgroup(digit, is_row(tile, i));
    set_place(ranks, i, kPacked != 0u ? rank & 0xffffu : rank | digit << 16);
  }
}

// Exclusive sum of this invocation's rows by bin over its subgroup; the subgroups' sums go to block_sums.
uint sum_of_bins(uint rows[kBinsEach]) {
  uint sum = 0u;
  [[unroll]] for (uint i = 0u; i < kBinsEach; ++i) sum += rows[i];
  uint inclusive = subgroupInclusiveAdd(sum);
  if (gl_SubgroupInvocationID == kSubgroup - 1u) block_sums[gl_SubgroupID] = inclusive;
  return inclusive - sum;
}

// First positions of this invocation's bins in the tile, and what takes a position to where it goes; in any order that
// stays in `begins`, for share_shifts(), since it has to be waited for. `position`: what sum_of_bins() said, before a
// barrier.
void begin_bins(uint position, uint rows[kBinsEach], inout uint begins[kBinsEach]) {
  if (thread_index() * kBinsEach >= kBins) return;
  for (uint subgroup = 0u; subgroup < gl_SubgroupID; ++subgroup) position += block_sums[subgroup];
  [[unroll]] for (uint i = 0u; i < kBinsEach; ++i) {
    uint bin = thread_index() * kBinsEach + i;
    if (kStable == 0u) begins[i] -= position;
    if (bin < kBins) {
      counts[bin] = position;
      if (kStable != 0u) shifts[bin] = begins[i] - position;
    }
    position += rows[i];
  }
}

// Places bins without a stable order: a tile takes the next rows of its bins that no tile has taken yet. Called by all,
// between barriers.
void place_bins(PartitionChunk chunk, out uint begins[kBinsEach]) {
  uint rows[kBinsEach];
  [[unroll]] for (uint i = 0u; i < kBinsEach; ++i) {
    uint bin = thread_index() * kBinsEach + i;
    rows[i] = bin < kBins ? counts[bin] : 0u;
    begins[i] = rows[i] > 0u ? atomicAdd(Words(push.matrix).at[chunk.first + bin * chunk.stride], rows[i]) : 0u;
  }
  uint position = sum_of_bins(rows);
  barrier();
  begin_bins(position, rows, begins);
}

// Stable: where the chunk's rows of this invocation's bins begin, and where those of the next chunk do.
void load_begins(PartitionChunk chunk, out uint begins[kBinsEach], out uint ends[kBinsEach]) {
  [[unroll]] for (uint i = 0u; i < kBinsEach; ++i) {
    uint bin = min(thread_index() * kBinsEach + i, kBins - 1u);
    begins[i] = InputWords(push.matrix).at[chunk.first + bin * chunk.stride];
  }
  [[unroll]] for (uint i = 0u; i < kBinsEach; ++i) {
    uint bin = min(thread_index() * kBinsEach + i, kBins - 2u);
    ends[i] = InputWords(push.matrix).at[chunk.first + bin * chunk.stride + 1u];
  }
}

// The chunk's rows by bin; of the last bin nothing needs to be known.
void count_bins(uint begins[kBinsEach], uint ends[kBinsEach], out uint rows[kBinsEach]) {
  [[unroll]] for (uint i = 0u; i < kBinsEach; ++i) {
    uint bin = thread_index() * kBinsEach + i;
    rows[i] = bin + 1u < kBins ? ends[i] - begins[i] : 0u;
  }
}

// Counts of a bin's rows in a part of the subgroups; their sum.
uint load_part_counts(uint bin, uint part, out uint own[kPartSubgroups]) {
  uint sum = 0u;
  [[unroll]] for (uint i = 0u; i < kPartSubgroups; ++i) {
    uint subgroup = part * kPartSubgroups + i;
    own[i] = part < kParts && subgroup < kSubgroups ? scratch[subgroup * kBins + bin] : 0u;
    sum += own[i];
  }
  return sum;
}

// Counts of a part's subgroups become their first positions in the tile, the first of them `position`.
void place_part(uint bin, uint part, uint own[kPartSubgroups], uint position) {
  [[unroll]] for (uint i = 0u; i < kPartSubgroups; ++i) {
    uint subgroup = part * kPartSubgroups + i;
    if (part < kParts && subgroup < kSubgroups) scratch[subgroup * kBins + bin] = position;
    position += own[i];
  }
}

// Stable: `position` from sum_of_bins(). Called by all, between barriers.
void place_subgroups(uint position, uint rows[kBinsEach], uint begins[kBinsEach]) {
  uint own[kPartSubgroups];
  if (kParts > 1u) {
    uint part = thread_index() / kBins;
    uint bin = thread_index() % kBins;
    uint sum = load_part_counts(bin, part, own);
    if (part < kParts) scratch[kFirstMask + part * kBins + bin] = sum;
    begin_bins(position, rows, begins);
    barrier();
    uint first = counts[bin];
    for (uint before = 0u; before < min(part, kParts); ++before) first += scratch[kFirstMask + before * kBins + bin];
    place_part(bin, part, own, first);
  } else {
    begin_bins(position, rows, begins);
    barrier();
    for (uint bin = thread_index(); bin < kBins; bin += kGroup) {
      load_part_counts(bin, 0u, own);
      place_part(bin, 0u, own, counts[bin]);
    }
  }
}

void share_shifts(uint begins[kBinsEach]) {
  [[unroll]] for (uint i = 0u; i < kBinsEach; ++i) {
    uint bin = thread_index() * kBinsEach + i;
    if (bin < kBins) shifts[bin] = begins[i];
  }
}

void clear_counts() {
  uint thread = thread_index();
  if (kStable == 0u) {
    // kNoBin too: ranks past the tile's end share a word with digits, which index this memory.
    for (uint bin = thread; bin <= kNoBin; bin += kGroup) counts[bin] = 0u;
  } else {
    for (uint i = thread; i < kSubgroups * (kBins + kMasks); i += kGroup) scratch[i] = 0u;
  }
}

void load_keys(Tile tile, out uvec2 keys[kItems]) {
  if (tile.is_full) {
    uvec2 own = advanced(push.keys, (tile.begin + own_row()) * kWords);
    [[unroll]] for (uint i = 0u; i < kItems; ++i) {
      keys[i] = kWords == 1u ? uvec2(InputWords(own).at[i * kSubgroup], 0u) : Pairs(own).at[i * kSubgroup];
    }
  } else {
    [[unroll]] for (uint i = 0u; i < kItems; ++i) keys[i] = load_key(row_of(tile, i));
  }
}

// The part of a column that is sent at a time: a word of its elements, or two that lie together.
struct Part {
  uvec2 source;
  uvec2 target;
  uint stride;   // words of an element
  uint is_pair;  // where elements have an even number of words
};

const uint kKeysColumn = 0xffffffffu;
const bool kHasPairs = kWide != 0u || kWords == 2u;

Part part_of(PayloadColumn column, uint word) {
  bool is_pair = kWide != 0u && column.words % 2u == 0u;
  return Part(advanced(column.source, word), advanced(column.target, word), column.words, is_pair ? 1u : 0u);
}

// Reads the part's values in column `c`; the first column may be the rows' numbers.
void load_part(uint c, Part part, Tile tile, out uvec2 values[kItems]) {
  if (kIota != 0u && c == 0u) {
    [[unroll]] for (uint i = 0u; i < kItems; ++i) values[i] = uvec2(row_of(tile, i), 0u);
  } else if (kWide != 0u && part.is_pair != 0u) {
    [[unroll]] for (uint i = 0u; i < kItems; ++i) values[i] = Pairs(part.source).at[row_of(tile, i) * (part.stride / 2u)];
  } else if (kNarrow != 0u && c == 0u && tile.is_full) {
    uvec2 own = advanced(part.source, tile.begin + own_row());
    [[unroll]] for (uint i = 0u; i < kItems; ++i) values[i] = uvec2(InputWords(own).at[i * kSubgroup], 0u);
  } else {
    [[unroll]] for (uint i = 0u; i < kItems; ++i) {
      values[i] = uvec2(InputWords(part.source).at[row_of(tile, i) * part.stride], 0u);
    }
  }
}

uint place_of(uint places[kPlaceWords], uint i, uint position) {
  return kPacked != 0u ? shifts[place_at(places, i)] + position : place_at(places, i);
}

// Words of an element of the first column where it is the only one.
uint stride_of(Part part) { return kNarrow != 0u && kMore == 0u && kWords == 1u ? 1u : part.stride; }

// Orders one word of each row of the round by position in shared memory.
void stage(uint turn, uint positions[kPlaceWords], uvec2 values[kItems]) {
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint at = place_at(positions, i) - turn * kRound;
    if (kRounds == 1u || at < kRound) scratch[at] = values[i].x;
  }
}

// Sends the words in shared memory to their rows' places. `places`: of this invocation's positions in the tile, kGroup
// apart: rows, or bins when packed.
void send(uint turn, Part part, uint places[kPlaceWords], Tile tile) {
  [[unroll]] for (uint i = 0u; i < kRoundItems; ++i) {
    uint item = turn * kRoundItems + i;
    if (item >= kItems) continue;
    uint position = item * kGroup + thread_index();
    uint value = scratch[i * kGroup + thread_index()];
    uint row = place_of(places, item, position);
    if (is_position(tile, position)) Words(part.target).at[row * stride_of(part)] = value;
  }
}

// Orders values of two words, which take turns of their own, by position in shared memory.
void stage_pairs(uint turn, uint positions[kPlaceWords], uvec2 values[kItems]) {
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint at = place_at(positions, i) - turn * kPairRound;
    if (at >= kPairRound) continue;
    scratch[at] = values[i].x;
    scratch[kPairRound + at] = values[i].y;
  }
}

void send_pairs(uint turn, Part part, uint places[kPlaceWords], Tile tile) {
  [[unroll]] for (uint i = 0u; i < kPairItems; ++i) {
    uint item = turn * kPairItems + i;
    if (item >= kItems) continue;
    uint at = i * kGroup + thread_index();
    uint position = item * kGroup + thread_index();
    uvec2 value = uvec2(scratch[at], scratch[kPairRound + at]);
    uint row = place_of(places, item, position);
    if (is_position(tile, position)) Pairs(part.target).at[row * (part.stride / 2u)] = value;
  }
}

// Ranks become positions in the tile.
void place_rows(Tile tile, uvec2 keys[kItems], uint ranks[kPlaceWords], out uint positions[kPlaceWords]) {
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint rank = place_at(ranks, i);
    uint digit = kPacked != 0u ? digit_of(keys[i]) : rank >> 16;
    uint first = kStable != 0u ? scratch[gl_SubgroupID * kBins + digit] : counts[digit];
    set_place(positions, i, is_row(tile, i) ? first + (rank & 0xffffu) : kNowhere);
  }
}

// Sends keys that are staged; remembers where this invocation's positions go. Keys of two words are represented by their
// digits, and sent afterwards.
void send_keys(uint turn, Tile tile, inout uint places[kPlaceWords]) {
  [[unroll]] for (uint i = 0u; i < kRoundItems; ++i) {
    uint item = turn * kRoundItems + i;
    if (item >= kItems) continue;
    uint position = item * kGroup + thread_index();
    uint word = scratch[i * kGroup + thread_index()];
    // A word past the tile's end is not a row: its bin is cut to one all the same, since it is an index.
    uint bin = kWords == 1u ? digit_of(uvec2(word, 0u)) : word & (kBins - 1u);
    uint row = shifts[bin] + position;
    set_place(places, item, kPacked != 0u ? bin : row);
    if (kWords == 1u && is_position(tile, position)) Words(push.keys_out).at[row] = word;
  }
}

// Sends a part, whose values are loaded, and those after it; what comes next is loaded before what is staged is sent.
void send_parts(uint c, Part part, Tile tile, uint positions[kPlaceWords], uint places[kPlaceWords],
                uvec2 values[kItems]) {
  PayloadColumn column = push.first;
  uint word = 0u;
  bool is_last = false;
  while (!is_last) {
    bool is_pair = kHasPairs && part.is_pair != 0u;
    if (is_pair) {
      [[unroll]] for (uint turn = 0u; turn < kPairRounds; ++turn) {
        barrier();
        stage_pairs(turn, positions, values);
        if (turn + 1u == kPairRounds) break;
        barrier();
        send_pairs(turn, part, places, tile);
      }
    } else {
      [[unroll]] for (uint turn = 0u; turn < kRounds; ++turn) {
        barrier();
        stage(turn, positions, values);
        if (turn + 1u == kRounds) break;
        barrier();
        send(turn, part, places, tile);
      }
    }
    Part sent = part;
    word += is_pair ? 2u : 1u;
    if (c == kKeysColumn || word >= column.words) {
      c = c == kKeysColumn ? 0u : c + 1u;
      word = 0u;
      is_last = kMore != 0u || kWords == 2u ? c >= push.num_payload : true;
      if (kMore != 0u && !is_last && c > 0u) column = Columns(push.payload).at[c];
    }
    if (!is_last) {
      part = part_of(column, word);
      load_part(c, part, tile, values);
    }
    barrier();
    if (is_pair) {
      send_pairs(kPairRounds - 1u, sent, places, tile);
    } else {
      send(kRounds - 1u, sent, places, tile);
    }
  }
}

void scatter_tile(PartitionChunk chunk, Tile tile) {
  uvec2 keys[kItems];
  uvec2 values[kItems];
  load_keys(tile, keys);
  bool has_column = kNarrow != 0u || (kMore != 0u && push.num_payload > 0u);
  Part first = part_of(push.first, 0u);
  // The first column's words arrive while rows are ranked; ranking by peers needs the registers itself.
  bool is_ahead = kStable == 0u && kPacked == 0u;
  if (kWords == 1u && is_ahead && has_column) load_part(0u, first, tile, values);
  uint begins[kBinsEach];
  uint ends[kBinsEach];
  if (kStable != 0u) load_begins(chunk, begins, ends);
  clear_counts();
  barrier();

  uint ranks[kPlaceWords];
  rank_rows(tile, keys, ranks);
  uint rows[kBinsEach];
  uint bins_before = 0u;
  if (kStable != 0u) {
    count_bins(begins, ends, rows);
    bins_before = sum_of_bins(rows);
  }
  barrier();
  if (kWords == 1u && !is_ahead && has_column) load_part(0u, first, tile, values);
  if (kStable != 0u) {
    place_subgroups(bins_before, rows, begins);
  } else {
    place_bins(chunk, begins);
  }
  barrier();
  uint positions[kPlaceWords];
  place_rows(tile, keys, ranks, positions);
  if (kStable != 0u) barrier();

  uvec2 words[kItems];
  [[unroll]] for (uint i = 0u; i < kItems; ++i) words[i] = kWords == 1u ? keys[i] : uvec2(digit_of(keys[i]), 0u);
  uint places[kPlaceWords];
  [[unroll]] for (uint turn = 0u; turn < kRounds; ++turn) {
    if (turn > 0u) barrier();
    stage(turn, positions, words);
    if (kStable == 0u && turn == 0u) share_shifts(begins);
    barrier();
    send_keys(turn, tile, places);
  }
  if (kWords == 2u) {
    send_parts(kKeysColumn, Part(push.keys, push.keys_out, 2u, 1u), tile, positions, places, keys);
  } else if (has_column) {
    send_parts(0u, first, tile, positions, places, values);
  }
}

void main() {
  if (group_index() >= push.num_chunks) return;
  // Stable: the keys that were counted last are the likeliest to be in a cache still.
  PartitionChunk chunk = chunk_at(kStable != 0u ? push.num_chunks - 1u - group_index() : group_index());
  if (chunk.begin >= chunk.end) return;
  uint rows = chunk.end - chunk.begin;
  if (kFullApart != 0u && rows == kTile) {
    scatter_tile(chunk, Tile(chunk.begin, kTile, true));
  } else {
    scatter_tile(chunk, Tile(chunk.begin, rows, false));
  }
}
