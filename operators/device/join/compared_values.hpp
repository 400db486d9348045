// The values that a condition compares, where they lie on a device.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "garuda/error.hpp"
#include "operators/compute/primitives/radix_side.hpp"
#include "operators/compute/strings/device_strings.hpp"
#include "operators/device/join/compared_columns.hpp"
#include "operators/device/join/joined_tables.hpp"
#include "operators/resolve/join_request.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::device {

/// Views the columns of both tables; owns what is made of them, constants, and what says how operands are read.
class ComparedValues {
 public:
  /// Records what has to be made. Errors: limit_exceeded, out_of_memory, device_failure, cancelled.
  static Result<ComparedValues> create(compute::ComputeContext& context, resolve::JoinRequest const& request,
                                       ComparedColumns const& compared);

  /// Of an encoding that is compared by words: a column of a side's in the condition, by its position there, and a
  /// constant.
  compute::DeviceColumn column(Side side, std::size_t index) const { return columns_[side_index(side)][index]; }
  std::uint64_t constant(std::size_t index) const { return constants_[index]; }
  /// Of others where the NumberOperand or TextOperand lies (filter_pairs_layout.h).
  VkDeviceAddress operand(Side side, std::size_t index) const {
    return operands_.address() + column_operands_[side_index(side)][index];
  }
  VkDeviceAddress constant_operand(std::size_t index) const { return operands_.address() + constant_operands_[index]; }

 private:
  Result<void> place_columns(compute::ComputeContext& context, resolve::JoinRequest const& request,
                             ComparedColumns const& compared);
  Result<void> place_constants(compute::ComputeContext& context, expr::ResolvedCondition const& condition,
                               ComparedColumns const& compared);
  Result<compute::DeviceStrings const*> upload_texts(compute::ComputeContext& context,
                                                     expr::ResolvedCondition const& condition,
                                                     ComparedColumns const& compared);
  /// Where it comes to lie among the operands.
  template <class Operand>
  std::uint64_t add_operand(Operand const& operand);

  std::array<std::vector<compute::DeviceColumn>, 2> columns_;    // by side
  std::array<std::vector<std::uint64_t>, 2> column_operands_{};  // likewise
  std::vector<std::uint64_t> constants_;
  std::vector<std::uint64_t> constant_operands_;
  std::vector<std::uint32_t> operand_words_;
  vk::Buffer operands_;
  std::vector<compute::DeviceStrings> strings_;
  std::vector<vk::Buffer> buffers_;  // of converted columns, and the bytes of constants
};

}  // namespace garuda::device
