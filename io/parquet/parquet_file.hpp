// A Parquet file put together from column chunks that were encoded elsewhere.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "io/arrow_bridge.hpp"

namespace garuda::io {

/// Whether values come so often again that a dictionary makes the column shorter, and this is not given up because it
/// grows too large: from a sample, of which the number of values that are in it again says how many different ones
/// there are.
bool repeats_values(arrow::ChunkedArray const& column);

/// Whether the differences of neighbouring integers, or of what Parquet stores as such, take half of their bits or
/// less: DELTA_BINARY_PACKED is then shorter than what Snappy makes of them, and quicker to write and read.
bool packs_well(arrow::ChunkedArray const& column);

/// Bytes in pieces of one size, so that none move as they grow: Arrow's stream into one buffer copies them each time
/// that it doubles, into memory that is fresh. Not thread-safe.
class BytesInMemory final : public arrow::io::OutputStream {
 public:
  using arrow::io::OutputStream::Write;
  arrow::Status Write(void const* data, std::int64_t bytes) override;
  arrow::Status Close() override;
  arrow::Result<std::int64_t> Tell() const override { return size_; }
  bool closed() const override { return closed_; }

  /// Writes `bytes` bytes from `first` on, which have been written here, to `sink`.
  arrow::Status copy(std::int64_t first, std::int64_t bytes, arrow::io::OutputStream& sink) const;

 private:
  std::vector<std::shared_ptr<arrow::Buffer>> pieces_;
  std::int64_t size_ = 0;
  bool closed_ = false;
};

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

/// Encodes `column`, all of whose rows are one row group; by a sample of its values with a
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
