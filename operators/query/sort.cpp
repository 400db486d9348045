#include "operators/query/sort.hpp"

#include <oneapi/tbb/parallel_sort.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "core/parallel_blocks.hpp"
#include "core/shortage.hpp"
#include "keys/codes/key_types.hpp"
#include "keys/order/order_words.hpp"
#include "operators/materialize/numbered_rows.hpp"
#include "operators/pipeline/rows.hpp"

namespace garuda::query {
namespace {

/// The sort keys of all rows as words of 64 bits that ascend in the order asked for.
class SortWords {
 public:
  static Result<SortWords> create(TableView table, std::span<SortColumn const> columns, Control const& control) {
    SortWords words;
    words.rows_ = static_cast<std::uint64_t>(table.num_rows());
    for (auto const& column : columns) {
      GARUDA_TRY(words.add(table, column, control));
      words.ends_.push_back(words.words_.size());
    }
    return words;
  }

  std::uint64_t rows() const noexcept { return rows_; }
  /// Words of the first `columns` columns.
  std::size_t words_of(std::size_t columns) const noexcept { return columns == 0 ? 0 : ends_[columns - 1]; }
  /// Whether two rows have the same first `words` words.
  bool are_equal(std::uint64_t a, std::uint64_t b, std::size_t words) const noexcept {
    for (std::size_t w = 0; w < words; ++w)
      if (words_[w][a] != words_[w][b]) return false;
    return true;
  }
  /// The first word of a row; 0 where there is no column.
  std::uint64_t first(std::uint64_t row) const noexcept { return words_.empty() ? 0 : words_.front()[row]; }
  /// Whether row `a` comes before row `b` by the words behind the first.
  bool is_before(std::uint64_t a, std::uint64_t b) const noexcept {
    for (std::size_t w = 1; w < words_.size(); ++w)
      if (words_[w][a] != words_[w][b]) return words_[w][a] < words_[w][b];
    return a < b;
  }

 private:
  Result<void> add(TableView table, SortColumn const& column, Control const& control) {
    auto const& field = table.schema()[column.column];
    GARUDA_TRY_ASSIGN(auto type, keys::common_key_type(field, field));
    keys::ColumnOfTable const of_table{table, column.column};
    GARUDA_TRY_ASSIGN(auto const ordered, keys::encode_order({{&of_table, 1}, {}, std::move(type.compared)}, control));
    auto const& order = ordered.columns.front();
    auto const* const valid = order.valid.size_bytes() == 0 ? nullptr : order.valid.as<std::uint64_t>();
    if (valid != nullptr) words_.emplace_back(rows_);
    auto* const nulls = valid == nullptr ? nullptr : words_.back().data();
    words_.emplace_back(rows_);
    auto* const to = words_.back().data();
    auto const flip = column.descending ? ~std::uint64_t{0} : 0;
    return std::visit(
        [&](auto const& from) {
          return for_each_range(rows_, &control, [&](std::uint64_t begin, std::uint64_t end) {
            for (auto row = begin; row < end; ++row) {
              bool const is_valid = valid == nullptr || ((valid[row / 64] >> (row % 64)) & 1) != 0;
              to[row] = is_valid ? from[row] ^ flip : 0;
              if (nulls != nullptr) nulls[row] = is_valid == column.nulls_first ? 1 : 0;
            }
          });
        },
        order.words);
  }

