// What planners and paths know of the data of a query.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "expr/condition.hpp"
#include "garuda/join.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "operators/contract/join_kind.hpp"

namespace garuda::resolve {
struct JoinRequest;
struct GroupByRequest;
}  // namespace garuda::resolve

namespace garuda::contract {

/// A column of the result, as far as its cost goes.
struct OutputShape {
  Side side = Side::left;
  std::size_t column = 0;  ///< of its table
  double bytes = 4;        ///< of a value, on average
  bool is_key = false;     ///< made of the keys' words
  bool is_plain = true;    ///< may be carried through the partitioning as it is
  double cell_bytes = 0;   ///< of what is not plain: of a cell that partitioning may carry; 0: it may not

  /// What carrying a value takes; 0: it cannot be carried.
  double carried_bytes() const noexcept { return is_plain ? bytes : cell_bytes; }
};

/// What a condition takes: the columns that it compares are encoded, and looked at for every pair of equal keys.
struct TestedShape {
  double pairs = 0;  ///< 0: there is no condition
  std::size_t left_columns = 0;
  std::size_t right_columns = 0;
};

/// What the planner knows of the data.
struct JoinShape {
  JoinParts parts;
  std::uint64_t rows_left = 0;  ///< rows that have a key: with nulls that match nothing, those without
  std::uint64_t rows_right = 0;
  std::uint64_t keyless_left = 0;  ///< the other rows
  std::uint64_t keyless_right = 0;
  std::uint32_t key_bits = 32;
  std::uint64_t key_range_left = 0;  ///< largest - smallest word + 1; 0: empty or 2^64
  std::uint64_t key_range_right = 0;
  double distinct_left = 0;  ///< estimate of the keys; 0: as many as rows
  double distinct_right = 0;
  double heaviest_left = 0;  ///< share of the rows that the most frequent key has; 0: not known
  double heaviest_right = 0;
  std::vector<OutputShape> output;  ///< none when rows are only counted
  std::uint64_t encoded_bytes = 0;  ///< host memory that the encoded keys hold already
  double expected_matches = 0;      ///< pairs, from a sample; 0: none are enumerated
  TestedShape tested{};
  double matched_left = 0;  ///< rows that have a match, from the same sample; not known where rows are counted
  double matched_right = 0;
  bool wide_row_ids = false;  ///< row ids need 64 bits
  std::uint32_t threads = 1;
  std::uint64_t free_host_bytes = 0;  ///< 0: not known
  /// Of a join that gives rows in any order: what a path looks at that takes its tables whole; nullptr: none may.
  resolve::JoinRequest const* tables = nullptr;
  std::optional<std::size_t> resident_on{};        ///< the device that the tables live on; nullopt: the host
  bool is_unseen = false;                          ///< no key was looked at: what it says suits best those that do
  bool is_keyless = false;                         ///< rows match by `condition` alone
  expr::PairCondition const* condition = nullptr;  ///< of a join without keys
};

/// Bytes of the partitioned keys, of the payload carried with them and of marks; `encoded_bytes` are not among them.
std::uint64_t partitioned_bytes(JoinShape const& shape, std::uint32_t radix_bits, std::span<std::size_t const> carried);

/// What grouping a whole table takes, whichever way.
struct WholeSizes {
  bool has_keys = false;
  std::uint64_t slots = 1;        ///< accumulators of direct addressing: values of the key range; 0: 2^64
  std::uint64_t group_bytes = 0;  ///< of a group's states in a table
  std::uint64_t row_bytes = 0;    ///< of a row that partitioning moves
};

/// What the planner knows of the data.
struct GroupByShape {
  std::uint64_t rows = 0;
  std::uint32_t key_bits = 32;         ///< 32 or 64; 0: words, or no keys
  std::uint32_t key_words = 0;         ///< words form: their number
  std::uint64_t key_range = 0;         ///< packed: largest - smallest word + 1; 0: 2^64
  std::uint32_t coded_columns = 0;     ///< key columns whose codes are those of their bytes
  std::uint32_t numbered_columns = 0;  ///< key columns whose values are numbered, row by row
  std::uint64_t estimated_groups = 1;
  std::optional<WholeSizes> whole;     ///< of the CPU path's ways for a whole table; nullopt: slices alone are left
  std::vector<StateRequest> requests;  ///< a state column each
  std::uint32_t ordered_columns = 0;   ///< of them, those whose values are compared by their bytes, on the host
  std::uint32_t value_words = 0;       ///< 32-bit words of a row's values, all state columns together
  std::uint32_t widest_value = 0;      ///< 32-bit words of the widest of them
  std::uint64_t state_bytes = 0;       ///< of a group, all state columns together
  std::uint64_t encoded_bytes = 0;     ///< host memory that keys and orders hold already
  std::uint64_t output_row_bytes = 0;  ///< estimate of a result row
  bool wide_row_ids = false;           ///< row ids need 64 bits
  bool ordered = false;                ///< all groups are kept until the last one is known
  std::uint32_t threads = 1;
  std::uint64_t free_host_bytes = 0;               ///< 0: not known
  resolve::GroupByRequest const* table = nullptr;  ///< what a path looks at that takes it whole; nullptr: none may
  std::optional<std::size_t> resident_on{};        ///< the device that the table lives on; nullopt: the host
  bool is_unseen = false;                          ///< no key was looked at: groups are not known
  bool is_encoded = false;                         ///< keys were encoded on the host
};

inline std::uint64_t key_bytes(GroupByShape const& shape) {
  return shape.key_bits / 8 + 4 * std::uint64_t{shape.key_words};
}
inline bool has_keys(GroupByShape const& shape) { return key_bytes(shape) > 0; }

}  // namespace garuda::contract
