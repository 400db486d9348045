// Programs of expressions as the steps that passes run for each row (expression_layout.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "expr/program.hpp"
#include "garuda/error.hpp"
#include "garuda/types.hpp"
#include "operators/compute/primitives/late_gather.hpp"
#include "operators/compute/primitives/radix_side.hpp"
#include "shaders/compute/strings/strings_layout.h"

namespace garuda::compute {

/// A column that expressions read, as a device keeps it. Checks of what a device computes need its type alone.
struct ExpressionInput {
  DataType type;
  DeviceColumn column;
  std::optional<NullFlags> nulls;
  shaders::StringsView strings{};  ///< of which a text's words are the numbers
};

/// Steps of one pass. Each program that is added becomes steps behind those that are there.
class ExpressionSteps {
 public:
  /// Adds the values of an expression as a column of `target.words` words a row. `null_bit`: of the row's word of null
  /// bits, set where the value is null; nullopt: nobody wants to know. Errors: invalid_input, with the reason, for a
  /// program that passes do not run.
  Result<void> add_column(expr::Program const& program, std::span<ExpressionInput const> inputs, DeviceColumn target,
                          std::optional<std::uint32_t> null_bit);
  /// Adds words 0 and 1 a row: 1 where a boolean expression is true. Errors: as above.
  Result<void> add_flags(expr::Program const& program, std::span<ExpressionInput const> inputs, VkDeviceAddress flags);
  /// Adds the word of null bits of the columns before, a word a row.
  void add_nulls(VkDeviceAddress nulls);

  /// Whether rows may leave something to be said: that they have no value, or one which the steps do not compute.
  bool can_fail() const noexcept { return can_fail_; }
  std::uint32_t num_steps() const noexcept;
  /// The steps, and what they refer to behind them.
  std::vector<std::uint32_t> words() const;

 private:
  friend class ProgramLowering;

  std::vector<std::uint32_t> steps_;
  std::vector<std::uint32_t> constants_;
  std::vector<std::size_t> constant_offsets_;  // words of steps_ that count from the beginning of constants_
  bool can_fail_ = false;
};

}  // namespace garuda::compute
