// Entries of the runs while they are sorted. Declares bindings kBindRunRows and, with HASH_ADDRESS, kBindRunKeys. A run
// of direct addresses holds one key and is sorted by row alone.
#ifndef GARUDA_JOIN_RUN_ENTRIES_GLSL
#define GARUDA_JOIN_RUN_ENTRIES_GLSL

#include "../shared/join_layout.h"

layout(constant_id = kSpecKeyWords) const uint kKeyWords = 1u;

layout(set = 0, binding = kBindRunRows, std430) buffer RunRows { uint run_rows[]; };
#ifdef HASH_ADDRESS
layout(set = 0, binding = kBindRunKeys, std430) buffer RunKeys { uint run_key_words[]; };
#endif

struct Entry {
  uint low;
  uint high;
  uint row;
};

Entry load_entry(uint i) {
#ifdef HASH_ADDRESS
  if (kKeyWords == 2u) return Entry(run_key_words[2u * i], run_key_words[2u * i + 1u], run_rows[i]);
  return Entry(run_key_words[i], 0u, run_rows[i]);
#else
  return Entry(0u, 0u, run_rows[i]);
#endif
}

void store_entry(uint i, Entry entry) {
  run_rows[i] = entry.row;
#ifdef HASH_ADDRESS
  run_key_words[i * kKeyWords] = entry.low;
  if (kKeyWords == 2u) run_key_words[2u * i + 1u] = entry.high;
#endif
}

// Order of (key, row); rows are distinct, so it is total.
bool entry_less(Entry a, Entry b) {
  if (a.high != b.high) return a.high < b.high;
  if (a.low != b.low) return a.low < b.low;
  return a.row < b.row;
}

#endif
