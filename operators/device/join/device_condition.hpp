// A condition on columns that live on a device: how its columns and constants are compared there, and the steps that
// its passes go through.
#pragma once

#include <cstdint>
#include <vector>

#include "garuda/error.hpp"
#include "operators/compute/strings/device_strings.hpp"
#include "operators/device/join/composed_keys.hpp"
#include "operators/resolve/join_columns.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::device {

/// Whether a device tests a condition on tables that are brought there whole, as they are kept there: by their types
/// alone. Errors: invalid_input, with what it does not compare, or for a condition of too many parts.
Result<void> check_device_condition(Schema const& left, Schema const& right, expr::ResolvedCondition const& condition);

/// Whether a device tests the condition of a request whose tables live there; reads what has to be known of their
/// values. Errors: as above, also for values beyond the type that they are compared in, which are no values to compare
/// on the host either; those of device memory, device_failure, cancelled.
Result<void> check_stored_condition(resolve::JoinRequest const& request);

/// Bytes that testing a pair reads, and that have to be made before, for plans.
struct ConditionReads {
  double values = 0;      ///< at random, of a pair
  double made_bytes = 0;  ///< that are read and written once
};
/// Requires: the tables of the request are on a device, or outlines of such.
ConditionReads condition_reads(resolve::JoinRequest const& request);

/// The condition of a request whose tables are on a device. Owns what its passes read beside the columns of both.
struct DeviceCondition {
  /// Records what makes the values that are compared. Errors: those of check_stored_condition(), limit_exceeded,
  /// out_of_memory.
  static Result<DeviceCondition> create(compute::ComputeContext& context, resolve::JoinRequest const& request);

  std::vector<std::uint32_t> steps;  ///< of shaders::kStepWords words (conditions_layout.h)
  bool has_many_words = false;       ///< some compare values of more than two words
  vk::Buffer operands;               ///< that say how such values are read
  std::vector<compute::DeviceStrings> strings{};
  std::vector<vk::Buffer> buffers{};  ///< of converted columns, and the bytes of constants
};

}  // namespace garuda::device
