// Rows of a table in partitions by the hash of their keys, each of which is worked on alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "garuda/types.hpp"
#include "operators/materialize/gather.hpp"
#include "operators/pipeline/rows.hpp"
#include "operators/query/limited/query_limit.hpp"

namespace garuda::query {

/// A key column, and the type as which its values are hashed: CommonKeyType::compared where they meet those of others.
struct HashedKey {
  std::size_t column = 0;
  DataType as;
};

/// The column as a key that is compared with its own values alone.
HashedKey hashed_key(TableView table, std::size_t column);

/// Bits that bring rows which take `needed_bytes` to half of an operator's memory a partition, from 1 to
/// kMostSplitBits.
std::uint32_t split_bits(std::uint64_t needed_bytes, QueryLimit const& limit) noexcept;

/// Rows that were divided into parts. Batches hold rows of many parts, so that parts of few rows take few files.
class RowParts {
 public:
  RowParts(Schema schema, std::size_t num_parts) : schema_(std::move(schema)), pieces_(num_parts) {}

  std::size_t size() const noexcept { return pieces_.size(); }
  std::int64_t num_rows(std::size_t part) const noexcept;
  /// The rows of a part, in the order in which they came. Shares them.
  Table table(std::size_t part) const;

  /// Appends copies of rows to the parts, those that `lists` names for each. `limit` keeps them. Requires: `rows` has
  /// the schema. Blocks; runs on the threads of the calling task arena. Errors: those of Gatherer::gather and
  /// SpillSpace::keep; cancelled.
  Result<void> add(Gatherer const& rows, std::span<pipeline::RowNumbers const> lists, QueryLimit& limit,
                   Control const& control);

 private:
  /// Rows of one batch.
  struct Piece {
    std::size_t batch = 0;
    std::int64_t begin = 0;
    std::int64_t rows = 0;
  };

  Schema schema_;
  std::vector<Batch> batches_;
  std::vector<std::vector<Piece>> pieces_;  ///< by part
};

/// Copies the rows, strings in the form `strings`, into 2^bits parts, which `limit` keeps. Rows with equal keys are in
/// one of them, the same for tables whose keys are hashed as the same types, and keep their order. Splittings of other
/// levels divide rows in other ways. Blocks; runs on the threads of the calling task arena. Errors: those of
/// hash_key_column, Gatherer and SpillSpace::keep; cancelled.
Result<RowParts> hash_partitions(TableView table, std::span<HashedKey const> keys, std::uint32_t level,
                                 std::uint32_t bits, StringForm strings, QueryLimit& limit, Control const& control);

}  // namespace garuda::query
