// Keys of one or two words, hashed anew for every image: XOR with the seed, then the hash of the join. Keys that meet in
// one image meet in the next one no more often than any others. Direct addresses have the seed 0.
#ifndef GARUDA_GROUP_BY_PACKED_KEYS_GLSL
#define GARUDA_GROUP_BY_PACKED_KEYS_GLSL

#include "../points/key_address.glsl"

bool seeded_pixel_of(Key key, KeyAddress address, uint seed, out uint pixel) {
  if (kDirect == 0u) {
    key.low ^= seed;
    if (kKeyWords == 2u) key.high ^= mix32(seed);
  }
  return pixel_of(key, address, pixel);
}

#endif
