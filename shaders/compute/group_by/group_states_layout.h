// The layout shared by the passes that group and aggregate rows of device tables in one go and their C++ side.
#ifndef GARUDA_SHADERS_GROUP_STATES_LAYOUT_H
#define GARUDA_SHADERS_GROUP_STATES_LAYOUT_H

#include "../../primitives/primitives_layout.h"

GARUDA_SHADER_BEGIN

// Aggregates of one pass, and words of the largest state.
const uint kMostAggregates = 4u;
const uint kMostStateWords = 5u;

// Specialisation constants, besides those of primitives_layout.h. kSpecWords: words of a key, 1 or 2; 0: there are no
// keys, and all rows are one group.
const uint kSpecAggregate = 20u;   // kSpecAggregate + i: kind of aggregate i, one of the following
const uint kSpecSlots = 24u;       // of the table in shared memory
const uint kSpecCopies = 25u;      // of each slot's states there: a power of two
const uint kSpecPartitions = 26u;  // rows are partitioned (1)
const uint kSpecNullable = 27u;    // bit i: rows where the column of aggregate i is null take no part in it

// Kinds of aggregates, and the words of their states. All start from 0.
const uint kAggregateNone = 0u;       // 0
const uint kAggregateCount = 1u;      // 1: rows
const uint kAggregateSum32 = 2u;      // 2: of signed values of one word
const uint kAggregateSumU32 = 3u;     // 2: of unsigned ones
const uint kAggregateMin32 = 4u;      // 1: complement of the least value's ordered image
const uint kAggregateMinU32 = 5u;     // 1
const uint kAggregateMax32 = 6u;      // 1: the greatest value's ordered image
const uint kAggregateMaxU32 = 7u;     // 1
const uint kAggregateMinF32 = 8u;     // 1
const uint kAggregateMaxF32 = 9u;     // 1
const uint kAggregateFirst = 10u;     // 1: complement of the lowest row number
const uint kAggregateTotal64 = 11u;   // 3: of signed values of two words
const uint kAggregateTotalU64 = 12u;  // 3
const uint kAggregateTotal128 = 13u;  // 5: of signed values of four words
// Floats as integers over a lowest bit; those outside a range of positions take no part.
const uint kAggregateFixed32 = 14u;  // 3
const uint kAggregateFixed64 = 15u;  // 3
const uint kAggregateLong32 = 16u;   // 4
const uint kAggregateLong64 = 17u;   // 4
const uint kAggregateFlags32 = 18u;  // 1: kFloatNan, kFloatInfinite, kFloatNegativeInfinite
const uint kAggregateFlags64 = 19u;  // 1
// Extremes of values of several words: the number + 1 of a row that has the value.
const uint kAggregateMinI64 = 20u;
const uint kAggregateMinU64 = 21u;
const uint kAggregateMinF64 = 22u;
const uint kAggregateMinI128 = 23u;
const uint kAggregateMaxI64 = 24u;
const uint kAggregateMaxU64 = 25u;
const uint kAggregateMaxF64 = 26u;
const uint kAggregateMaxI128 = 27u;

// Slots that a row looks at in shared memory before it goes to the table in device memory, and there before it says
// that there is no room. Few enough for software drivers, which end the loops of an invocation after 65535 iterations.
const uint kMostSharedProbes = 128u;
const uint kMostTableProbes = 1024u;

/// The column that an aggregate reads.
struct AggregateColumn {
  device_address values;  // kAggregateFirst: the rows' numbers, or 0 where rows are in their own order
  device_address nulls;   // num_rows × u32; of mask 0 a bitmap of the rows that are not null
  uint null_mask;         // bits of these that say null
  int lowest_bit;         // of floats: what bit 0 of their sum stands for, as a position (shared/float_parts.glsl)
  uint first_position;    // of floats: positions that take part
  uint last_position;
};

/// A group's states in a table: the key's word first. One word: the key itself, its slot is taken when it is not 0; the
/// key 0 has the slot behind the last, taken when the word is 1. Two words: the number + 1 of a row with that key.
/// Tables are zeroed before. The table in device memory has a slot's words together.
struct GroupRowsPush {
  device_address keys;     // num_rows × kSpecWords u32
  device_address values;   // num_aggregates × AggregateColumn
  device_address starts;   // (num_partitions + 1) × u32: first rows of the partitions
  device_address table;    // (table_slots + 1) × (1 + words of all states)
  device_address targets;  // device_address of the keys, then of each aggregate
  device_address state;    // GroupedState, zeroed before
  uint num_rows;
  uint num_partitions;
  uint window_rows;  // rows of a window: larger partitions are cut there
  uint num_windows;
  uint table_slots;
  uint capacity;  // groups that the targets hold
};

/// Rows with the numbers of their groups as keys, for one aggregate. rows.num_windows: workgroups that share the rows.
struct NumberedRowsPush {
  GroupRowsPush rows;
  AggregateColumn column;
};

struct GroupedState {
  uint groups;      // found, written or not
  uint incomplete;  // 1: rows or groups found no room
};

GARUDA_SHADER_END

#endif
