// The rows of a CSV file in blocks of whole records, before and after their columns have types.
#pragma once

#include <arrow/csv/converter.h>
#include <arrow/csv/parser.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "io/arrow_bridge.hpp"
#include "io/file_reader.hpp"

namespace garuda::io {

/// Kinds as which all values of a column can be read, in the order in which they are tried.
enum class CsvKind : std::uint8_t {
  null,
  int64,
  uint64,
  integer,  ///< of up to 38 digits, a decimal
  digits,   ///< longer integers, kept as text: a float would make one of two
  boolean,
  date,
  time,
  timestamp,
  timestamp_ns,
  timestamp_utc,
  timestamp_utc_ns,
  float64,
  text,
};

struct CsvValues {
  std::shared_ptr<arrow::Array> values;
  CsvKind kind = CsvKind::null;
};

/// Turns the text of columns into values. Thread-safe.
class CsvConverter {
 public:
  static arrow::Result<std::shared_ptr<CsvConverter const>> make();

  static std::shared_ptr<arrow::DataType> type_of(CsvKind kind);

  /// Returns column `column` of `rows` as the first kind from `kind` on that all its values have. `rows` are looked at
  /// once for every kind that is tried. Fails with Invalid for text that is not UTF-8.
  arrow::Result<CsvValues> convert(arrow::csv::BlockParser const& rows, int column, CsvKind kind) const;

 private:
  arrow::csv::ConvertOptions options_;  // the converters refer to it
  std::vector<std::shared_ptr<arrow::csv::Converter>> converters_;
};

/// How CSV text is taken apart.
arrow::csv::ParseOptions csv_parse_options();

inline constexpr std::int64_t kCsvBlockBytes = 4 << 20;

/// Whole records, the last of them with its line break unless it ends the file.
struct CsvBlock {
  std::shared_ptr<arrow::Buffer> bytes;
  std::string_view text;      ///< within `bytes`
  std::int64_t position = 0;  ///< of the text in the file
};

/// Cuts a file into blocks of about kCsvBlockBytes. Only quotes are looked at, which tell the line breaks between
/// records from those inside values (RFC 4180). Not thread-safe.
class CsvBlocks {
 public:
  CsvBlocks(std::shared_ptr<arrow::io::ReadableFile> file, std::atomic<bool> const* cancelled)
      : file_(std::move(file)), cancelled_(cancelled) {}

  /// Returns the next block, nullopt after the last; a byte order mark is left out. Fails with Cancelled; with Invalid
  /// for a quote that is not closed, or followed by text that is neither a comma nor a line break, and for a record of
  /// more than 64 MiB.
  arrow::Result<std::optional<CsvBlock>> next();

  std::int64_t bytes_read() const noexcept { return position_; }

 private:
  arrow::Status scan(std::string_view text);
  arrow::Status read_more(arrow::ResizableBuffer& buffer, std::int64_t& size);

  std::shared_ptr<arrow::io::ReadableFile> file_;
  std::atomic<bool> const* cancelled_;
  std::int64_t position_ = 0;
  std::int64_t text_position_ = 0;  // of what is not in a block yet
  bool at_end_ = false;
  CsvBlock rest_;  // what follows the last whole record of the block before
  // How far the text that is being cut has been looked at:
  std::size_t scanned_ = 0;
  std::size_t record_end_ = 0;
  bool quoted_ = false;
};

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