  std::uint64_t rows_ = 0;
  std::vector<std::vector<std::uint64_t>> words_;
  std::vector<std::size_t> ends_;  ///< Words up to the last one of each column.
};

/// A row with its first word.
struct SortedRow {
  std::uint64_t word;
  std::uint64_t row;
};

Result<pipeline::RowNumbers> sorted_ids(SortWords const& words, std::uint64_t wanted, Control const& control) {
  std::vector<SortedRow> rows(words.rows());
  GARUDA_TRY(for_each_range(rows.size(), &control, [&](std::uint64_t begin, std::uint64_t end) {
    for (auto row = begin; row < end; ++row) rows[row] = {words.first(row), row};
  }));
  auto const is_before = [&](SortedRow const& a, SortedRow const& b) {
    return a.word != b.word ? a.word < b.word : words.is_before(a.row, b.row);
  };
  auto const middle = rows.begin() + static_cast<std::ptrdiff_t>(wanted);
  if (wanted < rows.size()) std::nth_element(rows.begin(), middle, rows.end(), is_before);
  oneapi::tbb::this_task_arena::isolate([&] { oneapi::tbb::parallel_sort(rows.begin(), middle, is_before); });
  pipeline::RowNumbers ids(wanted);
  for (std::uint64_t i = 0; i < wanted; ++i) ids[i] = static_cast<std::int64_t>(rows[i].row);
  return ids;
}

}  // namespace

Result<Table> number_rows(TableView table, std::span<SortColumn const> columns, std::size_t num_partition,
                          Control const& control) {
  return or_out_of_memory("the numbers of a query's rows", [&]() -> Result<Table> {
    GARUDA_TRY_ASSIGN(auto const words, SortWords::create(table, columns, control));
    GARUDA_TRY_ASSIGN(auto const ids, sorted_ids(words, words.rows(), control));
    auto numbers = std::make_shared<std::vector<std::int64_t>>(ids.size());
    auto const num_words = words.words_of(num_partition);
    std::int64_t number = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      auto const row = static_cast<std::uint64_t>(ids[i]);
      bool const is_of_last = i > 0 && words.are_equal(static_cast<std::uint64_t>(ids[i - 1]), row, num_words);
      number = is_of_last ? number + 1 : 1;
      (*numbers)[row] = number;
    }
    return materialize::with_numbers(table, {}, numbers);
  });
}

Result<Table> sort_rows(TableView table, std::span<SortColumn const> columns, std::optional<std::uint64_t> rows,
                        Control const& control, materialize::SpillSpace* space) {
  return or_out_of_memory("the order of a query's rows", [&]() -> Result<Table> {
    GARUDA_TRY_ASSIGN(auto const ids, sorted_row_numbers(table, columns, rows, control));
    return pipeline::gather_rows(table, {&ids, 1}, control, space);
  });
}

Result<pipeline::RowNumbers> sorted_row_numbers(TableView table, std::span<SortColumn const> columns,
                                                std::optional<std::uint64_t> rows, Control const& control) {
  GARUDA_TRY_ASSIGN(auto const words, SortWords::create(table, columns, control));
  return sorted_ids(words, std::min(rows.value_or(words.rows()), words.rows()), control);
}

Result<pipeline::RowNumbers> distinct_row_numbers(TableView table, std::span<SortColumn const> columns,
                                                  Control const& control) {
  GARUDA_TRY_ASSIGN(auto const words, SortWords::create(table, columns, control));
  GARUDA_TRY_ASSIGN(auto ids, sorted_ids(words, words.rows(), control));
  auto const num_words = words.words_of(columns.size());
  auto const end = std::unique(ids.begin(), ids.end(), [&](std::int64_t a, std::int64_t b) {
    return words.are_equal(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b), num_words);
  });
  ids.resize(static_cast<std::size_t>(end - ids.begin()));
  return ids;
}

Result<std::vector<std::int64_t>> numbers_in_order(TableView table, std::span<SortColumn const> columns,
                                                   std::int64_t first, Control const& control) {
  GARUDA_TRY_ASSIGN(auto const words, SortWords::create(table, columns, control));
  std::vector<std::int64_t> numbers(words.rows(), first);
  for (std::uint64_t row = 1; row < numbers.size(); ++row)
    numbers[row] = words.are_equal(row - 1, row, words.words_of(columns.size())) ? numbers[row - 1] + 1 : 1;
  return numbers;
}

}  // namespace garuda::query
