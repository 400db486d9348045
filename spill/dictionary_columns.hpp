// Dictionary columns on their way through spill files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "garuda/error.hpp"
#include "io/arrow_bridge.hpp"

namespace garuda::spill {

/// Gives every dictionary column of a table, and every dictionary in a nested one, one dictionary, found batch by
/// batch, which stays in memory: only indices are spilled. Move-only.
class DictionaryColumns {
 public:
  /// `sentence` starts the errors: "cannot read FILE".
  /// Errors: invalid_input for dictionaries of a value type that Arrow cannot unify.
  static Result<DictionaryColumns> create(std::shared_ptr<arrow::Schema> schema, std::string sentence);

  /// From now on hashes of the values of the column at `position`, as values of type `as`, are kept
  /// (keys::hash_key_column). Nothing where it is no dictionary.
  void hash_values(int position, DataType const& as);
  /// The hashes of all values so far, by their indices; nullptr: none are kept. Changes with the next batch.
  std::vector<std::uint64_t> const* hashes(int position) const noexcept;

  /// The schema with indices of 32 bits in place of dictionaries.
  std::shared_ptr<arrow::Schema> const& spilled_schema() const noexcept { return spilled_schema_; }

  /// Returns `batch`, which has the table's schema, with the spilled schema. Requires: no nulls among the values of its
  /// dictionaries, which io::TableStream sees to. To be called for one batch at a time.
  /// Errors: out_of_memory, invalid_input.
  Result<std::shared_ptr<arrow::RecordBatch>> detach(std::shared_ptr<arrow::RecordBatch> batch);

  /// Ends the collecting. Errors: invalid_input when a column has more values than its indices can tell apart.
  Result<void> finish();

  /// Bytes of the dictionaries. Requires finish.
  std::uint64_t bytes() const noexcept { return bytes_; }

  /// The inverse of detach. Requires finish.
  Result<std::shared_ptr<arrow::RecordBatch>> attach(std::shared_ptr<arrow::RecordBatch> batch) const;

 private:
  struct Column {
    int position = 0;
    std::vector<int> path;                  ///< from the column to the dictionary: of children; none: the column is it
    std::shared_ptr<arrow::DataType> type;  ///< of the dictionary
    std::unique_ptr<arrow::DictionaryUnifier> unifier;
    std::shared_ptr<arrow::ArrayData> last;    ///< dictionary of the batch before
    std::shared_ptr<arrow::Array> transposed;  ///< its values' indices
    std::shared_ptr<arrow::Array> dictionary;  ///< of all batches
    std::optional<DataType> hashed_as;
    std::vector<std::uint64_t> hashes;  ///< of the values in the unifier
  };

  arrow::Result<std::shared_ptr<arrow::Array>> indices_of(Column& column, arrow::Array const& array) const;
  Result<std::shared_ptr<arrow::RecordBatch>> with_columns(
      std::shared_ptr<arrow::RecordBatch> batch, std::vector<std::shared_ptr<arrow::ArrayData>> const& columns,
      arrow::Schema const& schema) const;
  Result<void> hash_new_values(Column& column, arrow::Array const& array) const;
  arrow::Status finish_column(Column& column);

  std::string sentence_;
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<arrow::Schema> spilled_schema_;
  std::vector<Column> columns_;
  std::uint64_t bytes_ = 0;
};

}  // namespace garuda::spill
