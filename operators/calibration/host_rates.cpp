#include "operators/calibration/host_rates.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <vector>

#include "core/stopwatch.hpp"
#include "operators/calibration/copy_rates.hpp"
#include "operators/calibration/measuring.hpp"
#include "operators/cpu/cpu_join.hpp"
#include "partition/key_encoding.hpp"
#include "partition/mix.hpp"
#include "partition/parallel_blocks.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::calibration {
namespace {

using operators::KeySpan;

constexpr std::int64_t kCopyBytes = std::int64_t{64} << 20;
constexpr std::uint64_t kRows = std::uint64_t{1} << 21;
constexpr std::array kPartitionBits{2U, 6U, 8U, 10U, 12U, 14U};
/// Bytes of gathered columns: in a core's cache, in the last-level cache, beyond it.
constexpr std::array kColumnBytes{std::uint64_t{1} << 17, std::uint64_t{1} << 20, std::uint64_t{1} << 23,
                                  std::uint64_t{1} << 27};
constexpr std::array kTableRows{std::uint64_t{1} << 10, std::uint64_t{1} << 13, std::uint64_t{1} << 16,
                                std::uint64_t{1} << 18, std::uint64_t{1} << 21};
constexpr std::array kGroups{std::uint64_t{16}, std::uint64_t{1} << 11, std::uint64_t{1} << 14, std::uint64_t{1} << 17,
                             std::uint64_t{1} << 20};
constexpr std::uint64_t kSmallSliceRows = 16;
constexpr std::uint64_t kSmallSlices = 2048;

using Words = std::vector<std::uint32_t>;

/// Different words in no order.
Words scattered_words(std::uint64_t rows, std::uint64_t seed) {
  Words words(rows);
  // An odd factor permutes the words of 32 bits; the seed starts elsewhere in the same sequence.
  for (std::uint64_t i = 0; i < rows; ++i) words[i] = static_cast<std::uint32_t>((i + seed) * 0x9E37'79B1U);
  return words;
}

double ns_of(Stopwatch const& watch) { return static_cast<double>(watch.elapsed_ns()); }

KeySpan span_of(std::span<std::uint32_t const> words) { return {words, 0, 0xffff'ffffU, {}}; }

/// A sample of both halves of a join.
struct JoinNs {
  double build = 0;
  double probe = 0;
};

class HostMeasurement {
 public:
  HostMeasurement(Control const& control, RunGroupBy const& group_by) : control_(control), group_by_(group_by) {}

  Result<HostRates> run() {
    rates_.threads = static_cast<std::uint32_t>(oneapi::tbb::this_task_arena::max_concurrency());
    report("host copies");
    GARUDA_TRY_ASSIGN(rates_.copy_bytes_per_s, measure_host_copy(kCopyBytes));
    GARUDA_TRY(encode());
    GARUDA_TRY(partition());
    GARUDA_TRY(gather());
    GARUDA_TRY(join());
    GARUDA_TRY(small_slices());
    GARUDA_TRY(group());
    return rates_;
  }

 private:
  void report(std::string_view what) const {
    if (control_.on_progress) control_.on_progress({what, 0, 0, 0});
  }

  /// Items a second: the median of a few runs of `body`, a Result of nanoseconds, for `items`.
  template <class Body>
  Result<double> rate(std::uint64_t items, Body const& body) {
    return measure_rate(items, items, control_, [&](std::uint64_t) { return body(); });
  }

  Result<void> encode() {
    report("key encoding");
    std::vector<std::int64_t> keys(kRows);
    for (std::uint64_t i = 0; i < kRows; ++i) keys[i] = static_cast<std::int64_t>(partition::mix(i) >> 40);
    Schema const schema{Field{"key", DataType{TypeId::int64}, false}};
    ArrayView column;
    column.length = static_cast<std::int64_t>(kRows);
    column.null_count = 0;
    column.values = keys.data();
    BatchView const batch{column.length, std::span(&column, 1)};
    TableView const table(schema, std::span(&batch, 1));
    GARUDA_TRY_ASSIGN(rates_.encoded_keys_per_s, rate(2 * kRows, [&]() -> Result<std::uint64_t> {
                        Stopwatch const watch;
                        GARUDA_TRY(partition::encode_join_keys(table, 0, table, 0, control_));
                        return watch.elapsed_ns();
                      }));
    return {};
  }

  Result<void> partition() {
    report("partitioning");
    auto const words = scattered_words(kRows, 0);
    for (auto const bits : kPartitionBits) {
      GARUDA_TRY_ASSIGN(auto const per_s, rate(kRows, [&]() -> Result<std::uint64_t> {
                          partition::EncodedKeys keys;
                          keys.num_rows = keys.table_rows = kRows;
                          keys.words = words.data();
                          keys.max = 0xffff'ffffU;
                          Stopwatch const watch;
                          GARUDA_TRY(partition::radix_partition(std::move(keys), {bits, 0, false}, control_));
                          return watch.elapsed_ns();
                        }));
      rates_.partitioned_rows.points.push_back({static_cast<double>(std::uint64_t{1} << bits), per_s});
    }
    return {};
  }

  Result<void> gather() {
    report("gathers");
    for (auto const bytes : kColumnBytes) {
      auto const num_values = bytes / sizeof(std::uint32_t);
      std::vector<std::uint32_t> const column(num_values, 1);
      std::vector<std::uint32_t> out(kRows);
      std::vector<std::int64_t> rows(kRows);
      for (std::uint64_t i = 0; i < kRows; ++i) rows[i] = static_cast<std::int64_t>(partition::mix(i) % num_values);
      GARUDA_TRY_ASSIGN(auto const per_s, rate(kRows, [&]() -> Result<std::uint64_t> {
                          Stopwatch const watch;
                          oneapi::tbb::parallel_for(
                              oneapi::tbb::blocked_range<std::uint64_t>(0, kRows, partition::kBlockRows),
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

  /// Joins `words` with itself in slices of `slice_rows` rows, as lanes do: one after the other on every thread.
  /// Nanoseconds are those of all threads together, divided by their number.
  Result<JoinNs> join_slices(Words const& words, std::uint64_t slice_rows) {
    operators::BackendOptions options;
    options.control = &control_;
    options.lanes = rates_.threads;
    options.max_left_rows = options.max_right_rows = slice_rows;
    GARUDA_TRY_ASSIGN(auto const backend, operators::open_cpu_join(options));
    auto const slices = words.size() / slice_rows;
    std::vector<JoinNs> spent(rates_.threads);
    std::vector<Result<void>> done(rates_.threads);
    Stopwatch const watch;
    // A lane takes one slice after the other: the backend keeps what it needs for one.
    GARUDA_TRY(partition::for_each_block(rates_.threads, &control_, [&](std::size_t lane) {
      for (auto s = lane; s < slices && done[lane]; s += rates_.threads)
        done[lane] = join_slice(*backend, static_cast<std::uint32_t>(lane),
                                std::span(words).subspan(s * slice_rows, slice_rows), spent[lane]);
    }));
    auto const elapsed = ns_of(watch);
    for (auto& result : done) GARUDA_TRY(std::move(result));
    JoinNs sum;
    for (auto const& ns : spent) {
      sum.build += ns.build;
      sum.probe += ns.probe;
    }
    auto const share = elapsed / std::max(sum.build + sum.probe, 1.0);
    return JoinNs{sum.build * share, sum.probe * share};
  }

  static Result<void> join_slice(operators::JoinBackend& backend, std::uint32_t lane,
                                 std::span<std::uint32_t const> words, JoinNs& spent) {
    Stopwatch const building;
    GARUDA_TRY_ASSIGN(auto const kernel, backend.begin({span_of(words), span_of(words), 0}, lane));
    spent.build += ns_of(building);
    Stopwatch const probing;
    GARUDA_TRY_ASSIGN(auto const count, kernel->count());
    std::vector<operators::RowPair> pairs(count);
    GARUDA_TRY(kernel->pairs(0, pairs));
    spent.probe += ns_of(probing);
    return {};
  }

  Result<void> join() {
    report("join tables");
    auto const words = scattered_words(kRows, 0);
    for (auto const table_rows : kTableRows) {
      std::vector<double> build_ns;
      std::vector<double> probe_ns;
      for (int i = 0; i < kRepetitions; ++i) {
        GARUDA_TRY_ASSIGN(auto const ns, join_slices(words, table_rows));
        build_ns.push_back(ns.build);
        probe_ns.push_back(ns.probe);
      }
      auto const rows = static_cast<double>(kRows / table_rows * table_rows) * 1e9;
      rates_.built_rows.points.push_back({static_cast<double>(table_rows), rows / median(build_ns)});
      rates_.probed_rows.points.push_back({static_cast<double>(table_rows), rows / median(probe_ns)});
    }
    return {};
  }

  Result<void> small_slices() {
    auto const words = scattered_words(kSmallSlices * kSmallSliceRows, 0);
    std::vector<double> samples_ns;
    for (int i = 0; i < kRepetitions; ++i) {
      GARUDA_TRY_ASSIGN(auto const ns, join_slices(words, kSmallSliceRows));
      samples_ns.push_back((ns.build + ns.probe) / kSmallSlices * rates_.threads);
    }
    rates_.slice_ns = median(samples_ns);
    return {};
  }

  /// Whole group-bys: a sum's share is what it adds to distinct keys alone, at least a tenth of them, since how rows
  /// are brought together may change with it.
  Result<void> group() {
    report("grouping");
    for (auto const groups : kGroups) {
      std::array<double, 2> ns{};
      for (bool const sum : {false, true}) {
        GARUDA_TRY_ASSIGN(auto const per_s, rate(kRows, [&] { return group_by_(kRows, groups, sum); }));
        ns[sum ? 1 : 0] = static_cast<double>(kRows) / per_s;
      }
      auto const rows = static_cast<double>(kRows);
      auto const size = static_cast<double>(groups);
      rates_.grouped_rows.points.push_back({size, rows / ns[0]});
      rates_.aggregated_rows.points.push_back({size, rows / std::max(ns[1] - ns[0], ns[0] / 10)});
    }
    return {};
  }

  Control const& control_;
  RunGroupBy const& group_by_;
  HostRates rates_;
};

}  // namespace

Result<HostRates> measure_host(Control const& control, RunGroupBy const& group_by) {
  GARUDA_TRY_ASSIGN(auto rates, HostMeasurement(control, group_by).run());
  if (!are_sane(rates)) return fail(ErrorCode::device_failure, "the host's clock gave times that cannot be");
  return rates;
}

}  // namespace garuda::calibration
