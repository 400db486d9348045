// The result a benchmarked join must have, computed apart from every path of the library.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "garuda/table.hpp"

namespace garuda::bench {

/// Number and order-independent digest of rows: the sum of a 128-bit hash of each whole row.
struct RowDigest {
  std::uint64_t rows = 0;
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  void add(std::span<std::int64_t const> row) noexcept;
  void add(RowDigest const& other) noexcept;
  friend bool operator==(RowDigest const&, RowDigest const&) = default;
};

/// Digests a whole result, its rows in any order: columns 4 or 8 bytes wide by their bits, booleans, nulls.
/// Errors: device_failure for columns of another length than their batch.
Result<RowDigest> digest_of(Schema const& schema, std::span<Batch const> batches);

/// How rows match. The matches of a right row are the left rows whose first column lies in a range.
enum class Matching : std::uint8_t {
  equal,  ///< left and right first columns, the keys, are equal
  band,   ///< the left first column lies between the right first and second column, both included
  less,   ///< the left first column is less than the right first column
};

/// A join of two tables of int32 and int64 columns without nulls, in one batch each: left columns, then right columns,
/// of equal keys without the right key. Computed by sorting the left side and binary searches for each right row.
/// Borrows the tables. Used by one thread.
class ReferenceJoin {
 public:
  /// Requires tables as above. Cost: O(n log n) time, 32 bytes a left row.
  ReferenceJoin(TableView left, TableView right, Matching matching = Matching::equal);

  /// Rows of the join; pairs of an inner join by ranges are counted without being enumerated.
  std::uint64_t num_rows(JoinKind kind = JoinKind::inner) const;

  /// Compares a whole result, its rows in any order, with the reference: column names and types, number of rows,
  /// digest.
  /// Errors: device_failure, saying what differs.
  Result<void> check(Schema const& schema, std::span<Batch const> batches, JoinKind kind = JoinKind::inner) const;

 private:
  struct Entry {
    std::int64_t key = 0;
    std::uint64_t row = 0;
  };

  std::span<Entry const> matches(std::uint64_t right_row) const noexcept;
  void index_keys();
  std::size_t slot_of(std::int64_t key) const noexcept;
  /// The first entry whose key is `key` or more.
  std::size_t lower_bound(std::int64_t key) const noexcept;
  /// Fills in a row of the result; of a side that has no row its columns are null, but for the key of both.
  void fill_row(std::optional<std::uint64_t> left_row, std::optional<std::uint64_t> right_row,
                std::span<std::int64_t> out) const noexcept;
  Schema schema_of(JoinKind kind) const;
  RowDigest const& digest(JoinKind kind) const;
  RowDigest compute(JoinKind kind) const;
  /// Says for each left row whether it has a match.
  std::vector<std::uint8_t> matched_left() const;

  TableView left_;
  TableView right_;
  Matching matching_;
  std::vector<Entry> sorted_left_;
  std::vector<std::uint64_t> first_entries_;  ///< of key ranges of 2^range_bits_, one more for the end
  std::uint32_t range_bits_ = 0;
  mutable std::map<JoinKind, RowDigest> digests_;  ///< that were asked for
};

}  // namespace garuda::bench
