// Types of CSV columns: found from their text, which has none.
#pragma once

#include <arrow/csv/converter.h>
#include <arrow/csv/parser.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "io/arrow_bridge.hpp"

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

}  // namespace garuda::io
