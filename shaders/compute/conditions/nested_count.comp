#version 450
#extension GL_GOOGLE_include_directive : require
// How many of some build rows match each probe row: tiles of build rows in shared memory, probe rows in registers
// (He et al. 2008, NINLJ).
//
// Buffers: NestedCountPush, by address. Invocation: kItems probe rows, kGroup apart. Writes: adds to counts, which are
// cleared before. Overflow: none; a side has fewer than 2^32 rows.

#include "conditions_layout.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"

layout(push_constant) uniform Push { NestedCountPush push; };
#define condition push.condition
#include "nested_match.glsl"

const uint kTileRows = 1024u;
// Rows that an invocation reads from shared memory at a time.
const uint kStep = 8u;
const uint kFirstTile = kComparisons == kProgram ? 1u : kTileRows * kFirstWords / 4u;
const uint kSecondTile = kComparisons == 2u && kSameBuild == 0u ? kTileRows * kSecondWords / 4u : 1u;

shared uvec4 first_tile[kFirstTile];
shared uvec4 second_tile[kSecondTile];

// Row `row` + `next` of a tile. Where `row` is a multiple of kStep and `next` known, whole quads are read.
RowWords tile_words(uint row, uint next) {
  RowWords words;
  if (kFirstWords == 1u) {
    words.first = uvec2(first_tile[row / 4u + next / 4u][next % 4u], 0u);
  } else {
    uvec4 two = first_tile[row / 2u + next / 2u];
    words.first = next % 2u == 0u ? two.xy : two.zw;
  }
  words.second = words.first;
  if (kComparisons != 2u || kSameBuild != 0u) return words;
  if (kSecondWords == 1u) {
    words.second = uvec2(second_tile[row / 4u + next / 4u][next % 4u], 0u);
  } else {
    uvec4 two = second_tile[row / 2u + next / 2u];
    words.second = next % 2u == 0u ? two.xy : two.zw;
  }
  return words;
}

// `first`: a multiple of kTileRows. Quads behind the last row are within the padding of its column.
void load_tile(uint first, uint rows) {
  for (uint quad = thread_index(); quad < (rows * kFirstWords + 3u) / 4u; quad += kGroup)
    first_tile[quad] = InputQuads(condition.build_first).at[first / 4u * kFirstWords + quad];
  if (kComparisons != 2u || kSameBuild != 0u) return;
  for (uint quad = thread_index(); quad < (rows * kSecondWords + 3u) / 4u; quad += kGroup)
    second_tile[quad] = InputQuads(condition.build_second).at[first / 4u * kSecondWords + quad];
}

void main() {
  uint group = group_index();
  uint first_row = group % push.probe_groups * kGroup * kItems + thread_index();
  uint first_build = push.first_build + group / push.probe_groups * push.chunk_rows;
  // Invocations of a workgroup have the same first_build, so all of them or none meet the barriers below.
  if (first_build >= push.end_build) return;
  uint end_build = min(push.end_build - first_build, push.chunk_rows) + first_build;
  RowWords probe[kItems];
  uint counts[kItems];
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    probe[i] = probe_words(min(first_row + i * kGroup, condition.num_probe - 1u));
    counts[i] = 0u;
  }
  if (kComparisons == kProgram) {
    for (uint row = first_build; row < end_build; ++row)
      [[unroll]] for (uint i = 0u; i < kItems; ++i) {
        uint probe_row = min(first_row + i * kGroup, condition.num_probe - 1u);
        counts[i] += program_holds(probe_row, row) ? 1u : 0u;
      }
  } else {
    for (uint first = first_build; first < end_build; first += kTileRows) {
      uint rows = min(end_build - first, kTileRows);
      barrier();  // all have read the tile before
      load_tile(first, rows);
      barrier();  // it is there
      uint whole = rows / kStep * kStep;
      for (uint row = 0u; row < whole; row += kStep) {
        RowWords build[kStep];
        [[unroll]] for (uint j = 0u; j < kStep; ++j) build[j] = tile_words(row, j);
        [[unroll]] for (uint j = 0u; j < kStep; ++j)
          [[unroll]] for (uint i = 0u; i < kItems; ++i) counts[i] += is_match(build[j], probe[i]) ? 1u : 0u;
      }
      for (uint row = whole; row < rows; ++row) {
        RowWords build = tile_words(row / 4u * 4u, row % 4u);
        [[unroll]] for (uint i = 0u; i < kItems; ++i) counts[i] += is_match(build, probe[i]) ? 1u : 0u;
      }
    }
  }
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint row = first_row + i * kGroup;
    if (row < condition.num_probe && counts[i] != 0u) atomicAdd(Words(push.counts).at[row], counts[i]);
  }
}
