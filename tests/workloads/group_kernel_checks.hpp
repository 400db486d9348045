// Checks that every path's group-by kernel has to pass, on one slice.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "operators/contract/group_by_kernel.hpp"

namespace garuda::testing {

/// Keys of a slice, as columns of words, and the values of one column of any kind.
struct KernelCase {
  std::string name;
  std::uint64_t rows = 0;
  std::uint64_t groups = 1;     ///< 0: every row its own
  std::uint32_t key_bits = 32;  ///< 32, 64; 0: words or none
  std::uint32_t words = 0;      ///< 0: none
  contract::ValueKind kind = contract::ValueKind::int64;
  bool nulls = false;
  bool dense = true;  ///< keys next to each other, else spread over the whole width
  std::uint64_t seed = 1;
};
std::string to_string(KernelCase const& kernel_case);

/// Cases over sizes, groups, key forms, value kinds and nulls; `large`: with 65 537 rows.
std::vector<KernelCase> kernel_cases(bool large);

/// Opens a kernel on the case's slice and compares group ids, heads and all states with a plain computation.
/// Failures are reported through GoogleTest.
void check_group_kernel(contract::GroupByBackend& backend, KernelCase const& kernel_case);

}  // namespace garuda::testing
