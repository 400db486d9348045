#include "operators/query/sort.hpp"

#include <oneapi/tbb/parallel_sort.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <new>
#include <variant>
#include <vector>

#include "core/parallel_blocks.hpp"
#include "keys/codes/key_types.hpp"
#include "keys/order/order_words.hpp"
#include "operators/pipeline/rows.hpp"

namespace garuda::query {
namespace {

/// The sort keys of all rows as words of 64 bits that ascend in the order asked for.
class SortWords {
 public:
  static Result<SortWords> create(TableView table, std::span<SortColumn const> columns, Control const& control) {
    SortWords words;
    words.rows_ = static_cast<std::uint64_t>(table.num_rows());
    for (auto const& column : columns) GARUDA_TRY(words.add(table, column, control));
    return words;
  }

  std::uint64_t rows() const noexcept { return rows_; }
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

Result<Table> sort_rows(TableView table, std::span<SortColumn const> columns, std::optional<std::uint64_t> rows,
                        Control const& control) {
  try {
    GARUDA_TRY_ASSIGN(auto const words, SortWords::create(table, columns, control));
    auto const wanted = std::min(rows.value_or(words.rows()), words.rows());
    GARUDA_TRY_ASSIGN(auto const ids, sorted_ids(words, wanted, control));
    return pipeline::gather_rows(table, {&ids, 1}, control);
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory to sort the rows of a query");
  }
}

}  // namespace garuda::query
