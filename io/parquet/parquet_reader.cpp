// Parquet files: whole by parquet_columns, or piece by piece.
#include <parquet/metadata.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "core/shortage.hpp"
#include "io/arrow_bridge.hpp"
#include "io/file_reader.hpp"
#include "io/parquet/chunk_pages.hpp"
#include "io/parquet/flat_columns.hpp"
#include "io/parquet/parquet_columns.hpp"
#include "io/parquet/row_group_tests.hpp"
#include "io/table_reader.hpp"

namespace garuda::io {
namespace {

/// Bytes of a column chunk that are fetched at once when it is read piece by piece.
constexpr std::int64_t kStreamBufferBytes = 64 << 10;
/// Writers end a page that has as many.
constexpr std::int64_t kPageBytes = 1 << 20;
/// Bytes that reading any column piece by piece takes: readers of its pages, a decoder.
constexpr std::uint64_t kColumnReaderBytes = 8 << 10;
/// Values after which they look how long a page is.
constexpr std::int64_t kPageValues = 1 << 10;

using RowGroupReader = std::unique_ptr<parquet::arrow::FileReader>;

/// Parquet's lower layers throw; above here there are only statuses.
arrow::Result<RowGroupReader> make_reader(std::shared_ptr<arrow::io::ReadableFile> const& file,
                                          std::shared_ptr<parquet::FileMetaData> footer,
                                          parquet::ArrowReaderProperties const& properties) {
  BEGIN_PARQUET_CATCH_EXCEPTIONS
  auto low_level = parquet::ParquetFileReader::Open(file, checked_properties(), std::move(footer));
  return parquet::arrow::FileReader::Make(memory_pool(), std::move(low_level), properties);
  END_PARQUET_CATCH_EXCEPTIONS
}

arrow::Result<RowGroupReader> make_streaming_reader(std::shared_ptr<arrow::io::ReadableFile> const& file,
                                                    std::shared_ptr<parquet::FileMetaData> footer, bool use_threads,
                                                    std::int64_t batch_rows) {
  BEGIN_PARQUET_CATCH_EXCEPTIONS
  auto properties = checked_properties();
  properties.enable_buffered_stream();
  properties.set_buffer_size(kStreamBufferBytes);
  auto low_level = parquet::ParquetFileReader::Open(file, properties, std::move(footer));
  parquet::ArrowReaderProperties arrow_properties(may_use_threads(use_threads));
  arrow_properties.set_batch_size(batch_rows);
  arrow_properties.set_pre_buffer(false);
  return parquet::arrow::FileReader::Make(memory_pool(), std::move(low_level), arrow_properties);
  END_PARQUET_CATCH_EXCEPTIONS
}

/// The type as which Arrow reads dictionaries of strings and binary of any layout; nullptr: another type.
std::shared_ptr<arrow::DataType> dictionary_type(arrow::DataType const& type) {
  switch (type.id()) {
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::STRING_VIEW:
      return arrow::dictionary(arrow::int32(), arrow::utf8());
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_BINARY:
    case arrow::Type::BINARY_VIEW:
      return arrow::dictionary(arrow::int32(), arrow::binary());
    default:
      return nullptr;
  }
}

/// Adds the positions of the leaf columns of `field`: one, unless it is nested.
void append_leaves(parquet::arrow::SchemaField const& field, std::vector<int>& leaves) {
  if (field.column_index >= 0) leaves.push_back(field.column_index);
  for (auto const& child : field.children) append_leaves(child, leaves);
}

/// Reads one row group after the other. A column chunk is fetched through a small buffer and decoded a batch at a time,
/// so that memory does not grow with the row groups.
class ParquetCursor final : public BatchCursor {
 public:
  ParquetCursor(std::string sentence, RowGroupReader reader, std::vector<int> leaves, std::vector<int> row_groups,
                ReadOptions const& options)
      : sentence_(std::move(sentence)),
        reader_(std::move(reader)),
        leaves_(std::move(leaves)),
        row_groups_(std::move(row_groups)),
        cancelled_(options.cancelled) {}

  Result<void> open() {
    GARUDA_ARROW_TRY(read_schema(), ErrorCode::invalid_input, sentence_);
    return {};
  }

  Result<std::shared_ptr<arrow::RecordBatch>> next() override {
    GARUDA_TRY(check_cancelled(cancelled_));
    GARUDA_ARROW_TRY_ASSIGN(auto batch, next_batch(), ErrorCode::invalid_input, sentence_);
    return batch;
  }

