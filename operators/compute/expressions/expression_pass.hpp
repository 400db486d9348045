// The pass that evaluates expressions over columns on a device.
#pragma once

#include <cstdint>
#include <vector>

#include "garuda/error.hpp"
#include "operators/compute/expressions/expression_steps.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::compute {

/// The findings of a pass, known once it has run.
struct ExpressionState {
  bool has_failed = false;    ///< a row has no value, and asks for one
  bool is_unsettled = false;  ///< a row has values that the steps do not compute
};

/// Steps in device memory, for passes that run them.
class DeviceSteps {
 public:
  /// Takes memory for the steps. Errors: limit_exceeded for more steps than a command carries; out_of_memory.
  static Result<DeviceSteps> create(ComputeContext& context, ExpressionSteps const& steps);

  /// Records the copy of the steps, which stay in place until it has run. Errors: those of submissions.
  Result<void> record(ComputeContext& context, char const* phase) const;

  VkDeviceAddress address() const noexcept { return buffer_.address(); }
  std::uint32_t num_steps() const noexcept { return num_steps_; }

 private:
  std::uint32_t num_steps_ = 0;
  std::vector<std::uint32_t> words_;
  vk::Buffer buffer_;
};

/// Reads the word of `state` that rows have left, once everything recorded so far is done. Errors: those of
/// submissions.
Result<ExpressionState> read_expression_state(ComputeContext& context, char const* phase, vk::Buffer const& state);

/// Evaluates steps for rows, once.
class ExpressionPass {
 public:
  /// Takes memory. Errors: those of DeviceSteps.
  static Result<ExpressionPass> create(ComputeContext& context, ExpressionSteps const& steps);

  /// Records the pass over at least one row. The pass stays in place until it has run. Errors: those of submissions.
  Result<void> record(ComputeContext& context, char const* phase, std::uint64_t rows);
  /// Submits and waits, where a row can have left something.
  Result<ExpressionState> read_state(ComputeContext& context, char const* phase) const;

 private:
  bool can_fail_ = false;
  DeviceSteps steps_;
  vk::Buffer state_;
};

/// Every pipeline of the pass with this tuning.
std::vector<vk::ComputePipelineSpec> expression_pipelines(ComputeTuning const& tuning);

}  // namespace garuda::compute
