// What the writers of the three formats owe to table_writer.cpp.
#pragma once

#include <cstdint>
#include <memory>

#include "io/arrow_bridge.hpp"
#include "io/file_format.hpp"

namespace garuda::io {

/// Encodes batches of one schema into a stream.
class RowWriter {
 public:
  virtual ~RowWriter() = default;
  virtual arrow::Status write(std::shared_ptr<arrow::RecordBatch> const& batch) = 0;
  /// Writes what is buffered and the footer; leaves the stream open.
  virtual arrow::Status finish() = 0;
};

struct RowWriterOptions {
  std::int64_t row_group_rows = 0;  ///< Parquet: most rows of a row group
  std::int64_t row_group_bytes =
      0;  ///< Parquet: most bytes, as in memory, that a row group gathers before it is written
  bool use_threads = true;
};

/// Returns a writer of `format`; what precedes the first row is written to `sink`.
/// Fails with NotImplemented or TypeError for a type that the format cannot hold.
arrow::Result<std::unique_ptr<RowWriter>> make_row_writer(FileFormat format,
                                                          std::shared_ptr<arrow::Schema> const& schema,
                                                          std::shared_ptr<arrow::io::OutputStream> sink,
                                                          RowWriterOptions const& options);

}  // namespace garuda::io
