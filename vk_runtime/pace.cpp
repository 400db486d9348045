#include "vk_runtime/pace.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

namespace garuda::vk {
namespace {

/// Shorter times count as this one, for the work that there is beside the points.
constexpr std::uint64_t kLeastNs = 1'000'000;
/// Share of the distance to a faster pace that a pace moves each time.
constexpr double kTrust = 0.25;
/// Times that a phase which was not seen yet is taken to be slower: SwiftShader takes two to five times as long as
/// lavapipe, whose pace is assumed for every software device.
constexpr double kUnseenTimes = 4;
/// A pace stays within so many times what is assumed, either way: a phase of few points and much else says little.
constexpr double kMostTimes = 32;

/// A time of LongestSubmissions. Has no destructor: threads may still measure while the process ends.
struct LongestTime {
  std::int64_t ns = 0;
  std::array<char, 128> phases = {};  // what of them fits

  SubmissionTime time(bool compiles) const { return {phases.data(), ns, compiles}; }
};

/// Leaked on purpose, for the same reason; not every system's mutex is without a destructor.
std::mutex& longest_mutex() {
  static auto& mutex = *new std::mutex;
  return mutex;
}

constinit LongestTime longest_usual;
constinit LongestTime longest_compiling;

}  // namespace

LongestSubmissions longest_submissions() {
  std::lock_guard const lock(longest_mutex());
  return {longest_usual.time(false), longest_compiling.time(true)};
}

void Pace::submission_took(SubmissionTime const& time) {
  std::lock_guard const lock(longest_mutex());
  auto& kept = time.compiles ? longest_compiling : longest_usual;
  if (time.ns <= kept.ns) return;
  kept = {time.ns, {}};
  time.phases.copy(kept.phases.data(), kept.phases.size() - 1);
}

Pace::Pace(DeviceTraits const& traits) noexcept
    : aim_ns_(static_cast<double>(longest_submission_ns(traits.type)) / (traits.type == DeviceType::cpu ? 4 : 2)),
      assumed_ns_(aim_ns_ / static_cast<double>(std::max<std::uint64_t>(traits.max_points_per_submission, 1))) {}

double Pace::expected_ns(std::string_view phase, std::uint64_t points) const {
  std::lock_guard const lock(mutex_);
  auto const found = std::ranges::find(known_, phase, &Known::phase);
  return static_cast<double>(points) * (found == known_.end() ? kUnseenTimes * assumed_ns_ : found->ns_a_point);
}

void Pace::took(std::string_view phase, std::uint64_t points, std::uint64_t ns, ClockSource source) {
  if (points == 0) return;
  auto const longest = static_cast<double>(std::max(ns, kLeastNs));
  if (ns < kLeastNs && longest >= expected_ns(phase, points)) return;
  auto const seen =
      std::clamp(longest / static_cast<double>(points), assumed_ns_ / kMostTimes, assumed_ns_ * kMostTimes);
  std::lock_guard const lock(mutex_);
  auto found = std::ranges::find(known_, phase, &Known::phase);
  if (found == known_.end()) {
    known_.push_back({std::string(phase), std::clamp(seen, assumed_ns_, kUnseenTimes * assumed_ns_), seen});
    return;
  }
  auto const last = std::exchange(found->last, seen);
  auto const sure = source == ClockSource::device ? seen : std::min(seen, last);
  found->ns_a_point = std::max(sure, found->ns_a_point + kTrust * (sure - found->ns_a_point));
}

}  // namespace garuda::vk
