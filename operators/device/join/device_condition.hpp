// A condition on columns that live on a device, as its passes step through it.
#pragma once

#include <cstdint>
#include <vector>

#include "garuda/error.hpp"
#include "operators/device/join/compared_values.hpp"
#include "operators/resolve/join_request.hpp"

namespace garuda::device {

/// Whether a device tests a condition on tables that are brought there whole, as they are kept there. Errors: those of
/// check_compared_types(), invalid_input for one of too many parts.
Result<void> check_device_condition(Schema const& left, Schema const& right, expr::ResolvedCondition const& condition);

/// The same of tables that live there, of whose values it reads what has to be known. Errors: those of
/// compared_columns().
Result<void> check_stored_condition(resolve::JoinRequest const& request);

/// The condition of a request whose tables are on a device.
class DeviceCondition {
 public:
  /// Records what makes the values that are compared; see ComparedValues. Errors: those of compared_columns(), and
  /// limit_exceeded, out_of_memory.
  static Result<DeviceCondition> create(compute::ComputeContext& context, resolve::JoinRequest const& request);

  /// Steps of shaders::kStepWords words (filter_pairs_layout.h), which view the columns of both tables.
  std::vector<std::uint32_t> const& steps() const noexcept { return steps_; }
  /// Whether some compare values of more than two words.
  bool has_many_words() const noexcept { return has_many_words_; }

 private:
  ComparedValues values_;
  std::vector<std::uint32_t> steps_;
  bool has_many_words_ = false;
};

}  // namespace garuda::device
