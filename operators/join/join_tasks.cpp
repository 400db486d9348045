#include "operators/join/join_tasks.hpp"

#include <algorithm>
#include <optional>

#include "operators/contract/sizing.hpp"
#include "operators/plan/key_repeats.hpp"

namespace garuda::join {

SlicedJoin cut_tasks(partition::PartitionedKeys const& left, partition::PartitionedKeys const& right, Plan const& plan,
                     contract::JoinFeeding const& feeding, BuildSide build, double expected_matches) {
  SlicedJoin join;
  if (feeding.probe_slice_rows == 0) {
    join.slices = run::cut_slices(left.offsets, right.offsets, plan.slice_rows);
    for (std::size_t s = 0; s <= join.slices.size(); ++s) join.firsts.push_back(s);
    return join;
  }
  auto const probe_rows = std::min(plan.slice_rows, feeding.probe_slice_rows);
  std::optional<Side> favoured;
  if (build == BuildSide::automatic) favoured = plan::less_repeated_side(left, right);
  join.slices = run::cut_probe_slices(left.offsets, right.offsets, {plan.slice_rows, probe_rows}, build, favoured);
  auto const rows = std::max<std::uint64_t>(std::max(left.num_rows(), right.num_rows()), 1);
  // Where few rows match, more of them go into one batch.
  auto const matches_a_row = std::clamp(expected_matches / static_cast<double>(rows), 1.0 / 16, 1.0);
  auto const fair = rows / (std::uint64_t{plan.lanes} * contract::kTasksPerLane);
  auto const filling = static_cast<std::uint64_t>(static_cast<double>(plan.chunk_rows) / matches_a_row);
  join.firsts =
      run::group_slices(join.slices, std::clamp(fair, std::min(contract::kSmallestTaskRows, filling), filling));
  return join;
}

}  // namespace garuda::join
