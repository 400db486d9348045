#include "operators/compute/join/compute_costs.hpp"

#include <bit>
#include <optional>

#include "operators/compute/join/resident_join_strategies.hpp"
#include "operators/contract/offers/group_by_terms.hpp"
#include "operators/contract/offers/join_terms.hpp"

namespace garuda::compute {
namespace {

/// A side whose rows come out as numbers. Its keys' range says in how many bits they differ.
ResidentSideShape side_shape(std::uint64_t rows, std::uint64_t key_range) {
  return {static_cast<double>(rows), sizeof(std::uint32_t), 0, static_cast<std::uint32_t>(std::bit_width(key_range))};
}

}  // namespace

contract::PhaseCosts compute_join_costs(contract::JoinShape const& shape, contract::DeviceCut const& cut,
                                        rates::DeviceRates const& rates, rates::HostRates const& host,
                                        JoinMethod method, std::uint32_t scattered_bits) {
  auto const rows = contract::rows_of(shape);
  // Its pairs are in the order of probe rows while the host has not partitioned them.
  bool const is_global = method == JoinMethod::global && cut.radix_bits == 0;
  contract::PhaseCosts costs{
      {"start", host.query_ns},
      {"encode", contract::encode_ns(rows, host)},
      {"partition", contract::partition_ns(rows, contract::join_row_bytes(shape), cut.radix_bits, host) +
                        contract::partition_ns(rows, contract::join_row_bytes(shape), scattered_bits, host)},
      {"open", contract::open_ns(cut, rates)},
      {"upload", contract::upload_ns(rows * contract::key_bytes(shape), cut, rates)},
      {"wait", contract::submissions_ns(contract::kJoinSubmissions, cut, rates)},
      {"mark", contract::mark_ns(shape, cut, rates)},
      {"condition", contract::condition_ns(shape, host)},
      {"download", contract::pairs_made(shape) * 8 / rates.download_bytes_per_s * contract::kNs},
      {"gather", contract::consumed_ns(shape, cut, host, is_global)}};
  ResidentJoinShape joined{side_shape(shape.left.rows, shape.left.key_range),
                           side_shape(shape.right.rows, shape.right.key_range)};
  joined.key_bytes = contract::key_bytes(shape);
  joined.matches = contract::pairs_made(shape);
  joined.is_scattered = scattered_bits > 0;
  ResidentJoinStrategy const way{method, false, std::nullopt, JoinedParts::numbers};
  auto const passes = resident_join_costs(joined, way, rates, {});
  costs.insert(costs.end() - 2, passes.begin(), passes.end());
  // Rows of partitions go through tables in shared memory: what their bytes cost says little of a software device,
  // where 2^18 rows a side take 50 ms of 86 there (2026-11). Tasks are counted, and waited for, besides rows.
  if (method == JoinMethod::partitioned)
    costs.insert(costs.end() - 2, {"tables", contract::atomic_ns(contract::build_rows(shape), rates) +
                                                 contract::read_ns(contract::probe_rows(shape), rates) +
                                                 contract::submissions_ns(1, cut, rates)});
  return costs;
}

contract::PhaseCosts compute_group_by_costs(contract::GroupByShape const& shape, contract::DeviceCut const& cut,
                                            rates::DeviceRates const& rates, rates::HostRates const& host) {
  auto const rows = static_cast<double>(shape.rows);
  auto const groups = static_cast<double>(shape.estimated_groups);
  auto const uploaded = rows * (contract::group_key_bytes(shape) + 4.0 * shape.value_words);
  return {{"start", host.query_ns},
          {"encode", contract::encode_ns(rows, host)},
          {"partition", contract::group_partition_ns(shape, cut.radix_bits, host)},
          {"open", contract::open_ns(cut, rates)},
          {"upload", contract::upload_ns(uploaded, cut, rates)},
          {"group", contract::atomic_ns(rows, rates) + contract::read_ns(rows, rates)},
          {"aggregate", contract::atomic_ns(rows * static_cast<double>(shape.requests.size()), rates) +
                            contract::submissions_ns(contract::kGroupBySubmissions, cut, rates)},
          {"download", groups * static_cast<double>(contract::state_bytes(shape.requests) + 4) /
                           rates.download_bytes_per_s * contract::kNs},
          {"merge", contract::device_merge_ns(shape, cut)}};
}

}  // namespace garuda::compute