  double fraction_read() const noexcept override {
    auto const rows = reader_->parquet_reader()->metadata()->num_rows();
    return rows == 0 ? 1.0 : static_cast<double>(rows_read_) / static_cast<double>(rows);
  }

  /// Pages and dictionaries of a column take some MB.
  void rest() override { batches_.reset(); }

 private:
  arrow::Status read_schema() {
    BEGIN_PARQUET_CATCH_EXCEPTIONS
    ARROW_ASSIGN_OR_RAISE(auto const none, reader_->GetRecordBatchReader({}, leaves_));
    schema_ = none->schema();
    return arrow::Status::OK();
    END_PARQUET_CATCH_EXCEPTIONS
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> next_batch() {
    BEGIN_PARQUET_CATCH_EXCEPTIONS
    for (; next_group_ < row_groups_.size(); ++next_group_) {
      std::int64_t read_before = 0;
      if (batches_ == nullptr) {
        if (!BufferCeiling::instance().has_room(leaves_.size() * kColumnReaderBytes))
          return arrow::Status::OutOfMemory("readers of ", leaves_.size(), " columns do not fit the memory limit");
        ARROW_ASSIGN_OR_RAISE(batches_, reader_->GetRecordBatchReader({row_groups_[next_group_]}, leaves_));
        read_before = std::exchange(rows_of_group_, 0);
      }
      while (true) {
        ARROW_ASSIGN_OR_RAISE(auto batch, batches_->Next());
        if (batch == nullptr) break;
        rows_of_group_ += batch->num_rows();
        if (rows_of_group_ <= read_before) continue;  // batches begin where they did
        ARROW_RETURN_NOT_OK(batch->Validate());
        rows_read_ += batch->num_rows();
        return batch;
      }
      ARROW_RETURN_NOT_OK(check_rows(
          rows_of_group_, reader_->parquet_reader()->metadata()->RowGroup(row_groups_[next_group_])->num_rows()));
      batches_.reset();
      rows_of_group_ = 0;
    }
    return nullptr;
    END_PARQUET_CATCH_EXCEPTIONS
  }

  std::string sentence_;
  RowGroupReader reader_;
  std::vector<int> leaves_;
  std::vector<int> row_groups_;
  std::atomic<bool> const* cancelled_;
  std::size_t next_group_ = 0;
  std::int64_t rows_of_group_ = 0;  ///< that are read
  std::int64_t rows_read_ = 0;
  std::unique_ptr<arrow::RecordBatchReader> batches_;
};

class ParquetReader final : public FileReader, private RowGroups {
 public:
  ParquetReader(InputFile input, RowGroupReader reader, std::shared_ptr<arrow::Schema> schema)
      : FileReader(std::move(input), std::move(schema)), reader_(std::move(reader)) {}

  Result<ArrowBatches> read(std::vector<int> const& columns, ReadOptions const& options) override {
    GARUDA_ARROW_TRY_ASSIGN(auto const row_groups, wanted_row_groups(options), ErrorCode::invalid_input,
                            input_.sentence());
    return read(columns, options, row_groups);
  }

  bool validates() const noexcept override { return true; }

  RowGroups* row_groups() noexcept override { return this; }

  FilesRead share_of(std::vector<int> const& columns, ReadOptions const& options) const override {
    auto const footer = reader_->parquet_reader()->metadata();
    auto const read = wanted_row_groups(options).ValueOr({});
    auto const leaves = leaves_of(columns);
    FilesRead share{read.size(), static_cast<std::uint64_t>(footer->num_row_groups())};
    for (int const i : read)
      for (int const leaf : leaves) share.bytes += bytes_of(*footer, i, leaf);
    for (int i = 0; i < footer->num_row_groups(); ++i)
      for (int leaf = 0; leaf < footer->num_columns(); ++leaf) share.all_bytes += bytes_of(*footer, i, leaf);
    return share;
  }

  Result<std::unique_ptr<BatchCursor>> stream(std::vector<int> const& columns, ReadOptions const& options,
                                              std::int64_t batch_rows) override {
    GARUDA_TRY_ASSIGN(auto row_groups, wanted(options));
    return stream(columns, options, batch_rows, std::move(row_groups));
  }

 private:
  static std::uint64_t bytes_of(parquet::FileMetaData const& footer, int row_group, int leaf) {
    return static_cast<std::uint64_t>(footer.RowGroup(row_group)->ColumnChunk(leaf)->total_compressed_size());
  }

