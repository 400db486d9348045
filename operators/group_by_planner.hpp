// Chooses path, device, radix bits, slices and chunks for a group-by: a pure function of shape, machine and options.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/plan.hpp"
#include "operators/cpu/whole_group_by.hpp"
#include "operators/path_choice.hpp"

namespace garuda::operators {

/// What the planner knows of the data.
struct GroupByShape {
  std::uint64_t rows = 0;
  std::uint32_t key_bits = 32;  ///< 32 or 64; 0: words, or no keys
  std::uint32_t key_words = 0;  ///< words form: their number
  std::uint64_t key_range = 0;  ///< packed: largest - smallest word + 1; 0: 2^64
  std::uint64_t estimated_groups = 1;
  std::optional<WholeSizes> whole;     ///< of the CPU path's ways for a whole table; nullopt: slices alone are left
  std::uint32_t states = 0;            ///< state columns
  std::uint32_t value_words = 0;       ///< 32-bit words of a row's values, all state columns together
  std::uint32_t widest_value = 0;      ///< 32-bit words of the widest of them
  std::uint32_t draws = 0;             ///< points a row that the states take on the graphics path, about
  std::uint64_t state_bytes = 0;       ///< of a group, all state columns together
  std::uint64_t encoded_bytes = 0;     ///< host memory that keys and ranks hold already
  std::uint64_t output_row_bytes = 0;  ///< estimate of a result row
  bool wide_row_ids = false;           ///< row ids need 64 bits
  bool ordered = false;                ///< all groups are kept until the last one is known
  std::uint32_t threads = 1;
  std::uint64_t free_host_bytes = 0;  ///< 0: not known
};

/// The decision, with what the driver needs beside the printable part.
struct GroupByPlan {
  Plan plan;
  GroupByTuning tuning;
  std::optional<std::size_t> device;     ///< index into the devices
  std::uint64_t slice_groups = 0;        ///< that a slice has, about
  Grouping grouping = Grouping::slices;  ///< when not `slices`, the path takes the whole table
};

/// Plans. Prices every candidate; takes the cheapest, or the one that was asked for.
/// Errors: no_device when the path or device asked for cannot run (the sentence says why); limit_exceeded when the keys
/// do not fit the memory limit; usage for a grouping that the keys do not allow.
Result<GroupByPlan> plan_group_by(GroupByShape const& shape, Machine const& machine, GroupByOptions const& options);

}  // namespace garuda::operators
