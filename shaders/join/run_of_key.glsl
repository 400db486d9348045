// The matching entries of a key. A run of direct addresses is one key and matches as a whole; with HASH_ADDRESS, which
// declares binding kBindRunKeys, the key is looked up in its run. Needs key_address.glsl and runs.glsl.
#ifndef GARUDA_JOIN_RUN_OF_KEY_GLSL
#define GARUDA_JOIN_RUN_OF_KEY_GLSL

#ifdef HASH_ADDRESS
#include "run_keys.glsl"
#endif

// Entries [x, y).
uvec2 run_of_key(Key key, KeyAddress address, uint num_build_rows) {
  uint pixel;
  if (!pixel_of(key, address, pixel)) return uvec2(0u);
  uint first = run_begin(pixel);
  uint end = run_end(pixel, address.num_pixels, num_build_rows);
#ifdef HASH_ADDRESS
  first = lower_bound(first, end, key);
  end = upper_bound(first, end, key);
#endif
  return uvec2(first, end);
}

#endif
