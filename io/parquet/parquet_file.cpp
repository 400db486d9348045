#include "io/parquet/parquet_file.hpp"

#include <arrow/builder.h>
#include <arrow/compute/api_vector.h>
#include <arrow/util/byte_size.h>
#include <parquet/file_writer.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>
#include <parquet/statistics.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "io/arrow_bridge.hpp"
#include "io/parquet/chunk_pages.hpp"

namespace garuda::io {
namespace {

constexpr std::int64_t kPieceBytes = 1 << 18;

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

/// Every `step`th value of `column`, roughly.
arrow::Result<std::shared_ptr<arrow::ChunkedArray>> sample_of(arrow::ChunkedArray const& column, std::int64_t step) {
  auto context = single_threaded();
  arrow::ArrayVector chunks;
  for (auto const& chunk : column.chunks()) {
    arrow::Int64Builder rows(memory_pool());
    for (std::int64_t i = 0; i * step + i % step < chunk->length(); ++i)
      ARROW_RETURN_NOT_OK(rows.Append(i * step + i % step));
    ARROW_ASSIGN_OR_RAISE(auto const positions, rows.Finish());
    ARROW_ASSIGN_OR_RAISE(
        auto values, arrow::compute::Take(*chunk, *positions, arrow::compute::TakeOptions::NoBoundsCheck(), &context));
    chunks.push_back(std::move(values));
  }
  return arrow::ChunkedArray::Make(std::move(chunks), column.type());
}

/// Decimals of up to 18 digits as the integers that they are: Arrow has no functions of them.
arrow::Result<std::shared_ptr<arrow::ChunkedArray>> as_integers(arrow::ChunkedArray const& column) {
  auto const id = column.type()->id();
  if (id != arrow::Type::DECIMAL32 && id != arrow::Type::DECIMAL64)
    return std::make_shared<arrow::ChunkedArray>(column.chunks(), column.type());
  return column.View(id == arrow::Type::DECIMAL32 ? arrow::int32() : arrow::int64());
}

/// Values that DELTA_BINARY_PACKED gives a common width.
constexpr std::int64_t kPackedRun = 32;

/// Bits that the differences of neighbours take, among the first kPackedRun + 1 values from `first` on that are not
/// null. `value_of(i)` is a value as 64 bits.
template <class ValueOf>
int bits_of_run(arrow::Array const& chunk, std::int64_t first, ValueOf const& value_of) {
  std::optional<std::uint64_t> before;
  auto least = std::numeric_limits<std::int64_t>::max();
  auto most = std::numeric_limits<std::int64_t>::min();
  std::int64_t differences = 0;
  for (auto i = first; i < chunk.length() && differences < kPackedRun; ++i) {
    if (chunk.IsNull(i)) continue;
    std::uint64_t const value = value_of(i);
    if (before) {
      auto const difference = static_cast<std::int64_t>(value - *before);
      least = std::min(least, difference);
      most = std::max(most, difference);
      ++differences;
    }
    before = value;
  }
  if (differences == 0) return 0;
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least)));
}

template <class Value>
int bits_of_run(arrow::Array const& chunk, std::int64_t first) {
  auto const* const values = chunk.data()->GetValues<Value>(1);
  return bits_of_run(chunk, first,
                     [&](std::int64_t i) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(values[i])); });
}

/// Bits that Parquet stores a value of `type` in without packing it; 0 where it is no integer there.
int stored_bits(arrow::DataType const& type) {
  switch (type.id()) {
    case arrow::Type::INT8:
    case arrow::Type::UINT8:
    case arrow::Type::INT16:
    case arrow::Type::UINT16:
    case arrow::Type::INT32:
    case arrow::Type::UINT32:
    case arrow::Type::DATE32:
    case arrow::Type::TIME32:
      return 32;
    case arrow::Type::INT64:
    case arrow::Type::UINT64:
    case arrow::Type::TIME64:
    case arrow::Type::TIMESTAMP:
    case arrow::Type::DURATION:
      return 64;
    case arrow::Type::DECIMAL32:
    case arrow::Type::DECIMAL64:
    case arrow::Type::DECIMAL128: {
      auto const digits = static_cast<arrow::DecimalType const&>(type).precision();
      return digits <= arrow::Decimal32Type::kMaxPrecision   ? 32
             : digits <= arrow::Decimal64Type::kMaxPrecision ? 64
                                                             : 0;
    }
    default:
      return 0;
  }
}

