#include "operators/compute/join/compute_costs.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "operators/compute/primitives/compute_tuning.hpp"
#include "operators/contract/group_by_terms.hpp"
#include "operators/contract/join_terms.hpp"

namespace garuda::compute {
namespace {

/// Random reads of a look-up: an entry of the index, a key; of a pair: sums, the run, the build row's number.
constexpr double kLookUpReads = 2;
constexpr double kPairReads = 3;

/// Passes of a sort by the bits in which keys of this range differ, at most.
double sort_passes(std::uint64_t range, std::uint32_t key_bits) {
  auto const bits = range == 0 ? key_bits : static_cast<std::uint32_t>(std::bit_width(range));
  return std::ceil(static_cast<double>(std::max(bits, 1U)) / ComputeTuning{}.stable_bits);
}

/// The phases with `method` (global or sorted), given those of the partitioned join, `costs`.
contract::PhaseCosts sorted_join_costs(contract::PhaseCosts costs, contract::JoinShape const& shape, JoinMethod method,
                                       contract::DeviceCut const& cut, rates::DeviceRates const& rates) {
  bool const left_is_build = shape.rows_left <= shape.rows_right;
  auto const build = static_cast<double>(std::min(shape.rows_left, shape.rows_right));
  auto const probe = static_cast<double>(std::max(shape.rows_left, shape.rows_right));
  auto const key_bytes = contract::key_bytes(shape);
  // A histogram reads the keys, the scatter reads and writes keys and row numbers.
  auto const pass_bytes = 3 * key_bytes + 8;
  auto moved = build * sort_passes(left_is_build ? shape.key_range_left : shape.key_range_right, shape.key_bits);
  if (method == JoinMethod::sorted)
    moved += probe * sort_passes(left_is_build ? shape.key_range_right : shape.key_range_left, shape.key_bits);
  // Look-ups in the order of the keys read what the one before has read.
  auto const look_ups = method == JoinMethod::sorted ? 0 : kLookUpReads * probe;
  auto const waits = contract::kJoinSubmissions * static_cast<double>(cut.slices) /
                     std::min<double>(cut.lanes, static_cast<double>(cut.slices));
  for (auto& [phase, ns] : costs) {
    if (phase == "device partition") ns = moved * pass_bytes / rates.streamed_bytes_per_s * contract::kNs;
    if (phase == "join")
      ns = ((look_ups + kPairReads * shape.expected_matches) / rates.random_reads_per_s +
            (probe * (key_bytes + 24) + 16 * shape.expected_matches) / rates.streamed_bytes_per_s) *
               contract::kNs +
           waits * rates.submission_ns;
  }
  return costs;
}

}  // namespace

contract::PhaseCosts compute_join_costs(contract::JoinShape const& shape, contract::DeviceCut const& cut,
                                        rates::DeviceRates const& rates, rates::HostRates const& host,
                                        JoinMethod method) {
  auto const rows = contract::rows_of(shape);
  // Its pairs are in the order of probe rows while the host has not partitioned them.
  bool const is_global = method == JoinMethod::global && cut.radix_bits == 0;
  auto const out = contract::matches(shape);
  auto const key_bytes = shape.key_bits / 8.0;
  // Two passes over (key, row): a histogram reads the keys, the scatter reads and writes both.
  auto const partitioned = 2 * rows * (key_bytes + 2 * (key_bytes + 4));
  contract::PhaseCosts costs{
      {"start", host.query_ns},
      {"encode", contract::encode_ns(rows, host)},
      {"partition", contract::partition_ns(rows, contract::join_row_bytes(shape), cut.radix_bits, host)},
      {"open", contract::open_ns(cut, rates)},
      {"upload", contract::upload_ns(rows * key_bytes, cut, rates)},
      {"device partition", contract::stream_ns(partitioned, rates)},
      {"join", contract::atomic_ns(contract::build_rows(shape), rates) +
                   contract::read_ns(contract::probe_rows(shape), rates) + contract::stream_ns(16 * out, rates) +
                   contract::submissions_ns(contract::kJoinSubmissions, cut, rates)},
      {"download", out * 8 / rates.download_bytes_per_s * contract::kNs},
      {"gather", contract::consumed_ns(shape, cut, host, is_global)}};
  return method == JoinMethod::partitioned ? costs : sorted_join_costs(std::move(costs), shape, method, cut, rates);
}

contract::PhaseCosts compute_group_by_costs(contract::GroupByShape const& shape, contract::DeviceCut const& cut,
                                            rates::DeviceRates const& rates, rates::HostRates const& host) {
  auto const rows = static_cast<double>(shape.rows);
  auto const groups = static_cast<double>(shape.estimated_groups);
  auto const uploaded = rows * (contract::group_key_bytes(shape) + 4.0 * shape.value_words);
  return {
      {"start", host.query_ns},
      {"encode", contract::encode_ns(rows, host)},
      {"partition", contract::group_partition_ns(shape, cut.radix_bits, host)},
      {"open", contract::open_ns(cut, rates)},
      {"upload", contract::upload_ns(uploaded, cut, rates)},
      {"group", contract::atomic_ns(rows, rates) + contract::read_ns(rows, rates)},
      {"aggregate", contract::atomic_ns(rows * shape.states, rates) +
                        contract::submissions_ns(contract::kGroupBySubmissions, cut, rates)},
      {"download", groups * static_cast<double>(shape.state_bytes + 4) / rates.download_bytes_per_s * contract::kNs},
      {"merge", contract::device_merge_ns(shape, cut)}};
}

}  // namespace garuda::compute
