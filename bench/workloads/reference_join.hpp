// The result a benchmarked join must have, computed apart from every path of the library.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "garuda/error.hpp"
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

/// Of a whole result, its rows in any order: columns 4 or 8 bytes wide, by their bits. Errors: device_failure for nulls
/// and for columns of another length than their batch.
Result<RowDigest> digest_of(Schema const& schema, std::span<Batch const> batches);

/// The inner join of two tables of int32 and int64 columns without nulls, in one batch each, on their first columns:
/// left columns, then right columns without the key. Computed by sorting the left side and a binary search per right
/// row. Borrows the tables.
class ReferenceJoin {
 public:
  /// Requires tables as above. Cost: O(n log n) time, 32 bytes a left row.
  ReferenceJoin(TableView left, TableView right);

  std::uint64_t num_rows() const noexcept { return digest_.rows; }

  /// Compares a whole result, its rows in any order, with the reference: column names and types, number of rows,
  /// digest.
  /// Errors: device_failure, saying what differs.
  Result<void> check(Schema const& schema, std::span<Batch const> batches) const;

 private:
  struct Entry {
    std::int64_t key = 0;
    std::uint64_t row = 0;
  };

  std::span<Entry const> matches(std::int64_t key) const noexcept;
  void index_keys();
  std::size_t slot_of(std::int64_t key) const noexcept;
  void fill_row(std::uint64_t left_row, std::uint64_t right_row, std::span<std::int64_t> out) const noexcept;
  Result<void> check_schema(Schema const& schema) const;

  TableView left_;
  TableView right_;
  Schema schema_;
  std::vector<Entry> sorted_left_;
  std::vector<std::uint64_t> first_entries_;  ///< of key ranges of 2^range_bits_, one more for the end
  std::uint32_t range_bits_ = 0;
  RowDigest digest_;
};

}  // namespace garuda::bench
