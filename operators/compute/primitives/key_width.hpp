// Keys of a join in as many words as both sides have them compared in, and back.
#pragma once

#include <cstdint>
#include <optional>

#include "operators/compute/primitives/non_null_rows.hpp"
#include "operators/compute/primitives/radix_side.hpp"

namespace garuda::compute {

/// Columns of 1, 2 or 4 words; the target may have 8.
struct KeyResize {
  DeviceColumn source;
  DeviceColumn target;
  std::uint64_t rows = 0;  ///< at most 2^31
  bool is_signed = true;   ///< continued by their sign where the target is wider
};

/// Records the writing of `target`.
Result<void> record_key_width(ComputeContext& context, KeyResize const& resize);

/// Writes `target`, and waits for the least row whose key is cut to another value; nothing when all fit. Rows whose key
/// is null are not looked at. Errors: out_of_memory, device_failure, cancelled.
Result<std::optional<std::uint64_t>> cut_keys(ComputeContext& context, KeyResize const& resize,
                                              std::optional<NullFlags> const& nulls);

/// The pass.
PassShape key_width_shape();

}  // namespace garuda::compute
