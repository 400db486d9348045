#version 450
#extension GL_GOOGLE_include_directive : require
// Enters rows into one table in device memory: a slot a key, in it the first row of the key.
//
// Buffers: EnterRowsPush, by address. Invocation: a row each. Writes: table, slots. Hash addresses probe one slot after
// the other; a slot is known by the key of the row in it, so a row of the same key may replace that row. Overflow: a row
// that finds neither its key nor a free slot in kMostProbes says so in `lost`.

#include "grouping_layout.h"
#include "../../shared/hash.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"

layout(constant_id = 4) const uint kWords = 1u;
layout(constant_id = 13) const uint kDirect = 0u;
layout(push_constant) uniform Push { EnterRowsPush push; };

uvec2 load_key(uint row) {
  return kWords == 2u ? Pairs(push.keys).at[row] : uvec2(InputWords(push.keys).at[row], 0u);
}

uint load_word(uint row, uint word) { return InputWords(push.keys).at[word * push.num_rows + row]; }

uint hashed_slot(uint row, uvec2 key) {
  uint hash = push.seed;
  if (kWords == 0u) {
    for (uint word = 0u; word < push.num_words; ++word) hash = mix32(hash ^ load_word(row, word)) + 0x9e3779b9u;
    hash = mix32(hash);
  } else {
    hash = kWords == 1u ? hash_key32(key.x ^ hash) : hash_key64(key.x ^ hash, key.y ^ mix32(hash));
  }
  return hash & push.mask;
}

// The minimum is below every key, so differences do not wrap.
uint direct_slot(uvec2 key) {
  uint low = key.x - push.min_low;
  uint high = kWords == 2u ? key.y - push.min_high - (key.x < push.min_low ? 1u : 0u) : 0u;
  if (push.shift >= 32u) return high >> (push.shift - 32u);
  return push.shift == 0u ? low : low >> push.shift | high << (32u - push.shift);
}

bool is_same(uint row, uvec2 key, uint other) {
  if (kWords != 0u) return load_key(other) == key;
  for (uint word = 0u; word < push.num_words; ++word) {
    if (load_word(row, word) != load_word(other, word)) return false;
  }
  return true;
}

void main() {
  uint row = group_index() * kGroup + thread_index();
  if (row >= push.num_rows) return;
  uvec2 key = kWords == 0u ? uvec2(0u) : load_key(row);
  uint slot = kDirect != 0u ? direct_slot(key) : hashed_slot(row, key);
  bool is_found = kDirect != 0u;
  for (uint probe = 0u; !is_found && probe < kMostProbes; ++probe) {
    uint found = Words(push.table).at[slot];
    if (found == kFreeSlot) found = atomicCompSwap(Words(push.table).at[slot], kFreeSlot, row);
    is_found = found == kFreeSlot || found == row || is_same(row, key, found);
    if (!is_found) slot = (slot + 1u) & push.mask;
  }
  if (!is_found) {
    Words(push.lost).at[0] = 1u;
    return;
  }
  // A row read here may be out of date, then it is a later one than the slot's: no row is left out.
  if (row < Words(push.table).at[slot]) atomicMin(Words(push.table).at[slot], row);
  Words(push.slots).at[row] = slot;
}
