// What to join (JoinSpec), how (JoinTuning), and what came out (JoinResult).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "garuda/column_ref.hpp"
#include "garuda/condition.hpp"
#include "garuda/error.hpp"
#include "garuda/run.hpp"

namespace garuda {

/// Which rows a join gives; two rows match when their keys are equal and the condition, if there is one, is true.
enum class JoinKind : std::uint8_t {
  inner,  ///< pairs of rows that match
  left,   ///< these, and the left rows without a match, their right columns null
  right,  ///< these, and the right rows without a match, their left columns null
  full,   ///< these, and the rows of both sides without a match
  semi,   ///< left rows with a match, each once
  anti,   ///< left rows without a match
  mark,   ///< all left rows, and a boolean column `mark`, never null: whether there is a match
};

std::string_view to_string(JoinKind kind) noexcept;
/// Errors: usage, with the names.
Result<JoinKind> parse_join_kind(std::string_view text);

/// The semantics of a join; nothing here changes how it is computed.
struct JoinSpec {
  /// Pairs of column names (left, right) that must be equal: 1 to 16, no column in two. Any type but intervals and
  /// nested ones. Different types are compared as one that holds all values of both exactly, a dictionary as its
  /// values; -0.0 equals 0.0, NaNs are equal, timestamps with a zone compare as instants.
  std::vector<std::pair<std::string, std::string>> on;
  JoinKind kind = JoinKind::inner;
  /// Null keys match null keys; else they match nothing.
  bool nulls_equal = false;
  /// What must be true of a pair, besides equal keys, for its rows to match. Columns are compared as keys are, by value
  /// where types differ, and with the same order: false before true, NaN the largest float, strings and binary by
  /// bytes. A constant is a value of the type that its column has; what lies between two values of it, or beyond them
  /// all, is compared exactly, but for floats, which are rounded to nearest.
  std::optional<Condition> where{};
  /// Columns of the result in order, each as its table has it: null in rows that have no row of that table. nullopt:
  /// all left columns, then all right columns without the keys; in the place of the left keys, left, right and full
  /// joins have those of whichever side has a row, in the common type, never a dictionary. Semi, anti and mark joins
  /// have left columns only; mark joins get `mark` behind them.
  std::optional<std::vector<ColumnRef>> columns{};
  /// Rows sorted by (left row, right row): left rows without a match in their place, right ones last. Otherwise their
  /// order is unspecified, but for semi, anti and mark joins of host tables, which come in the order of left rows.
  bool ordered = false;
  /// A join that says neither keys nor a condition is every left row with every right one; it is an error unless this
  /// is set.
  bool allow_cross = false;
  /// Columns of strings and binary; those in lists, structs and dictionaries stay as they are. Views refer to the bytes
  /// of the tables: they keep alive what a Table owns, other memory has to outlive them.
  StringForm strings = StringForm::utf8;
};

/// How the rows of one pixel are kept.
enum class Storage : std::uint8_t {
  automatic,
  stack,  ///< a stack of images (GARUDA §3.1)
  runs,   ///< consecutive texels of one flat image (GARUDA §3.4.4)
};
/// How matches are written.
enum class Probe : std::uint8_t {
  automatic,
  instanced,  ///< t instances a probe row, rank from the CountFBO's layer set
  output,     ///< one point an output row
};
/// The passes that count and write the matches of a join whose hash images or runs are there.
enum class Matching : std::uint8_t {
  automatic,
  draw,     ///< points drawn into a CountFBO and a result FBO (GARUDA §3.2, §3.3)
  compute,  ///< compute passes that read the drawn images, count clashes and write matches by prefix sums
};
enum class BuildSide : std::uint8_t { automatic, left, right };
/// How the CPU path brings payload columns into the order of partitions, and tables that go to a device whole into the
/// result.
enum class Payload : std::uint8_t {
  automatic,  ///< column by column, whichever moves fewer bytes
  carry,      ///< through the partitioning, with the keys
  gather,     ///< by row id, when the result is made
};

/// How the CPU and the compute path find matches: those of joins with keys, then those of joins without.
enum class JoinMethod : std::uint8_t {
  automatic,
  partitioned,    ///< both sides partitioned, so that matches are found near each other: in shared memory or in a cache
  global,         ///< the build side indexed in device memory, the probe side left where it is
  nested_loops,   ///< every row compared with every other, tile by tile (He et al. 2008, NINLJ)
  sorted_ranges,  ///< one side sorted by a column that the condition bounds: a row of the other finds a range of it
  /// A bit for each value in the range of the right keys, looked up by left rows; for joins with keys, without pairs.
  bitmap,
};

/// Knobs of the join.
struct JoinTuning : RunTuning {
  Storage storage = Storage::automatic;
  Probe probe = Probe::automatic;
  BuildSide build = BuildSide::automatic;
  Payload payload = Payload::automatic;
  JoinMethod method = JoinMethod::automatic;
  Matching matching = Matching::automatic;  ///< of the graphics path

  friend bool operator==(JoinTuning const&, JoinTuning const&) = default;
};

/// Parses `key=value[,key=value…]` with the names above, e.g. "address=direct,storage=runs,lanes=2".
/// Errors: usage, naming the key or value and what is allowed.
Result<JoinTuning> parse_join_tuning(std::string_view text);
/// The inverse: only what differs from the defaults.
std::string to_string(JoinTuning const& tuning);

struct JoinOptions : RunOptions {
  JoinTuning tuning;
};

/// The rows of a join.
using JoinResult = QueryResult;

}  // namespace garuda
