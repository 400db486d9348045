#include "bench/keyless_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "bench/workloads/random.hpp"
#include "bench/workloads/table_builder.hpp"
#include "bench/workloads/words.hpp"
#include "core/stopwatch.hpp"
#include "garuda/engine.hpp"

namespace garuda::bench {
namespace {

constexpr std::array kConditions{Word<KeylessCondition>{"less", KeylessCondition::less},
                                 Word<KeylessCondition>{"band", KeylessCondition::band}};
constexpr std::uint64_t kValues = std::uint64_t{1} << 31;

struct Tables {
  Table left;
  Table right;
};

Result<Tables> make_tables(KeylessRequest const& request) {
  TableBuilder left(request.rows_left);
  TableBuilder right(request.rows_right);
  auto const value = [&](std::uint64_t side, std::uint64_t row) {
    return static_cast<std::int32_t>(RowRandom(2 * request.seed + side, row).next_below(kValues));
  };
  auto const width = static_cast<std::int64_t>(kValues / std::max<std::uint64_t>(request.rows_right, 1));
  auto const number = [](std::uint64_t row) { return static_cast<std::int32_t>(row); };
  GARUDA_TRY(left.add_column<std::int32_t>("a", [&](std::uint64_t row) { return value(0, row); }));
  GARUDA_TRY(left.add_column<std::int32_t>("x", number));
  GARUDA_TRY(right.add_column<std::int32_t>("lo", [&](std::uint64_t row) { return value(1, row); }));
  GARUDA_TRY(right.add_column<std::int32_t>("hi", [&](std::uint64_t row) {
    return static_cast<std::int32_t>(
        std::min<std::int64_t>(value(1, row) + std::max<std::int64_t>(width - 1, 0), kValues - 1));
  }));
  GARUDA_TRY(right.add_column<std::int32_t>("y", number));
  return Tables{left.finish(), right.finish()};
}

std::span<std::int32_t const> column(Batch const& batch, std::size_t index) {
  auto const& view = batch.columns[index];
  return {static_cast<std::int32_t const*>(view.values) + view.offset, static_cast<std::size_t>(view.length)};
}

bool matches(KeylessCondition condition, std::int32_t a, std::int32_t lo, std::int32_t hi) {
  return condition == KeylessCondition::less ? a < lo : a >= lo && a <= hi;
}

/// Of sorted bounds: those that begin at a value or before, less those that end before it.
std::uint64_t expected_rows(KeylessRequest const& request, Tables const& tables) {
  auto const sorted = [&](std::size_t index) {
    auto const values = column(tables.right.batches().front(), index);
    std::vector<std::int32_t> copy(values.begin(), values.end());
    std::ranges::sort(copy);
    return copy;
  };
  auto const lows = sorted(0);
  auto const highs = sorted(1);
  std::uint64_t rows = 0;
  for (auto const a : column(tables.left.batches().front(), 0)) {
    auto const begun = static_cast<std::uint64_t>(std::ranges::upper_bound(lows, a) - lows.begin());
    auto const ended = static_cast<std::uint64_t>(std::ranges::lower_bound(highs, a) - highs.begin());
    rows += request.condition == KeylessCondition::less ? lows.size() - begun : begun - ended;
  }
  return rows;
}

/// Every row matches, none comes twice, and there are as many as there should be.
Result<void> check_rows(KeylessRequest const& request, Tables const& tables, std::vector<Batch> const& batches,
                        std::uint64_t expected) {
  std::vector<std::uint64_t> pairs;
  auto const left = column(tables.left.batches().front(), 0);
  auto const& right = tables.right.batches().front();
  bool do_match = true;
  for (auto const& batch : batches) {
    auto const x = column(batch, 1);
    auto const y = column(batch, 4);
    for (std::size_t i = 0; i < x.size(); ++i) {
      auto const l = static_cast<std::uint32_t>(x[i]);
      auto const r = static_cast<std::uint32_t>(y[i]);
      pairs.push_back(std::uint64_t{l} << 32 | r);
      do_match = do_match && column(batch, 0)[i] == left[l] && column(batch, 2)[i] == column(right, 0)[r] &&
                 matches(request.condition, left[l], column(right, 0)[r], column(right, 1)[r]);
    }
  }
  std::ranges::sort(pairs);
  if (do_match && pairs.size() == expected && std::ranges::adjacent_find(pairs) == pairs.end()) return {};
  return fail(ErrorCode::device_failure,
              fmt::format("the rows differ from what sorted columns say, {} rows: {}", expected, pairs.size()));
}

JoinSpec spec_of(KeylessCondition condition) {
  JoinSpec spec;
  auto const a = left_column("a");
  auto const lo = right_column("lo");
  spec.where = condition == KeylessCondition::less ? compare(a, Comparator::less, lo)
                                                   : compare(a, Comparator::greater_equal, lo) &&
                                                         compare(a, Comparator::less_equal, right_column("hi"));
  return spec;
}

/// One join, from the call to the last batch.
struct Ran {
  Sample sample;
  Plan plan;
  std::uint64_t rows = 0;
  std::vector<Batch> batches;
};

Result<Ran> run_join(Engine& engine, Tables const& tables, KeylessRequest const& request, JoinOptions const& options) {
  Ran ran;
  auto const spec = spec_of(request.condition);
  Stopwatch const watch;
  RunStats stats;
  if (!request.rows) {
    GARUDA_TRY_ASSIGN(auto counted, engine.join_count(tables.left.view(), tables.right.view(), spec, options));
    ran.rows = counted.rows;
    ran.plan = std::move(counted.plan);
    stats = std::move(counted.stats);
  } else {
    GARUDA_TRY_ASSIGN(auto const result, engine.join(tables.left.view(), tables.right.view(), spec, options));
    while (true) {
      GARUDA_TRY_ASSIGN(auto batch, result->next());
      if (!batch) break;
      ran.rows += static_cast<std::uint64_t>(batch->num_rows);
      ran.batches.push_back(*std::move(batch));
    }
    ran.plan = result->plan();
    stats = result->stats();
  }
  ran.sample.ns = watch.elapsed_ns();
  ran.sample.phases = std::move(stats.phases);
  ran.sample.counters = std::move(stats.counters);
  return ran;
}

void describe(KeylessRequest const& request, Ran const& ran, Outcome& outcome) {
  auto& record = outcome.record;
  record.op = "keyless join";
  record.path = to_string(ran.plan.path);
  record.device = ran.plan.device;
  record.driver = driver_of(ran.plan, request.threads);
  record.mode = "end-to-end";
  record.choices = fmt::format("{},{}{}{}", word_of(kConditions, request.condition), request.rows ? "rows" : "count",
                               ran.plan.tuning.empty() ? "" : ",", ran.plan.tuning);
  record.rows_left = request.rows_left;
  record.rows_right = request.rows_right;
  record.rows_out = ran.rows;
  record.bytes = 8 * request.rows_left + 12 * request.rows_right + (request.rows ? ran.rows * 20 : 0);
}

/// Pairs of rows a second: all there are, whether they were compared or passed over.
void add_rates(KeylessRequest const& request, Outcome& outcome) {
  auto const pairs = static_cast<double>(request.rows_left) * static_cast<double>(request.rows_right);
  auto const rate = [&](std::uint64_t ns) { return format_rate(pairs / static_cast<double>(ns) * 1e9); };
  auto& record = outcome.record;
  outcome.notes.push_back(fmt::format("pairs of rows: {}/s from call to result", rate(record.time.median_ns)));
  for (auto const& phase : record.phases)
    if (phase.name == "count" && phase.ns > 0)
      outcome.notes.push_back(
          fmt::format("pairs of rows: {}/s in phase count, {}", rate(phase.ns), format_ns(phase.ns)));
}

}  // namespace

Result<KeylessCondition> parse_keyless_condition(std::string_view text) {
  return parse_word("condition", kConditions, text);
}

Result<Outcome> run_keyless_bench(KeylessRequest const& request) {
  GARUDA_TRY(check(static_cast<Sampling const&>(request)));
  if (request.rows_left == 0 || request.rows_left > kValues || request.rows_right == 0 || request.rows_right > kValues)
    return fail(ErrorCode::usage,
                fmt::format("rows out of range [1, 2^31]: {}, {}", request.rows_left, request.rows_right));
  JoinOptions options;
  options.path = request.path;
  options.device = request.device;
  options.threads = request.threads;
  GARUDA_TRY_ASSIGN(options.tuning, parse_join_tuning(request.tuning));
  options.control.cancelled = request.cancelled;
  GARUDA_TRY_ASSIGN(auto const tables, make_tables(request));
  GARUDA_TRY_ASSIGN(auto engine, Engine::create({.vulkan = request.path != Path::cpu}));
  Contender contender;
  contender.warms_up = request.path != Path::cpu;
  contender.verify = [&](Outcome& outcome) -> Result<void> {
    GARUDA_TRY_ASSIGN(auto const ran, run_join(engine, tables, request, options));
    auto const expected = expected_rows(request, tables);
    if (ran.rows != expected)
      return fail(ErrorCode::device_failure,
                  fmt::format("the number of rows differs from what sorted columns say, {}: {}", expected, ran.rows));
    if (request.rows) GARUDA_TRY(check_rows(request, tables, ran.batches, expected));
    describe(request, ran, outcome);
    return {};
  };
  contender.timed.run = [&]() -> Result<Sample> {
    GARUDA_TRY_ASSIGN(auto ran, run_join(engine, tables, request, options));
    return std::move(ran.sample);
  };
  GARUDA_TRY(measure({&contender, 1}, request));
  add_rates(request, contender.outcome);
  return std::move(contender.outcome);
}

}  // namespace garuda::bench
