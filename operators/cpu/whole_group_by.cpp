#include "operators/cpu/whole_group_by.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include "operators/cpu/direct_groups.hpp"
#include "operators/cpu/local_groups.hpp"
#include "operators/cpu/partitioned_groups.hpp"
#include "operators/cpu/table_rows.hpp"

namespace garuda::operators {
namespace {

/// Bytes of a thread's accumulators that lie in its core's second-level cache: beyond, partitioning wins, and does not
/// depend on who else uses the last level (2-core AMD EPYC of 1 MiB a core, 2^26 rows of 2^18 and 2^20 groups, busy
/// neighbours, time, 2026-11-21: 0.35 and 0.36 to 0.43 s partitioned, 0.82 and 1.1 to 1.6 s direct; undisturbed 0.2 s
/// either way).
constexpr std::uint64_t kDirectBytes = std::uint64_t{1} << 20;
/// The same in the last-level cache, for when there is no memory to partition in.
constexpr std::uint64_t kMostDirectBytes = std::uint64_t{16} << 20;
/// Bytes of a thread's hash table that still lie in the last-level cache, a few threads' on each.
constexpr std::uint64_t kLocalBytes = std::uint64_t{4} << 20;
/// Accumulators that are worth their clearing whatever the rows.
constexpr std::uint64_t kCheapSlots = std::uint64_t{1} << 12;

/// Bytes of a row that partitioning moves: twice over, since what was there before stays.
std::uint64_t partitioned_row_bytes(WholeTable const& table, KeySpan const& keys) {
  std::uint64_t bytes = std::holds_alternative<std::span<std::uint32_t const>>(keys.words) ? 4 : 8;
  bytes += table.num_rows > (std::uint64_t{1} << 32) ? 8 : 4;
  for (auto const& request : table.requests) bytes += 4 * std::uint64_t{value_words(request.kind)};
  return bytes;
}

/// The choices in the order in which they are tried.
class Chooser {
 public:
  Chooser(WholeTable const& table, std::uint32_t threads, std::uint64_t limit_bytes)
      : table_(table),
        threads_(threads),
        limit_(limit_bytes),
        group_bytes_(state_bytes(table.requests, table.wants_first_rows)) {
    if (auto const* keys = std::get_if<KeySpan>(&table.keys)) {
      slots_ = ((keys->max - keys->min) >> shift_of(table)) + 1;  // 0: 2^64
      row_bytes_ = partitioned_row_bytes(table, *keys);
    }
  }

  GroupingChoice direct() const {
    return {Grouping::direct, threads_ * slots_ * group_bytes_,
            fmt::format("accumulators for {} keys in each of {} threads", slots_, threads_)};
  }
  GroupingChoice local() const {
    return {Grouping::local, threads_ * 2 * kLocalBytes,
            fmt::format("about {} groups in a hash table in each of {} threads", table_.estimated_groups, threads_)};
  }
  GroupingChoice partitioned() const {
    return {Grouping::partitioned, table_.num_rows * row_bytes_ + threads_ * 2 * kLocalBytes,
            fmt::format("about {} groups, keys partitioned with {} bytes a row", table_.estimated_groups, row_bytes_)};
  }

  bool has_direct_slots() const { return slots_ != 0 && slots_ <= kMostDirectSlots; }
  bool is_direct_within(std::uint64_t bytes) const {
    return has_direct_slots() && slots_ * group_bytes_ <= bytes && slots_ <= std::max(kCheapSlots, table_.num_rows);
  }
  bool is_local_cheap() const { return table_.estimated_groups * (group_bytes_ + kHashBytes) <= kLocalBytes; }
  bool fits(GroupingChoice const& choice) const { return limit_ == 0 || choice.bytes <= limit_; }

