// What to group and aggregate (GroupBySpec), how (GroupByTuning), and what came out (GroupByResult).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/run.hpp"

namespace garuda {

enum class AggregateFunction : std::uint8_t {
  count,
  sum,
  min,
  max,
  mean,
  var,
  var_pop,
  std_dev,
  std_dev_pop,
  covar,
  covar_pop,
  corr,
  count_distinct,
  first,
  last,
  any,
  bool_and,
  bool_or,
  arg_min,
  arg_max,
  median,
  quantile,
  min_n,
  max_n,
  product,
};

/// Name as it is written: `count`, `sum`, … (`std`, `std_pop` of std_dev, std_dev_pop)
std::string_view to_string(AggregateFunction function) noexcept;

/// One aggregate of a group-by. Nulls are skipped; a group without values gives null, and 0 for count.
///   count  of rows, or of the column's values that are not null: int64
///   sum    of signed integers int64, of unsigned uint64, of decimals decimal128(38, scale), of floats float64;
///          exact, floats rounded once (nearest even), a zero sum +0.0; of decimals of 256 bits decimal256(76, scale)
///   min    the column's type; integers, floats (NaN is largest), decimals, dates, times, timestamps, durations,
///   max    booleans, strings and binary (by bytes), dictionaries of strings and binary
///   mean   of numbers: the exact sum rounded to float64, divided by the count, of decimals then by 10^scale: float64
///   var, covar          of numbers: (nΣxy − ΣxΣy) / (n(n − 1)), of exact sums, rounded once: float64; `_pop`: / n².
///                       Null of fewer than 2 values (`_pop`: 1), NaN where one is infinite or NaN. Pairs with a null
///                       take no part
///   std                 the square root of var
///   corr                of the same exact sums; null where a column does not vary
///   count_distinct      of what min takes; NaNs are one value, zeros another: int64
///   first, last, any    of any type but unions, run-ends and null: of values that are not null, by row; any: the first
///   bool_and, bool_or   of booleans
///   arg_min, arg_max    `column` where `second` is least, greatest, of rows where neither is null; ties: the first row
///   median, quantile    of numbers float64, between two values by linear interpolation; of dates, times, timestamps
///   and
///                       durations their type, the lower of the two
///   min_n, max_n        the `most` least or greatest values, those first: a list of the column's type
///   product             of integers int64 or uint64, exact
struct Aggregate {
  AggregateFunction function = AggregateFunction::count;
  std::optional<std::string> column;    ///< nullopt: rows, for count only
  std::optional<std::string> name;      ///< of the result's column; nullopt: `sum_x`, `count`, `arg_min_x_y`, …
  std::optional<std::string> second{};  ///< of covar, corr, arg_min, arg_max
  double quantile = 0.5;                ///< within [0, 1]
  std::uint64_t most = 1;               ///< of min_n and max_n, 1 to 2^31 - 1
  /// Sum, mean, var, std, covar, corr and product give the exact state that their value is made of, as binary
  /// (operators/resolve/exact_state.hpp). States of parts of a table merge to that of the table. Never null.
  bool as_state = false;

  friend bool operator==(Aggregate const&, Aggregate const&) = default;
};

/// Parses `FN[:COLUMN][=NAME][,…]`, e.g. "count,sum:price=total"; FN:COLUMN:SECOND of two columns, quantile:COLUMN:Q,
/// min_n:COLUMN:K. A backslash in a column or name makes the next character part of it: "sum:net\\,gross", which a
/// colon needs where a second part follows. Errors: usage, naming what is wrong.
Result<std::vector<Aggregate>> parse_aggregates(std::string_view text);

/// The semantics of a group-by; nothing here changes how it is computed.
struct GroupBySpec {
  /// Names of the key columns, of any type. None: one group of all rows, even of no rows. Null keys form a group of
  /// their own; -0.0 equals 0.0, all NaNs are one key (written +0.0 and the canonical NaN).
  std::vector<std::string> keys;
  /// Aggregates of each group; none: the distinct keys alone. The result's columns: the keys, then the aggregates.
  std::vector<Aggregate> aggregates;
  /// Groups in the order of their first rows. Otherwise their order is unspecified.
  bool ordered = false;
  /// Columns of strings and binary; those in lists, structs and dictionaries stay as they are. Views refer to the bytes
  /// of the table: they keep alive what a Table owns, other memory has to outlive them.
  StringForm strings = StringForm::utf8;
};

/// How the key columns of a row reach a kernel.
enum class KeyForm : std::uint8_t {
  automatic,
  packed,  ///< all in one word of 32 or 64 bits
  words,   ///< several words, all of them in the image (further colour attachments)
  rowid,   ///< several words, only the row in the image; keys are compared through it
};

/// How the CPU path brings the rows of a group together. Others than `slices` need packed keys.
enum class Grouping : std::uint8_t {
  automatic,
  slices,       ///< partition the rows' ids, group slice by slice, aggregate column by column: as on a device
  direct,       ///< an array of accumulators over the key range in each thread
  local,        ///< a hash table in each thread, until that no longer brings rows together; then partitioned
  partitioned,  ///< partition keys and values, then a table a partition
};

/// Name as it is written: `auto`, `slices`, …
std::string_view to_string(Grouping grouping) noexcept;

/// How path compute brings the rows of a whole table together on the device.
enum class GroupMethod : std::uint8_t {
  automatic,
  hash,         ///< one table in device memory
  partitioned,  ///< rows in partitions, each with a table in shared memory
  shared,       ///< tables in shared memory, of rows in no order
};

/// Knobs of the group-by.
struct GroupByTuning : RunTuning {
  KeyForm keys = KeyForm::automatic;
  Grouping grouping = Grouping::automatic;  ///< on the CPU; `slices` when radix_bits or slice_rows are given
  GroupMethod method = GroupMethod::automatic;

  friend bool operator==(GroupByTuning const&, GroupByTuning const&) = default;
};

/// Parses `key=value[,key=value…]` with the names above. Errors: usage, naming the key or value and what is allowed.
Result<GroupByTuning> parse_group_by_tuning(std::string_view text);
/// The inverse: only what differs from the defaults.
std::string to_string(GroupByTuning const& tuning);

struct GroupByOptions : RunOptions {
  GroupByTuning tuning;
};

/// The groups, one a row.
using GroupByResult = QueryResult;

}  // namespace garuda
