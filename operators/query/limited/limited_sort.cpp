#include "operators/query/limited/limited_sort.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "core/positions.hpp"
#include "core/shortage.hpp"
#include "core/type_rows.hpp"
#include "operators/materialize/gather.hpp"
#include "operators/pipeline/rows.hpp"
#include "operators/query/limited/hash_partitions.hpp"

namespace garuda::query {
namespace {

using pipeline::RowNumbers;

/// So many rows are ordered at once whatever the limit is.
constexpr std::uint64_t kFewestRows = 2048;

/// Memory that ordering a row takes, about: its number, and words of its columns, which for values without codes of 64
/// bits are ranks among all of them.
std::uint64_t order_bytes(TableView table, std::span<SortColumn const> columns) {
  constexpr std::uint64_t kRowBytes = 32;
  constexpr std::uint64_t kWordBytes = 16;
  constexpr std::uint64_t kRankBytes = 64;
  auto bytes = kRowBytes;
  for (auto const& column : columns) {
    auto const& type = table.schema()[column.column].type;
    bool const has_word = type.id != TypeId::dictionary && byte_width(type) > 0 && byte_width(type) <= 8;
    bytes += has_word || type.id == TypeId::boolean ? kWordBytes : kWordBytes + kRankBytes;
  }
  return bytes;
}

/// One sort, cut into parts that fit.
class SortParts {
 public:
  SortParts(std::span<SortColumn const> columns, QueryLimit& limit, Control const& control)
      : columns_(columns), limit_(limit), control_(control) {}

  Result<Table> sort(TableView table, std::optional<std::uint64_t> wanted) {
    auto const rows = static_cast<std::uint64_t>(table.num_rows());
    auto const row_bytes = order_bytes(table, columns_);
    if (rows <= kFewestRows || rows * row_bytes <= limit_.operator_bytes)
      return sort_rows(table, columns_, wanted, control_, &limit_.rows);
    // Rows of a block are copied twice.
    auto const copied_bytes = 2 * materialize::bytes_of_rows(table) / rows;
    auto const block_rows = std::max(limit_.operator_bytes / 2 / (row_bytes + copied_bytes), kFewestRows / 2);
    if (wanted && *wanted <= block_rows / 2) return first_rows(table, *wanted, block_rows);
    GARUDA_TRY_ASSIGN(auto const sorted, sort_ranges(table, block_rows));
    return wanted ? pipeline::slice_rows(sorted.view(), 0, *wanted) : pipeline::slice_rows(sorted.view(), 0, rows);
  }

 private:
  /// The first rows of each block, from which those of all come.
  Result<Table> first_rows(TableView table, std::uint64_t wanted, std::uint64_t block_rows) {
    auto const rows = static_cast<std::uint64_t>(table.num_rows());
    std::vector<Table> first;
    for (std::uint64_t begin = 0; begin < rows; begin += block_rows) {
      auto const block = pipeline::slice_rows(table, begin, block_rows);
      GARUDA_TRY_ASSIGN(auto sorted, sort_rows(block.view(), columns_, wanted, control_, &limit_.rows));
      first.push_back(std::move(sorted));
    }
    auto const all = pipeline::append_rows(first);
    return sort(all.view(), wanted);
  }

  /// Distinct rows of a sample, in order.
  Result<Table> splitters(Gatherer const& rows, TableView table, std::uint64_t block_rows) {
    auto const num_rows = static_cast<std::uint64_t>(table.num_rows());
    // So many that ranges are about half a block, each between four rows of the sample; ranges may be cut again.
    constexpr std::uint64_t kMostSplitters = 255;
    auto const wanted = std::min({2 * num_rows / block_rows + 1, block_rows / 8, kMostSplitters});
    auto const sampled = std::min(4 * wanted, num_rows);
    RowNumbers numbers(sampled);
    for (std::uint64_t i = 0; i < sampled; ++i) numbers[i] = static_cast<std::int64_t>(i * num_rows / sampled);
    GARUDA_TRY_ASSIGN(auto const sample, table_of(rows, numbers));
    GARUDA_TRY_ASSIGN(auto const distinct, distinct_row_numbers(sample.view(), columns_, control_));
    RowNumbers chosen(std::min<std::size_t>(wanted, distinct.size()));
    for (std::size_t i = 0; i < chosen.size(); ++i) chosen[i] = distinct[i * distinct.size() / chosen.size()];
    return pipeline::gather_rows(sample.view(), {&chosen, 1}, control_);
  }

  static Result<Table> table_of(Gatherer const& rows, RowNumbers const& numbers) {
    std::vector<Batch> batches;
    for (std::size_t taken = 0; taken < numbers.size();) {
      GARUDA_TRY_ASSIGN(auto gathered, rows.gather(std::span(numbers).subspan(taken)));
      taken += static_cast<std::size_t>(gathered.rows_taken);
      batches.push_back(std::move(gathered.batch));
    }
    return Table(rows.schema(), std::move(batches));
  }

  /// Rows of the block by ranges: those below the first of `num_splitters`, equal to it, between it and the next one, …
  /// `block`: the splitters, the rows, the splitters once more, so that rows equal to one are between its two places.
  Result<std::vector<RowNumbers>> cut(TableView block, std::size_t num_splitters) {
    GARUDA_TRY_ASSIGN(auto const order, sorted_row_numbers(block, columns_, std::nullopt, control_));
    auto const behind = static_cast<std::size_t>(block.num_rows()) - num_splitters;
    std::vector<RowNumbers> ranges(2 * num_splitters + 1);
    std::size_t range = 0;
    for (auto const id : order) {
      auto const row = static_cast<std::size_t>(id);
      if (row < num_splitters)
        range = 2 * row + 1;
      else if (row >= behind)
        range = 2 * (row - behind) + 2;
      else
        ranges[range].push_back(id);
    }
    // Rows that are equal keep their order, which they have where a range's rows come as they were.
    return ranges;
  }

