// States of aggregates in words of 32 bits, in shared memory and in a table in device memory. Needs `push` with the
// members keys, values, table, targets and state of GroupRowsPush, words.glsl and block.glsl. NUMBERED: keys are the
// numbers of the groups, which are their slots in a table of states alone; there is one aggregate, whose column is
// `own_column`, perhaps with nulls.
#include "../../shared/hash.h"
#include "../keys/column_values.glsl"
#include "../../shared/float_parts.glsl"

layout(constant_id = 4) const uint kWords = 1u;
layout(constant_id = 20) const uint kAggregate0 = 2u;
layout(constant_id = 21) const uint kAggregate1 = 0u;
layout(constant_id = 22) const uint kAggregate2 = 0u;
layout(constant_id = 23) const uint kAggregate3 = 0u;
layout(constant_id = 27) const uint kNullable = 0u;

#define STATE_WORDS(kind) \
  (kind == kAggregateNone ? 0u \
   : (kind == kAggregateSum32 || kind == kAggregateSumU32) ? 2u \
   : (kind == kAggregateTotal64 || kind == kAggregateTotalU64 || kind == kAggregateFixed32 || kind == kAggregateFixed64) ? 3u \
   : (kind == kAggregateLong32 || kind == kAggregateLong64) ? 4u \
   : kind == kAggregateTotal128 ? 5u : 1u)

const uint kWords0 = STATE_WORDS(kAggregate0);
const uint kWords1 = STATE_WORDS(kAggregate1);
const uint kWords2 = STATE_WORDS(kAggregate2);
const uint kWords3 = STATE_WORDS(kAggregate3);
const uint kStateWords = kWords0 + kWords1 + kWords2 + kWords3;
#ifdef NUMBERED
#define COLUMN(aggregate) own_column
const uint kKeyWords = 0u;  // of an entry
#else
#define COLUMN(aggregate) AggregateColumns(push.values).at[aggregate]
const uint kKeyWords = 1u;
#endif
const uint kEntryWords = kKeyWords + kStateWords;
const uint kNoSlot = 0xffffffffu;

layout(buffer_reference, std430, buffer_reference_align = 8) readonly restrict buffer Addresses { uvec2 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) readonly restrict buffer AggregateColumns {
  AggregateColumn at[];
};

struct State {
  uint word[kMostStateWords];  // past the state's they are 0
};

uint kind_of(uint aggregate) {
  return aggregate == 0u ? kAggregate0 : aggregate == 1u ? kAggregate1 : aggregate == 2u ? kAggregate2 : kAggregate3;
}

// Number of the first word of an aggregate's state.
uint first_word(uint aggregate) {
  return (aggregate > 0u ? kWords0 : 0u) + (aggregate > 1u ? kWords1 : 0u) + (aggregate > 2u ? kWords2 : 0u);
}

uint state_words(uint kind) { return STATE_WORDS(kind); }
bool is_extreme(uint kind) { return kind >= kAggregateMin32 && kind <= kAggregateFirst; }
bool is_flags(uint kind) { return kind == kAggregateFlags32 || kind == kAggregateFlags64; }
bool is_row(uint kind) { return kind >= kAggregateMinI64; }
bool is_float_sum(uint kind) { return kind >= kAggregateFixed32 && kind <= kAggregateLong64; }
bool is_quad(uint kind) {
  return kind == kAggregateTotal128 || kind == kAggregateMinI128 || kind == kAggregateMaxI128;
}
bool is_wide(uint kind) {
  return kind == kAggregateTotal64 || kind == kAggregateTotalU64 || kind == kAggregateFixed64 || kind == kAggregateLong64 ||
         kind == kAggregateFlags64 || (is_row(kind) && !is_quad(kind));
}

uvec2 load_key(uint row) {
  if (kWords == 0u) return uvec2(0u);
  return kWords == 1u ? uvec2(InputWords(push.keys).at[row], 0u) : Pairs(push.keys).at[row];
}

