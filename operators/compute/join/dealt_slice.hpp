// Both sides of a slice dealt out by the host, in memory that the device reads.
#pragma once

#include <cstdint>

#include "garuda/control.hpp"
#include "operators/compute/primitives/radix_side.hpp"
#include "operators/contract/join_kernel.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::compute {

/// The host's partitions of a slice. Outlives the sides made of it.
class DealtSlice {
 public:
  /// Partitions both sides, which have rows, by one digit of at most `bits` bits, on the threads of the calling task
  /// arena. Errors: out_of_memory, cancelled.
  static Result<DealtSlice> create(contract::JoinSlice const& slice, std::uint32_t bits, Control const& control);

  /// A side as passes read it: in place where the lane does. Errors: those of PassContext::input().
  Result<PartitionedSide> side(ComputeContext& context, Side side) const;

 private:
  partition::PartitionedKeys left_;
  partition::PartitionedKeys right_;
  std::uint32_t bits_ = 0;
};

}  // namespace garuda::compute
