#include "bench/kinds_bench.hpp"

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "core/bitmap.hpp"
#include "core/stopwatch.hpp"
#include "garuda/engine.hpp"
#include "operators/contract/join_kind.hpp"

namespace garuda::bench {
namespace {

/// What is compared: of a column, how many values are not null, and their sum modulo 2^64.
struct ColumnSum {
  std::uint64_t values = 0;
  std::uint64_t sum = 0;

  void add(std::uint64_t times, std::int64_t value) noexcept {
    values += times;
    sum += times * static_cast<std::uint64_t>(value);
  }
  void add(ColumnSum const& other) noexcept {
    values += other.values;
    sum += other.sum;
  }
  friend bool operator==(ColumnSum const&, ColumnSum const&) = default;
};

std::int64_t value_at(ArrayView const& column, DataType const& type, std::uint64_t row) {
  auto const at = column.offset + static_cast<std::int64_t>(row);
  if (type.id == TypeId::boolean) return get_bit(static_cast<std::uint8_t const*>(column.values), at) ? 1 : 0;
  return type.id == TypeId::int32 ? column.data<std::int32_t>()[row] : column.data<std::int64_t>()[row];
}

/// Σ times(row) · value(row) over a column's rows.
template <class Times>
ColumnSum sum_column(ArrayView const& column, DataType const& type, Times const& times) {
  using Rows = tbb::blocked_range<std::uint64_t>;
  return tbb::parallel_reduce(
      Rows(0, static_cast<std::uint64_t>(column.length)), ColumnSum{},
      [&](Rows const& rows, ColumnSum sum) {
        for (auto row = rows.begin(); row != rows.end(); ++row) sum.add(times(row), value_at(column, type, row));
        return sum;
      },
      [](ColumnSum a, ColumnSum const& b) {
        a.add(b);
        return a;
      });
}

/// How often the key of each row of `table` stands in `other`, from its sorted keys.
std::vector<std::uint32_t> count_matches(Table const& table, Table const& other) {
  auto const key = [](Table const& of, std::uint64_t row) {
    return value_at(of.batches()[0].columns[0], of.schema()[0].type, row);
  };
  using Rows = tbb::blocked_range<std::uint64_t>;
  std::vector<std::int64_t> sorted(static_cast<std::size_t>(other.num_rows()));
  tbb::parallel_for(Rows(0, sorted.size()), [&](Rows const& rows) {
    for (auto row = rows.begin(); row != rows.end(); ++row) sorted[row] = key(other, row);
  });
  tbb::parallel_sort(sorted);
  std::vector<std::uint32_t> matches(static_cast<std::size_t>(table.num_rows()));
  tbb::parallel_for(Rows(0, matches.size()), [&](Rows const& rows) {
    for (auto row = rows.begin(); row != rows.end(); ++row) {
      auto const [first, last] = std::equal_range(sorted.begin(), sorted.end(), key(table, row));
      matches[row] = static_cast<std::uint32_t>(last - first);
    }
  });
  return matches;
}

struct MatchCounts {
  std::vector<std::uint32_t> left;
  std::vector<std::uint32_t> right;
};

/// Times that a row of a side is in the result.
std::uint64_t times_of(contract::JoinParts const& parts, Side side, std::uint64_t matches) {
  auto const matched = std::uint64_t{matches > 0 ? 1U : 0U};
  return (parts.pairs ? matches : 0) + contract::num_alone(parts.alone(side), std::uint64_t{1}, matched);
}

/// Of the columns of a result, in their order.
std::vector<ColumnSum> expected_sums(JoinKind kind, JoinTables const& tables, MatchCounts const& matches) {
  auto const parts = contract::parts_of(kind);
  std::vector<ColumnSum> sums;
  for (auto const side : {Side::left, Side::right}) {
    auto const& table = side == Side::left ? tables.left : tables.right;
    auto const& columns = table.batches()[0].columns;
    auto const matches_of = [&](std::uint64_t row) { return (side == Side::left ? matches.left : matches.right)[row]; };
    auto const sum_of = [&](std::size_t column, auto const& times) {
      return sum_column(columns[column], table.schema()[column].type, times);
    };
    if (side == Side::right && !parts.pairs) continue;
    for (std::size_t c = side == Side::left ? 0 : 1; c < columns.size(); ++c)
      sums.push_back(sum_of(c, [&](std::uint64_t row) { return times_of(parts, side, matches_of(row)); }));
    // The key is that of the side which is there.
    if (side == Side::right && parts.right != contract::Alone::none)
      sums[0].add(sum_of(0, [&](std::uint64_t row) { return std::uint64_t{matches_of(row) == 0 ? 1U : 0U}; }));
    if (side == Side::left && parts.left == contract::Alone::all) {
      auto const rows = static_cast<std::uint64_t>(table.num_rows());
      auto const marked = sum_of(0, [&](std::uint64_t row) { return std::uint64_t{matches_of(row) > 0 ? 1U : 0U}; });
      sums.push_back({rows, marked.values});
    }
  }
  return sums;
}

std::vector<ColumnSum> sums_of(Table const& result) {
  std::vector<ColumnSum> sums(result.schema().size());
  for (auto const& batch : result.batches())
    for (std::size_t c = 0; c < sums.size(); ++c) {
      auto const& column = batch.columns[c];
      auto const* const valid = column.validity;
      sums[c].add(sum_column(column, result.schema()[c].type, [&](std::uint64_t row) {
        auto const at = column.offset + static_cast<std::int64_t>(row);
        return std::uint64_t{valid == nullptr || get_bit(valid, at) ? 1U : 0U};
      }));
    }
  return sums;
}

/// One kind, its rows left on the device, or their number.
class KindRun {
 public:
  KindRun(Engine& engine, JoinTables const& tables, MatchCounts const& matches, DeviceTable const& left,
          DeviceTable const& right, JoinKind kind, bool counts, JoinOptions options)
      : engine_(engine),
        tables_(tables),
        matches_(matches),
        left_(left),
        right_(right),
        counts_(counts),
        options_(std::move(options)) {
    spec_.on = {{"key", "key"}};
    spec_.kind = kind;
    if (!counts && contract::parts_of(kind).pairs && options_.tuning.method == JoinMethod::bitmap)
      options_.tuning.method = JoinMethod::automatic;
  }

