// The layout on which the passes of the partitioned hash join and the C++ that records them agree.
#ifndef GARUDA_SHADERS_PARTITIONED_JOIN_LAYOUT_H
#define GARUDA_SHADERS_PARTITIONED_JOIN_LAYOUT_H

#include "../../primitives/primitives_layout.h"

GARUDA_SHADER_BEGIN

// Specialisation constants, besides those of primitives_layout.h. kSpecItems: rows of a chunk an invocation; a chunk of
// either side has at most kGroup × kItems rows.
const uint kSpecLog2Slots = 13u;   // of the table in shared memory; at most 13
const uint kSpecBuildWords = 18u;  // of the build column that is read with the keys: 0 (none), 1 or 2
const uint kSpecProbeWords = 19u;  // of the probe column
const uint kSpecKeysOut = 20u;     // of a key that is written: 0 where keys are no part of the result
const uint kSpecMarks = 21u;       // of rows that have a match: a sum of the following

const uint kMarkBuild = 1u;
const uint kMarkProbe = 2u;
const uint kMarkOnly = 4u;  // pairs are neither written nor counted

// A slot of the table: 0, or the first row of its key in the chunk + 1 in the low bits, the key's rows above.
const uint kRowBits = 12u;
const uint kMaxChunkRows = 4094u;

/// A build chunk and a probe chunk of the same partition.
struct JoinTask {
  uint build_begin;
  uint build_rows;
  uint probe_begin;
  uint probe_rows;
};

/// Tasks of all partitions: every build chunk with every probe chunk of its partition.
struct TasksPush {
  device_address build_starts;  // (num_partitions + 1) × u32
  device_address probe_starts;  // the same
  device_address task_counts;   // num_partitions × u32: tasks of a partition, saturated
  device_address task_starts;   // their exclusive sums
  device_address num_tasks;     // (low, high): all tasks
  device_address tasks;         // max_tasks × JoinTask
  device_address dispatch;      // workgroups in x, y, z for the tasks listed, and their number
  uint num_partitions;
  uint max_tasks;
  uint chunk_rows;
  uint max_groups_x;
  uint tasks_each;   // tasks of a workgroup, at most
  uint many_groups;  // so many workgroups, at least, before one has several tasks
  uint most_shares;  // that the tasks are listed in, see task_shares.glsl; 1: in order
};

/// A column of the result, read from one side's rows.
struct JoinedColumn {
  device_address source;
  device_address target;
  uint words;  // 0: the rows' numbers, which have no source
  uint side;   // kFromBuild or kFromProbe
};

const uint kFromBuild = 0u;
const uint kFromProbe = 1u;

/// The report of a join that writes rows as it finds them. Their number is cursor + rest.
struct JoinRowsState {
  uint cursor;    // rows that took places, some perhaps past the capacity; below 2^32 whatever happens
  uint rest_low;  // rows of tasks that take no places
  uint rest_high;
  uint incomplete;  // 1: rows were left out
};

/// Writes the result in one pass, in any order.
struct JoinRowsPush {
  device_address tasks;
  device_address dispatch;  // as TasksPush leaves it
  device_address build_keys;
  device_address probe_keys;
  /// num_columns × JoinedColumn: those that are not written from what is read ahead; then where marks go, bitmaps over
  /// the partitioned rows: source of the build side's, target of the probe side's.
  device_address columns;
  device_address state;     // JoinRowsState, zeroed
  device_address keys_out;  // where kSpecKeysOut says so
  JoinedColumn build;       // read with the keys, when kSpecBuildWords says so
  JoinedColumn probe;
  uint num_columns;
  uint capacity;       // rows that the columns hold
  uint max_task_rows;  // more in one task are not placed, so that the cursor cannot wrap
  uint shares;         // that the tasks are listed in: those of [first_share, end_share) are done
  uint first_share;
  uint end_share;
};

/// Fetches one side's columns for the rows of a result that holds the numbers of that side's rows.
struct LateGatherPush {
  device_address rows;     // row numbers
  device_address columns;  // num_columns × JoinedColumn, their sources in the order of the side's rows
  device_address state;    // JoinRowsState of the join: without all rows, nothing is fetched
  uint num_columns;
};

/// Flags the rows whose key is not null.
struct NonNullPush {
  device_address nulls;  // num_rows × u32, of which one bit says that the key is null
  device_address flags;  // num_rows × u32: 0 or 1
  uint num_rows;
  uint bit;
};

GARUDA_SHADER_END

#endif
