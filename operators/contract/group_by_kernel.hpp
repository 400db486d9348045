// The contract between the group-by driver and a path: fixed-width keys and values in, groups and partial states of
// their aggregates out. What a state means as a number is decided once, on the host, for all paths.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "core/buffer.hpp"
#include "core/numbers/float_parts.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "keys/column_order.hpp"
#include "keys/encoded_keys.hpp"
#include "operators/contract/key_span.hpp"
#include "operators/contract/stats_sink.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::contract {

/// Keys of several words: rows are equal when all words are; every value is legal.
struct KeyWords {
  std::vector<std::span<std::uint32_t const>> words;  ///< at least one, each num_rows long
  std::uint32_t hash_first = 0;                       ///< words [hash_first, hash_first + hash_count) are hashed
  std::uint32_t hash_count = 1;                       ///< 1, 2 or 4
};

/// Keys of a group-by without keys: all rows are one group.
struct NoKeys {};

/// Expressions over the rows of a grouped table, which a path's kernels evaluate by themselves: a filter, whose failing
/// rows belong to no group, and values of aggregates. A group of all rows may have none that pass. A path derives its
/// own form from this. Const members are called by several lanes at once.
class RowExpressions {
 public:
  RowExpressions() = default;
  RowExpressions(RowExpressions const&) = delete;
  RowExpressions& operator=(RowExpressions const&) = delete;
  virtual ~RowExpressions() = default;

  /// Notes that a row has no value and asks for one, or a value that the path does not compute. The kernel that found
  /// it fails.
  void give_up() const noexcept { has_given_up_ = true; }
  bool has_given_up() const noexcept { return has_given_up_; }

 private:
  mutable std::atomic<bool> has_given_up_{false};
};

/// Some or all rows of a partition, 1 to kMaxPassRows of them. The spans outlive the kernel.
/// `shared_low_bits`: the lowest bits of a KeySpan's keys, equal in all keys of the slice (the raw radix digit), so
/// that direct addressing may use (key - min) >> shared_low_bits. 0 when the digit was mixed, and for KeyWords.
struct GroupSlice {
  std::uint64_t num_rows = 0;
  std::variant<NoKeys, KeySpan, KeyWords> keys;
  std::uint32_t shared_low_bits = 0;
  std::uint64_t first_row = 0;  ///< of the table, for RowExpressions: the rows of the slice follow it
};

/// How a raw value is read: little endian, as in the column.
enum class ValueKind : std::uint8_t {
  none,  ///< no values, only their validity: for counts
  int32,
  uint32,
  int64,
  uint64,
  int128,
  float32,
  float64,
  bytes,  ///< compared by their bytes: entries of a ColumnOrder, on the host alone
};

/// 32-bit words of one value: 0, 1, 2 or 4.
constexpr std::uint32_t value_words(ValueKind kind) noexcept {
  switch (kind) {
    case ValueKind::none:
      return 0;
    case ValueKind::int32:
    case ValueKind::uint32:
    case ValueKind::float32:
      return 1;
    case ValueKind::int64:
    case ValueKind::uint64:
    case ValueKind::float64:
      return 2;
    case ValueKind::int128:
    case ValueKind::bytes:
      break;
  }
  return 4;
}

constexpr bool is_float(ValueKind kind) noexcept { return kind == ValueKind::float32 || kind == ValueKind::float64; }

constexpr bool is_signed_integer(ValueKind kind) noexcept {
  return kind == ValueKind::int32 || kind == ValueKind::int64 || kind == ValueKind::int128;
}

/// 64-bit words of a group's integer sum: room for the sum of 2^63 values.
constexpr std::uint32_t sum_words(ValueKind kind) noexcept { return kind == ValueKind::int128 ? 4 : 2; }

/// 64-bit words of a group's minimum or maximum.
constexpr std::uint32_t extreme_words(ValueKind kind) noexcept {
  return kind == ValueKind::int128 || kind == ValueKind::bytes ? 2 : 1;
}

/// Exponent of the lowest bit of a float: every finite value of `kind` is an integer times 2^unit_exponent.
constexpr std::int32_t unit_exponent(ValueKind kind) noexcept {
  return kind == ValueKind::float32 ? kUnitExponent<float> : kUnitExponent<double>;
}