uint hash_of(uvec2 key) { return kWords == 2u ? hash_key64(key.x, key.y) : hash_key32(key.x); }

// The word that a slot of `key` holds, seen in row `row`.
uint slot_word(uvec2 key, uint row) { return kWords == 2u ? row + 1u : key.x; }
bool holds(uint word, uvec2 key) { return kWords == 2u ? load_key(word - 1u) == key : word == key.x; }
// The key 0 of one word has the slot behind the last.
bool is_last(uvec2 key) { return kWords != 2u && key.x == 0u; }

uint scaled(uint hash, uint slots) {
  uint high;
  uint low;
  umulExtended(hash, slots, high, low);
  return high;
}

// A row's value as it lies in memory; nothing is read for counts.
uvec4 load_value(uint aggregate, uint row) {
  uint kind = kind_of(aggregate);
  if (kind == kAggregateNone || kind == kAggregateCount) return uvec4(0u);
  uvec2 values = COLUMN(aggregate).values;
  if (kind == kAggregateFirst && values == uvec2(0u)) return uvec4(row, 0u, 0u, 0u);
  if (is_quad(kind)) {
    return uvec4(Pairs(values).at[2u * row], Pairs(values).at[2u * row + 1u]);
  }
  return is_wide(kind) ? uvec4(Pairs(values).at[row], 0u, 0u) : uvec4(InputWords(values).at[row], 0u, 0u, 0u);
}

bool is_null(uint aggregate, uint row) {
#ifdef NUMBERED
  if (own_column.nulls == uvec2(0u)) return false;
#else
  if ((kNullable >> aggregate & 1u) == 0u) return false;
#endif
  AggregateColumn column = COLUMN(aggregate);
  return is_null_row(column.nulls, column.null_mask, row);
}

void negate(inout State state, uint words) {
  bool carry = true;
  [[unroll]] for (uint w = 0u; w < kMostStateWords; ++w) {
    if (w < words) {
      state.word[w] = ~state.word[w] + (carry ? 1u : 0u);
      carry = carry && state.word[w] == 0u;
    }
  }
}

// The float as an integer over the column's lowest bit, in the state's words.
State float_state(uint aggregate, uvec2 value) {
  uint kind = kind_of(aggregate);
  AggregateColumn column = COLUMN(aggregate);
  FloatParts parts = parts_of(is_wide(kind), value);
  State state = State(uint[kMostStateWords](0u, 0u, 0u, 0u, 0u));
  bool takes_part = parts.position >= column.first_position && parts.position <= column.last_position;
  if (!takes_part || parts.magnitude == uvec2(0u)) return state;
  int shift = int(parts.position) - column.lowest_bit;
  uvec2 magnitude = parts.magnitude;
  if (shift < 0) {
    // Bits below the lowest one that any value has are zeros.
    uint down = uint(-shift);
    if (down >= 32u) magnitude = uvec2(magnitude.y, 0u);
    uint rest = down & 31u;
    if (rest != 0u) magnitude = uvec2(magnitude.x >> rest | magnitude.y << (32u - rest), magnitude.y >> rest);
    shift = 0;
  }
  uint rest = uint(shift) & 31u;
  uint low = magnitude.x << rest;
  uint middle = rest == 0u ? magnitude.y : magnitude.y << rest | magnitude.x >> (32u - rest);
  uint high = rest == 0u ? 0u : magnitude.y >> (32u - rest);
  uint first = uint(shift) >> 5u;
  [[unroll]] for (uint w = 0u; w < 4u; ++w) {
    state.word[w] = w == first ? low : w == first + 1u ? middle : w == first + 2u ? high : 0u;
  }
  if (parts.negative) negate(state, state_words(kind));
  return state;
}

uint sign_word(uint high) { return is_negative(high) ? 0xffffffffu : 0u; }

