// A Parquet file put together from column chunks that were encoded elsewhere.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "io/arrow_bridge.hpp"
#include "io/parquet/bytes_in_memory.hpp"

namespace garuda::io {

/// One top-level column of one row group, as a Parquet file of its own in memory.
struct EncodedColumn {
  std::shared_ptr<BytesInMemory> file;
  std::shared_ptr<parquet::FileMetaData> footer;
};

struct ParquetProperties {
  std::shared_ptr<parquet::WriterProperties> file;    ///< with a dictionary, while it is small
  std::shared_ptr<parquet::WriterProperties> plain;   ///< otherwise the same
  std::shared_ptr<parquet::WriterProperties> packed;  ///< DELTA_BINARY_PACKED; nullptr: no column is
  std::shared_ptr<parquet::ArrowWriterProperties> arrow;
};

/// Encodes `column`, all of whose rows are one row group; by a sample of its values (column_sample.hpp) with a
/// dictionary, as differences, or plainly. Thread-safe. Fails with what the format cannot hold, and with OutOfMemory.
arrow::Result<EncodedColumn> encode_column(std::shared_ptr<arrow::Field> const& field,
                                           std::shared_ptr<arrow::ChunkedArray> const& column,
                                           ParquetProperties const& properties);

/// Writes row groups of encoded columns, then the footer. Not thread-safe.
class ParquetFile {
 public:
  /// `schema`: of the columns, and what readers of Arrow's schema are told. Writes the first bytes of the file.
  static arrow::Result<std::unique_ptr<ParquetFile>> make(arrow::Schema const& schema,
                                                          std::shared_ptr<arrow::io::OutputStream> sink,
                                                          ParquetProperties const& properties);

  /// Begins a row group, to which its columns are appended in the order of the schema.
  arrow::Status start_group(std::int64_t num_rows);
  /// Appends the chunks of `column`, the next field of the schema.
  arrow::Status append(EncodedColumn const& column);
  /// Ends the row group, once all columns are appended.
  arrow::Status finish_group();
  arrow::Status finish();

 private:
  ParquetFile(std::shared_ptr<arrow::io::OutputStream> sink, std::shared_ptr<parquet::FileMetaData> empty,
              ParquetProperties const& properties);
  arrow::Status append_chunk(parquet::ColumnChunkMetaData const& chunk, BytesInMemory const& file,
                             parquet::ColumnChunkMetaDataBuilder& entry);

  std::shared_ptr<arrow::io::OutputStream> sink_;
  std::shared_ptr<parquet::FileMetaData> empty_;  // has the schema that the footer refers to
  std::unique_ptr<parquet::FileMetaDataBuilder> footer_;
  parquet::RowGroupMetaDataBuilder* group_ = nullptr;  // of footer_
  std::int64_t group_bytes_ = 0;                       // uncompressed
  std::int64_t position_ = 0;
};

}  // namespace garuda::io
