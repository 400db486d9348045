// A file of a limited run: held in memory while it fits, else on its way to spill files.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "io/parquet/table_blocks.hpp"
#include "io/table_reader.hpp"
#include "io/table_stream.hpp"
#include "spill/dictionary_columns.hpp"
#include "spill/memory_share.hpp"
#include "spill/spill_file.hpp"

namespace garuda::spill {

/// The part of a table's files that is read.
struct FileInput {
  io::TableFiles files;
  io::ReadOptions options;
};

/// The rows of one file. Move-only.
class TableInput {
 public:
  /// `batch_rows`: most rows of a batch. `row_column`: a last column, not of the file, has the numbers of rows, under
  /// this name or a longer one that no other column has; empty: there is none. `ahead_bytes`: of TableStream.
  /// Errors: those of io::read_table.
  static Result<TableInput> open(FileInput const& file, std::int64_t batch_rows, std::string row_column,
                                 std::uint64_t ahead_bytes);

  /// Schema of the rows that are held and handed over.
  std::shared_ptr<arrow::Schema> const& schema() const noexcept { return schema_; }
  /// Name of the column of row numbers, int64; empty: there is none.
  std::string const& row_column() const noexcept { return row_column_; }
  /// An empty table of the file's schema.
  Result<Table> without_rows() const;
  /// An empty table of `schema()`.
  Result<Table> no_rows() const { return io::to_table(schema_, {}); }

  /// Rows of a Parquet file, which reading it holds it to; nullopt: another one, or without rows. Before it is read.
  std::optional<std::uint64_t> known_rows() const;
  /// Reads a Parquet file whole, by all threads and as it stores its columns, if its rows weigh `most_weight` at most;
  /// false: they do not, or rows are not known, and nothing is held. Before anything else is read.
  Result<bool> read_whole(MemoryShare const& share, std::uint64_t most_weight);
  /// Lets go of the rows that read_whole has read, and reads the file from its beginning.
  void forget_whole();
  bool is_stored() const noexcept { return is_stored_; }

  /// Reads on until the rows held weigh more than `most_weight`, or the file ends.
  Result<void> hold(MemoryShare const& share, std::uint64_t most_weight);
  /// Memory for rows that are read before they are asked for, until the file ends or rests.
  std::uint64_t ahead_bytes() const noexcept { return stream_.ahead_bytes(); }
  /// Lets go of what the file keeps to read on, while another one is read.
  void rest() { stream_.rest(); }
  bool is_whole() const noexcept { return at_end_; }
  /// Volume of the rows held.
  RowVolume const& held() const noexcept { return held_; }
  /// Volume of the file, estimated from what has been read of it.
  RowVolume estimated_volume() const noexcept;
  /// The whole table, as it is in the file. Its rows are held further on, unless is_stored: then it is given once.
  /// Requires is_whole.
  Result<Table> whole_table();
  /// Lets go of the rows that are held.
  void release_held() {
    batches_.clear();
    stored_.reset();
  }
  /// The next rows, those held first; nullptr: there are none. Not to be mixed with handing over.
  Result<std::shared_ptr<arrow::RecordBatch>> next_rows();
  /// Has the rows that next_rows gave last come once more.
  void put_back(io::ArrowBatches batches);

  /// Has rows handed over from now on, not held: those held first, then the rest of the file.
  Result<void> start_handing_over();
  /// Schema of what is handed over: without dictionaries.
  std::shared_ptr<arrow::Schema> const& spilled_schema() const noexcept { return dictionaries_->spilled_schema(); }
  /// Dictionaries of what is handed over: see DictionaryColumns.
  DictionaryColumns& dictionaries() noexcept { return *dictionaries_; }
  DictionaryColumns const& dictionaries() const noexcept { return *dictionaries_; }
  Result<std::shared_ptr<arrow::RecordBatch>> hand_over();
  /// Ends handing over, once all rows have been. Returns the bytes of dictionaries, which stay in memory.
  Result<std::uint64_t> finish();
  std::uint64_t rows_handed_over() const noexcept { return rows_handed_over_; }
  /// Rows of the file that have been read so far.
  std::uint64_t rows_read() const noexcept { return read_.rows; }
  /// Makes a table of batches that came back from spill files. Requires finish.
  Result<Table> to_table(io::ArrowBatches batches) const;

 private:
  TableInput(FileInput file, std::optional<io::TableBlocks> blocks, io::TableStream stream)
      : file_(std::move(file)),
        sentence_("cannot read " + file_.files.name),
        stream_(std::move(stream)),
        schema_(stream_.schema()),
        blocks_(std::move(blocks)) {}

  Result<void> number_rows();
  Result<std::shared_ptr<arrow::RecordBatch>> read_batch();
  Result<Table> unified(std::shared_ptr<arrow::Schema> const& schema, io::ArrowBatches batches) const;

  FileInput file_;
  std::string sentence_;
  io::TableStream stream_;
  std::shared_ptr<arrow::Schema> schema_;
  std::string row_column_;
  RowVolume read_;
  std::deque<std::shared_ptr<arrow::RecordBatch>> batches_;
  RowVolume held_;
  bool at_end_ = false;
  std::optional<io::TableBlocks> blocks_;  // the file's row groups, until they are read
  bool is_stored_ = false;                 // whole, by read_whole
  std::optional<Table> stored_;            // what that gave
  std::optional<DictionaryColumns> dictionaries_;
  std::uint64_t rows_handed_over_ = 0;
};

}  // namespace garuda::spill
