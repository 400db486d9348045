// Order and search of keys of one or two words.

layout(constant_id = 4) const uint kWords = 1u;

uvec2 load_key(uvec2 address, uint row) {
  return kWords == 1u ? uvec2(InputWords(address).at[row], 0u) : Pairs(address).at[row];
}

bool is_below(uvec2 a, uvec2 b) { return a.y < b.y || (a.y == b.y && a.x < b.x); }

/// The key shifted right by `bits`, below 64.
uvec2 shifted(uvec2 key, uint bits) {
  uvec2 by_word = bits >= 32u ? uvec2(key.y, 0u) : key;
  uint rest = bits & 31u;
  uint carried = rest == 0u ? 0u : by_word.y << (32u - rest);
  return uvec2(by_word.x >> rest | carried, by_word.y >> rest);
}

/// First row of [low, high) whose key is `key` or more; `high` when there is none.
uint lower_bound(uvec2 keys, uint low, uint high, uvec2 key) {
  while (low < high) {
    uint middle = low + (high - low) / 2u;
    if (is_below(load_key(keys, middle), key)) {
      low = middle + 1u;
    } else {
      high = middle;
    }
  }
  return low;
}
