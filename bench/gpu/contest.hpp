// The loop that times: contenders are verified, warmed up, and then take turns, so that a change in the machine's load
// meets all of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/record.hpp"
#include "garuda/error.hpp"
#include "operators/contract/stats_sink.hpp"

namespace garuda::bench {

/// On which data, and how often.
struct Sampling {
  std::uint32_t repeat = 7;
  /// Once turns have taken so long, no more are begun, but for the first three; 0: `repeat` says it alone.
  std::uint64_t most_ns = 0;
  std::uint64_t seed = 1;                        ///< of the generated data
  std::atomic<bool> const* cancelled = nullptr;  ///< looked at before every turn
};
/// Errors: usage.
Result<void> check(Sampling const& sampling);

/// One timed repetition.
struct Sample {
  std::uint64_t ns = 0;
  std::uint64_t host_ns = 0;  ///< where `ns` is a device's: from the call to its completion
  std::vector<PhaseStats> phases;
  std::vector<std::pair<std::string, std::uint64_t>> counters;

  /// This sample with the phases of one name alone.
  Sample of_phase(std::string_view name) const;
};

/// Nanoseconds of all phases together.
std::uint64_t total_ns(std::span<PhaseStats const> phases) noexcept;

/// Something that runs again and again, blocking, and its samples.
struct Series {
  std::function<Result<Sample>()> run;
  std::vector<Sample> samples;

  /// Runs and keeps the sample.
  Result<void> take();
  std::vector<std::uint64_t> times() const;
  /// The sample whose time is the median, or next below it. Requires samples.
  Sample const& median() const;
};

/// The figures of one contender.
struct Outcome {
  Record record;
  CopyBandwidth bandwidth;                                   ///< none: of no bytes a second
  std::vector<std::pair<std::string, RatioSummary>> ratios;  ///< of pairs of samples, and what they are
  std::vector<Record> beside;                                ///< measured in the same turns: copies, bare draws
  std::vector<std::string> notes;                            ///< lines for people
};

/// A path with its choices, which is compared with others.
struct Contender {
  Outcome outcome;
  /// Runs once, compares the whole result with the reference and completes the record but for what is measured.
  std::function<Result<void>(Outcome&)> verify;
  Series timed;
  std::vector<Series> before;  ///< in each turn, beside `timed`
  std::vector<Series> after;
  bool warms_up = false;         ///< half a second before the first turn: a GPU that idled has lowered its clock
  std::optional<Error> failure;  ///< why there is no outcome; one that has it takes no part
};

/// Whether the first failure of a contender ends the measurement of all.
enum class OnFailure : std::uint8_t { stop, go_on };

/// Verifies all contenders, warms them up, lets them take turns `sampling.repeat` times and completes their records.
/// Blocks. Errors: cancelled and, unless it is to go on, the first failure.
Result<void> measure(std::span<Contender> contenders, Sampling const& sampling, OnFailure on_failure = OnFailure::stop);

/// Their outcomes or failures, in their order. Those that came later are destroyed first.
std::vector<Result<Outcome>> outcomes_of(std::vector<Contender> contenders);

/// Adds up phases by name, in order of first appearance. Thread-safe.
class PhaseCollector final : public contract::StatsSink {
 public:
  void add_phase(std::string_view name, std::uint64_t ns, std::uint64_t bytes, std::uint64_t items) override;
  void add_counter(std::string_view, std::uint64_t) override {}
  void max_counter(std::string_view, std::uint64_t) override {}
  void note(std::string) override {}
  /// Runs `run`, which blocks until the device is done; the sample's time is the sum of its phases'.
  Result<Sample> time(std::function<Result<void>()> const& run);

 private:
  std::vector<PhaseStats> take();

  std::mutex mutex_;
  std::vector<PhaseStats> phases_;
};

}  // namespace garuda::bench