  /// The column of a test; nullopt: none is called so, several are, or it has parts.
  std::optional<TestedColumn> tested_column(std::string const& name) const {
    auto const column = schema_->GetFieldIndex(name);
    if (column < 0) return std::nullopt;
    auto const leaves = leaves_of({column});
    if (leaves.size() != 1) return std::nullopt;
    return TestedColumn{leaves.front(), schema_->field(column)->type()};
  }

  /// Row groups that may have rows that are wanted.
  arrow::Result<std::vector<int>> wanted_row_groups(ReadOptions const& options) const {
    BEGIN_PARQUET_CATCH_EXCEPTIONS
    auto const footer = reader_->parquet_reader()->metadata();
    auto const find = [this](std::string const& name) { return tested_column(name); };
    std::vector<int> row_groups;
    for (int i = 0; i < footer->num_row_groups(); ++i)
      if (options.wanted.passes_all() || may_pass(options.wanted, *footer->RowGroup(i), find)) row_groups.push_back(i);
    return row_groups;
    END_PARQUET_CATCH_EXCEPTIONS
  }

  /// Most rows of a batch of any of `row_groups`, by what their values take as they are encoded.
  std::int64_t batch_rows_of_groups(std::int64_t batch_rows, std::vector<int> const& columns,
                                    std::vector<int> const& row_groups) const {
    auto const footer = reader_->parquet_reader()->metadata();
    auto const leaves = leaves_of(columns);
    auto fewest = batch_rows;
    for (int const i : row_groups) {
      auto const group = footer->RowGroup(i);
      std::int64_t bytes = 0;
      for (int const leaf : leaves) bytes += group->ColumnChunk(leaf)->total_uncompressed_size();
      fewest = std::min(fewest, batch_rows_of(batch_rows, group->num_rows(), bytes));
    }
    return fewest;
  }

  std::vector<int> leaves_of(std::vector<int> const& columns) const {
    std::vector<int> leaves;
    for (int const column : columns)
      append_leaves(reader_->manifest().schema_fields[static_cast<std::size_t>(column)], leaves);
    return leaves;
  }

  static bool is_stored(arrow::Field const& field, ReadOptions const& options) {
    return options.as_stored && std::ranges::find(options.plain_columns, field.name()) == options.plain_columns.end();
  }

  LeafColumn leaf_column(int column, ReadOptions const& options) const {
    auto const& field = *schema_->field(column);
    LeafColumn result{schema_->field(column), leaves_of({column}), is_stored(field, options)};
    if (result.as_stored && result.leaves.size() == 1) {
      auto const& leaf = *reader_->parquet_reader()->metadata()->schema()->Column(result.leaves.front());
      result.decimal = stored_decimal(leaf, *field.type());
    }
    return result;
  }

  std::shared_ptr<arrow::DataType> type_as_read(LeafColumn const& column) const {
    auto const type = column.decimal != nullptr ? column.decimal : column.field->type();
    bool const is_coded = column.as_stored && column.leaves.size() == 1 &&
                          has_codes(*reader_->parquet_reader()->metadata(), column.leaves.front());
    auto coded = is_coded ? dictionary_type(*type) : nullptr;
    return coded != nullptr ? coded : type;
  }

  std::vector<std::int64_t> rows() const override {
    auto const footer = reader_->parquet_reader()->metadata();
    std::vector<std::int64_t> rows;
    for (int i = 0; i < footer->num_row_groups(); ++i) rows.push_back(footer->RowGroup(i)->num_rows());
    return rows;
  }

  Result<std::vector<int>> wanted(ReadOptions const& options) const override {
    GARUDA_ARROW_TRY_ASSIGN(auto row_groups, wanted_row_groups(options), ErrorCode::invalid_input, input_.sentence());
    return row_groups;
  }

  std::uint64_t stream_bytes(std::vector<int> const& columns) const override {
    auto const footer = reader_->parquet_reader()->metadata();
    std::int64_t bytes = 0;
    for (int const leaf : leaves_of(columns)) {
      std::int64_t most = 0;
      for (int i = 0; i < footer->num_row_groups(); ++i) {
        auto const chunk = footer->RowGroup(i)->ColumnChunk(leaf);
        auto const of_chunk = chunk->total_uncompressed_size();
        auto const of_value = of_chunk / std::max<std::int64_t>(chunk->num_values(), 1);
        most = std::max(most, std::min(of_chunk, std::max(kPageBytes, kPageValues * of_value)));
      }
      // A page as it is in the file, and decompressed.
      bytes += kStreamBufferBytes + 2 * most;
    }
    return static_cast<std::uint64_t>(bytes);
  }

