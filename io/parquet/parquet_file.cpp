#include "io/parquet/parquet_file.hpp"

#include <parquet/file_writer.h>
#include <parquet/metadata.h>
#include <parquet/statistics.h>

#include <map>
#include <new>
#include <string_view>
#include <utility>

#include "io/parquet/chunk_pages.hpp"
#include "io/parquet/column_sample.hpp"

namespace garuda::io {
namespace {

constexpr std::string_view kMagic = "PAR1";
/// A file in memory. Arrow's destructor writes the pages that are left, and crashes on what a lack of memory left half
/// made, which is let go of instead.
class FileInMemory {
 public:
  ~FileInMemory() {
    if (is_half_made_) static_cast<void>(writer_.release());
  }

  arrow::Result<EncodedColumn> write(std::shared_ptr<arrow::Schema> const& schema,
                                     std::shared_ptr<arrow::Table> const& rows, ParquetProperties const& properties) {
    BEGIN_PARQUET_CATCH_EXCEPTIONS
    try {
      auto sink = std::make_shared<BytesInMemory>();
      ARROW_ASSIGN_OR_RAISE(
          writer_, parquet::arrow::FileWriter::Open(*schema, memory_pool(), sink, properties.file, properties.arrow));
      is_half_made_ = true;  // stays so when memory is missed by an exception
      auto const status = fill(rows);
      is_half_made_ = status.IsOutOfMemory();
      ARROW_RETURN_NOT_OK(status);
      return EncodedColumn{std::move(sink), writer_->metadata()};
    } catch (std::bad_alloc const&) {
      return arrow::Status::OutOfMemory("no memory to encode a column");
    }
    END_PARQUET_CATCH_EXCEPTIONS
  }

 private:
  arrow::Status fill(std::shared_ptr<arrow::Table> const& rows) {
    if (rows != nullptr) ARROW_RETURN_NOT_OK(writer_->WriteTable(*rows, rows->num_rows()));
    return writer_->Close();
  }

  std::unique_ptr<parquet::arrow::FileWriter> writer_;
  bool is_half_made_ = false;
};

}  // namespace

arrow::Result<EncodedColumn> encode_column(std::shared_ptr<arrow::Field> const& field,
                                           std::shared_ptr<arrow::ChunkedArray> const& column,
                                           ParquetProperties const& properties) {
  auto const schema = arrow::schema({field});
  auto fitting = properties;
  if (!repeats_values(*column))
    fitting.file = properties.packed && packs_well(*column) ? properties.packed : properties.plain;
  return FileInMemory().write(schema, arrow::Table::Make(schema, {column}), fitting);
}

ParquetFile::ParquetFile(std::shared_ptr<arrow::io::OutputStream> sink, std::shared_ptr<parquet::FileMetaData> empty,
                         ParquetProperties const& properties)
    : sink_(std::move(sink)),
      empty_(std::move(empty)),
      footer_(parquet::FileMetaDataBuilder::Make(empty_->schema(), properties.file)) {}

arrow::Result<std::unique_ptr<ParquetFile>> ParquetFile::make(arrow::Schema const& schema,
                                                              std::shared_ptr<arrow::io::OutputStream> sink,
                                                              ParquetProperties const& properties) {
  // A file without rows has what all columns' files lack: their common schema, and Arrow's as metadata.
  auto with_schema = properties;
  with_schema.arrow = parquet::ArrowWriterProperties::Builder().store_schema()->build();
  auto const shared = std::make_shared<arrow::Schema>(schema);
  ARROW_ASSIGN_OR_RAISE(auto empty, FileInMemory().write(shared, nullptr, with_schema));
  BEGIN_PARQUET_CATCH_EXCEPTIONS
  ARROW_RETURN_NOT_OK(sink->Write(kMagic));
  std::unique_ptr<ParquetFile> file(new ParquetFile(std::move(sink), std::move(empty.footer), properties));
  file->position_ = static_cast<std::int64_t>(kMagic.size());
  return file;
  END_PARQUET_CATCH_EXCEPTIONS
}

arrow::Status ParquetFile::start_group(std::int64_t num_rows) {
  BEGIN_PARQUET_CATCH_EXCEPTIONS
  group_ = footer_->AppendRowGroup();
  group_->set_num_rows(num_rows);
  group_bytes_ = 0;
  return arrow::Status::OK();
  END_PARQUET_CATCH_EXCEPTIONS
}

arrow::Status ParquetFile::append(EncodedColumn const& column) {
  BEGIN_PARQUET_CATCH_EXCEPTIONS
  auto const of_column = column.footer->RowGroup(0);
  for (int leaf = 0; leaf < of_column->num_columns(); ++leaf) {
    auto const chunk = of_column->ColumnChunk(leaf);
    ARROW_RETURN_NOT_OK(append_chunk(*chunk, *column.file, *group_->NextColumnChunk()));
    group_bytes_ += chunk->total_uncompressed_size();
  }
  return arrow::Status::OK();
  END_PARQUET_CATCH_EXCEPTIONS
}

arrow::Status ParquetFile::finish_group() {
  BEGIN_PARQUET_CATCH_EXCEPTIONS
  group_->Finish(group_bytes_);
  return arrow::Status::OK();
  END_PARQUET_CATCH_EXCEPTIONS
}

arrow::Status ParquetFile::append_chunk(parquet::ColumnChunkMetaData const& chunk, BytesInMemory const& file,
                                        parquet::ColumnChunkMetaDataBuilder& entry) {
  bool const has_dictionary = chunk.has_dictionary_page();
  auto const first = first_byte_of(chunk);
  auto const bytes = chunk.total_compressed_size();
  auto const moved = position_ - first;
  ARROW_RETURN_NOT_OK(file.copy(first, bytes, *sink_));
  position_ += bytes;

  std::map<parquet::Encoding::type, std::int32_t> dictionary_pages;
  std::map<parquet::Encoding::type, std::int32_t> data_pages;
  for (auto const& pages : chunk.encoding_stats()) {
    auto& kind = pages.page_type == parquet::PageType::DICTIONARY_PAGE ? dictionary_pages : data_pages;
    kind[pages.encoding] += pages.count;
  }
  if (auto const statistics = chunk.encoded_statistics()) entry.SetStatistics(*statistics);
  if (auto const sizes = chunk.size_statistics()) entry.SetSizeStatistics(*sizes);
  // The builder's flag of a fallback only adds PLAIN to the encodings, which the pages' own say.
  entry.Finish(chunk.num_values(), has_dictionary ? chunk.dictionary_page_offset() + moved : 0, 0,
               chunk.data_page_offset() + moved, bytes, chunk.total_uncompressed_size(), has_dictionary, false,
               dictionary_pages, data_pages);
  return arrow::Status::OK();
}

arrow::Status ParquetFile::finish() {
  BEGIN_PARQUET_CATCH_EXCEPTIONS
  parquet::WriteFileMetaData(*footer_->Finish(empty_->key_value_metadata()), sink_.get());
  return arrow::Status::OK();
  END_PARQUET_CATCH_EXCEPTIONS
}

}  // namespace garuda::io
