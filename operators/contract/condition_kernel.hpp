// The contract between the join driver and a path for joins without keys: a condition and rows of two tables in, pairs
// of rows out, through the same kernels as those of joins with keys.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "expr/condition.hpp"
#include "garuda/error.hpp"
#include "operators/contract/join_kernel.hpp"

namespace garuda::contract {

/// Rows [first, first + rows) of a table.
struct RowSpan {
  std::uint64_t first = 0;
  std::uint64_t rows = 0;

  friend bool operator==(RowSpan const&, RowSpan const&) = default;
};

/// Rows of both tables, at most kMaxPassRows of each, every one of which is compared with every other. `build`: the
/// side that slices which follow share, where they do; nullopt: the path decides. Pairs and marks count from the
/// spans' first rows.
struct ConditionSlice {
  RowSpan left;
  RowSpan right;
  std::optional<Side> build = std::nullopt;

  RowSpan const& of(Side side) const noexcept { return side == Side::left ? left : right; }
};

/// One path on one device, opened for one join. `begin` is called by several lanes at once, each with its own index.
class ConditionBackend {
 public:
  virtual ~ConditionBackend() = default;

  /// Starts on a slice: may return while uploads are under way. At most one kernel lives per lane at a time.
  virtual Result<std::unique_ptr<JoinKernel>> begin(ConditionSlice const& slice, std::uint32_t lane) = 0;
};

}  // namespace garuda::contract
