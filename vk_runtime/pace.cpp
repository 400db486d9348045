#include "vk_runtime/pace.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace garuda::vk {
namespace {

constexpr std::uint64_t kLeastNs = 1'000'000;
/// Part of the way that a pace goes towards a faster one each time.
constexpr double kTrust = 0.25;
/// A pace stays within so many times what is assumed, either way: a phase of few points and much else says little.
constexpr double kMostTimes = 32;

std::atomic<std::uint64_t> longest_ns{0};
std::atomic<std::uint64_t> longest_compiling_ns{0};

}  // namespace

LongestSubmissions longest_submissions() noexcept { return {longest_ns, longest_compiling_ns}; }

void Pace::submission_took(std::uint64_t ns, bool compiles) noexcept {
  auto& kept = compiles ? longest_compiling_ns : longest_ns;
  for (auto longest = kept.load(); longest < ns && !kept.compare_exchange_weak(longest, ns);) {
  }
}

Pace::Pace(DeviceTraits const& traits) noexcept
    : aim_ns_(static_cast<double>(longest_submission_ns(traits.type)) / (traits.type == DeviceType::cpu ? 4 : 2)),
      assumed_ns_(aim_ns_ / static_cast<double>(std::max<std::uint64_t>(traits.max_points_per_submission, 1))) {}

double Pace::expected_ns(std::string_view phase, std::uint64_t points) const {
  std::lock_guard const lock(mutex_);
  auto const found = std::ranges::find(known_, phase, &Known::phase);
  return static_cast<double>(points) * (found == known_.end() ? assumed_ns_ : found->ns_a_point);
}

void Pace::took(std::string_view phase, std::uint64_t points, std::uint64_t ns) {
  if (points == 0 || ns < kLeastNs) return;
  auto const seen = std::clamp(static_cast<double>(ns) / static_cast<double>(points), assumed_ns_ / kMostTimes,
                               assumed_ns_ * kMostTimes);
  std::lock_guard const lock(mutex_);
  auto found = std::ranges::find(known_, phase, &Known::phase);
  if (found == known_.end()) found = known_.insert(known_.end(), {std::string(phase), assumed_ns_, assumed_ns_});
  auto const sure = std::min(seen, std::exchange(found->last, seen));
  found->ns_a_point = std::max(sure, found->ns_a_point + kTrust * (sure - found->ns_a_point));
}

}  // namespace garuda::vk