/// Windows of 64 bits that the sum of floats of `kind` can touch: a value of p significant bits at bit position b of
/// the unit lies in windows b / 64 and b / 64 + 1. float32: 5; float64: 33.
constexpr std::uint32_t max_windows(ValueKind kind) noexcept { return kind == ValueKind::float32 ? 5 : 33; }

/// Partial states wanted of a column: bits, to be or-ed. Values whose validity bit is 0 take no part.
using StateSet = std::uint8_t;
inline constexpr StateSet kCountState = 1;  ///< number of values
inline constexpr StateSet kSumState = 2;
inline constexpr StateSet kMinState = 4;
inline constexpr StateSet kMaxState = 8;
inline constexpr StateSet kListState = 16;  ///< all values; alone or with counts: kernels are not asked, the host is

/// Values of one column for the rows of the slice, and what is wanted of them.
struct AggregateInput {
  ValueKind kind = ValueKind::none;
  std::span<std::uint32_t const> values;    ///< num_rows × value_words(kind); aligned to 4 bytes
  std::span<std::uint32_t const> validity;  ///< empty: no nulls; else ceil(num_rows / 32), bit i % 32 of word i / 32
  StateSet states = kCountState;            ///< at least one; only kCountState of ValueKind::none
  Location location;
  keys::ColumnOrder const* order = nullptr;  ///< of bytes
  /// Position among the values of the backend's RowExpressions, which take the place of `values` and `validity`.
  std::optional<std::size_t> expression{};
};

/// Words of groups, of which there may be many.
using Words = KeptVector<std::uint64_t>;

/// Exact sums of floats. The finite values of group g add up to
///   Σ_w windows[2·(offsets[g] + w) … +1] · 2^(64·(first_window[g] + w) + unit_exponent(kind))
/// over the offsets[g + 1] - offsets[g] windows w of the group, consecutive, at most max_windows(kind), possibly none.
/// Each window is a signed 128-bit sum, two's complement, low word first.
struct FloatSums {
  std::vector<std::uint8_t> flags;         ///< a group: which special values it has (core/numbers/float_parts.hpp)
  std::vector<std::uint8_t> first_window;  ///< a group
  Words offsets;                           ///< groups + 1, in windows
  Words windows;                           ///< two words a window
};

/// The values of groups: those of group g at [offsets[g], offsets[g + 1]), in no order, extreme_words(kind) words each,
/// as in AggregateState::minima.
struct ValueLists {
  Words offsets;  ///< groups + 1, in values
  Words words;
};

/// Partial states of one column, a group each in the order of group ids. Vectors of states not asked for are empty.
struct AggregateState {
  Words counts;          ///< values that are not null
  Words sums;            ///< integers: words_per_sum a group, two's complement, low word first
  FloatSums float_sums;  ///< floats
  /// extreme_words(kind) a group, low word first; unspecified when the group has no value. Order-preserving unsigned
  /// maps of the values (core/numbers/ordered_value.hpp): signed integers with the sign bit flipped; floats with -0.0
  /// as +0.0, every NaN as the canonical one, negatives inverted, others with the sign bit set. 32-bit kinds use the
  /// low 32 bits. Of bytes: entries of the column's order.
  Words minima;
  Words maxima;
  ValueLists lists;
  /// 0: sum_words(kind). One word a sum is signed as the values are, several are signed.
  std::uint32_t words_per_sum = 0;
  /// Floats: when set, `sums` holds words_per_sum words a group, in units of 2^sum_exponent, and `float_sums` is empty:
  /// then all values are finite. Kernels of slices leave it unset.
  std::optional<std::int32_t> sum_exponent;
};

/// Groups one slice. Used by one thread at a time; calls after `group` in any order. Everything it holds is freed by
/// its destructor. Errors of every call: device_failure, out_of_memory, limit_exceeded, cancelled.
class GroupByKernel {
 public:
  virtual ~GroupByKernel() = default;

  /// Finds the groups and returns their number, 1 to num_rows; 0 where no row passes the filter of RowExpressions.
  /// Called once, first. Group ids are dense, in the order of the groups' first rows.
  virtual Result<std::uint64_t> group() = 0;

