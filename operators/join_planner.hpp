// Chooses path, device, radix bits, slices and chunks for a join: a pure function of shape, machine and options.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "garuda/plan.hpp"
#include "operators/path_choice.hpp"

namespace garuda::operators {

/// A column of the result, as far as its cost goes.
struct OutputShape {
  Side side = Side::left;
  std::size_t column = 0;  ///< of its table
  double bytes = 4;        ///< of a value, on average
  bool is_key = false;     ///< made of the keys' words
  bool is_plain = true;    ///< may be carried through the partitioning
};

/// What the planner knows of the data.
struct JoinShape {
  std::uint64_t rows_left = 0;  ///< rows with a key that is not null
  std::uint64_t rows_right = 0;
  std::uint32_t key_bits = 32;
  std::uint64_t key_range_left = 0;  ///< largest - smallest word + 1; 0: empty or 2^64
  std::uint64_t key_range_right = 0;
  double distinct_left = 0;  ///< estimate of the keys; 0: as many as rows
  double distinct_right = 0;
  double heaviest_left = 0;  ///< share of the rows that the most frequent key has; 0: not known
  double heaviest_right = 0;
  std::vector<OutputShape> output;  ///< none when rows are only counted
  std::uint64_t encoded_bytes = 0;  ///< host memory that the encoded keys hold already
  double expected_matches = 0;      ///< result rows, from a sample; 0: they are only counted
  bool wide_row_ids = false;        ///< row ids need 64 bits
  std::uint32_t threads = 1;
  std::uint64_t free_host_bytes = 0;  ///< 0: not known
};

/// The decision, with what the driver needs beside the printable part.
struct JoinPlan {
  Plan plan;
  JoinTuning tuning;
  std::optional<std::size_t> device;              ///< index into the devices
  std::vector<std::size_t> carried;               ///< positions in JoinShape::output: moved along with the keys
  std::optional<calibration::DeviceRates> rates;  ///< of the device, where it was measured
};

/// Plans. Prices every candidate; takes the cheapest, or the one that was asked for.
/// Errors: no_device when the path or device asked for cannot run (the sentence says why); limit_exceeded when the keys
/// do not fit the memory limit; usage for tunings that contradict each other.
Result<JoinPlan> plan_join(JoinShape const& shape, Machine const& machine, JoinOptions const& options);

}  // namespace garuda::operators
