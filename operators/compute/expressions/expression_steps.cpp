#include "operators/compute/expressions/expression_steps.hpp"

#include "operators/compute/expressions/program_lowering.hpp"
#include "shaders/compute/expressions/expression_layout.h"

namespace garuda::compute {

Result<void> ExpressionSteps::add_column(expr::Program const& program, std::span<ExpressionInput const> inputs,
                                         DeviceColumn target, std::optional<std::uint32_t> null_bit) {
  ProgramLowering lowering(program, inputs, *this);
  GARUDA_TRY_ASSIGN(auto const result, lowering.run());
  lowering.emit(
      {.function = shaders::kStore, .first = result, .numbers = {target.words, 0}, .value = {target.address}});
  if (null_bit) lowering.emit({.function = shaders::kMarkNull, .first = result, .numbers = {*null_bit, 0}});
  return {};
}

Result<void> ExpressionSteps::add_flags(expr::Program const& program, std::span<ExpressionInput const> inputs,
                                        VkDeviceAddress flags) {
  ProgramLowering lowering(program, inputs, *this);
  GARUDA_TRY_ASSIGN(auto const result, lowering.run());
  lowering.emit({.function = shaders::kStoreTrue, .first = result, .value = {flags}});
  return {};
}

void ExpressionSteps::add_nulls(VkDeviceAddress nulls) {
  expr::Program const none;
  ProgramLowering(none, {}, *this).emit({.function = shaders::kStoreNulls, .value = {nulls}});
}

std::uint32_t ExpressionSteps::num_steps() const noexcept {
  return static_cast<std::uint32_t>(steps_.size() / shaders::kExpressionStepWords);
}

std::vector<std::uint32_t> ExpressionSteps::words() const {
  auto words = steps_;
  for (auto const offset : constant_offsets_) words[offset] += static_cast<std::uint32_t>(steps_.size());
  words.insert(words.end(), constants_.begin(), constants_.end());
  return words;
}

}  // namespace garuda::compute
