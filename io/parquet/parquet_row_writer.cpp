// Parquet: the columns of a row group are encoded side by side, while rows of the next ones come.
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <deque>
#include <new>
#include <utility>

#include "core/arena_threads.hpp"
#include "io/columns/row_bytes.hpp"
#include "io/columns/stored_types.hpp"
#include "io/parquet/parquet_file.hpp"
#include "io/row_writer.hpp"

namespace garuda::io {
namespace {

constexpr std::int64_t kLeastPageBytes = 16 << 10;

parquet::Compression::type codec_of(Compression compression) {
  switch (compression) {
    case Compression::none:
      return parquet::Compression::UNCOMPRESSED;
    case Compression::snappy:
      return parquet::Compression::SNAPPY;
    case Compression::zstd:
      return parquet::Compression::ZSTD;
    case Compression::lz4:
      return parquet::Compression::LZ4;
    case Compression::gzip:
      return parquet::Compression::GZIP;
  }
  return parquet::Compression::UNCOMPRESSED;
}

ParquetProperties properties_of(RowWriterOptions const& options) {
  // Decimals of up to 18 digits as the integers that they are: half the bytes, and no byte order to turn. The page
  // index would have to be moved with the pages.
  parquet::WriterProperties::Builder builder;
  // Pages and dictionaries that are gathered beside a row group are small beside it.
  auto const page_bytes =
      std::min(parquet::kDefaultDataPageSize, std::max(kLeastPageBytes, options.row_group_bytes / 32));
  builder.memory_pool(memory_pool())
      ->data_pagesize(page_bytes)
      ->dictionary_pagesize_limit(page_bytes)
      ->max_row_group_length(options.row_group_rows)
      ->compression(codec_of(options.compression))
      ->enable_store_decimal_as_integer()
      ->disable_write_page_index();
  auto const file = builder.build();
  auto const plain = builder.disable_dictionary()->build();
  auto const packed = builder.encoding(parquet::Encoding::DELTA_BINARY_PACKED)->build();
  return {file, plain, options.packs_integers ? packed : nullptr,
          parquet::ArrowWriterProperties::Builder().set_use_threads(false)->build()};
}

/// A row group that is being encoded.
struct RowGroup {
  std::int64_t num_rows = 0;
  std::shared_ptr<arrow::Table> rows;
  std::vector<arrow::Result<EncodedColumn>> columns;
  tbb::task_group tasks;
};

class ParquetRowWriter final : public RowWriter {
 public:
  ParquetRowWriter(std::shared_ptr<arrow::Schema> schema, std::unique_ptr<ParquetFile> file,
                   ParquetProperties properties, RowWriterOptions const& options)
      : schema_(std::move(schema)),
        file_(std::move(file)),
        properties_(std::move(properties)),
        options_(options),
        arena_(arena_threads(options.threads)) {
    auto const fields = static_cast<std::size_t>(std::max(1, schema_->num_fields()));
    auto const threads = static_cast<std::size_t>(arena_.max_concurrency());
    if (options.writes_behind) most_behind_ = 1 + 2 * threads / fields;
  }

  ~ParquetRowWriter() override {
    for (auto& group : behind_) try {
        arena_.execute([&] { group->tasks.cancel(), group->tasks.wait(); });
      } catch (...) {  // what failed is not wanted any more
      }
  }

  arrow::Status write(std::shared_ptr<arrow::RecordBatch> const& batch) override {
    auto const bytes = row_bytes(*batch);
    // A row group stays in memory until it is complete, so wide rows make shorter ones.
    if (gathered_rows_ > 0 && gathered_bytes_ + bytes > options_.row_group_bytes) ARROW_RETURN_NOT_OK(start_group());
    gathered_bytes_ += bytes;
    for (std::int64_t first = 0; first < batch->num_rows();) {
      auto const rows = std::min(batch->num_rows() - first, options_.row_group_rows - gathered_rows_);
      gathered_.push_back(batch->Slice(first, rows));
      gathered_rows_ += rows;
      first += rows;
      if (gathered_rows_ == options_.row_group_rows) ARROW_RETURN_NOT_OK(start_group());
    }
    return arrow::Status::OK();
  }

  arrow::Status finish() override {
    if (gathered_rows_ > 0) ARROW_RETURN_NOT_OK(start_group());
    while (!behind_.empty()) ARROW_RETURN_NOT_OK(finish_group());
    return file_->finish();
  }

 private:
  /// Hands the gathered rows to the threads.
  arrow::Status start_group() {
    auto group = std::make_unique<RowGroup>();
    group->num_rows = std::exchange(gathered_rows_, 0);
    ARROW_ASSIGN_OR_RAISE(group->rows, arrow::Table::FromRecordBatches(schema_, std::exchange(gathered_, {})));
    gathered_bytes_ = 0;
    group->columns.resize(static_cast<std::size_t>(schema_->num_fields()));
    // Waited for, whatever happens from here on.
    behind_.push_back(std::move(group));
    arena_.execute([&] {
      for (int i = 0; i < schema_->num_fields(); ++i) {
        behind_.back()->tasks.run([this, group = behind_.back().get(), i] {
          group->columns[static_cast<std::size_t>(i)] =
              encode_column(schema_->field(i), group->rows->column(i), properties_);
        });
      }
    });
    while (behind_.size() > most_behind_) ARROW_RETURN_NOT_OK(finish_group());
    return arrow::Status::OK();
  }

  /// Writes the row group that has been encoded for longest.
  arrow::Status finish_group() {
    auto const group = std::move(behind_.front());
    behind_.pop_front();
    arena_.execute([&] { group->tasks.wait(); });
    group->rows.reset();
    std::vector<EncodedColumn> columns;
    for (auto& column : group->columns) {
      ARROW_ASSIGN_OR_RAISE(auto encoded, std::move(column));
      columns.push_back(std::move(encoded));
    }
    return file_->append(group->num_rows, columns);
  }

  std::shared_ptr<arrow::Schema> schema_;
  std::unique_ptr<ParquetFile> file_;
  ParquetProperties properties_;
  RowWriterOptions options_;
  tbb::task_arena arena_;
  std::size_t most_behind_ = 0;
  std::deque<std::unique_ptr<RowGroup>> behind_;
  ArrowBatches gathered_;
  std::int64_t gathered_rows_ = 0;
  std::int64_t gathered_bytes_ = 0;
};

}  // namespace

arrow::Result<std::unique_ptr<RowWriter>> make_parquet_writer(std::shared_ptr<arrow::Schema> const& schema,
                                                              OutputStream sink, RowWriterOptions const& options) {
  auto properties = properties_of(options);
  ARROW_ASSIGN_OR_RAISE(auto file, ParquetFile::make(*decoded_schema(*schema), std::move(sink), properties));
  return std::make_unique<ParquetRowWriter>(schema, std::move(file), std::move(properties), options);
}

}  // namespace garuda::io
