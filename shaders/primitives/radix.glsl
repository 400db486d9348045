// Digits of keys of one or two words, and the chunk of the array that a workgroup scatters.
#include "../shared/hash.h"

layout(constant_id = 4) const uint kWords = 1u;
layout(constant_id = 5) const uint kBits = 8u;
layout(constant_id = 6) const uint kHashed = 0u;
layout(constant_id = 7) const uint kStable = 1u;
layout(constant_id = 8) const uint kSegmented = 0u;

const uint kBins = 1u << kBits;
const uint kTile = kGroup * kItems;

layout(buffer_reference, std430, buffer_reference_align = 16) readonly restrict buffer Chunks { PartitionChunk at[]; };

uvec2 load_key(uint row) {
  return kWords == 1u ? uvec2(InputWords(push.keys).at[row], 0u) : Pairs(push.keys).at[row];
}

uint digit_of(uvec2 key) {
  uint word = key.x;
  uint shift = push.shift;
  if (kHashed != 0u) {
    word = kWords == 1u ? hash_key32(key.x) : hash_key64(key.x, key.y);
  } else if (kWords == 2u && shift >= 32u) {
    word = key.y;
    shift -= 32u;
  } else if (kWords == 2u && shift > 0u) {
    word = key.x >> shift | key.y << (32u - shift);
    shift = 0u;
  }
  return word >> shift & (kBins - 1u);
}

// Surplus chunks are empty; stable: their counts go where no sum is read. Else all chunks of a segment share counters.
PartitionChunk chunk_at(uint number) {
  uint begin = number * push.chunk_rows;
  PartitionChunk chunk =
      PartitionChunk(begin, min(begin + push.chunk_rows, push.num_rows), kStable != 0u ? number : 0u,
                     kStable != 0u ? push.num_chunks : 1u);
  if (kSegmented != 0u) chunk = Chunks(push.chunks).at[number];
  return chunk;
}