  Result<void> verify(Outcome& outcome) {
    auto const expected = expected_sums(spec_.kind, tables_, matches_);
    // Of the first column no value is null.
    options_.expected_rows = std::max<std::uint64_t>(expected[0].values, 1);
    GARUDA_TRY_ASSIGN(auto const ran, run());
    auto const rows = expected[0].values;
    bool is_same = ran.rows == rows;
    if (is_same && ran.table) {
      GARUDA_TRY_ASSIGN(auto const result, ran.table->download());
      is_same = sums_of(result) == expected;
    }
    if (!is_same)
      return fail(ErrorCode::device_failure, fmt::format("the result of {} differs from what sorted keys say, {} rows: "
                                                         "{}",
                                                         name(), rows, ran.rows));
    auto& record = outcome.record;
    record.op = name();
    record.mode = "resident";
    record.path = to_string(ran.plan.path);
    record.device = ran.plan.device;
    record.driver = ran.plan.driver;
    record.choices = ran.plan.tuning;
    record.rows_left = left_.num_rows();
    record.rows_right = right_.num_rows();
    record.rows_out = rows;
    record.bytes = left_.device_bytes() + right_.device_bytes() + (ran.table ? ran.table->device_bytes() : 0);
    return {};
  }

  Result<Sample> sample() {
    GARUDA_TRY_ASSIGN(auto ran, run());
    return std::move(ran.sample);
  }

  std::string name() const { return fmt::format("{} join{}", to_string(spec_.kind), counts_ ? " count" : ""); }

 private:
  struct Ran {
    Sample sample;
    Plan plan;
    std::uint64_t rows = 0;
    std::optional<DeviceTable> table;
  };

  Result<Ran> run() {
    Ran ran;
    RunStats stats;
    Stopwatch const watch;
    if (counts_) {
      GARUDA_TRY_ASSIGN(auto counted, engine_.join_count(left_.view(), right_.view(), spec_, options_));
      ran.rows = counted.rows;
      ran.plan = std::move(counted.plan);
      stats = std::move(counted.stats);
    } else {
      GARUDA_TRY_ASSIGN(auto const joined, engine_.join(left_.view(), right_.view(), spec_, options_));
      GARUDA_TRY_ASSIGN(ran.table, joined->take_device_table());
      ran.rows = ran.table->num_rows();
      ran.plan = joined->plan();
      stats = joined->stats();
    }
    ran.sample.host_ns = watch.elapsed_ns();
    for (auto const& phase : stats.phases) ran.sample.ns += phase.ns;
    ran.sample.phases = std::move(stats.phases);
    return ran;
  }

  Engine& engine_;
  JoinTables const& tables_;
  MatchCounts const& matches_;
  DeviceTable const& left_;
  DeviceTable const& right_;
  bool counts_;
  JoinOptions options_;
  JoinSpec spec_;
};

}  // namespace

Result<std::vector<Outcome>> run_kinds_bench(KindsRequest const& request) {
  GARUDA_TRY(check(static_cast<Sampling const&>(request)));
  GARUDA_TRY(check(request.workload));
  JoinOptions options;
  options.device = request.device;
  options.control.cancelled = request.cancelled;
  GARUDA_TRY_ASSIGN(options.tuning, parse_join_tuning(request.tuning));
  auto workload = request.workload;
  workload.seed = request.seed;
  GARUDA_TRY_ASSIGN(auto const tables, generate_join_tables(workload));
  MatchCounts const matches{count_matches(tables.left, tables.right), count_matches(tables.right, tables.left)};
  GARUDA_TRY_ASSIGN(auto engine, Engine::create({}));
  DeviceTableOptions const there{request.device, options.control};
  GARUDA_TRY_ASSIGN(auto const left, engine.upload(tables.left.view(), there));
  GARUDA_TRY_ASSIGN(auto const right, engine.upload(tables.right.view(), there));
  std::vector<std::unique_ptr<KindRun>> runs;
  auto const add = [&](JoinKind kind, bool counts) {
    runs.push_back(std::make_unique<KindRun>(engine, tables, matches, left, right, kind, counts, options));
  };
  add(JoinKind::inner, false);
  for (auto const kind : request.kinds)
    if (kind != JoinKind::inner) add(kind, false);
  for (auto const kind : request.counted) add(kind, true);
  std::vector<Contender> contenders(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    auto* const run = runs[i].get();
    contenders[i].verify = [run](Outcome& outcome) { return run->verify(outcome); };
    contenders[i].timed.run = [run] { return run->sample(); };
    contenders[i].warms_up = true;
  }
  GARUDA_TRY(measure(contenders, request));
  for (std::size_t i = 1; i < contenders.size(); ++i)
    contenders[i].outcome.ratios.emplace_back(
        fmt::format("{} / {}", runs[i]->name(), runs[0]->name()),
        summarise_ratios(contenders[i].timed.times(), contenders[0].timed.times()));
  std::vector<Outcome> outcomes;
  for (auto& contender : contenders) outcomes.push_back(std::move(contender.outcome));
  return outcomes;
}

}  // namespace garuda::bench
