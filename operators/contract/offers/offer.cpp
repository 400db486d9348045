#include "operators/contract/offers/offer.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace garuda::contract {

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
