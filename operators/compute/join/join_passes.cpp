#include "operators/compute/join/join_passes.hpp"

#include <array>

#include "operators/compute/join/indexed_join.hpp"
#include "operators/compute/join/sorted_kernel.hpp"
#include "operators/compute/primitives/chunk_table.hpp"
#include "operators/compute/primitives/device_scan.hpp"
#include "operators/compute/primitives/key_width.hpp"
#include "operators/compute/primitives/late_gather.hpp"
#include "operators/compute/primitives/non_null_rows.hpp"
#include "operators/compute/primitives/radix_pass.hpp"
#include "shaders/compute/partitioned_join_layout.h"

namespace garuda::compute {
namespace {

struct PassRow {
  JoinComputePass pass;
  std::string_view entry;
  std::uint32_t push_bytes;
  bool grouped;
};

constexpr std::array<PassRow, 4> kPasses{{
    {JoinComputePass::group_chunks, "compute/group_chunks.comp", sizeof(shaders::GroupPush), false},
    {JoinComputePass::count, "compute/join_count.comp", sizeof(shaders::JoinCountPush), true},
    {JoinComputePass::mark, "compute/join_count.comp:MARKS", sizeof(shaders::JoinCountPush), true},
    {JoinComputePass::pairs, "compute/join_pairs.comp", sizeof(shaders::JoinPairsPush), true},
}};

}  // namespace

PassShape join_shape(JoinComputePass pass, ComputeTuning const& tuning, std::uint32_t key_words) {
  auto const& row = kPasses.at(static_cast<std::size_t>(pass));
  GARUDA_EXPECTS(row.pass == pass && join_chunk_rows(tuning) <= shaders::kMaxChunkRows);
  return {row.entry,
          tuning.join_group_size,
          tuning.join_items,
          row.push_bytes,
          {{shaders::kSpecWords, key_words},
           {shaders::kSpecScratch, join_scratch_words(tuning, key_words)},
           {shaders::kSpecLog2Slots, tuning.join_log2_slots},
           {shaders::kSpecGrouped, row.grouped ? 1U : 0U}}};
}

PassShape join_rows_shape(ComputeTuning const& tuning, std::uint32_t key_words, ColumnsAhead const& ahead,
                          bool listed) {
  GARUDA_EXPECTS(ahead.build_words <= 2 && ahead.probe_words <= 2);
  return {listed ? "compute/join_lists.comp" : "compute/join_rows.comp",
          tuning.join_group_size,
          tuning.join_items,
          sizeof(shaders::JoinRowsPush),
          {{shaders::kSpecWords, key_words},
           {shaders::kSpecScratch, join_rows_scratch_words(tuning, key_words, ahead, listed)},
           {shaders::kSpecLog2Slots, tuning.join_log2_slots},
           {shaders::kSpecGrouped, 0},
           {shaders::kSpecBuildWords, ahead.build_words},
           {shaders::kSpecProbeWords, ahead.probe_words}}};
}

PassShape task_shape(bool listed) {
  return {listed ? "compute/list_tasks.comp" : "compute/count_tasks.comp", 0, 1, sizeof(shaders::TasksPush), {}};
}

std::vector<vk::ComputePipelineSpec> join_compute_pipelines(ComputeTuning const& tuning) {
  std::vector<vk::ComputePipelineSpec> specs;
  for (auto const& row : kPasses) {
    for (std::uint32_t const key_words : {1U, 2U})
      specs.push_back(compute_pipeline(join_shape(row.pass, tuning, key_words), tuning));
  }
  for (std::uint32_t const key_words : {1U, 2U}) {
    for (auto const& ahead : {ColumnsAhead{0, 0}, ColumnsAhead{1, 1}, ColumnsAhead{1, 2}})
      for (bool const listed : {false, true})
        specs.push_back(compute_pipeline(join_rows_shape(tuning, key_words, ahead, listed), tuning));
  }
  specs.push_back(compute_pipeline(late_gather_shape(), tuning));
  specs.push_back(compute_pipeline(non_null_shape(), tuning));
  specs.push_back(compute_pipeline(key_width_shape(), tuning));
  for (std::uint32_t const key_words : {1U, 2U})
    specs.push_back(compute_pipeline(expand_rows_shape(key_words), tuning));
  for (bool const listed : {false, true}) specs.push_back(compute_pipeline(task_shape(listed), tuning));
  for (auto const& more :
       {sorted_join_pipelines(tuning), scan_pipelines(tuning), radix_pipelines(tuning), chunk_pipelines(tuning)})
    specs.insert(specs.end(), more.begin(), more.end());
  return specs;
}

}  // namespace garuda::compute
