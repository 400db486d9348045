// The rows of a CSV file, block by block, before and after their columns have types.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "io/csv/csv_blocks.hpp"
#include "io/csv/csv_columns.hpp"
#include "io/file_reader.hpp"

namespace garuda::io {

/// Throws std::bad_alloc instead of returning that there is no memory, which Arrow's parser of CSV aborts on.
arrow::MemoryPool* parser_pool();

/// One block's rows on their way.
struct CsvPiece {
  CsvBlock block;
  std::unique_ptr<arrow::csv::BlockParser> rows;
  std::int64_t position = 0;  ///< of its text in the file, which can be read once more
  std::int64_t bytes = 0;
  std::int64_t num_rows = 0;
  std::vector<CsvValues> columns;
  arrow::Status status;
};

/// The file after its header, block by block.
class CsvSource {
 public:
  CsvSource(InputFile const& input, std::int32_t num_columns, std::shared_ptr<CsvConverter const> converter,
            std::atomic<bool> const* cancelled)
      : num_columns_(num_columns),
        converter_(std::move(converter)),
        file_(input.file),
        blocks_(input.file, cancelled) {}

  /// Returns a piece with its text only; nullopt after the last.
  arrow::Result<std::optional<CsvPiece>> next();

  /// Splits the text of `piece` into rows. Thread-safe.
  arrow::Status parse(CsvPiece& piece) const;

  /// Parses and converts `piece`, each column as the first kind from `kinds` on that it has; its text, of which all
  /// columns are a part, is let go of. Thread-safe.
  arrow::Status convert(CsvPiece& piece, std::vector<int> const& columns, std::vector<CsvKind> const& kinds) const;

  /// Converts again what came before the kinds were known, from the file. Thread-safe.
  arrow::Status convert_to(CsvPiece& piece, std::vector<int> const& columns, std::vector<CsvKind> const& kinds) const;

  std::int64_t bytes_read() const noexcept { return blocks_.bytes_read(); }

 private:
  arrow::Status read_again(CsvPiece& piece) const;

  std::int32_t num_columns_;
  std::shared_ptr<CsvConverter const> converter_;
  std::shared_ptr<arrow::io::ReadableFile> file_;
  CsvBlocks blocks_;
  bool at_header_ = true;
};

}  // namespace garuda::io
