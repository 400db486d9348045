// Keys of run entries and binary search in a sorted run. Declares binding kBindRunKeys; needs key_address.glsl.
#ifndef GARUDA_JOIN_RUN_KEYS_GLSL
#define GARUDA_JOIN_RUN_KEYS_GLSL

layout(set = 0, binding = kBindRunKeys, std430) readonly buffer RunKeys { uint run_key_words[]; };

Key load_run_key(uint entry) {
  if (kKeyWords == 2u) return Key(run_key_words[2u * entry], run_key_words[2u * entry + 1u]);
  return Key(run_key_words[entry], 0u);
}

bool key_less(Key a, Key b) { return a.high < b.high || (a.high == b.high && a.low < b.low); }

// First entry of [begin, end) whose key is not less than `key`.
uint lower_bound(uint begin, uint end, Key key) {
  while (begin < end) {
    uint middle = (begin + end) / 2u;
    if (key_less(load_run_key(middle), key)) begin = middle + 1u;
    else end = middle;
  }
  return begin;
}

// First entry of [begin, end) whose key is greater than `key`.
uint upper_bound(uint begin, uint end, Key key) {
  while (begin < end) {
    uint middle = (begin + end) / 2u;
    if (key_less(key, load_run_key(middle))) end = middle;
    else begin = middle + 1u;
  }
  return begin;
}

#endif
