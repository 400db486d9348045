#include "operators/compute/expressions/expression_pass.hpp"

#include <fmt/format.h>

#include <span>

#include "shaders/compute/expressions/expression_layout.h"

namespace garuda::compute {
namespace {

/// Bytes that a command writes to a buffer by itself, at most (vkCmdUpdateBuffer).
constexpr std::size_t kMostUpdatedBytes = 65'536;

PassShape expression_shape(ComputeTuning const& tuning) {
  char const* const entry =
      tuning.native_floats ? "compute/expressions/evaluate.comp:NATIVE_FLOATS" : "compute/expressions/evaluate.comp";
  return {entry, 0, 1, sizeof(shaders::ExpressionPush), {}};
}

}  // namespace

Result<DeviceSteps> DeviceSteps::create(ComputeContext& context, ExpressionSteps const& steps) {
  DeviceSteps made;
  made.num_steps_ = steps.num_steps();
  made.words_ = steps.words();
  auto const bytes = made.words_.size() * sizeof(std::uint32_t);
  if (bytes > kMostUpdatedBytes)
    return fail(ErrorCode::limit_exceeded,
                fmt::format("expressions on a device take at most {} bytes of steps and constants: {}",
                            kMostUpdatedBytes, bytes));
  GARUDA_TRY_ASSIGN(made.buffer_, context.device_buffer(bytes, "steps of expressions"));
  return made;
}

Result<void> DeviceSteps::record(ComputeContext& context, char const* phase) const {
  return context.update(phase, buffer_, std::as_bytes(std::span(words_)));
}

Result<ExpressionState> read_expression_state(ComputeContext& context, char const* phase, vk::Buffer const& state) {
  GARUDA_TRY_ASSIGN(auto const said, context.read_value<std::uint32_t>(phase, state));
  return ExpressionState{(said & shaders::kRowFailed) != 0, (said & shaders::kRowUnsettled) != 0};
}

Result<ExpressionPass> ExpressionPass::create(ComputeContext& context, ExpressionSteps const& steps) {
  ExpressionPass pass;
  pass.can_fail_ = steps.can_fail();
  GARUDA_TRY_ASSIGN(pass.steps_, DeviceSteps::create(context, steps));
  GARUDA_TRY_ASSIGN(pass.state_, context.device_buffer(sizeof(std::uint32_t), "state of expressions"));
  return pass;
}

Result<void> ExpressionPass::record(ComputeContext& context, char const* phase, std::uint64_t rows) {
  GARUDA_EXPECTS(rows > 0);
  GARUDA_TRY(steps_.record(context, phase));
  GARUDA_TRY(context.fill(phase, state_, 0));
  shaders::ExpressionPush push{};
  push.steps = steps_.address();
  push.state = state_.address();
  push.num_steps = steps_.num_steps();
  push.num_rows = static_cast<std::uint32_t>(rows);
  return context.dispatch_each(phase, expression_shape(context.tuning()), push, rows);
}

Result<ExpressionState> ExpressionPass::read_state(ComputeContext& context, char const* phase) const {
  if (!can_fail_) return ExpressionState{};
  return read_expression_state(context, phase, state_);
}

std::vector<vk::ComputePipelineSpec> expression_pipelines(ComputeTuning const& tuning) {
  return {compute_pipeline(expression_shape(tuning), tuning)};
}

}  // namespace garuda::compute