  Result<Table> sort_ranges(TableView table, std::uint64_t block_rows) {
    auto const rows = static_cast<std::uint64_t>(table.num_rows());
    GARUDA_TRY_ASSIGN(auto const gatherer, Gatherer::create(table, first_positions(table.num_columns())));
    GARUDA_TRY_ASSIGN(auto const between, splitters(gatherer, table, block_rows));
    auto const num_splitters = static_cast<std::size_t>(between.num_rows());
    std::optional<RowParts> ranges;
    for (std::uint64_t begin = 0; begin < rows; begin += block_rows) {
      RowNumbers numbers(std::min(block_rows, rows - begin));
      std::iota(numbers.begin(), numbers.end(), static_cast<std::int64_t>(begin));
      GARUDA_TRY_ASSIGN(auto const block, table_of(gatherer, numbers));
      auto const with_splitters = appended({&between, &block, &between});
      GARUDA_TRY_ASSIGN(auto const cuts, cut(with_splitters.view(), num_splitters));
      GARUDA_TRY_ASSIGN(auto const of_block,
                        Gatherer::create(with_splitters.view(), first_positions(with_splitters.view().num_columns())));
      if (!ranges) ranges.emplace(of_block.schema(), cuts.size());
      GARUDA_TRY(ranges->add(of_block, cuts, limit_, control_));
    }
    std::vector<Table> sorted;
    for (std::size_t r = 0; r < ranges->size(); ++r) {
      if (ranges->num_rows(r) == 0) continue;
      auto range = ranges->table(r);
      bool const is_of_equal_rows = r % 2 == 1;
      if (!is_of_equal_rows) {
        GARUDA_TRY_ASSIGN(range, sort(range.view(), std::nullopt));
      }
      sorted.push_back(std::move(range));
    }
    return pipeline::append_rows(sorted);
  }

  static Table appended(std::initializer_list<Table const*> tables) {
    std::vector<Batch> batches;
    for (auto const* const table : tables)
      for (auto const& batch : table->batches()) batches.push_back(batch);
    return {(*tables.begin())->schema(), std::move(batches)};
  }

  std::span<SortColumn const> columns_;
  QueryLimit& limit_;
  Control const& control_;
};

/// Rows that are in order with their numbers, from 1 on in each run of rows that are equal in `columns`.
Result<Table> numbered(TableView table, std::span<SortColumn const> columns, QueryLimit& limit,
                       Control const& control) {
  auto const rows = static_cast<std::uint64_t>(table.num_rows());
  auto const block_rows = std::max(limit.operator_bytes / 2 / order_bytes(table, columns), kFewestRows);
  auto schema = table.schema();
  schema.push_back({{}, {TypeId::int64}, false});
  std::vector<Batch> batches;
  std::int64_t last = 1;
  for (std::uint64_t begin = 0; begin < rows; begin += block_rows) {
    // With the row before them, which says whether the first one goes on.
    auto const before = std::min<std::uint64_t>(begin, 1);
    auto const block = pipeline::slice_rows(table, begin - before, block_rows + before);
    GARUDA_TRY_ASSIGN(auto numbers, numbers_in_order(block.view(), columns, last, control));
    last = numbers.back();
    auto next = numbers.begin() + static_cast<std::ptrdiff_t>(before);
    auto const rows_of_block = pipeline::slice_rows(table, begin, block_rows);
    for (auto const& batch : rows_of_block.batches()) {
      // A batch that stays in memory keeps its own numbers there, not those of the block.
      auto const own = std::make_shared<std::vector<std::int64_t> const>(next, next + batch.num_rows);
      next += batch.num_rows;
      std::vector<materialize::KeptColumn> kept;
      for (auto const& array : batch.columns) kept.push_back({array, batch.owner, true});
      kept.push_back({{.length = batch.num_rows, .null_count = 0, .values = own->data()}, own, false});
      GARUDA_TRY_ASSIGN(auto in_place, limit.rows.keep(schema, batch.num_rows, std::move(kept)));
      batches.push_back(std::move(in_place));
    }
  }
  return Table(std::move(schema), std::move(batches));
}

Result<Table> number_parts(TableView table, RowNumbering const& numbering, QueryLimit& limit, Control const& control) {
  std::span const columns(numbering.columns);
  auto const rows = static_cast<std::uint64_t>(table.num_rows());
  if (rows <= kFewestRows || 2 * rows * order_bytes(table, columns) <= limit.operator_bytes)
    return number_rows(table, numbering, control);
  GARUDA_TRY_ASSIGN(auto const sorted, sort_within_limit(table, columns, std::nullopt, limit, control));
  return numbered(sorted.view(), columns.first(numbering.num_partition), limit, control);
}

}  // namespace

Result<Table> sort_within_limit(TableView table, std::span<SortColumn const> columns, std::optional<std::uint64_t> rows,
                                QueryLimit& limit, Control const& control) {
  return or_out_of_memory("the order of a query's rows",
                          [&] { return SortParts(columns, limit, control).sort(table, rows); });
}

Result<Table> number_within_limit(TableView table, RowNumbering const& numbering, QueryLimit& limit,
                                  Control const& control) {
  return or_out_of_memory("the numbers of a query's rows",
                          [&] { return number_parts(table, numbering, limit, control); });
}

}  // namespace garuda::query
