#include "operators/cpu_join_ways.hpp"

#include <algorithm>
#include <utility>

#include "operators/sizing.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::operators {
namespace {

constexpr std::uint32_t kBitsStep = 2;
/// Fewest build rows of a partition that is worth its table.
constexpr std::uint64_t kSmallestPartitionRows = 512;

std::vector<std::uint32_t> radix_bits(JoinShape const& shape, JoinTuning const& tuning) {
  if (tuning.radix_bits >= 0) return {static_cast<std::uint32_t>(tuning.radix_bits)};
  auto const rows = std::min(shape.rows_left, shape.rows_right);
  std::vector<std::uint32_t> bits{0};
  for (auto b = kBitsStep; b < partition::kMaxRadixBits && (rows >> b) >= kSmallestPartitionRows; b += kBitsStep)
    bits.push_back(b);
  return bits;
}

double price(JoinShape const& shape, CpuJoinWay const& way, HostRates const& host) {
  return total_ns(cpu_join_costs(shape, way, host));
}

/// Adds the columns of `side` that may be carried and are not there yet: a column that the result has twice is carried
/// once.
std::vector<std::size_t> with_side(JoinShape const& shape, std::vector<std::size_t> carried, Side side) {
  for (std::size_t c = 0; c < shape.output.size(); ++c) {
    auto const& column = shape.output[c];
    if (column.side != side || column.is_key || !column.is_plain) continue;
    auto const is_same = [&](std::size_t other) {
      return shape.output[other].side == side && shape.output[other].column == column.column;
    };
    if (std::ranges::none_of(carried, is_same)) carried.push_back(c);
  }
  return carried;
}

std::vector<std::size_t> all_columns(JoinShape const& shape) {
  return with_side(shape, with_side(shape, {}, Side::left), Side::right);
}

/// The columns that are carried at least cost: of each side those that pay alone, or all of them, which saves the row
/// ids.
std::vector<std::size_t> carried_columns(JoinShape const& shape, CpuJoinWay way, HostRates const& host) {
  auto best = price(shape, way, host);
  auto const try_carrying = [&](std::vector<std::size_t> carried) {
    auto other = way;
    other.carried = std::move(carried);
    auto const ns = price(shape, other, host);
    if (ns >= best) return;
    best = ns;
    way = std::move(other);
  };
  for (auto const column : all_columns(shape)) {
    auto carried = way.carried;
    carried.push_back(column);
    try_carrying(std::move(carried));
  }
  for (auto const side : {Side::left, Side::right}) try_carrying(with_side(shape, way.carried, side));
  std::ranges::sort(way.carried);
  return way.carried;
}

/// The larger side may be the better one to build on: when the smaller one's keys repeat.
BuildSide cheapest_build(JoinShape const& shape, CpuJoinWay way, HostRates const& host) {
  auto best = BuildSide::automatic;
  auto least = price(shape, way, host);
  for (auto const side : {BuildSide::left, BuildSide::right}) {
    way.build = side;
    if (auto const ns = price(shape, way, host); ns < least) {
      best = side;
      least = ns;
    }
  }
  return best;
}

}  // namespace

std::uint64_t partitioned_bytes(JoinShape const& shape, CpuJoinWay const& way) {
  auto const row_bytes = std::uint64_t{shape.key_bits} / 8 + (shape.wide_row_ids ? 8 : 4);
  auto const keys = (shape.rows_left + shape.rows_right) * row_bytes;
  double carried = 0;
  for (auto const c : way.carried) {
    auto const& column = shape.output[c];
    carried += column.bytes * static_cast<double>(column.side == Side::left ? shape.rows_left : shape.rows_right);
  }
  if (way.radix_bits <= partition::kOnePassBits) return keys + static_cast<std::uint64_t>(carried);
  // A second pass reads what the first has written.
  return keys + std::max(shape.rows_left, shape.rows_right) * row_bytes + 2 * static_cast<std::uint64_t>(carried);
}

std::vector<PricedCpuJoin> cpu_join_ways(JoinShape const& shape, JoinTuning const& tuning, HostRates const& host,
                                         std::uint64_t most_host_bytes) {
  std::vector<PricedCpuJoin> ways;
  auto const add = [&](CpuJoinWay way) {
    if (tuning.build == BuildSide::automatic) way.build = cheapest_build(shape, way, host);
    way.chunk_rows = tuning.chunk_rows != 0 ? tuning.chunk_rows : cpu_chunk_rows(shape, host);
    auto costs = cpu_join_costs(shape, way, host);
    ways.push_back({std::move(way), std::move(costs)});
  };
  // Carried payload leaves half of the memory to tables and the result.
  auto const fits = [&](CpuJoinWay const& way) {
    return most_host_bytes == 0 || shape.encoded_bytes + partitioned_bytes(shape, way) <= most_host_bytes / 2;
  };
  for (auto const bits : radix_bits(shape, tuning)) {
    CpuJoinWay const gathering{bits, {}, kLargestChunkRows, tuning.build};
    auto carrying = gathering;
    if (bits > 0 && tuning.payload != Payload::gather)
      carrying.carried =
          tuning.payload == Payload::carry ? all_columns(shape) : carried_columns(shape, gathering, host);
    auto const carries = !carrying.carried.empty() && fits(carrying);
    if (carries) add(carrying);
    if (!carries || tuning.payload != Payload::carry) add(gathering);
  }
  return ways;
}

}  // namespace garuda::operators
