#include "operators/calibrate/host_rates.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <optional>
#include <vector>

#include "core/parallel_blocks.hpp"
#include "core/stopwatch.hpp"
#include "keys/join_keys.hpp"
#include "keys/numbering/mix.hpp"
#include "operators/calibrate/copy_rates.hpp"
#include "operators/cpu/join/cpu_join.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::calibrate {
namespace {

using contract::KeySpan;

constexpr std::int64_t kCopyBytes = std::int64_t{64} << 20;
/// Rows for every two threads, so that what a query costs whatever its rows does not count; and most of them.
constexpr std::uint64_t kRows = std::uint64_t{1} << 21;
constexpr std::uint64_t kMostRows = std::uint64_t{1} << 24;
constexpr std::array kPartitionBits{2U, 6U, 8U, 10U, 12U, 14U};
/// Bytes of gathered columns: in a core's cache, in the last-level cache, beyond it.
constexpr std::array kColumnBytes{std::uint64_t{1} << 17, std::uint64_t{1} << 20, std::uint64_t{1} << 23,
                                  std::uint64_t{1} << 25, std::uint64_t{1} << 27};
/// Rows of joined tables: those of dense keys take four bytes a row, so that the last ones leave most caches.
constexpr std::array kTableRows{std::uint64_t{1} << 10, std::uint64_t{1} << 13, std::uint64_t{1} << 16,
                                std::uint64_t{1} << 18, std::uint64_t{1} << 20, std::uint64_t{1} << 21,
                                std::uint64_t{1} << 22, std::uint64_t{1} << 23};
/// The first four, with accumulators of nine bytes a group, fit the second-level cache of most cores, or nearly.
constexpr std::array kGroups{std::uint64_t{1} << 6,  std::uint64_t{1} << 12, std::uint64_t{1} << 15,
                             std::uint64_t{1} << 17, std::uint64_t{1} << 18, std::uint64_t{1} << 20};
/// Ways of group-bys, and their sizes, take turns so many times: what disturbs a machine for a while then disturbs all
/// ways, whose rates are weighed against each other, and the fastest run of each is from another while.
constexpr int kGroupRounds = 3;
constexpr int kSamplesOfARound = 2;
constexpr std::uint64_t kLeastGroups = std::uint64_t{1} << 15;
constexpr std::uint64_t kFewRows = 16;
constexpr int kFewRowQueries = 64;
constexpr std::uint64_t kSmallSliceRows = 16;
constexpr std::uint64_t kSmallSlices = 2048;

/// Shares of the time that there is at most: up to the joins, to the group-bys and to their last round.
constexpr double kFirstShare = 0.2;
constexpr double kJoinShare = 0.4;
constexpr double kGroupShare = 0.6;

using Words = std::vector<std::uint32_t>;
using PairsOfLanes = std::vector<std::vector<contract::RowPair>>;

/// A permutation of the words below 2^bits that leaves no order to a cache or to a multiplicative hash (the finaliser
/// of MurmurHash3, each step of which is one).
std::uint32_t permuted(std::uint32_t word, std::uint32_t bits) {
  auto const mask = static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1);
  auto const half = (bits + 1) / 2;
  word ^= word >> half;
  word = (word * 0x85EB'CA6BU) & mask;
  word ^= word >> half;
  word = (word * 0xC2B2'AE35U) & mask;
  return word ^ (word >> half);
}

/// `value_of(i)` for i below `rows`, by the threads of the calling task arena.
template <class Value, class ValueOf>
std::vector<Value> made_of(std::uint64_t rows, ValueOf const& value_of) {
  std::vector<Value> values(rows);
  oneapi::tbb::parallel_for(oneapi::tbb::blocked_range<std::uint64_t>(0, rows, kBlockRows), [&](auto const& range) {
    for (auto i = range.begin(); i != range.end(); ++i) values[i] = value_of(i);
  });
  return values;
}

/// Different words of 32 bits in no order.
Words scattered_words(std::uint64_t rows) {
  return made_of<std::uint32_t>(rows, [](std::uint64_t i) { return permuted(static_cast<std::uint32_t>(i), 32); });
}

/// Slices of `slice_rows` rows, a power of two, that have the words 0 … slice_rows - 1 in no order each.
Words dense_words(std::uint64_t rows, std::uint64_t slice_rows) {
  auto const bits = static_cast<std::uint32_t>(std::countr_zero(slice_rows));
  return made_of<std::uint32_t>(
      rows, [&](std::uint64_t i) { return permuted(static_cast<std::uint32_t>(i & (slice_rows - 1)), bits); });
}

double ns_of(Stopwatch const& watch) { return static_cast<double>(watch.elapsed_ns()); }

/// A sample of both halves of a join.
struct JoinNs {
  double build = 0;
  double probe = 0;
};

class HostMeasurement {
 public:
  HostMeasurement(MeasuringTime& time, RunGroupBy const& group_by) : time_(time), group_by_(group_by) {}

  Result<rates::HostRates> run() {
    rates_.threads = static_cast<std::uint32_t>(oneapi::tbb::this_task_arena::max_concurrency());
    rows_ = std::min(kRows * std::bit_floor(std::max(rates_.threads / 2, 1U)), kMostRows);
    time_.report("host copies");
    GARUDA_TRY_ASSIGN(rates_.copy_bytes_per_s, measure_host_copy(kCopyBytes, repetitions()));
    GARUDA_TRY(encode());
    GARUDA_TRY(partition());
    GARUDA_TRY(gather());
    share_ = kJoinShare;
    GARUDA_TRY(join());
    GARUDA_TRY(small_slices());
    share_ = kGroupShare;
    GARUDA_TRY(group());
    return rates_;
  }

 private:
  Control const& control() const noexcept { return time_.control(); }
  int repetitions() const { return time_.repetitions(share_); }

  /// Items a second: the fastest of a few runs of `body`, a Result of nanoseconds, for `items`.
  template <class Body>
  Result<double> rate(std::uint64_t items, Body const& body) {
    return measure_rate(items, items, time_, share_, [&](std::uint64_t) { return body(); });
  }

  Result<void> encode() {
    time_.report("key encoding");
    std::vector<std::int64_t> keys(kRows);
    for (std::uint64_t i = 0; i < kRows; ++i) keys[i] = static_cast<std::int64_t>(keys::mix(i) >> 40);
    Schema const schema{Field{"key", DataType{TypeId::int64}, false}};
    ArrayView column;
    column.length = static_cast<std::int64_t>(kRows);
    column.null_count = 0;
    column.values = keys.data();
    BatchView const batch{column.length, std::span(&column, 1)};
    TableView const table(schema, std::span(&batch, 1));
    GARUDA_TRY_ASSIGN(rates_.encoded_keys_per_s, rate(2 * kRows, [&]() -> Result<std::uint64_t> {
                        Stopwatch const watch;
                        GARUDA_TRY(keys::encode_join_keys({table, {0}}, {table, {0}}, control()));
                        return watch.elapsed_ns();
                      }));
    return {};
  }

  Result<void> partition() {
    time_.report("partitioning");
    auto const words = scattered_words(2 * rows_);
    for (auto const bits : kPartitionBits) {
      GARUDA_TRY_ASSIGN(auto const per_s, rate(2 * rows_, [&]() -> Result<std::uint64_t> {
                          keys::EncodedKeys keys;
                          keys.num_rows = keys.table_rows = 2 * rows_;
                          keys.words = words.data();
                          keys.max = 0xffff'ffffU;
                          Stopwatch const watch;
                          GARUDA_TRY(partition::radix_partition(std::move(keys), {bits, 0, false}, control()));
                          return watch.elapsed_ns();
                        }));
      rates_.partitioned_rows.points.push_back({static_cast<double>(std::uint64_t{1} << bits), per_s});
    }
    return {};
  }

  Result<void> gather() {
    time_.report("gathers");
    for (auto const bytes : kColumnBytes) {
      auto const num_values = bytes / sizeof(std::uint32_t);
      std::vector<std::uint32_t> const column(num_values, 1);
      std::vector<std::uint32_t> out(rows_);
      auto const rows = made_of<std::int64_t>(
          rows_, [&](std::uint64_t i) { return static_cast<std::int64_t>(keys::mix(i) % num_values); });
      GARUDA_TRY_ASSIGN(auto const per_s, rate(rows_, [&]() -> Result<std::uint64_t> {
                          Stopwatch const watch;
                          oneapi::tbb::parallel_for(oneapi::tbb::blocked_range<std::uint64_t>(0, rows_, kBlockRows),
                                                    [&](auto const& range) {
                                                      for (auto i = range.begin(); i != range.end(); ++i)
                                                        out[i] = column[static_cast<std::size_t>(rows[i])];
                                                    });
                          return watch.elapsed_ns();
                        }));
      rates_.gathered_values.points.push_back({static_cast<double>(bytes), per_s});
    }
    return {};
  }

  /// Joins `words`, none above `max`, with itself in slices of `slice_rows` rows, as lanes do: one after the other on
  /// every thread, or, when there are fewer slices than threads, one after the other with all threads in the probe.
  /// Nanoseconds are those of all threads together, divided by their number.
  Result<JoinNs> join_slices(Words const& words, std::uint64_t slice_rows, std::uint32_t max, PairsOfLanes& pairs) {
    contract::BackendOptions options;
    options.control = &control();
    options.lanes = rates_.threads;
    options.max_left_rows = options.max_right_rows = slice_rows;
    GARUDA_TRY_ASSIGN(auto const backend, cpu::open_cpu_join(options));
    auto const slices = words.size() / slice_rows;
    auto const lanes = slices < rates_.threads ? 1 : std::size_t{rates_.threads};
    std::vector<JoinNs> spent(lanes);
    std::vector<Result<void>> done(lanes);
    // Room for pairs, made before the clock runs: fresh memory has its price.
    if (pairs.size() != lanes) pairs.assign(lanes, std::vector<contract::RowPair>(slice_rows));
    Stopwatch const watch;
    // A lane takes one slice after the other: the backend keeps what it needs for one.
    GARUDA_TRY(for_each_block(lanes, &control(), [&](std::size_t lane) {
      for (auto s = lane; s < slices && done[lane]; s += lanes)
        done[lane] = join_slice(*backend, static_cast<std::uint32_t>(lane),
                                KeySpan{std::span(words).subspan(s * slice_rows, slice_rows), 0, max, {}}, pairs[lane],
                                spent[lane]);
    }));
    auto const elapsed = ns_of(watch);
    for (auto& result : done) GARUDA_TRY(std::move(result));
    if (lanes == 1) return JoinNs{spent[0].build / rates_.threads, spent[0].probe};
    JoinNs sum;
    for (auto const& ns : spent) {
      sum.build += ns.build;
      sum.probe += ns.probe;
    }
    auto const share = elapsed / std::max(sum.build + sum.probe, 1.0);
    return JoinNs{sum.build * share, sum.probe * share};
  }

  static Result<void> join_slice(contract::JoinBackend& backend, std::uint32_t lane, KeySpan const& keys,
                                 std::span<contract::RowPair> pairs, JoinNs& spent) {
    Stopwatch const building;
    GARUDA_TRY_ASSIGN(auto const kernel, backend.begin({keys, keys, 0}, lane));
    spent.build += ns_of(building);
    Stopwatch const probing;
    GARUDA_TRY_ASSIGN(auto const count, kernel->count());
    GARUDA_TRY(kernel->pairs(0, pairs.first(count)));
    spent.probe += ns_of(probing);
    return {};
  }

  Result<void> join() {
    for (auto const table_rows : kTableRows) {
      time_.report("join tables");
      auto const rows = std::max(rows_, table_rows);
      GARUDA_TRY(join_tables(scattered_words(rows), table_rows, 0xffff'ffffU, rates_.built_rows, rates_.probed_rows));
      GARUDA_TRY(join_tables(dense_words(rows, table_rows), table_rows, static_cast<std::uint32_t>(table_rows - 1),
                             rates_.built_dense_rows, rates_.probed_dense_rows));
    }
    return {};
  }

  Result<void> join_tables(Words const& words, std::uint64_t table_rows, std::uint32_t max, rates::RateCurve& built,
                           rates::RateCurve& probed) {
    std::vector<double> build_ns;
    std::vector<double> probe_ns;
    PairsOfLanes pairs;
    for (int i = 0; i < repetitions(); ++i) {
      GARUDA_TRY(time_.check());
      GARUDA_TRY_ASSIGN(auto const ns, join_slices(words, table_rows, max, pairs));
      build_ns.push_back(ns.build);
      probe_ns.push_back(ns.probe);
    }
    auto const rows = static_cast<double>(words.size()) * 1e9;
    built.points.push_back({static_cast<double>(table_rows), rows / fastest(build_ns)});
    probed.points.push_back({static_cast<double>(table_rows), rows / fastest(probe_ns)});
    return {};
  }

  Result<void> small_slices() {
    auto const words = scattered_words(kSmallSlices * kSmallSliceRows);
    std::vector<double> samples_ns;
    PairsOfLanes pairs;
    for (int i = 0; i < repetitions(); ++i) {
      GARUDA_TRY(time_.check());
      GARUDA_TRY_ASSIGN(auto const ns, join_slices(words, kSmallSliceRows, 0xffff'ffffU, pairs));
      samples_ns.push_back((ns.build + ns.probe) / kSmallSlices * rates_.threads);
    }
    rates_.slice_ns = fastest(samples_ns);
    return {};
  }

  Result<void> group() {
    time_.report("grouping");
    // Many of a few rows: their threads wake up, or do not, within what they take.
    GroupStrategy const few_rows{Grouping::direct, true};
    GARUDA_TRY_ASSIGN(auto const query_ns, group_by_({kFewRows, kFewRows, std::span(&few_rows, 1), kFewRowQueries}));
    rates_.query_ns = std::max(static_cast<double>(query_ns.front()), 1.0);
    // Distinct keys alone last: they have no time of a row a group.
    constexpr std::array<GroupStrategy, 4> kWays{
        {{Grouping::direct, true}, {Grouping::local, true}, {Grouping::partitioned, true}, {Grouping::direct, false}}};
    std::array<GroupTimes, kWays.size()> times;
    for (int round = 0; round == 0 || (round < kGroupRounds && !time_.is_late(share_)); ++round)
      for (std::size_t s = 0; s < kGroups.size(); ++s) {
        if (s > 0) time_.report("grouping");
        GARUDA_TRY(time_groups(
            kGroups[s], rows_, kWays, times, [s](auto& way) -> auto& { return way.many[s]; }));
        if (kGroups[s] < kLeastGroups) continue;
        GARUDA_TRY(time_groups(
            kGroups[s], kGroups[s], std::span(kWays).first(kWays.size() - 1),
            times, [s](auto& way) -> auto& { return way.few[s]; }));
      }
    add_rates(times[0], rates_.direct_rows, rates_.direct_groups);
    add_rates(times[1], rates_.local_rows, rates_.local_groups);
    add_rates(times[2], rates_.partitioned_rows_grouped, rates_.partitioned_groups);
    add_sum_rates(times[0], times[3]);
    return {};
  }

  /// The fastest runs of one way so far, nanoseconds, by size: of many rows a group and, with a sum, of a row a group.
  struct GroupTimes {
    std::array<std::optional<double>, kGroups.size()> many = {};
    std::array<std::optional<double>, kGroups.size()> few = {};
  };

  /// Times each of `ways` and keeps what is faster in `kept(times[i])`.
  template <class Kept>
  Result<void> time_groups(std::uint64_t groups, std::uint64_t rows, std::span<GroupStrategy const> ways,
                           std::span<GroupTimes> times, Kept const& kept) {
    GARUDA_TRY(time_.check());
    GARUDA_TRY_ASSIGN(auto const ns, group_by_({rows, groups, ways, time_.is_late(share_) ? 1 : kSamplesOfARound}));
    for (std::size_t i = 0; i < ways.size(); ++i) {
      auto const seen = std::max(static_cast<double>(ns[i]), 1.0);
      kept(times[i]) = std::min(kept(times[i]).value_or(seen), seen);
    }
    return {};
  }

  /// Adds the rates of rows and of groups: from as many rows as groups, and from many more. A few groups cost nothing
  /// that could be told from the rest of a query.
  void add_rates(GroupTimes const& way, rates::RateCurve& rows, rates::RateCurve& groups) const {
    for (std::size_t s = 0; s < kGroups.size(); ++s) {
      auto const n = static_cast<double>(kGroups[s]);
      auto const many = *way.many[s];
      if (!way.few[s]) {
        rows.points.push_back({n, static_cast<double>(rows_) / many * 1e9});
        continue;
      }
      auto const few = *way.few[s];
      // Timings waver: neither share becomes less than a quarter of what it is a share of.
      auto const row_ns =
          std::max((many - few) / (static_cast<double>(rows_) - n), many / static_cast<double>(rows_) / 4);
      auto const group_ns = std::max(few - rates_.query_ns - n * row_ns, few / 4) / n;
      rows.points.push_back({n, 1e9 / row_ns});
      groups.points.push_back({n, 1e9 / group_ns});
    }
  }

  /// Adds the cost of another sum: as much as one adds to distinct keys alone, at least a tenth of them.
  void add_sum_rates(GroupTimes const& both, GroupTimes const& keys) {
    for (std::size_t s = 0; s < kGroups.size(); ++s) {
      auto const sum_ns = std::max(*both.many[s] - *keys.many[s], *keys.many[s] / 10);
      rates_.aggregated_rows.points.push_back(
          {static_cast<double>(kGroups[s]), static_cast<double>(rows_) * 1e9 / sum_ns});
    }
  }

  MeasuringTime& time_;
  RunGroupBy const& group_by_;
  double share_ = kFirstShare;  // of the time, for what is measured now and all before
  rates::HostRates rates_;
  std::uint64_t rows_ = kRows;
};

}  // namespace

Result<rates::HostRates> measure_host(MeasuringTime& time, RunGroupBy const& group_by) {
  GARUDA_TRY_ASSIGN(auto rates, HostMeasurement(time, group_by).run());
  if (!rates::are_sane(rates)) return fail(ErrorCode::device_failure, "the host's clock gave times that cannot be");
  return rates;
}

}  // namespace garuda::calibrate
