// What the benchmarks of joins and group-bys share: the choices they compare, and how each is run and sampled.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/stopwatch.hpp"
#include "garuda/engine.hpp"
#include "garuda/error.hpp"
#include "garuda/plan.hpp"
#include "garuda/run.hpp"

namespace garuda::bench {

/// Where the tables lie.
enum class TableMemory : std::uint8_t {
  ordinary,
  pinned  ///< in memory that the device reads in place (Engine::pin)
};

/// A path and how it is told to go about it.
template <class Tuning>
struct Choice {
  Path path = Path::automatic;
  Tuning tuning;
};

/// What is compared, and how often.
template <class Tuning>
struct Comparison {
  std::vector<Path> paths{Path::automatic};
  std::optional<std::string> device;  ///< as RunOptions::device, of every path but cpu
  Tuning tuning;
  std::vector<Choice<Tuning>> choices;  ///< in place of `paths` and `tuning` when there are any
  std::uint32_t threads = 0;            ///< 0: all
  std::uint32_t repeat = 7;
  std::atomic<bool> const* cancelled = nullptr;  ///< looked at within and between runs
  bool floor = false;                            ///< time the bare draws of the graphics path beside it
  TableMemory memory = TableMemory::ordinary;    ///< of mode end-to-end
};

/// `choices`, or where there are none every path with the same tuning.
template <class Tuning>
std::vector<Choice<Tuning>> choices_of(std::vector<Path> const& paths, Tuning const& tuning,
                                       std::vector<Choice<Tuning>> choices) {
  if (choices.empty())
    for (auto const path : paths) choices.push_back({path, tuning});
  return choices;
}
template <class Tuning>
std::vector<Choice<Tuning>> choices_of(Comparison<Tuning> const& comparison) {
  return choices_of(comparison.paths, comparison.tuning, comparison.choices);
}

/// Reads PATH[:TUNING][;PATH[:TUNING]…] with the tuning's own parser. Errors: usage.
template <class Tuning>
Result<std::vector<Choice<Tuning>>> parse_choices(std::string_view text,
                                                  Result<Tuning> (*parse_tuning)(std::string_view)) {
  std::vector<Choice<Tuning>> choices;
  while (!text.empty()) {
    auto const end = text.find(';');
    auto const choice = text.substr(0, end);
    auto const colon = choice.find(':');
    GARUDA_TRY_ASSIGN(auto const path, parse_path(choice.substr(0, colon)));
    GARUDA_TRY_ASSIGN(auto const tuning,
                      parse_tuning(colon == std::string_view::npos ? std::string_view() : choice.substr(colon + 1)));
    choices.push_back({path, tuning});
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return choices;
}

/// The parser of tunings that paths parse themselves.
inline Result<std::string> text_as_it_is(std::string_view text) { return std::string(text); }

/// Errors: usage.
template <class Tuning>
Result<void> check(Comparison<Tuning> const& comparison) {
  if (comparison.repeat == 0) return fail(ErrorCode::usage, "--repeat must be at least 1: 0");
  if (choices_of(comparison).empty()) return fail(ErrorCode::usage, "no path to measure");
  if (comparison.floor && std::ranges::find(comparison.paths, Path::graphics) == comparison.paths.end())
    return fail(ErrorCode::usage, "--floor draws what --path graphics draws, which is not among the paths");
  return {};
}

/// An engine that opens Vulkan only when a choice may need it.
template <class Tuning>
Result<Engine> engine_for(std::vector<Choice<Tuning>> const& choices) {
  EngineOptions options;
  options.vulkan = std::ranges::any_of(choices, [](auto const& choice) { return choice.path != Path::cpu; });
  return Engine::create(options);
}

/// Options: JoinOptions or GroupByOptions.
template <class Options, class Tuning>
Options options_of(Comparison<Tuning> const& comparison, Choice<Tuning> const& choice) {
  Options options;
  options.path = choice.path;
  if (choice.path != Path::cpu) options.device = comparison.device;
  options.tuning = choice.tuning;
  options.threads = comparison.threads;
  options.control.cancelled = comparison.cancelled;
  return options;
}

/// One run, its result whole in host memory.
struct Run {
  std::uint64_t ns = 0;
  Schema schema;
  std::vector<Batch> batches;
  Plan plan;
  RunStats stats;
};

/// Times `start()`, which gives a Result<std::unique_ptr<QueryResult>>, until the last batch. Errors: those of the
/// query.
template <class Start>
Result<Run> run_once(Start const& start) {
  Run run;
  Stopwatch const watch;
  GARUDA_TRY_ASSIGN(auto const result, start());
  while (true) {
    GARUDA_TRY_ASSIGN(auto batch, result->next());
    if (!batch) break;
    run.batches.push_back(std::move(*batch));
  }
  run.ns = watch.elapsed_ns();
  run.schema = result->schema();
  run.plan = result->plan();
  run.stats = result->stats();
  return run;
}

/// What is kept of the runs of one choice. Floor: bare draws, with a `Result<std::uint64_t> run()` in ns.
template <class Options, class Floor>
struct Series {
  Options options;
  Plan plan;
  Schema schema;
  std::vector<std::uint64_t> samples_ns;
  std::vector<RunStats> stats;
  std::unique_ptr<Floor> floor;
  std::vector<std::uint64_t> floor_ns;
};

/// Adds one run, and one of the bare draws.
template <class Options, class Floor, class Start>
Result<void> sample(Series<Options, Floor>& series, Start const& start) {
  GARUDA_TRY_ASSIGN(auto run, run_once(start));
  series.samples_ns.push_back(run.ns);
  series.stats.push_back(std::move(run.stats));
  if (!series.floor) return {};
  GARUDA_TRY_ASSIGN(auto const ns, series.floor->run());
  series.floor_ns.push_back(ns);
  return {};
}

/// An error of a result's check, with where the result came from.
inline Error wrong_result(Error error, Plan const& plan) {
  return std::move(error).wrap(fmt::format("wrong result of path {} on {}", to_string(plan.path), plan.device));
}

/// The plan's tuning and reason.
inline std::string choices_text(Plan const& plan) {
  return fmt::format("{}{}{}", plan.tuning, plan.tuning.empty() ? "" : "; ", plan.reason);
}

}  // namespace garuda::bench