// The state of one row with the value `value`.
State state_of(uint aggregate, uvec4 value, uint row) {
  uint kind = kind_of(aggregate);
  if (is_float_sum(kind)) return float_state(aggregate, value.xy);
  uvec4 words = uvec4(0u);
  uint last = 0u;
  if (kind == kAggregateCount) {
    words.x = 1u;
  } else if (kind == kAggregateSum32) {
    words.xy = uvec2(value.x, sign_word(value.x));
  } else if (kind == kAggregateTotal64) {
    words.xyz = uvec3(value.xy, sign_word(value.y));
  } else if (kind == kAggregateTotalU64 || kind == kAggregateSumU32) {
    words.xy = value.xy;
  } else if (kind == kAggregateTotal128) {
    words = value;
    last = sign_word(value.w);
  } else if (is_flags(kind)) {
    words.x = parts_of(is_wide(kind), value.xy).flags;
  } else if (is_row(kind)) {
    words.x = row + 1u;
  } else if (kind == kAggregateFirst) {
    words.x = ~value.x;
  } else {
    bool is_float = kind == kAggregateMinF32 || kind == kAggregateMaxF32;
    bool is_signed = kind == kAggregateMin32 || kind == kAggregateMax32;
    words.x = ordered_image(is_float ? kColumnF32 : is_signed ? kColumnI32 : kColumnU32, value.xy).x;
    if (kind == kAggregateMin32 || kind == kAggregateMinU32 || kind == kAggregateMinF32) words.x = ~words.x;
  }
  return State(uint[kMostStateWords](words.x, words.y, words.z, words.w, last));
}

// Whether a value of several words is a better extreme than another.
bool is_better(uint kind, uvec4 value, uvec4 best) {
  bool is_min = kind < kAggregateMaxI64;
  if (is_quad(kind)) {
    value.w ^= 0x80000000u;
    best.w ^= 0x80000000u;
  } else {
    bool is_float = kind == kAggregateMinF64 || kind == kAggregateMaxF64;
    bool is_signed = kind == kAggregateMinI64 || kind == kAggregateMaxI64;
    uint column = is_float ? kColumnF64 : is_signed ? kColumnI64 : kColumnU64;
    value.xy = ordered_image(column, value.xy);
    best.xy = ordered_image(column, best.xy);
  }
  return is_min ? is_below(value, best) : is_below(best, value);
}

// The one of two rows (numbers + 1, 0: none) that has the better value.
uint better_row(uint aggregate, uint a, uint b) {
  if (a == 0u || b == 0u) return a | b;
  return is_better(kind_of(aggregate), load_value(aggregate, b - 1u), load_value(aggregate, a - 1u)) ? b : a;
}

uint carry_of(uint before, uint added) { return before + added < before ? 1u : 0u; }

// Two states of an aggregate together; words of 0 add nothing.
State merged(uint aggregate, State a, State b) {
  uint kind = kind_of(aggregate);
  uint carry = 0u;
  [[unroll]] for (uint w = 0u; w < kMostStateWords; ++w) {
    if (w >= state_words(kind)) continue;
    if (is_extreme(kind)) {
      a.word[w] = max(a.word[w], b.word[w]);
    } else if (is_flags(kind)) {
      a.word[w] |= b.word[w];
    } else if (is_row(kind)) {
      a.word[w] = better_row(aggregate, a.word[w], b.word[w]);
    } else {
      uint added = b.word[w] + carry;
      carry = carry_of(b.word[w], carry) + carry_of(a.word[w], added);
      a.word[w] += added;
    }
  }
  return a;
}

// The slot of a key in device memory, entered when it is not there; kNoSlot when there is no room. Top bits of the hash
// place it, so that the keys of a partition stay together.
uint table_slot(uvec2 key, uint row, uint slots) {
  bool is_found = is_last(key);
  uint slot = is_found ? slots : scaled(hash_of(key), slots);
  if (is_found && Words(push.table).at[slot * kEntryWords] == 0u) Words(push.table).at[slot * kEntryWords] = 1u;
  for (uint probe = 0u; !is_found && probe < kMostTableProbes; ++probe) {
    uint found = Words(push.table).at[slot * kEntryWords];
    if (found == 0u) found = atomicCompSwap(Words(push.table).at[slot * kEntryWords], 0u, slot_word(key, row));
    is_found = found == 0u || holds(found, key);
    if (!is_found) slot = slot + 1u == slots ? 0u : slot + 1u;
  }
  return is_found ? slot : kNoSlot;
}

