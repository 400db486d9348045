// The hash that places keys in hash images.
//
// It must be independent of the hash that deals rows out to partitions: the keys of one partition agree in the leading
// bits of that one, and would crowd into a corner of the image if the two agreed. Hence the seeds.
#ifndef GARUDA_SHADERS_SHARED_HASH_H
#define GARUDA_SHADERS_SHARED_HASH_H

#include "glsl_types.h"

GARUDA_SHADER_BEGIN

/// Bijective mix of 32 bits (C. Wellons, "Prospecting for Hash Functions", lowbias32: bias 0.17).
GARUDA_SHADER_FUNCTION uint mix32(uint x) {
  x ^= x >> 16u;
  x *= 0x7feb352du;
  x ^= x >> 15u;
  x *= 0x846ca68bu;
  x ^= x >> 16u;
  return x;
}

/// Hash of a 32-bit key: bijective, so distinct keys clash only because an image has fewer than 2^32 pixels.
GARUDA_SHADER_FUNCTION uint hash_key32(uint key) { return mix32(key ^ 0x5bd1e995u); }

/// Hash of a 64-bit key given by its halves: bijective in either half while the other stays the same.
GARUDA_SHADER_FUNCTION uint hash_key64(uint low, uint high) { return mix32(low ^ mix32(high ^ 0x9e3779b9u)); }

GARUDA_SHADER_END

#endif