  /// The first row of each group: ascending. Good as long as the kernel.
  virtual Result<std::span<std::uint32_t const>> heads() = 0;

  /// Writes the group id of each row. Requires out.size() == num_rows, and no filter.
  virtual Result<void> group_ids(std::span<std::uint32_t> out) = 0;

  /// Computes partial states of one column: exact, whatever the order of rows.
  virtual Result<AggregateState> aggregate(AggregateInput const& input) = 0;
};

/// The values of a group that kListState needs: others may be left out.
struct ListBound {
  std::uint32_t most = 0;  ///< so many of them; 0: all
  bool least = false;      ///< the least ones, else the greatest

  friend bool operator==(ListBound const&, ListBound const&) = default;
};

/// States that are wanted of a column of the whole table.
struct StateRequest {
  ValueKind kind = ValueKind::none;
  StateSet states = kCountState;
  bool may_have_nulls = false;
  keys::ColumnOrder const* order = nullptr;  ///< of bytes
  ListBound list{};
  bool sums_fit_word = false;  ///< of integers of 32 or 64 bits: no sum of rows of the table leaves 64 bits
  /// Values of float64 come as int64, and the float64 next to each is counted and summed (GrowingGroups alone).
  bool of_integers = false;
};

/// Rows [first, first + count) of a partitioned table, or of the table itself.
struct SliceRows {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  partition::PartitionedKeys const* order = nullptr;  ///< nullptr: the table itself
  std::uint64_t base = 0;                             ///< row of the table that is row 0 of the partitioned ones

  bool is_sequential() const noexcept { return order == nullptr || order->row_ids == nullptr; }
  /// Row of the table at position 0. Requires is_sequential().
  std::uint64_t first_row() const noexcept { return base + first; }
  /// Row of the table at position `i` of the slice.
  std::uint64_t operator[](std::uint64_t i) const noexcept {
    return base + (is_sequential() ? first + i : order->row_id(first + i));
  }
};

/// Memory that an AggregateInput of a table's rows refers to.
struct SliceValues {
  AlignedBuffer values;    ///< empty when they are borrowed from the table
  AlignedBuffer validity;  ///< empty when no value is null
  AggregateInput input;
};

/// Reads the values of rows of the table. Safe to use from several threads.
class TableValues {
 public:
  virtual ~TableValues() = default;

  /// The values of `rows` in the `column`-th state column. Nothing is copied when they follow each other in one batch,
  /// need no widening and have no nulls. Errors: out_of_memory, cancelled.
  virtual Result<SliceValues> read(std::size_t column, SliceRows const& rows) const = 0;

  /// Where the column's values lie in the table, batch by batch; no parts when they need widening or may be null.
  virtual std::vector<partition::PayloadColumn::Part> in_place(std::size_t column) const = 0;

  /// Whether `read` of a partitioned order looks at its row ids: not where the values are made of columns that moved
  /// with the keys.
  virtual bool reads_row_ids(std::size_t column) const = 0;
};

/// Rows [first, first + count) of a table.
struct TableBlock {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// The rows of a table, not partitioned, as a path takes them that groups a table at once. What it refers to outlives
/// the group-by.
struct WholeTable {
  std::uint64_t num_rows = 0;
  std::variant<NoKeys, KeySpan> keys;  ///< in the order of rows, min and max known
  /// Words of keys behind the first one, which is KeySpan's, in the order of rows, too. Rows are
  /// equal when all words are; the first one tells nearly all others apart.
  std::vector<std::span<std::uint64_t const>> more_words;
  std::vector<keys::WordPart>
      key_parts;                      ///< not empty: where the words of KeySpan lie, a batch each; for `direct` alone
  std::uint32_t common_low_bits = 0;  ///< lowest bits that are equal in all keys
  std::uint64_t estimated_groups = 1;
  std::vector<TableBlock> blocks;       ///< all rows, each range within one batch
  std::vector<StateRequest> requests;   ///< a state column each
  TableValues const* values = nullptr;  ///< of the state columns
  bool wants_first_rows = false;
};

/// Groups that have all their rows. Their order is the same in every run.
struct GroupPart {
  Words first_rows;                    ///< empty unless wanted
  Words keys;                          ///< the first word of each; empty without keys
  std::vector<Words> more_words;       ///< the others, word by word
  std::vector<AggregateState> states;  ///< a state column each