int bits_of_run(arrow::Array const& chunk, std::int64_t first, int bytes) {
  switch (bytes) {
    case 1:
      return bits_of_run<std::int8_t>(chunk, first);
    case 2:
      return bits_of_run<std::int16_t>(chunk, first);
    case 4:
      return bits_of_run<std::int32_t>(chunk, first);
    case 8:
      return bits_of_run<std::int64_t>(chunk, first);
    default: {
      constexpr std::int64_t kWords = 2;
      auto const* const words = chunk.data()->GetValues<std::uint64_t>(1, 0) + kWords * chunk.offset();
      return bits_of_run(chunk, first, [&](std::int64_t i) { return words[kWords * i]; });
    }
  }
}

/// Whether one value fills a dictionary, about.
bool has_long_values(arrow::ChunkedArray const& column) {
  if (!arrow::is_base_binary_like(column.type()->id())) return false;
  std::int64_t bytes = 0;
  for (auto const& chunk : column.chunks()) bytes += arrow::util::ReferencedBufferSize(*chunk).ValueOr(0);
  return bytes > column.length() * parquet::DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT;
}

}  // namespace

bool repeats_values(arrow::ChunkedArray const& column) {
  constexpr std::int64_t kSampleRows = 1 << 12;
  constexpr std::int64_t kLeastRepeats = 8;
  if (has_long_values(column)) return false;
  auto const step = column.length() / kSampleRows;
  if (step < 2 || column.type()->id() == arrow::Type::DICTIONARY || arrow::is_nested(*column.type())) return true;
  auto context = single_threaded();
  auto const integers = as_integers(column);
  if (!integers.ok()) return true;
  auto const sample = sample_of(**integers, step);
  if (!sample.ok()) return true;
  auto const values = arrow::compute::Unique(*sample, &context);
  if (!values.ok()) return true;  // a type that has no such function
  auto const repeated = (*sample)->length() - (*values)->length();
  if (repeated == 0) return false;
  auto const different = kSampleRows * kSampleRows / 2 / repeated + 1;
  auto const value_bytes = arrow::util::ReferencedBufferSize(**values).ValueOr(0) / (*values)->length();
  return column.length() / different >= kLeastRepeats &&
         different * value_bytes <= parquet::DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT;
}

bool packs_well(arrow::ChunkedArray const& column) {
  constexpr std::int64_t kRuns = 64;
  auto const stored = stored_bits(*column.type());
  if (stored == 0) return false;
  auto const bytes = static_cast<arrow::FixedWidthType const&>(*column.type()).bit_width() / 8;
  auto const step = std::max(column.length() / kRuns, kPackedRun);
  std::int64_t runs = 0;
  std::int64_t bits = 0;
  for (auto const& chunk : column.chunks()) {
    for (std::int64_t first = 0; first < chunk->length(); first += step) {
      bits += bits_of_run(*chunk, first, bytes);
      ++runs;
    }
  }
  return bits <= runs * stored / 2;
}

arrow::Status BytesInMemory::Write(void const* data, std::int64_t bytes) {
  auto const* next = static_cast<std::uint8_t const*>(data);
  while (bytes > 0) {
    auto const used = size_ % kPieceBytes;
    if (used == 0) {
      ARROW_ASSIGN_OR_RAISE(auto piece, arrow::AllocateBuffer(kPieceBytes, memory_pool()));
      pieces_.push_back(std::move(piece));
    }
    auto const more = std::min(bytes, kPieceBytes - used);
    std::memcpy(pieces_.back()->mutable_data() + used, next, static_cast<std::size_t>(more));
    next += more;
    bytes -= more;
    size_ += more;
  }
  return arrow::Status::OK();
}

arrow::Status BytesInMemory::Close() {
  closed_ = true;
  return arrow::Status::OK();
}

arrow::Status BytesInMemory::copy(std::int64_t first, std::int64_t bytes, arrow::io::OutputStream& sink) const {
  while (bytes > 0) {
    auto const& piece = *pieces_[static_cast<std::size_t>(first / kPieceBytes)];
    auto const skipped = first % kPieceBytes;
    auto const more = std::min(bytes, kPieceBytes - skipped);
    ARROW_RETURN_NOT_OK(sink.Write(piece.data() + skipped, more));
    first += more;
    bytes -= more;
  }
  return arrow::Status::OK();
}

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
