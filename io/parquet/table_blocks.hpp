// Reads Parquet files block by block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "garuda/error.hpp"
#include "io/arrow_bridge.hpp"
#include "io/columns/file_columns.hpp"
#include "io/table_files.hpp"
#include "io/table_reader.hpp"

namespace garuda::io {

/// Parquet files, some row groups of one of them at a time, so that what works on one block after the other does so in
/// memory that others have left. Move-only.
class TableBlocks {
 public:
  /// `block_rows`: least rows of a block but the last of a file, at least 1. nullopt: files of another format, more
  /// than can be open at once, whose columns are not alike, or of which folders give columns. Errors: those of
  /// read_table.
  static Result<std::optional<TableBlocks>> open(TableFiles const& files, ReadOptions const& options,
                                                 std::int64_t block_rows);

  std::uint64_t num_rows() const noexcept { return num_rows_; }
  std::size_t num_blocks() const noexcept { return blocks_.size(); }
  /// The columns that are read, as what they stand for.
  std::shared_ptr<arrow::Schema> const& schema() const noexcept { return files_.front().schema; }

  /// How many values of a column differ, about, in any row group; nullopt: the file does not say.
  std::optional<std::uint64_t> estimated_values(std::string const& column) const;

  std::uint64_t rows_of(std::size_t block) const noexcept { return blocks_[block].rows; }
  std::uint64_t most_rows_of_block() const noexcept;

  /// The rows of the blocks [first, end), read on `threads` threads, in batches of one schema, as checked as those of
  /// read_table, each batch with dictionaries of its own. Thread-safe. Errors: those of read_table.
  Result<ArrowBatches> read(std::size_t first, std::size_t end, std::uint32_t threads) const;

 private:
  struct Block {
    std::size_t file = 0;
    int first = 0;  ///< row group
    int end = 0;
    std::uint64_t rows = 0;
  };

  TableBlocks(std::vector<ChosenColumns> files, ReadOptions options)
      : files_(std::move(files)), options_(std::move(options)) {}

  Result<ArrowBatches> read_of_file(Block const& rows, std::uint32_t threads) const;
  /// Columns that files store in different ways are read as what they stand for.
  void store_alike();

  std::vector<ChosenColumns> files_;
  ReadOptions options_;
  std::vector<Block> blocks_;
  std::uint64_t num_rows_ = 0;
};

}  // namespace garuda::io