#define ADD_TO_STATE add_to_table_words
#define STATE_WORD(index) Words(push.table).at[index]
#define STATE_STRIDE 1u
#include "add_to_state.glsl"

void add_to_table(uint slot, uint aggregate, State state) {
  add_to_table_words(aggregate, slot * kEntryWords + kKeyWords + first_word(aggregate), state);
}

State table_state(uint slot, uint aggregate) {
  State state = State(uint[kMostStateWords](0u, 0u, 0u, 0u, 0u));
  [[unroll]] for (uint w = 0u; w < kMostStateWords; ++w) {
    if (w < state_words(kind_of(aggregate))) {
      state.word[w] = Words(push.table).at[slot * kEntryWords + kKeyWords + first_word(aggregate) + w];
    }
  }
  return state;
}

void say_incomplete() { Words(push.state).at[1] = 1u; }

// Adds all values of a row, or nothing when there is no slot.
void add_row_to_table(uvec2 key, uint row, uvec4 first_value, uint slots) {
  uint slot = table_slot(key, row, slots);
  if (slot == kNoSlot) {
    say_incomplete();
  } else {
    [[unroll]] for (uint a = 0u; a < kMostAggregates; ++a) {
      if (kind_of(a) != kAggregateNone && !is_null(a, row)) {
        add_to_table(slot, a, state_of(a, a == 0u ? first_value : load_value(a, row), row));
      }
    }
  }
}

// The value of several words that a row has; zeros for none.
void write_row_value(uint aggregate, uvec2 target, uint place, uint number) {
  uint kind = kind_of(aggregate);
  uvec4 value = number == 0u ? uvec4(0u) : load_value(aggregate, number - 1u);
  if (kind == kAggregateMinF64 || kind == kAggregateMaxF64) value.xy = canonical64(value.xy);
  if (is_quad(kind)) {
    Pairs(target).at[2u * place] = value.xy;
    Pairs(target).at[2u * place + 1u] = value.zw;
  } else {
    Pairs(target).at[place] = value.xy;
  }
}

// Writes a group's states to their columns. `state`: the words of one aggregate.
void write_state(uint aggregate, uint place, State state) {
  uint kind = kind_of(aggregate);
  uvec2 target = Addresses(push.targets).at[1u + aggregate];
  if (is_row(kind)) {
    write_row_value(aggregate, target, place, state.word[0]);
  } else if (is_extreme(kind) || is_flags(kind)) {
    uint word = state.word[0];
    bool is_min = kind == kAggregateMin32 || kind == kAggregateMinU32 || kind == kAggregateMinF32;
    if (is_min || kind == kAggregateFirst) word = ~word;
    bool is_float = kind == kAggregateMinF32 || kind == kAggregateMaxF32;
    bool is_signed = kind == kAggregateMin32 || kind == kAggregateMax32;
    if (is_float || is_signed) word = value_of_image(is_float ? kColumnF32 : kColumnI32, uvec2(word, 0u)).x;
    Words(target).at[place] = word;
  } else if (kind >= kAggregateTotal64) {
    uint words = state_words(kind);
    [[unroll]] for (uint w = 0u; w < kMostStateWords; ++w) {
      if (w < words) Words(target).at[place * words + w] = state.word[w];
    }
  } else {
    Pairs(target).at[place] = uvec2(state.word[0], kind == kAggregateCount ? 0u : state.word[1]);
  }
}

void write_key(uint place, uvec2 key) {
  uvec2 target = Addresses(push.targets).at[0];
  if (kWords == 2u) {
    Pairs(target).at[place] = key;
  } else {
    Words(target).at[place] = key.x;
  }
}
