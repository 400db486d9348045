// The passes over tasks of a partitioned join, and every pipeline of the compute join.
#pragma once

#include <cstdint>
#include <vector>

#include "operators/compute/primitives/compute_context.hpp"

namespace garuda::compute {

enum class JoinComputePass : std::uint8_t {
  group_chunks,  ///< brings equal build keys together
  count,         ///< pairs of each task
  mark,          ///< rows that have a match
  pairs,         ///< row numbers in a window of the sequence
};

/// How a pass over keys of `key_words` words runs. All but the first and the last expect grouped build chunks.
PassShape join_shape(JoinComputePass pass, ComputeTuning const& tuning, std::uint32_t key_words);

/// The pass that writes the result's columns. `listed`: for rows that have several matches each.
PassShape join_rows_shape(ComputeTuning const& tuning, std::uint32_t key_words, ColumnsAhead const& ahead, bool listed);

/// Rows of a chunk at most.
inline std::uint32_t join_chunk_rows(ComputeTuning const& tuning) noexcept {
  return tuning.join_group_size * tuning.join_items;
}

/// Passes that list tasks.
PassShape task_shape(bool listed);

/// Every pipeline of the compute join with this tuning, those of its partitions and sums included.
std::vector<vk::ComputePipelineSpec> join_compute_pipelines(ComputeTuning const& tuning);

}  // namespace garuda::compute