  std::size_t size() const noexcept { return keys.empty() ? first_rows.size() : keys.size(); }
};

/// A group-by of a whole table, its rows grouped or partitioned already: gives its groups part by part. No group is in
/// two parts.
class WholeGroupBy {
 public:
  virtual ~WholeGroupBy() = default;

  virtual std::size_t num_parts() const noexcept = 0;
  /// Called once for each part, by several threads at once. Errors: out_of_memory, cancelled.
  virtual Result<GroupPart> part(std::size_t index) = 0;
};

/// Rows that a pipeline gives, with the words of their keys, which mean the same in all rows of a lane.
struct KeyedRows {
  std::uint64_t first = 0;  ///< of row 0: where it stands among all rows, whichever lane has them
  std::uint64_t count = 0;
  std::span<std::uint64_t const* const> words;  ///< the first tells nearly all keys apart; none: there are no keys
  std::span<AggregateInput const> values;       ///< a request each; sums alone of int128 may come as int64
};

/// Groups of all lanes, brought together.
struct MergedGroups {
  /// Groups stand in the order of their first rows; each has the number of the lane's group that began it, counted
  /// through all lanes.
  std::vector<std::uint64_t> heads;
  std::vector<AggregateState> states;  ///< a request each
};

/// Groups that grow while rows come. Lanes have groups of their own, which are brought together at the end. Requires:
/// no lists, no bytes. Errors: out_of_memory, cancelled.
class GrowingGroups {
 public:
  virtual ~GrowingGroups() = default;

  /// Looks at rows that are like those to come, some at a time and before any is added: `values` as KeyedRows has them.
  virtual void sample(std::span<AggregateInput const> values, std::uint64_t count) = 0;
  /// Whether groups can grow: where the floats lie that are summed is told from the samples.
  virtual bool start() = 0;

  /// Adds rows to the groups of a lane, which one thread uses at a time. `heads`: gets, behind what it has, the rows,
  /// counted from 0, that new groups of the lane begin with, in the order of these groups.
  virtual Result<void> add(std::size_t lane, KeyedRows const& rows, std::vector<std::int64_t>& heads) = 0;

  /// Brings groups of equal keys together. `words`: of the keys that all lanes' groups have, one lane's behind the
  /// other's; none: there are no keys. nullopt: some floats lay so far from the samples that their sums are lost.
  /// Called once, last.
  virtual Result<std::optional<MergedGroups>> merge(std::span<std::uint64_t const* const> words) = 0;
};

/// Options of a whole group-by.
struct WholeGroupByOptions {
  Grouping grouping = Grouping::direct;  ///< not `automatic`, not `slices`
  Control const* control = nullptr;
  StatsSink* stats = nullptr;  ///< may be null
};

/// One path on one device, opened for one group-by. `begin` is called by several lanes at once, each with its own
/// index.
class GroupByBackend {
 public:
  virtual ~GroupByBackend() = default;

  /// Starts on a slice: may return while uploads are under way. At most one kernel lives per lane at a time.
  virtual Result<std::unique_ptr<GroupByKernel>> begin(GroupSlice const& slice, std::uint32_t lane) = 0;
};

/// Options of a backend. References outlive the backend.
struct GroupByBackendOptions {
  GroupByTuning tuning;  ///< after planning; `automatic` means: choose per slice
  std::uint32_t lanes = 1;
  std::uint64_t max_rows = 0;                   ///< of any slice
  std::uint64_t expected_groups = 0;            ///< of a slice, about; 0: not known
  std::uint32_t key_bits = 0;                   ///< 32 or 64: KeySpan; 0: KeyWords or NoKeys
  std::uint32_t num_words = 0;                  ///< of KeyWords; 0: KeySpan or NoKeys
  std::uint32_t max_value_words = 0;            ///< widest value that will be aggregated
  std::uint64_t device_memory_limit_bytes = 0;  ///< 0: the device's budget
  RowExpressions const* expressions = nullptr;  ///< of rows that are in the order of the table; nullptr: none
  Control const* control = nullptr;
  StatsSink* stats = nullptr;
};

}  // namespace garuda::contract
