#include "operators/contract/offers/offer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "partition/radix_partition.hpp"

namespace garuda::contract {

std::uint64_t partitioned_bytes(JoinShape const& shape, std::uint32_t radix_bits,
                                std::span<std::size_t const> carried) {
  auto const row_bytes = std::uint64_t{shape.key_bits} / 8 + shape.row_id_bytes();
  auto keys = (shape.left.rows + shape.right.rows) * row_bytes;
  // By position in the partitioned keys, and by row of the table.
  for (auto const side : {Side::left, Side::right})
    if (shape.parts.rows(side) != SideRows::none) keys += shape.of(side).rows / 8 * 2;
  // Words of a condition's columns, of 64 bits at most, and once more in the order of partitions.
  keys += 16 * (shape.left.rows * shape.left.tested_columns + shape.right.rows * shape.right.tested_columns);
  double carried_bytes = 0;
  for (auto const c : carried) {
    auto const& column = shape.output[c];
    carried_bytes += column.carried_bytes() * static_cast<double>(shape.of(column.side).rows);
  }
  if (radix_bits <= partition::kOnePassBits) return keys + static_cast<std::uint64_t>(carried_bytes);
  // A second pass reads what the first has written.
  return keys + shape.larger_rows() * row_bytes + 2 * static_cast<std::uint64_t>(carried_bytes);
}

std::uint32_t widest_value(std::span<StateRequest const> requests) noexcept {
  std::uint32_t words = 0;
  for (auto const& request : requests) words = std::max(words, device_words(request.kind));
  return words;
}

std::uint64_t state_bytes(std::span<StateRequest const> requests) noexcept {
  std::uint64_t bytes = 0;
  for (auto const& request : requests) {
    auto const [kind, states] = std::pair(request.kind, request.states);
    if ((states & kCountState) != 0) bytes += 8;
    if ((states & kSumState) != 0) bytes += is_float(kind) ? 10 + 3 * 16 : 8 * std::uint64_t{sum_words(kind)};
    auto const extremes = std::popcount(static_cast<unsigned>(states) & (kMinState | kMaxState));
    bytes += static_cast<std::uint64_t>(extremes) * extreme_words(kind) * 8;
  }
  return bytes;
}

void set_phases(Candidate& candidate, std::vector<std::pair<std::string, double>> phases_ns) {
  candidate.estimated_ns = 0;
  add_phases(candidate, std::move(phases_ns));
}

void add_phases(Candidate& candidate, std::vector<std::pair<std::string, double>> phases_ns) {
  for (auto& [name, ns] : phases_ns) {
    candidate.estimated_ns += ns;
    if (ns <= 0) continue;
    auto const same = std::ranges::find(candidate.phases_ns, name, [](auto const& phase) { return phase.first; });
    if (same == candidate.phases_ns.end())
      candidate.phases_ns.emplace_back(std::move(name), ns);
    else
      same->second += ns;
  }
}

std::string source_of(DeviceFacts const& facts) {
  return facts.measured ? "measured rates"
                        : fmt::format("rates assumed of a {} device, not calibrated", to_string(facts.info->kind));
}

std::string source_of_host(Machine const& machine, std::uint32_t threads) {
  return fmt::format("{} rates, {} threads", machine.measured_host ? "measured" : "assumed", threads);
}

}  // namespace garuda::contract
