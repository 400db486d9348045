// A hash table over a build chunk in shared memory: linear probing over slots that name the first row of each distinct
// key. Rows of one key are listed together through `order`.
//
// Shared memory, in words: order [0, kChunk), whose high bits are the includer's, keys [kChunk, (1 + kWords) · kChunk), slots behind them. Once the probe rows
// have been looked up, keys and slots are free for what follows: kFree on.
#include "../../shared/hash.h"

layout(constant_id = 4) const uint kWords = 1u;
layout(constant_id = 12) const uint kScratch = 9216u;
layout(constant_id = 13) const uint kLog2Slots = 12u;

const uint kChunk = kGroup * kItems;
const uint kSlots = 1u << kLog2Slots;
const uint kKeys = kChunk;
const uint kTable = (1u + kWords) * kChunk;
const uint kFree = kChunk;
const uint kRowMask12 = (1u << kRowBits) - 1u;
const uint kSlotsEach = (kSlots + kGroup - 1u) / kGroup;

shared uint scratch[kScratch];
shared uint has_duplicates;

uvec2 load_key(uvec2 address, uint row) {
  return kWords == 1u ? uvec2(InputWords(address).at[row], 0u) : Pairs(address).at[row];
}

uvec2 chunk_key(uint row) {
  return uvec2(scratch[kKeys + row], kWords == 1u ? 0u : scratch[kKeys + kChunk + row]);
}

// Partitions agree in the top bits of the hash, slots are its low bits.
uint first_slot(uvec2 key) {
  return (kWords == 1u ? hash_key32(key.x) : hash_key64(key.x, key.y)) & (kSlots - 1u);
}

// Loads keys and empties the table. Called by all; a barrier follows.
void load_chunk(uvec2 keys, uint begin, uint rows) {
  uint thread = thread_index();
  // Rows past the end repeat the last, so that loads need no branches; nothing reads them.
  uvec2 loaded[kItems];
  [[unroll]] for (uint i = 0u; i < kItems; ++i) loaded[i] = load_key(keys, begin + min(i * kGroup + thread, rows - 1u));
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint row = i * kGroup + thread;
    scratch[kKeys + row] = loaded[i].x;
    if (kWords == 2u) scratch[kKeys + kChunk + row] = loaded[i].y;
  }
  for (uint slot = thread; slot < kSlots; slot += kGroup) scratch[kTable + slot] = 0u;
  if (thread == 0u) has_duplicates = 0u;
}

// Enters a row: its slot, and how many rows of its key came before it.
uvec2 enter(uint row) {
  uvec2 key = chunk_key(row);
  uint slot = first_slot(key);
  uint before = 0u;
  bool is_entered = false;
  while (!is_entered) {
    uint found = atomicCompSwap(scratch[kTable + slot], 0u, row + 1u);
    is_entered = found == 0u;
    if (!is_entered && chunk_key((found & kRowMask12) - 1u) == key) {
      has_duplicates = 1u;
      before = (atomicAdd(scratch[kTable + slot], 1u << kRowBits) >> kRowBits) + 1u;
      is_entered = true;
    }
    if (!is_entered) slot = (slot + 1u) & (kSlots - 1u);
  }
  return uvec2(slot, before);
}

// Makes the starts of keys' lists of the rows counted beyond the first. Called by all, between barriers.
void place_lists() {
  uint first = thread_index() * kSlotsEach;
  uint sum = 0u;
  [[unroll]] for (uint i = 0u; i < kSlotsEach; ++i) {
    uint word = first + i < kSlots ? scratch[kTable + first + i] : 0u;
    if (word != 0u) sum += (word >> kRowBits) + 1u;
  }
  uint ignored;
  uint start = block_exclusive_add(sum, ignored);
  [[unroll]] for (uint i = 0u; i < kSlotsEach; ++i) {
    uint word = first + i < kSlots ? scratch[kTable + first + i] : 0u;
    if (word == 0u) continue;
    uint count = (word >> kRowBits) + 1u;
    scratch[kTable + first + i] = (start + 1u) | count << kRowBits;
    start += count;
  }
}

// Whether a slot's key is `key`. `is_listed`: slots name places in `order`.
bool holds(uint word, uvec2 key, bool is_listed) {
  uint row = (word & kRowMask12) - 1u;
  if (is_listed) row = scratch[row] & kRowMask12;
  return chunk_key(row) == key;
}

// The slot of a key, or the empty one where it would be.
uint find_slot(uvec2 key, bool is_listed) {
  uint slot = first_slot(key);
  uint word = scratch[kTable + slot];
  while (word != 0u && !holds(word, key, is_listed)) {
    slot = (slot + 1u) & (kSlots - 1u);
    word = scratch[kTable + slot];
  }
  return slot;
}

// Builds the table of a chunk whose keys are loaded; true when rows are listed through `order`. Called by all. After it
// slots say (first + 1, rows), but rows is 0 for 1 where no key of the chunk repeats. `places`: of the rows
// i · kGroup + thread_index(), where rows of a key are neighbours.
bool build_table(uint rows, out uint places[kItems]) {
  uint thread = thread_index();
  [[unroll]] for (uint i = 0u; i < kItems; ++i) places[i] = i * kGroup + thread;
  uvec2 entered[kItems];
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint row = i * kGroup + thread;
    if (row < rows) entered[i] = enter(row);
  }
  barrier();
  if (has_duplicates == 0u) return false;
  place_lists();
  barrier();
  [[unroll]] for (uint i = 0u; i < kItems; ++i) {
    uint row = i * kGroup + thread;
    if (row < rows) {
      places[i] = (scratch[kTable + entered[i].x] & kRowMask12) - 1u + entered[i].y;
      scratch[places[i]] = row;
    }
  }
  barrier();
  return true;
}

// Match of a probe key: place of the first row | rows << kRowBits, 0 when there is none.
uint look_up(uvec2 key, bool is_listed) {
  uint word = scratch[kTable + find_slot(key, is_listed)];
  return word == 0u ? 0u : ((word & kRowMask12) - 1u) | max(word >> kRowBits, 1u) << kRowBits;
}
