// The ways of the CPU path to join: radix bits, payload strategy, chunk size.
#include "operators/cpu/join/cpu_join_offers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "operators/cpu/join/bitmap_join.hpp"
#include "operators/cpu/join/cpu_join_costs.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::cpu {
namespace {

constexpr std::uint32_t kBitsStep = 2;
/// Fewest build rows of a partition that is worth its table.
constexpr std::uint64_t kSmallestPartitionRows = 512;

std::vector<std::uint32_t> radix_bits(contract::JoinShape const& shape, JoinTuning const& tuning) {
  if (tuning.radix_bits >= 0) return {static_cast<std::uint32_t>(tuning.radix_bits)};
  auto const rows = shape.smaller_rows();
  std::vector<std::uint32_t> bits{0};
  for (auto b = kBitsStep; b < partition::kMaxRadixBits && (rows >> b) >= kSmallestPartitionRows; b += kBitsStep)
    bits.push_back(b);
  return bits;
}

double price(contract::JoinShape const& shape, CpuJoinWay const& way, rates::HostRates const& host) {
  return contract::total_ns(cpu_join_costs(shape, way, host));
}

/// Adds the columns of `side` that may be carried and are not there yet: a column that the result has twice is carried
/// once.
std::vector<std::size_t> with_side(contract::JoinShape const& shape, std::vector<std::size_t> carried, Side side) {
  for (std::size_t c = 0; c < shape.output.size(); ++c) {
    auto const& column = shape.output[c];
    if (column.side != side || column.is_key || column.carried_bytes() == 0) continue;
    auto const is_same = [&](std::size_t other) {
      return shape.output[other].side == side && shape.output[other].column == column.column;
    };
    if (std::ranges::none_of(carried, is_same)) carried.push_back(c);
  }
  return carried;
}

std::vector<std::size_t> all_columns(contract::JoinShape const& shape) {
  return with_side(shape, with_side(shape, {}, Side::left), Side::right);
}

/// The columns that are carried at least cost: of each side those that pay alone, or all of them, which saves the row
/// ids.
std::vector<std::size_t> carried_columns(contract::JoinShape const& shape, CpuJoinWay way,
                                         rates::HostRates const& host) {
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
BuildSide cheapest_build(contract::JoinShape const& shape, CpuJoinWay way, rates::HostRates const& host) {
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

struct PricedCpuJoin {
  CpuJoinWay way;
  contract::PhaseCosts costs;
};

/// Every way that `tuning` leaves open and `most_host_bytes` (0: no limit) allows, priced: radix bits from 0 in steps
/// of two while partitions keep some rows; with each, columns gathered by row id or carried through the partitioning,
/// as far as that costs less; the cheapest side to build on and chunk size. Never empty: when carrying is asked for and
/// not allowed, columns are gathered.
std::vector<PricedCpuJoin> cpu_join_ways(contract::JoinShape const& shape, JoinTuning const& tuning,
                                         rates::HostRates const& host, std::uint64_t most_host_bytes) {
  std::vector<PricedCpuJoin> ways;
  auto const add = [&](CpuJoinWay way) {
    if (tuning.build == BuildSide::automatic) way.build = cheapest_build(shape, way, host);
    way.chunk_rows = tuning.chunk_rows != 0 ? tuning.chunk_rows : cpu_chunk_rows(shape, host);
    auto costs = cpu_join_costs(shape, way, host);
    ways.push_back({std::move(way), std::move(costs)});
  };
  // Carried payload leaves half of the memory to tables and the result.
  auto const fits = [&](CpuJoinWay const& way) {
    return most_host_bytes == 0 ||
           shape.encoded_bytes + contract::partitioned_bytes(shape, way.radix_bits, way.carried) <= most_host_bytes / 2;
  };
  for (auto const bits : radix_bits(shape, tuning)) {
    CpuJoinWay const gathering{bits, {}, contract::kLargestChunkRows, tuning.build};
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

/// Whether bits over the range of the right keys say which left rows have a match, in no more memory than the keys.
bool can_use_bitmap(contract::JoinShape const& shape, JoinTuning const& tuning, std::uint64_t most_host_bytes) {
  auto const& right = shape.right;
  bool const is_tested = shape.tested_pairs > 0 || shape.left.tested_columns > 0 || right.tested_columns > 0;
  if (shape.parts.pairs || is_tested || tuning.radix_bits > 0 || tuning.build == BuildSide::left) return false;
  auto const key_bytes = right.rows * (shape.key_bits / 8);
  if (most_host_bytes != 0 && shape.encoded_bytes + 2 * key_bytes > most_host_bytes / 2) return false;
  return right.rows == 0 || (right.key_range > 0 && right.key_range <= kBitmapFill * right.rows);
}

/// "radix_bits=8,payload=carry,chunk_rows=524288".
std::string to_string(CpuJoinWay const& way) {
  JoinTuning tuning;
  tuning.radix_bits = static_cast<std::int32_t>(way.radix_bits);
  if (way.radix_bits > 0) tuning.payload = way.carried.empty() ? Payload::gather : Payload::carry;
  tuning.chunk_rows = static_cast<std::uint32_t>(way.chunk_rows);
  tuning.build = way.build;
  if (way.by_bitmap) tuning.method = JoinMethod::bitmap;
  return garuda::to_string(tuning);
}

contract::JoinOffer offer_of(contract::JoinInquiry const& inquiry, PricedCpuJoin priced) {
  auto const& tuning = inquiry.options.tuning;
  contract::JoinOffer offer;
  offer.candidate.path = Path::cpu;
  offer.candidate.device = "cpu";
  offer.candidate.choices = to_string(priced.way);
  offer.candidate.reason = contract::source_of_host(inquiry.machine, inquiry.shape.threads);
  contract::set_phases(offer.candidate, std::move(priced.costs));
  offer.tuning = tuning;
  offer.tuning.build = priced.way.build;
  if (priced.way.by_bitmap) offer.tuning.method = JoinMethod::bitmap;
  offer.key_bits = inquiry.shape.key_bits;
  offer.radix_bits = priced.way.radix_bits;
  offer.lanes = tuning.lanes != 0 ? tuning.lanes : inquiry.shape.threads;
  if (tuning.slice_rows != 0) offer.slice_rows = tuning.slice_rows;
  offer.chunk_rows = priced.way.chunk_rows;
  offer.carried = std::move(priced.way.carried);
  return offer;
}

}  // namespace

Result<contract::JoinOffers> cpu_join_offers(contract::JoinInquiry const& inquiry) {
  auto const& shape = inquiry.shape;
  auto const& tuning = inquiry.options.tuning;
  auto const most_host_bytes = contract::most_host_bytes(shape, inquiry.options);
  bool const is_forced = tuning.method == JoinMethod::bitmap;
  contract::JoinOffers offers;
  if (can_use_bitmap(shape, tuning, most_host_bytes) && (is_forced || tuning.method == JoinMethod::automatic)) {
    auto const chunk_rows = tuning.chunk_rows != 0 ? tuning.chunk_rows : cpu_chunk_rows(shape, inquiry.host);
    CpuJoinWay const way{0, {}, chunk_rows, BuildSide::right, true};
    offers.list.push_back(offer_of(inquiry, {way, cpu_join_costs(shape, way, inquiry.host)}));
  }
  if (is_forced && offers.list.empty())
    return fail(
        ErrorCode::usage,
        fmt::format("method=bitmap on path cpu is of joins semi, anti and mark without a condition, built on the "
                    "right without partitions, by keys in a range of at most {} values a right row",
                    kBitmapFill));
  if (is_forced) return offers;
  for (auto& priced : cpu_join_ways(shape, tuning, inquiry.host, most_host_bytes))
    offers.list.push_back(offer_of(inquiry, std::move(priced)));
  return offers;
}

}  // namespace garuda::cpu
