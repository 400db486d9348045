// Parquet: the columns of a row group are encoded side by side, while rows of the next ones come.
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <deque>
#include <new>
#include <utility>

#include "core/parallel_blocks.hpp"
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

/// Columns of a row group that are encoded side by side where memory is limited: what describes a column, and its
/// pages, is let go of once it is written.
constexpr int kLimitedColumns = 64;

/// A row group that is being encoded.
struct RowGroup {
  std::int64_t num_rows = 0;
  std::shared_ptr<arrow::Table> rows;
  int begun = 0;                                     ///< columns that were handed to the threads
  std::deque<arrow::Result<EncodedColumn>> columns;  ///< the last of them, which are not written yet
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
    columns_at_once_ = options.writes_behind ? schema_->num_fields() : kLimitedColumns;
  }

  ~ParquetRowWriter() override {
    for (auto& group : behind_) try {
        arena_.execute([&] { group->tasks.cancel(), group->tasks.wait(); });
      } catch (...) {  // what failed is not wanted any more
      }
  }

  arrow::Status write(std::shared_ptr<arrow::RecordBatch> const& batch) override {
    auto const bytes = row_bytes(*batch);
    if (bytes > options_.row_group_bytes && batch->num_rows() > 1) {
      auto const half = batch->num_rows() / 2;
      ARROW_RETURN_NOT_OK(write(batch->Slice(0, half)));
      return write(batch->Slice(half));
    }
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
    // Waited for, whatever happens from here on.
    behind_.push_back(std::move(group));
    start_columns(*behind_.back());
    while (behind_.size() > most_behind_) ARROW_RETURN_NOT_OK(finish_group());
    return arrow::Status::OK();
  }

  /// Hands the next columns of a row group to the threads.
  void start_columns(RowGroup& group) {
    auto const first = group.begun;
    group.begun = std::min(first + columns_at_once_, schema_->num_fields());
    group.columns.resize(static_cast<std::size_t>(group.begun - first));
    arena_.execute([&] {
      for (int i = first; i < group.begun; ++i) {
        auto& column = group.columns[static_cast<std::size_t>(i - first)];
        group.tasks.run([this, &group, &column, i] {
          column = encode_column(schema_->field(i), group.rows->column(i), properties_);
        });
      }
    });
  }

  /// Writes the row group that has been encoded for longest.
  arrow::Status finish_group() {
    auto& group = *behind_.front();
    ARROW_RETURN_NOT_OK(file_->start_group(group.num_rows));
    while (true) {
      arena_.execute([&] { group.tasks.wait(); });
      bool const is_encoded = group.begun == schema_->num_fields();
      if (is_encoded) group.rows.reset();
      for (; !group.columns.empty(); group.columns.pop_front()) {
        ARROW_ASSIGN_OR_RAISE(auto const encoded, std::move(group.columns.front()));
        ARROW_RETURN_NOT_OK(file_->append(encoded));
      }
      if (is_encoded) break;
      start_columns(group);
    }
    behind_.pop_front();
    return file_->finish_group();
  }

  std::shared_ptr<arrow::Schema> schema_;
  std::unique_ptr<ParquetFile> file_;
  ParquetProperties properties_;
  RowWriterOptions options_;
  tbb::task_arena arena_;
  std::size_t most_behind_ = 0;
  int columns_at_once_ = 0;
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
