// Keys and the pixels they are drawn at. Declares binding kBindKeys.
#ifndef GARUDA_POINTS_KEY_ADDRESS_GLSL
#define GARUDA_POINTS_KEY_ADDRESS_GLSL

#include "../shared/hash.h"
#include "../shared/pass_layout.h"

layout(constant_id = kSpecKeyWords) const uint kKeyWords = 1u;
layout(constant_id = kSpecDirect) const uint kDirect = 0u;

layout(set = 0, binding = kBindKeys, std430) readonly buffer Keys { uint key_words[]; };

struct Key {
  uint low;
  uint high;  // 0 for 32-bit keys
};

Key load_key(uint row) {
  if (kKeyWords == 2u) return Key(key_words[2u * row], key_words[2u * row + 1u]);
  return Key(key_words[row], 0u);
}

// The pixel of `key`; false when a direct address lies outside the image, that is, outside [minimum, maximum].
//
// For 32-bit keys below the minimum the difference wraps to more than maximum - minimum, and as all differences are
// multiples of 2^shift it stays above after the shift; 64-bit differences are taken by halves and must have none left.
bool pixel_of(Key key, KeyAddress address, out uint pixel) {
  if (kDirect == 0u) {
    uint hash = kKeyWords == 2u ? hash_key64(key.low, key.high) : hash_key32(key.low);
    pixel = hash >> address.shift;
    return true;
  }
  uint low = key.low - address.min_low;
  if (kKeyWords == 1u) {
    pixel = low >> address.shift;
    return pixel < address.num_pixels;
  }
  uint borrow = key.low < address.min_low ? 1u : 0u;
  uint high = key.high - address.min_high - borrow;
  if (address.shift >= 32u) {
    pixel = high >> (address.shift - 32u);
    return pixel < address.num_pixels;
  }
  pixel = address.shift == 0u ? low : (low >> address.shift) | (high << (32u - address.shift));
  return (high >> address.shift) == 0u && pixel < address.num_pixels;
}

#endif
