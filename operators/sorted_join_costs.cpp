#include "operators/sorted_join_costs.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "operators/compute/compute_tuning.hpp"

namespace garuda::operators {
namespace {

constexpr double kNs = 1e9;
/// Submissions of a slice that the host waits for.
constexpr double kSubmissions = 6;
/// Random reads of a look-up: an entry of the index, a key; of a pair: sums, the run, the build row's number.
constexpr double kLookUpReads = 2;
constexpr double kPairReads = 3;

/// Passes of a sort by the bits in which keys of this range differ, at most.
double sort_passes(std::uint64_t range, std::uint32_t key_bits) {
  auto const bits = range == 0 ? key_bits : static_cast<std::uint32_t>(std::bit_width(range));
  return std::ceil(static_cast<double>(std::max(bits, 1U)) / ComputeTuning{}.stable_bits);
}

}  // namespace

PhaseCosts sorted_join_costs(PhaseCosts costs, JoinShape const& shape, JoinMethod method, DeviceCut const& cut,
                             DeviceRates const& rates) {
  bool const left_is_build = shape.rows_left <= shape.rows_right;
  auto const build = static_cast<double>(std::min(shape.rows_left, shape.rows_right));
  auto const probe = static_cast<double>(std::max(shape.rows_left, shape.rows_right));
  auto const key_bytes = shape.key_bits / 8.0;
  // A histogram reads the keys, the scatter reads and writes keys and row numbers.
  auto const pass_bytes = 3 * key_bytes + 8;
  auto moved = build * sort_passes(left_is_build ? shape.key_range_left : shape.key_range_right, shape.key_bits);
  if (method == JoinMethod::sorted)
    moved += probe * sort_passes(left_is_build ? shape.key_range_right : shape.key_range_left, shape.key_bits);
  // Look-ups in the order of the keys read what the one before has read.
  auto const look_ups = method == JoinMethod::sorted ? 0 : kLookUpReads * probe;
  auto const waits =
      kSubmissions * static_cast<double>(cut.slices) / std::min<double>(cut.lanes, static_cast<double>(cut.slices));
  for (auto& [phase, ns] : costs) {
    if (phase == "device partition") ns = moved * pass_bytes / rates.streamed_bytes_per_s * kNs;
    if (phase == "join")
      ns = ((look_ups + kPairReads * shape.expected_matches) / rates.random_reads_per_s +
            (probe * (key_bytes + 24) + 16 * shape.expected_matches) / rates.streamed_bytes_per_s) *
               kNs +
           waits * rates.submission_ns;
  }
  return costs;
}

}  // namespace garuda::operators