  Result<std::unique_ptr<BatchCursor>> stream(std::vector<int> const& columns, ReadOptions const& options,
                                              std::int64_t batch_rows, int row_group) override {
    return stream(columns, options, batch_rows, std::vector<int>{row_group});
  }

  Result<std::unique_ptr<BatchCursor>> stream(std::vector<int> const& columns, ReadOptions const& options,
                                              std::int64_t batch_rows, std::vector<int> row_groups) const {
    batch_rows = batch_rows_of_groups(batch_rows, columns, row_groups);
    GARUDA_ARROW_TRY_ASSIGN(
        auto reader,
        make_streaming_reader(input_.file, reader_->parquet_reader()->metadata(), options.threads != 1, batch_rows),
        ErrorCode::invalid_input, input_.sentence());
    auto cursor = std::make_unique<ParquetCursor>(input_.sentence(), std::move(reader), leaves_of(columns),
                                                  std::move(row_groups), options);
    GARUDA_TRY(cursor->open());
    return cursor;
  }

  std::optional<std::uint64_t> estimated_values(int column) const override {
    auto const leaves = leaves_of({column});
    if (leaves.size() != 1) return std::nullopt;
    return io::estimated_values(*reader_->parquet_reader()->metadata(), leaves.front());
  }

  std::shared_ptr<arrow::DataType> type_as_read(int column, ReadOptions const& options) const override {
    return type_as_read(leaf_column(column, options));
  }

  Result<ArrowBatches> read(std::vector<int> const& columns, ReadOptions const& options, int first, int end) override {
    std::vector<int> row_groups(static_cast<std::size_t>(end - first));
    std::iota(row_groups.begin(), row_groups.end(), first);
    return read(columns, options, row_groups);
  }

  Result<ArrowBatches> read(std::vector<int> const& columns, ReadOptions const& options,
                            std::vector<int> const& row_groups) const {
    std::vector<LeafColumn> leaves;
    for (int const column : columns) leaves.push_back(leaf_column(column, options));
    GARUDA_ARROW_TRY_ASSIGN(auto batches, read_as(std::move(leaves), row_groups, options), ErrorCode::invalid_input,
                            input_.sentence());
    return batches;
  }

  arrow::Result<ArrowBatches> read_as(std::vector<LeafColumn> columns, std::vector<int> const& row_groups,
                                      ReadOptions const& options) const {
    BEGIN_PARQUET_CATCH_EXCEPTIONS
    auto const footer = reader_->parquet_reader()->metadata();
    parquet::ArrowReaderProperties properties(false);
    // It would be done by each of the threads, to the reader that they share.
    properties.set_pre_buffer(false);
    ARROW_ASSIGN_OR_RAISE(auto const plain, make_reader(input_.file, footer, properties));
    for (auto& column : columns) {
      if (column.leaves.size() != 1) continue;
      auto const leaf = column.leaves.front();
      auto type = type_as_read(column);
      if (type->id() == arrow::Type::DICTIONARY) properties.set_read_dictionary(leaf, true);
      if (may_be_flat(*footer, leaf, *type)) column.flat = std::move(type);
    }
    ARROW_ASSIGN_OR_RAISE(auto const stored, make_reader(input_.file, footer, properties));
    for (auto& column : columns) {
      column.reader = column.as_stored ? stored.get() : plain.get();
      column.bytes = input_.file.get();
    }
    return read_columns(*footer, columns, row_groups, options);
    END_PARQUET_CATCH_EXCEPTIONS
  }

  RowGroupReader reader_;
};

}  // namespace

Result<std::unique_ptr<FileReader>> open_parquet(InputFile input) {
  GARUDA_ARROW_TRY_ASSIGN(auto reader, make_reader(input.file, nullptr, parquet::ArrowReaderProperties(false)),
                          ErrorCode::invalid_input, input.sentence());
  std::shared_ptr<arrow::Schema> schema;
  GARUDA_ARROW_TRY(reader->GetSchema(&schema), ErrorCode::invalid_input, input.sentence());
  return std::make_unique<ParquetReader>(std::move(input), std::move(reader), std::move(schema));
}

}  // namespace garuda::io
