#include "bench/gpu/contest.hpp"

#include <algorithm>

#include "core/stopwatch.hpp"
#include "garuda/control.hpp"

namespace garuda::bench {
namespace {

constexpr std::uint64_t kWarmUpNs = 500'000'000;
constexpr std::uint32_t kLeastTurns = 3;

Result<void> go_on(Control const& control) {
  if (control.is_cancelled()) return fail(ErrorCode::cancelled, "cancelled between runs");
  return {};
}

Result<void> warm_up(Contender const& contender, Control const& control) {
  if (!contender.warms_up) return {};
  Stopwatch const watch;
  while (watch.elapsed_ns() < kWarmUpNs) {
    GARUDA_TRY(go_on(control));
    GARUDA_TRY(contender.timed.run());
  }
  return {};
}

Result<void> take_turn(Contender& contender, Control const& control) {
  GARUDA_TRY(go_on(control));
  for (auto& series : contender.before) GARUDA_TRY(series.take());
  GARUDA_TRY(contender.timed.take());
  for (auto& series : contender.after) GARUDA_TRY(series.take());
  return {};
}

void complete(Contender& contender) {
  auto& record = contender.outcome.record;
  record.samples_ns = contender.timed.times();
  record.time = summarise(record.samples_ns);
  record.phases = contender.timed.median().phases;
  record.verified = true;
  std::vector<std::uint64_t> host_ns;
  for (auto const& sample : contender.timed.samples) host_ns.push_back(sample.host_ns);
  if (host_ns.front() != 0) record.host_time = summarise(host_ns);
}

}  // namespace

Result<void> check(Sampling const& sampling) {
  if (sampling.repeat == 0) return fail(ErrorCode::usage, "--repeat must be at least 1: 0");
  return {};
}

Sample Sample::of_phase(std::string_view name) const {
  Sample sample;
  sample.host_ns = host_ns;
  for (auto const& phase : phases) {
    if (phase.name != name) continue;
    sample.ns += phase.ns;
    sample.phases.push_back(phase);
  }
  return sample;
}

std::uint64_t total_ns(std::span<PhaseStats const> phases) noexcept {
  std::uint64_t ns = 0;
  for (auto const& phase : phases) ns += phase.ns;
  return ns;
}

Result<void> Series::take() {
  GARUDA_TRY_ASSIGN(auto sample, run());
  samples.push_back(std::move(sample));
  return {};
}

std::vector<std::uint64_t> Series::times() const {
  std::vector<std::uint64_t> times;
  for (auto const& sample : samples) times.push_back(sample.ns);
  return times;
}

Sample const& Series::median() const { return samples[median_position(times())]; }

Result<void> measure(std::span<Contender> contenders, Sampling const& sampling, OnFailure on_failure) {
  GARUDA_TRY(check(sampling));
  Control control;
  control.cancelled = sampling.cancelled;
  auto const with_all = [&](auto const& step) -> Result<void> {
    for (auto& contender : contenders) {
      if (contender.failure) continue;
      if (auto done = step(contender); !done) contender.failure = std::move(done).error();
      if (contender.failure && on_failure == OnFailure::stop) return tl::unexpected(*contender.failure);
    }
    return go_on(control);
  };
  GARUDA_TRY(with_all([](Contender& contender) { return contender.verify(contender.outcome); }));
  GARUDA_TRY(with_all([&](Contender& contender) { return warm_up(contender, control); }));
  Stopwatch const watch;
  auto const is_over = [&](std::uint32_t turn) {
    return turn >= kLeastTurns && sampling.most_ns != 0 && watch.elapsed_ns() >= sampling.most_ns;
  };
  for (std::uint32_t i = 0; i < sampling.repeat && !is_over(i); ++i)
    GARUDA_TRY(with_all([&](Contender& contender) { return take_turn(contender, control); }));
  for (auto& contender : contenders)
    if (!contender.failure) complete(contender);
  return {};
}

std::vector<Result<Outcome>> outcomes_of(std::vector<Contender> contenders) {
  std::vector<Result<Outcome>> outcomes;
  for (; !contenders.empty(); contenders.pop_back()) {
    auto& last = contenders.back();
    if (last.failure) {
      outcomes.emplace_back(tl::unexpected(std::move(*last.failure)));
    } else {
      outcomes.emplace_back(std::move(last.outcome));
    }
  }
  std::ranges::reverse(outcomes);
  return outcomes;
}

void PhaseCollector::add_phase(std::string_view name, std::uint64_t ns, std::uint64_t bytes, std::uint64_t items) {
  std::lock_guard const lock(mutex_);
  auto const found = std::ranges::find(phases_, name, &PhaseStats::name);
  auto& phase = found == phases_.end() ? phases_.emplace_back(PhaseStats{std::string(name), 0, 0, 0}) : *found;
  phase.ns += ns;
  phase.bytes += bytes;
  phase.items += items;
}

std::vector<PhaseStats> PhaseCollector::take() {
  std::lock_guard const lock(mutex_);
  return std::exchange(phases_, {});
}

Result<Sample> PhaseCollector::time(std::function<Result<void>()> const& run) {
  take();
  Stopwatch const watch;
  GARUDA_TRY(run());
  Sample sample;
  sample.host_ns = watch.elapsed_ns();
  sample.phases = take();
  sample.ns = total_ns(sample.phases);
  return sample;
}

}  // namespace garuda::bench
