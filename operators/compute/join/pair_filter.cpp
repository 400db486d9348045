#include "operators/compute/join/pair_filter.hpp"

#include "shaders/compute/conditions/filter_pairs_layout.h"

namespace garuda::compute {
namespace {

constexpr char const* kTestPhase = "test pairs";

PassShape filter_shape(bool many_words) {
  return {"compute/conditions/filter_pairs.comp",
          0,
          1,
          sizeof(shaders::FilterPairsPush),
          {{shaders::kSpecManyWords, many_words ? 1U : 0U}}};
}

}  // namespace

Result<void> record_pair_filter(ComputeContext& context, TestedPairs const& tested, vk::Buffer const& program,
                                std::uint64_t steps) {
  if (tested.pairs == 0) return {};
  shaders::FilterPairsPush push{};
  push.left_rows = tested.left_rows;
  push.right_rows = tested.right_rows;
  push.program = program.address();
  push.marks = tested.marks;
  push.left_marks = tested.left_marks;
  push.right_marks = tested.right_marks;
  push.num_steps = static_cast<std::uint32_t>(steps);
  push.num_pairs = static_cast<std::uint32_t>(tested.pairs);
  return context.dispatch_each(kTestPhase, filter_shape(tested.many_words), push, tested.pairs);
}

std::vector<vk::ComputePipelineSpec> pair_filter_pipelines(ComputeTuning const& tuning) {
  return {compute_pipeline(filter_shape(false), tuning), compute_pipeline(filter_shape(true), tuning)};
}

}  // namespace garuda::compute
