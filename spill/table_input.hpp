// A file of a limited run: held in memory while it fits, else on its way to spill files.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "io/table_stream.hpp"
#include "spill/dictionary_columns.hpp"
#include "spill/file_input.hpp"
#include "spill/memory_share.hpp"
#include "spill/spill_file.hpp"

namespace garuda::spill {

/// The rows of one file. Move-only.
class TableInput {
 public:
  /// `batch_rows`: most rows of a batch. Errors: those of io::read_table.
  static Result<TableInput> open(FileInput const& file, std::int64_t batch_rows);

  std::shared_ptr<arrow::Schema> const& schema() const noexcept { return stream_.schema(); }
  /// An empty table of the schema.
  Result<Table> without_rows() const;

  /// Reads on until the rows held weigh more than `most_weight`, or the file ends.
  Result<void> hold(MemoryShare const& share, std::uint64_t most_weight);
  bool is_whole() const noexcept { return at_end_; }
  /// Of the rows held.
  RowVolume const& held() const noexcept { return held_; }
  /// Of the file, from what has been read of it.
  RowVolume estimated_volume() const noexcept;
  /// The whole table. Requires is_whole. Call once.
  Result<Table> take_table();

  /// From here on the rows are handed over, not held: those held first, then the rest of the file.
  Result<void> start_handing_over();
  /// Schema of what is handed over: without dictionaries.
  std::shared_ptr<arrow::Schema> const& spilled_schema() const noexcept { return dictionaries_->spilled_schema(); }
  /// Dictionaries of what is handed over: see DictionaryColumns.
  DictionaryColumns& dictionaries() noexcept { return *dictionaries_; }
  DictionaryColumns const& dictionaries() const noexcept { return *dictionaries_; }
  Result<std::shared_ptr<arrow::RecordBatch>> hand_over();
  /// To be called once, when all has been handed over. Returns the bytes of dictionaries, which stay in memory.
  Result<std::uint64_t> finish();
  std::uint64_t rows_handed_over() const noexcept { return rows_handed_over_; }
  /// Makes a table of batches that came back from spill files. Requires finish.
  Result<Table> to_table(io::ArrowBatches batches) const;

 private:
  TableInput(std::string sentence, io::TableStream stream)
      : sentence_(std::move(sentence)), stream_(std::move(stream)) {}

  std::string sentence_;
  io::TableStream stream_;
  std::deque<std::shared_ptr<arrow::RecordBatch>> batches_;
  RowVolume held_;
  bool at_end_ = false;
  std::optional<DictionaryColumns> dictionaries_;
  std::uint64_t rows_handed_over_ = 0;
};

}  // namespace garuda::spill
