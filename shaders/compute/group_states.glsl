// States of aggregates in words of 32 bits, in shared memory and in a table in device memory. Needs `push`
// (GroupRowsPush), words.glsl and block.glsl.
#include "../shared/hash.h"

layout(constant_id = 4) const uint kWords = 1u;
layout(constant_id = 20) const uint kAggregate0 = 2u;
layout(constant_id = 21) const uint kAggregate1 = 0u;
layout(constant_id = 22) const uint kAggregate2 = 0u;
layout(constant_id = 23) const uint kAggregate3 = 0u;

// Sums have 2 or 3 words, what follows the sums 1.
#define STATE_WORDS(kind) \
  (kind == kAggregateNone ? 0u \
   : (kind == kAggregateSum32 || kind == kAggregateSumU32) ? 2u \
   : (kind == kAggregateSum64 || kind == kAggregateSumU64) ? 3u : 1u)

const uint kWords0 = STATE_WORDS(kAggregate0);
const uint kWords1 = STATE_WORDS(kAggregate1);
const uint kWords2 = STATE_WORDS(kAggregate2);
const uint kWords3 = STATE_WORDS(kAggregate3);
const uint kStateWords = kWords0 + kWords1 + kWords2 + kWords3;
const uint kEntryWords = 1u + kStateWords;
const uint kNoSlot = 0xffffffffu;

layout(buffer_reference, std430, buffer_reference_align = 8) readonly restrict buffer Addresses { uvec2 at[]; };

uint kind_of(uint aggregate) {
  return aggregate == 0u ? kAggregate0 : aggregate == 1u ? kAggregate1 : aggregate == 2u ? kAggregate2 : kAggregate3;
}

// Number of the first word of an aggregate's state.
uint first_word(uint aggregate) {
  return (aggregate > 0u ? kWords0 : 0u) + (aggregate > 1u ? kWords1 : 0u) + (aggregate > 2u ? kWords2 : 0u);
}

uint state_words(uint kind) { return STATE_WORDS(kind); }
bool is_wide(uint kind) { return kind == kAggregateSum64 || kind == kAggregateSumU64; }
bool is_extreme(uint kind) { return kind >= kAggregateMin32; }

uvec2 load_key(uint row) { return kWords == 1u ? uvec2(InputWords(push.keys).at[row], 0u) : Pairs(push.keys).at[row]; }

uint hash_of(uvec2 key) { return kWords == 1u ? hash_key32(key.x) : hash_key64(key.x, key.y); }

// The word that a slot of `key` holds, seen in row `row`.
uint slot_word(uvec2 key, uint row) { return kWords == 1u ? key.x : row + 1u; }
bool holds(uint word, uvec2 key) { return kWords == 1u ? word == key.x : load_key(word - 1u) == key; }
// The key 0 of one word has the slot behind the last.
bool is_last(uvec2 key) { return kWords == 1u && key.x == 0u; }

uint scaled(uint hash, uint slots) {
  uint high;
  uint low;
  umulExtended(hash, slots, high, low);
  return high;
}

// A row's value as it lies in memory; nothing is read for counts.
uvec2 load_value(uint aggregate, uint row) {
  uint kind = kind_of(aggregate);
  if (kind == kAggregateNone || kind == kAggregateCount) return uvec2(0u);
  uvec2 values = Addresses(push.values).at[aggregate];
  return is_wide(kind) ? Pairs(values).at[row] : uvec2(InputWords(values).at[row], 0u);
}

// The state of one row; words past the state's are 0.
uvec3 state_of(uint aggregate, uvec2 value) {
  uint kind = kind_of(aggregate);
  if (kind == kAggregateCount) return uvec3(1u, 0u, 0u);
  if (is_wide(kind)) return uvec3(value, kind == kAggregateSum64 && (value.y >> 31u) != 0u ? 0xffffffffu : 0u);
  if (kind == kAggregateSum32) return uvec3(value.x, (value.x >> 31u) != 0u ? 0xffffffffu : 0u, 0u);
  if (kind == kAggregateMin32 || kind == kAggregateMax32) value.x ^= 0x80000000u;
  if (kind == kAggregateMin32 || kind == kAggregateMinU32) value.x = ~value.x;
  return uvec3(value.x, 0u, 0u);
}

uint carry_of(uint before, uint added) { return before + added < before ? 1u : 0u; }

// The slot of a key in device memory, entered when it is not there; kNoSlot when there is no room. Top bits of the hash
// place it, so that the keys of a partition stay together.
uint table_slot(uvec2 key, uint row) {
  bool is_found = is_last(key);
  uint slot = is_found ? push.table_slots : scaled(hash_of(key), push.table_slots);
  if (is_found && Words(push.table).at[slot * kEntryWords] == 0u) Words(push.table).at[slot * kEntryWords] = 1u;
  for (uint probe = 0u; !is_found && probe < kMostTableProbes; ++probe) {
    uint found = Words(push.table).at[slot * kEntryWords];
    if (found == 0u) found = atomicCompSwap(Words(push.table).at[slot * kEntryWords], 0u, slot_word(key, row));
    is_found = found == 0u || holds(found, key);
    if (!is_found) slot = slot + 1u == push.table_slots ? 0u : slot + 1u;
  }
  return is_found ? slot : kNoSlot;
}

void add_to_table(uint slot, uint aggregate, uvec3 state) {
  uint kind = kind_of(aggregate);
  uint index = slot * kEntryWords + 1u + first_word(aggregate);
  if (is_extreme(kind)) {
    if (state.x > Words(push.table).at[index]) atomicMax(Words(push.table).at[index], state.x);
  } else {
    uint carry = 0u;
    [[unroll]] for (uint w = 0u; w < 3u; ++w) {
      uint added = w < state_words(kind) ? state[w] + carry : 0u;
      carry = carry_of(state[w], carry);
      if (added != 0u) carry += carry_of(atomicAdd(Words(push.table).at[index + w], added), added);
    }
  }
}

void say_incomplete() { Words(push.state).at[1] = 1u; }

// All of a row's values, or nothing when there is no slot.
void add_row_to_table(uvec2 key, uint row, uvec2 first_value) {
  uint slot = table_slot(key, row);
  if (slot == kNoSlot) {
    say_incomplete();
  } else {
    [[unroll]] for (uint a = 0u; a < kMostAggregates; ++a) {
      if (kind_of(a) != kAggregateNone) add_to_table(slot, a, state_of(a, a == 0u ? first_value : load_value(a, row)));
    }
  }
}

// Writes a group's states to their columns. `state`: the words of one aggregate.
void write_state(uint aggregate, uint place, uvec3 state) {
  uint kind = kind_of(aggregate);
  uvec2 target = Addresses(push.targets).at[1u + aggregate];
  if (kind == kAggregateMin32 || kind == kAggregateMinU32) state.x = ~state.x;
  if (kind == kAggregateMin32 || kind == kAggregateMax32) state.x ^= 0x80000000u;
  if (is_wide(kind)) {
    uint sign = kind == kAggregateSum64 && (state.y >> 31u) != 0u ? 0xffffffffu : 0u;
    if (state.z != sign) {
      Words(push.state).at[3] = place;
      Words(push.state).at[2] = 1u;
    }
  }
  if (state_words(kind) == 1u && kind != kAggregateCount) {
    Words(target).at[place] = state.x;
  } else {
    Pairs(target).at[place] = state.xy;
  }
}

void write_key(uint place, uvec2 key) {
  uvec2 target = Addresses(push.targets).at[0];
  if (kWords == 1u) {
    Words(target).at[place] = key.x;
  } else {
    Pairs(target).at[place] = key;
  }
}