 private:
  WholeTable const& table_;
  std::uint64_t threads_;
  std::uint64_t limit_;
  std::uint64_t group_bytes_;
  std::uint64_t slots_ = 1;
  std::uint64_t row_bytes_ = 0;
};

/// A FixedPoint for every request; nullopt when a column of floats has none.
Result<std::optional<std::vector<FixedPoint>>> find_fixed_points(WholeTable const& table,
                                                                 WholeGroupByOptions const& options) {
  std::vector<FixedPoint> points(table.requests.size());
  for (std::size_t c = 0; c < points.size(); ++c) {
    auto const& request = table.requests[c];
    if (!is_float(request.kind) || (request.states & kSumState) == 0) continue;
    PhaseClock const clock(options.stats, "range", 4 * table.num_rows * value_words(request.kind), table.num_rows);
    FloatRange range;
    std::mutex mutex;
    GARUDA_TRY(for_each_range(table.blocks, options.control, [&](TableBlock const& rows) -> Result<void> {
      GARUDA_TRY_ASSIGN(auto const values, table.values->read(c, {rows.first, rows.count, nullptr}));
      FloatRange part;
      part.add(values.input);
      std::lock_guard const lock(mutex);
      range.add(part);
      return {};
    }));
    auto const point = range.fixed_point(table.num_rows);
    if (!point) return std::nullopt;
    points[c] = *point;
  }
  return points;
}

template <class Word>
Result<std::unique_ptr<WholeGroupBy>> open(WholeTable const& table, GroupStates const& states,
                                           WholeGroupByOptions const& options) {
  TableRows<Word> const rows(table);
  if (options.grouping == Grouping::direct) return open_direct_groups(rows, states, options);
  if (options.grouping == Grouping::local)
    return open_local_groups(
        rows, states,
        std::max<std::uint64_t>(kLocalBytes / (state_bytes(table.requests, table.wants_first_rows) + kHashBytes), 1),
        options);
  return open_partitioned_groups(rows, states, {}, options);
}

}  // namespace

Result<GroupingChoice> choose_grouping(WholeTable const& table, Grouping wanted, std::uint32_t threads,
                                       std::uint64_t limit_bytes) {
  Chooser const chooser(table, threads, limit_bytes);
  auto const has_keys = std::holds_alternative<KeySpan>(table.keys);
  if (wanted == Grouping::slices) return GroupingChoice{Grouping::slices, 0, "asked for"};
  if (wanted == Grouping::direct && !chooser.has_direct_slots())
    return fail(ErrorCode::usage,
                fmt::format("grouping=direct needs a key range of at most {} values", kMostDirectSlots));
  if (wanted == Grouping::direct || !has_keys) return chooser.direct();
  if (wanted == Grouping::local) return chooser.local();
  if (wanted == Grouping::partitioned) return chooser.partitioned();
  if (chooser.is_direct_within(kDirectBytes) && chooser.fits(chooser.direct())) return chooser.direct();
  if (chooser.is_local_cheap() && chooser.fits(chooser.partitioned())) return chooser.local();
  if (chooser.fits(chooser.partitioned())) return chooser.partitioned();
  if (chooser.is_direct_within(kMostDirectBytes) && chooser.fits(chooser.direct())) return chooser.direct();
  return GroupingChoice{Grouping::slices, 0,
                        fmt::format("partitioned values would take {} bytes", chooser.partitioned().bytes)};
}

Result<std::unique_ptr<WholeGroupBy>> open_cpu_whole_group_by(WholeTable const& table,
                                                              WholeGroupByOptions const& options) {
  GARUDA_EXPECTS(options.grouping != Grouping::automatic && options.grouping != Grouping::slices);
  GARUDA_EXPECTS(options.grouping == Grouping::direct || std::holds_alternative<KeySpan>(table.keys));
  try {
    GARUDA_TRY_ASSIGN(auto fixed_points, find_fixed_points(table, options));
    if (!fixed_points) return nullptr;
    GroupStates const states{table.requests, std::move(*fixed_points), table.wants_first_rows};
    auto const* const keys = std::get_if<KeySpan>(&table.keys);
    auto const is_narrow = keys == nullptr || std::holds_alternative<std::span<std::uint32_t const>>(keys->words);
    return is_narrow ? open<std::uint32_t>(table, states, options) : open<std::uint64_t>(table, states, options);
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory for the groups of a table");
  }
}

}  // namespace garuda::operators
