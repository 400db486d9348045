// Synthetic tables of the group-by benchmarks, and the groups they must give.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/workloads/generators.hpp"
#include "core/numbers/wide_integer.hpp"
#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/table.hpp"

namespace garuda::bench {

enum class ValueType : std::uint8_t { i32, i64, f64 };
/// Parses `i32`, `i64` or `f64`. Errors: usage.
Result<ValueType> parse_value_type(std::string_view text);
std::string_view to_string(ValueType type) noexcept;

/// Each row draws one of `groups` groups; a group is told apart by its first key, the others repeat.
struct GroupWorkload {
  std::uint64_t rows = 0;
  std::uint64_t groups = 1;
  std::uint32_t keys = 1;
  ValueType value_type = ValueType::i64;
  KeyDistribution distribution{KeyDistribution::Kind::uniform};  ///< uniform or zipf
  std::uint64_t seed = 1;
};

/// Makes the table: int32 keys k0 (0…groups-1), k1, …, and the values v: integers of the type's width less 24 bits, so
/// that no sum of 2^24 rows overflows, or doubles that are odd multiples of 2^-53 in (-1, 1). The same data for the
/// same workload whatever the number of threads. Errors: usage (no group, more than int32 has, a distribution that is
/// neither uniform nor zipf), out_of_memory.
Result<Table> generate_group_table(GroupWorkload const& workload);

/// The groups that a generated table must give, computed apart from every path of the library.
class ReferenceGroups {
 public:
  /// `table`: from generate_group_table. Borrows it.
  ReferenceGroups(Table const& table, GroupWorkload const& workload);

  std::uint64_t num_groups() const noexcept { return num_groups_; }

  /// Compares a whole result, its rows in any order, with the reference: columns are the keys, then `aggregates` of the
  /// column v. Errors: device_failure, saying what differs.
  Result<void> check(std::vector<Aggregate> const& aggregates, std::span<Batch const> batches) const;

 private:
  /// Values are kept as integers: of a double the multiple of 2^-53.
  struct Group {
    std::uint64_t count = 0;
    std::int64_t sum_low = 0;   ///< of the lower 32 bits of values
    std::int64_t sum_high = 0;  ///< of the bits above, arithmetically shifted
    UInt128 squares_low = 0;    ///< of the lower 64 bits of squares
    UInt128 squares_high = 0;   ///< of the bits above
    std::int64_t min = 0;
    std::int64_t max = 0;
  };

  /// Adds the rows of the groups [first, last) up.
  void add_range(std::uint64_t first, std::uint64_t last);
  std::int64_t value(std::uint64_t row) const noexcept;
  Result<void> check_row(std::vector<Aggregate> const& aggregates, Batch const& batch, std::int64_t row,
                         std::vector<bool>& seen) const;
  /// The sample variance's bits; requires two rows.
  std::int64_t variance_bits(Group const& group) const;
  Result<void> check_cell(Aggregate const& aggregate, Group const& group, ArrayView const& column,
                          std::int64_t row) const;

  Table const& table_;
  GroupWorkload workload_;
  std::uint64_t num_groups_ = 0;
  std::vector<Group> groups_;
};

}  // namespace garuda::bench
