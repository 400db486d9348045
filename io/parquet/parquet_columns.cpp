#include "io/parquet/parquet_columns.hpp"

#include <parquet/column_reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/statistics.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>
#include <new>
#include <span>
#include <utility>

#include "core/task_threads.hpp"
#include "io/file_dictionaries.hpp"
#include "io/parquet/flat_columns.hpp"

namespace garuda::io {
namespace {

/// Rows of a batch, where row groups are smaller: fewer cost more to handle than to decode, and with more the threads
/// have too few columns to share.
constexpr std::int64_t kFewestRows = 1 << 16;
constexpr std::int64_t kMostRows = 1 << 20;
constexpr std::int64_t kTasksOfAThread = 8;

/// Row groups that are read together, in their order.
using Stretch = std::vector<int>;

std::vector<Stretch> stretches_of(parquet::FileMetaData const& footer, std::vector<int> const& row_groups,
                                  std::size_t num_columns, int threads) {
  std::int64_t all_rows = 0;
  for (int const i : row_groups) all_rows += footer.RowGroup(i)->num_rows();
  auto const rows_of_task =
      all_rows * static_cast<std::int64_t>(num_columns) / (kTasksOfAThread * std::int64_t{threads});
  auto const wanted = std::clamp(rows_of_task, kFewestRows, kMostRows);
  std::vector<Stretch> stretches;
  std::int64_t rows = 0;
  for (int const i : row_groups) {
    auto const more = footer.RowGroup(i)->num_rows();
    if (stretches.empty() || rows + more > wanted) {
      stretches.emplace_back();
      rows = 0;
    }
    stretches.back().push_back(i);
    rows += more;
  }
  return stretches;
}

/// A column of a stretch.
struct Task {
  std::size_t stretch = 0;
  std::size_t column = 0;
  std::int64_t bytes = 0;  ///< when decompressed
};

/// The largest first, so that no thread ends long after the others.
std::vector<Task> tasks_of(parquet::FileMetaData const& footer, std::vector<Stretch> const& stretches,
                           std::vector<LeafColumn> const& columns) {
  std::vector<Task> tasks;
  for (std::size_t s = 0; s < stretches.size(); ++s) {
    for (std::size_t c = 0; c < columns.size(); ++c) tasks.push_back({s, c, 0});
    for (int const row_group : stretches[s]) {
      auto const group = footer.RowGroup(row_group);
      for (std::size_t c = 0; c < columns.size(); ++c)
        for (int const leaf : columns[c].leaves)
          tasks[s * columns.size() + c].bytes += group->ColumnChunk(leaf)->total_uncompressed_size();
    }
  }
  std::ranges::stable_sort(tasks, std::ranges::greater(), &Task::bytes);
  return tasks;
}

using Column = arrow::Result<std::shared_ptr<arrow::Table>>;

/// The column, once all of its values have been looked at.
Column validated(std::shared_ptr<arrow::Table> column) {
  for (auto const& chunk : column->column(0)->chunks()) ARROW_RETURN_NOT_OK(validate_values(*chunk->data()));
  return column;
}

/// Parquet's lower layers throw; above here there are only statuses.
Column read_column(LeafColumn const& column, Stretch const& stretch) {
  BEGIN_PARQUET_CATCH_EXCEPTIONS
  try {
    auto& file = *column.reader->parquet_reader();
    auto const table_of = [&](auto values) {
      auto const field = column.field->WithType(values->type());
      return arrow::Table::Make(arrow::schema({field}), {std::move(values)});
    };
    if (column.flat != nullptr) {
      ARROW_ASSIGN_OR_RAISE(auto values, read_flat(file, *column.bytes, stretch, column.leaves.front(), column.flat));
      if (values != nullptr) return table_of(std::move(values));
    }
    if (column.decimal == nullptr) {
      ARROW_ASSIGN_OR_RAISE(auto table, column.reader->ReadRowGroups(stretch, column.leaves));
      return validated(std::move(table));
    }
    ARROW_ASSIGN_OR_RAISE(auto values, read_decimals(file, stretch, column.leaves.front(), column.decimal));
    return validated(table_of(std::move(values)));
  } catch (std::bad_alloc const&) {
    return arrow::Status::OutOfMemory("no memory to decode a column");
  }
  END_PARQUET_CATCH_EXCEPTIONS
}

/// Adds the rows of a stretch, whose columns are tables of one. Arrow passes over pages that it does not know.
arrow::Status append_batches(std::span<Column> columns, std::int64_t num_rows, ArrowBatches& batches) {
  arrow::FieldVector fields;
  arrow::ChunkedArrayVector arrays;
  for (auto& column : columns) {
    ARROW_ASSIGN_OR_RAISE(auto const table, std::move(column));
    ARROW_RETURN_NOT_OK(check_rows(table->num_rows(), num_rows));
    fields.push_back(table->schema()->field(0));
    arrays.push_back(table->column(0));
  }
  auto const rows = arrow::Table::Make(arrow::schema(std::move(fields)), std::move(arrays));
  ARROW_RETURN_NOT_OK(rows->Validate());
  // More than 2 GiB of strings come in several chunks, and so do different dictionaries.
  ARROW_ASSIGN_OR_RAISE(auto const more, arrow::TableBatchReader(rows).ToRecordBatches());
  batches.insert(batches.end(), more.begin(), more.end());
  return arrow::Status::OK();
}

/// Reads on the threads of the calling task arena.
arrow::Result<ArrowBatches> read_side_by_side(parquet::FileMetaData const& footer,
                                              std::vector<LeafColumn> const& columns,
                                              std::vector<int> const& row_groups, ReadOptions const& options) {
  auto const threads = tbb::this_task_arena::max_concurrency();
  auto const stretches = stretches_of(footer, row_groups, columns.size(), threads);
  auto const tasks = tasks_of(footer, stretches, columns);
  std::vector<Column> parts(tasks.size());
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  auto const take_tasks = [&](int) {
    for (auto i = next++; i < tasks.size() && !failed.load(); i = next++) {
      auto const& task = tasks[i];
      auto& part = parts[task.stretch * columns.size() + task.column];
      bool const stop = options.cancelled != nullptr && options.cancelled->load(std::memory_order_relaxed);
      part = stop ? arrow::Status::Cancelled("interrupted while reading")
                  : read_column(columns[task.column], stretches[task.stretch]);
      if (!part.ok()) failed.store(true);
    }
  };
  tbb::parallel_for(0, threads, take_tasks);
  if (failed.load())
    for (auto const& part : parts)
      if (!part.ok() && !part.status().IsUnknownError()) return part.status();  // parts not begun are unknown
  ArrowBatches batches;
  for (std::size_t s = 0; s < stretches.size(); ++s) {
    std::int64_t rows = 0;
    for (int const row_group : stretches[s]) rows += footer.RowGroup(row_group)->num_rows();
    ARROW_RETURN_NOT_OK(append_batches(std::span(parts).subspan(s * columns.size(), columns.size()), rows, batches));
  }
  return batches;
}

bool is_dictionary(parquet::Encoding::type encoding) {
  return encoding == parquet::Encoding::PLAIN_DICTIONARY || encoding == parquet::Encoding::RLE_DICTIONARY;
}

}  // namespace

arrow::Status check_rows(std::int64_t read, std::int64_t counted) {
  if (read == counted) return arrow::Status::OK();
  return arrow::Status::Invalid("a column has ", read, " rows where the footer counts ", counted);
}

bool has_codes(parquet::FileMetaData const& footer, int leaf) {
  constexpr std::int64_t kLeastShare = 4;
  std::int64_t dictionary_bytes = 0;
  std::int64_t bytes = 0;
  for (int i = 0; i < footer.num_row_groups(); ++i) {
    auto const chunk = footer.RowGroup(i)->ColumnChunk(leaf);
    if (chunk->num_values() == 0) continue;
    // Without these numbers PLAIN may be the dictionary's encoding, or that of values.
    auto const& pages = chunk->encoding_stats();
    bool const refers = std::ranges::all_of(pages, [](parquet::PageEncodingStats const& page) {
      return page.page_type == parquet::PageType::DICTIONARY_PAGE || is_dictionary(page.encoding);
    });
    if (pages.empty() || !refers || !chunk->has_dictionary_page()) return false;
    dictionary_bytes += chunk->data_page_offset() - chunk->dictionary_page_offset();
    bytes += chunk->total_compressed_size();
  }
  return bytes > 0 && dictionary_bytes >= 0 && dictionary_bytes <= bytes / kLeastShare;
}

std::optional<std::uint64_t> estimated_values(parquet::FileMetaData const& footer, int leaf) {
  /// Least bytes of a value in a dictionary.
  constexpr std::int64_t kLeastBytes = 4;
  std::int64_t values = 0;
  auto least = std::numeric_limits<std::int64_t>::max();
  auto greatest = std::numeric_limits<std::int64_t>::min();
  bool const is_of_codes = has_codes(footer, leaf);
  for (int i = 0; i < footer.num_row_groups(); ++i) {
    auto const chunk = footer.RowGroup(i)->ColumnChunk(leaf);
    if (is_of_codes) {
      auto const bytes = chunk->num_values() == 0 ? 0 : chunk->data_page_offset() - chunk->dictionary_page_offset();
      values = std::max(values, bytes / kLeastBytes + 1);
      continue;
    }
    auto const statistics = chunk->statistics();
    if (statistics == nullptr || !statistics->HasMinMax()) return std::nullopt;
    auto const widen = [&](auto const& typed) {
      least = std::min(least, std::int64_t{typed.min()});
      greatest = std::max(greatest, std::int64_t{typed.max()});
    };
    if (chunk->type() == parquet::Type::INT32)
      widen(static_cast<parquet::Int32Statistics const&>(*statistics));
    else if (chunk->type() == parquet::Type::INT64)
      widen(static_cast<parquet::Int64Statistics const&>(*statistics));
    else
      return std::nullopt;
  }
  if (is_of_codes) return static_cast<std::uint64_t>(values);
  if (least > greatest) return std::nullopt;
  auto const distance = static_cast<std::uint64_t>(greatest) - static_cast<std::uint64_t>(least);
  return std::max(distance, distance + 1);
}

arrow::Result<ArrowBatches> read_columns(parquet::FileMetaData const& footer, std::vector<LeafColumn> const& columns,
                                         std::vector<int> const& row_groups, ReadOptions const& options) {
  return on_threads(options.threads, [&] { return read_side_by_side(footer, columns, row_groups, options); });
}

std::shared_ptr<arrow::DataType> stored_decimal(parquet::ColumnDescriptor const& column, arrow::DataType const& type) {
  if (type.id() != arrow::Type::DECIMAL128 || column.max_repetition_level() > 0 || column.max_definition_level() > 1)
    return nullptr;
  auto const& decimal = static_cast<arrow::DecimalType const&>(type);
  if (column.physical_type() == parquet::Type::INT32 && decimal.precision() <= arrow::Decimal32Type::kMaxPrecision)
    return arrow::decimal32(decimal.precision(), decimal.scale());
  if (column.physical_type() == parquet::Type::INT64 && decimal.precision() <= arrow::Decimal64Type::kMaxPrecision)
    return arrow::decimal64(decimal.precision(), decimal.scale());
  return nullptr;
}

arrow::Result<std::shared_ptr<arrow::Array>> read_decimals(parquet::ParquetFileReader& file,
                                                           std::vector<int> const& row_groups, int leaf,
                                                           std::shared_ptr<arrow::DataType> const& type) {
  auto const& footer = *file.metadata();
  auto const* const column = footer.schema()->Column(leaf);
  auto const levels = parquet::internal::LevelInfo::ComputeLevelInfo(column);
  auto const reader = parquet::internal::RecordReader::Make(column, levels, memory_pool());
  std::int64_t rows = 0;
  for (int const row_group : row_groups) rows += footer.RowGroup(row_group)->num_rows();
  reader->Reserve(rows);
  for (int const row_group : row_groups) {
    reader->SetPageReader(file.RowGroup(row_group)->GetColumnPageReader(leaf));
    auto const wanted = footer.RowGroup(row_group)->num_rows();
    if (reader->ReadRecords(wanted) != wanted)
      return arrow::Status::Invalid("column '", column->name(), "' has fewer values than its row group rows");
  }
  auto const nulls = column->max_definition_level() == 0 ? 0 : reader->null_count();
  std::shared_ptr<arrow::Buffer> valid;
  if (column->max_definition_level() > 0) valid = reader->ReleaseIsValid();
  if (nulls == 0) valid = nullptr;
  std::shared_ptr<arrow::Buffer> values = reader->ReleaseValues();
  return arrow::MakeArray(arrow::ArrayData::Make(type, rows, {std::move(valid), std::move(values)}, nulls));
}

}  // namespace garuda::io
