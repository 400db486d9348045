// Tables for the tests of the group-by: rows, groups, distributions and types as data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "garuda/group_by.hpp"
#include "garuda/table.hpp"

namespace garuda::testing {

/// How rows are spread over groups.
enum class GroupSpread : std::uint8_t {
  uniform,
  zipf_1_5,
  one_heavy,  ///< 90 % of the rows in one group
  every_row,  ///< each row its own group
};
std::string_view to_string(GroupSpread pattern) noexcept;

/// Everything that determines a table.
struct GroupTableCase {
  std::uint64_t rows = 0;
  std::uint64_t groups = 1;
  GroupSpread pattern = GroupSpread::uniform;
  std::uint32_t keys = 1;       ///< key columns k0, k1, …: int32, utf8, float64, int64, bool, decimal128, dictionary,
                                ///< date32, uint8 in this order
  bool nulls = false;           ///< about an eighth of keys and values
  std::int64_t batch_rows = 0;  ///< 0: one batch
  std::uint64_t seed = 1;
};
std::string to_string(GroupTableCase const& group_case);

/// Makes the table: key columns, then value columns named after their types (i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 d32
/// d128 date time s b dict). Floats span 1e-300 to 1e300 and subnormals, and cancel; some groups have NaNs and
/// infinities. A function of the case alone.
Table make_table(GroupTableCase const& group_case);

/// Names of the value columns.
std::vector<std::string> const& value_columns();
/// Columns behind these, of types that are aggregated as wider ones or in parts.
std::vector<std::string> const& odd_columns();

/// Every aggregate of every value column of a case's table, over all its keys.
GroupBySpec all_aggregates(GroupTableCase const& group_case);

/// `rows` in another order, a function of the seed. Reads whole rows of a one-batch table.
Table shuffled(GroupTableCase const& group_case);

}  // namespace garuda::testing
