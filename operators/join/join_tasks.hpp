// The slices of a partitioned join, and the tasks that lanes take them in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "operators/contract/path_row.hpp"
#include "operators/run/join_slices.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::join {

struct SlicedJoin {
  std::vector<run::SliceTask> slices;
  std::vector<std::size_t> firsts;  ///< of each task, then the number of slices

  std::size_t num_tasks() const noexcept { return firsts.empty() ? 0 : firsts.size() - 1; }
  std::span<run::SliceTask const> task(std::size_t index) const {
    return std::span(slices).subspan(firsts[index], firsts[index + 1] - firsts[index]);
  }
};

/// Cuts partitions as the path that `plan` chose is fed: where slices share their build side, a task is as many of them
/// as fill a batch; else each slice is a task of its own. `expected_matches`: of the whole join, about.
SlicedJoin cut_tasks(partition::PartitionedKeys const& left, partition::PartitionedKeys const& right, Plan const& plan,
                     contract::JoinFeeding const& feeding, BuildSide build, double expected_matches);

}  // namespace garuda::join
