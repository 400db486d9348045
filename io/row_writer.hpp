// The interface of the writers of the three formats, for table_writer.cpp.
#pragma once

#include <cstdint>
#include <memory>

#include "io/arrow_bridge.hpp"
#include "io/file_format.hpp"

namespace garuda::io {

/// Encodes batches of one schema into a stream. Destroying it drops what has not been written.
class RowWriter {
 public:
  virtual ~RowWriter() = default;
  /// May return before the rows are written. Columns may be stored ones (stored_types.hpp).
  virtual arrow::Status write(std::shared_ptr<arrow::RecordBatch> const& batch) = 0;
  /// Writes what is buffered and the footer; leaves the stream open.
  virtual arrow::Status finish() = 0;
};

struct RowWriterOptions {
  std::int64_t row_group_rows = 0;   ///< Parquet: most rows of a row group
  std::int64_t row_group_bytes = 0;  ///< Parquet: most bytes, as in memory, gathered before a row group is written
  bool writes_behind = true;         ///< rows may wait in memory while others are encoded
  std::uint32_t threads = 0;         ///< 0: all
  Compression compression = Compression::none;
  bool packs_integers = true;  ///< Parquet: as differences, where that is shorter
};

using OutputStream = std::shared_ptr<arrow::io::OutputStream>;

/// Return a writer; what precedes the first row is written to `sink`.
/// Fail with NotImplemented or TypeError for a type that the format cannot hold.
arrow::Result<std::unique_ptr<RowWriter>> make_parquet_writer(std::shared_ptr<arrow::Schema> const& schema,
                                                              OutputStream sink, RowWriterOptions const& options);
arrow::Result<std::unique_ptr<RowWriter>> make_ipc_writer(std::shared_ptr<arrow::Schema> const& schema,
                                                          OutputStream sink, RowWriterOptions const& options);
arrow::Result<std::unique_ptr<RowWriter>> make_csv_writer(std::shared_ptr<arrow::Schema> const& schema,
                                                          OutputStream sink, RowWriterOptions const& options);

}  // namespace garuda::io
