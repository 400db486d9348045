#version 450
#extension GL_GOOGLE_include_directive : require
// Lists the tasks: a pair of chunks each, in the order of partitions, or divided among shares.
//
// Buffers: TasksPush, by address. Invocation: a task each, of max_tasks. Writes: tasks, dispatch. Overflow: tasks past
// max_tasks are not listed; num_tasks tells.

#include "partitioned_join_layout.h"
#include "../../primitives/words.glsl"
#include "../../primitives/block.glsl"
#include "task_shares.glsl"

layout(push_constant) uniform Push { TasksPush push; };

layout(buffer_reference, std430, buffer_reference_align = 16) buffer Tasks { JoinTask at[]; };

void main() {
  uint task = group_index() * kGroup + thread_index();
  uvec2 total = Pairs(push.num_tasks).at[0];
  uint num_tasks = total.y != 0u ? push.max_tasks : min(total.x, push.max_tasks);
  if (task == 0u) {
    uint each = clamp(num_tasks / push.many_groups, 1u, push.tasks_each);
    uint groups = (num_tasks + each - 1u) / each;
    uint y = max((groups + push.max_groups_x - 1u) / push.max_groups_x, 1u);
    Words(push.dispatch).at[0] = (groups + y - 1u) / y;
    Words(push.dispatch).at[1] = y;
    Words(push.dispatch).at[2] = 1u;
    Words(push.dispatch).at[3] = num_tasks;
  }
  if (task >= num_tasks) return;
  // The last partition whose tasks start at or before this one.
  uint low = last_at_or_before(push.task_starts, 0u, push.num_partitions - 1u, task);
  uint build_begin = InputWords(push.build_starts).at[low];
  uint build_rows = InputWords(push.build_starts).at[low + 1u] - build_begin;
  uint probe_begin = InputWords(push.probe_starts).at[low];
  uint probe_rows = InputWords(push.probe_starts).at[low + 1u] - probe_begin;
  uint build_chunks = (build_rows - 1u) / push.chunk_rows + 1u;
  uint chunk = task - InputWords(push.task_starts).at[low];
  uint build_chunk = chunk % build_chunks * push.chunk_rows;
  uint probe_chunk = chunk / build_chunks * push.chunk_rows;
  uint place = place_of(task, shares_of(num_tasks, push.most_shares), num_tasks);
  Tasks(push.tasks).at[place] = JoinTask(build_begin + build_chunk, min(build_rows - build_chunk, push.chunk_rows),
                                        probe_begin + probe_chunk, min(probe_rows - probe_chunk, push.chunk_rows));
}
