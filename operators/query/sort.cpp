#include "operators/query/sort.hpp"

#include <oneapi/tbb/parallel_sort.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "core/parallel_blocks.hpp"
#include "core/shortage.hpp"
#include "keys/codes/key_types.hpp"
#include "keys/encoded_keys.hpp"
#include "keys/numbering/mix.hpp"
#include "keys/order/order_words.hpp"
#include "operators/materialize/numbered_rows.hpp"
#include "operators/pipeline/rows.hpp"
#include "partition/radix_partition.hpp"

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
  std::vector<std::vector<std::uint64_t>> const& columns() const noexcept { return words_; }
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

/// Sorts the first `wanted` of the rows.
void sort_by(SortWords const& words, std::vector<SortedRow>& rows, std::size_t wanted) {
  auto const is_before = [&](SortedRow const& a, SortedRow const& b) {
    return a.word != b.word ? a.word < b.word : words.is_before(a.row, b.row);
  };
  auto const middle = rows.begin() + static_cast<std::ptrdiff_t>(wanted);
  if (wanted < rows.size()) std::nth_element(rows.begin(), middle, rows.end(), is_before);
  oneapi::tbb::this_task_arena::isolate([&] { oneapi::tbb::parallel_sort(rows.begin(), middle, is_before); });
}

Result<pipeline::RowNumbers> sorted_ids(SortWords const& words, std::uint64_t wanted, Control const& control) {
  std::vector<SortedRow> rows(words.rows());
  GARUDA_TRY(for_each_range(rows.size(), &control, [&](std::uint64_t begin, std::uint64_t end) {
    for (auto row = begin; row < end; ++row) rows[row] = {words.first(row), row};
  }));
  sort_by(words, rows, wanted);
  pipeline::RowNumbers ids(wanted);
  for (std::uint64_t i = 0; i < wanted; ++i) ids[i] = static_cast<std::int64_t>(rows[i].row);
  return ids;
}

/// Rows of partitions of a window, side by side, when they are sorted: about so many.
constexpr std::uint64_t kSortedTogether = 256;
/// Most of them that one thread sorts.
constexpr std::uint64_t kSortedAlone = std::uint64_t{1} << 16;

/// The rows by a hash of their first `num_words` words, all words beside them. Requires: some.
Result<partition::PartitionedKeys> rows_by_hash(SortWords const& words, std::size_t num_words, Control const& control) {
  auto const& columns = words.columns();
  GARUDA_TRY_ASSIGN(auto hashes,
                    AlignedBuffer::allocate(static_cast<std::int64_t>(words.rows() * sizeof(std::uint64_t))));
  auto* const to = hashes.as<std::uint64_t>();
  GARUDA_TRY(for_each_range(words.rows(), &control, [&](std::uint64_t begin, std::uint64_t end) {
    for (auto row = begin; row < end; ++row) {
      auto hash = columns[0][row];
      for (std::size_t w = 1; w < num_words; ++w) hash = keys::mix(hash) ^ columns[w][row];
      to[row] = hash;
    }
  }));
  keys::EncodedKeys keys;
  keys.key_bits = 64;
  keys.num_rows = keys.table_rows = words.rows();
  keys.words = to;
  keys.owned_words = std::move(hashes);
  keys.max = ~std::uint64_t{0};
  std::vector<partition::PayloadColumn> payload;
  for (auto const& column : columns)
    payload.push_back({8, {{0, reinterpret_cast<std::byte const*>(column.data())}}});  // NOLINT: bytes move
  partition::RadixDigit digit;
  digit.bits =
      std::min(static_cast<std::uint32_t>(std::bit_width(words.rows() / kSortedTogether)), partition::kOnePassBits);
  digit.mixed = true;
  return partition::radix_partition(std::move(keys), digit, control, {.payload = payload, .counts = {}});
}

/// Rows that are equal in all keys: run by run, within each in the order of the table.
struct Ties {
  pipeline::RowNumbers rows;
  std::vector<std::uint64_t> begins;  ///< of the runs among `rows`
};

/// Numbers the rows of a part, which has all rows of some partitions of the window, in the order of their words, then
/// of the table. `words`: in the order of `rows`.
Ties number_part(partition::PartitionedKeys const& rows, std::span<std::uint64_t const* const> words,
                 std::uint64_t begin, std::uint64_t end, std::size_t num_words, std::vector<std::int64_t>& numbers) {
  struct RowOfPart {
    std::uint64_t first_word, second_word;
    std::uint64_t row;
  };
  std::vector<RowOfPart> order(end - begin);
  auto const* const second = words.size() > 1 ? words[1] : words[0];
  for (auto i = begin; i < end; ++i) order[i - begin] = {words[0][i], second[i], i};
  auto const equal_words = [&](RowOfPart const& a, RowOfPart const& b) {
    std::size_t w = 0;
    while (w < words.size() && words[w][a.row] == words[w][b.row]) ++w;
    return w;
  };
  auto const is_before = [&](RowOfPart const& a, RowOfPart const& b) {
    if (a.first_word != b.first_word) return a.first_word < b.first_word;
    if (a.second_word != b.second_word) return a.second_word < b.second_word;
    for (std::size_t w = 2; w < words.size(); ++w)
      if (words[w][a.row] != words[w][b.row]) return words[w][a.row] < words[w][b.row];
    return a.row < b.row;
  };
  if (order.size() > kSortedAlone)
    oneapi::tbb::this_task_arena::isolate([&] { oneapi::tbb::parallel_sort(order.begin(), order.end(), is_before); });
  else
    std::sort(order.begin(), order.end(), is_before);
  Ties ties;
  std::int64_t number = 0;
  bool is_tied = false;
  for (std::size_t i = 0; i < order.size(); ++i) {
    auto const equal = i == 0 ? 0 : equal_words(order[i - 1], order[i]);
    number = i > 0 && equal >= num_words ? number + 1 : 1;
    auto const row = rows.row_id(order[i].row);
    numbers[row] = number;
    bool const is_equal = i > 0 && equal == words.size();
    if (is_equal && !is_tied) {
      ties.begins.push_back(ties.rows.size());
      ties.rows.push_back(static_cast<std::int64_t>(rows.row_id(order[i - 1].row)));
    }
    if (is_equal) ties.rows.push_back(static_cast<std::int64_t>(row));
    is_tied = is_equal;
  }
  return ties;
}

/// Numbers the rows of each run, which have numbers in a row, in the order of `columns`.
Result<void> break_ties(TableView table, std::span<SortColumn const> columns, Ties const& ties, Control const& control,
                        std::vector<std::int64_t>& numbers) {
  if (ties.rows.empty() || columns.empty()) return {};
  GARUDA_TRY_ASSIGN(auto const tied, pipeline::gather_rows(table, {&ties.rows, 1}, control));
  GARUDA_TRY_ASSIGN(auto const words, SortWords::create(tied.view(), columns, control));
  return for_each_block(ties.begins.size(), &control, [&](std::size_t run) {
    auto const begin = ties.begins[run];
    auto const end = run + 1 < ties.begins.size() ? ties.begins[run + 1] : ties.rows.size();
    auto const first = numbers[static_cast<std::size_t>(ties.rows[begin])];
    std::vector<SortedRow> order;
    for (std::uint64_t i = begin; i < end; ++i) order.push_back({words.first(i), i});
    sort_by(words, order, order.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      numbers[static_cast<std::size_t>(ties.rows[order[i].row])] = first + static_cast<std::int64_t>(i);
  });
}

}  // namespace

Result<Table> number_rows(TableView table, RowNumbering const& numbering, Control const& control) {
  std::span const columns(numbering.columns);
  auto const num_keys = numbering.num_keys;
  return or_out_of_memory("the numbers of a query's rows", [&]() -> Result<Table> {
    auto numbers = std::make_shared<std::vector<std::int64_t>>(static_cast<std::size_t>(table.num_rows()));
    if (numbering.num_partition == 0) {
      GARUDA_TRY_ASSIGN(auto const ids, sorted_row_numbers(table, columns, std::nullopt, control));
      for (std::size_t i = 0; i < ids.size(); ++i)
        (*numbers)[static_cast<std::size_t>(ids[i])] = static_cast<std::int64_t>(i) + 1;
      return materialize::with_numbers(table, {}, numbers);
    }
    GARUDA_TRY_ASSIGN(auto const words, SortWords::create(table, columns.first(num_keys), control));
    auto const num_words = words.words_of(numbering.num_partition);
    GARUDA_TRY_ASSIGN(auto const rows, rows_by_hash(words, num_words, control));
    std::vector<std::uint64_t const*> moved;
    for (auto const& column : rows.payload) moved.push_back(column.as<std::uint64_t>());
    if (moved.empty())  // one part: nothing moved
      for (auto const& column : words.columns()) moved.push_back(column.data());
    std::vector<Ties> found(rows.offsets.size() - 1);
    GARUDA_TRY(for_each_block(found.size(), &control, [&](std::size_t part) {
      found[part] = number_part(rows, moved, rows.offsets[part], rows.offsets[part + 1], num_words, *numbers);
    }));
    Ties ties;
    for (auto const& of_part : found) {
      for (auto const begin : of_part.begins) ties.begins.push_back(ties.rows.size() + begin);
      ties.rows.insert(ties.rows.end(), of_part.rows.begin(), of_part.rows.end());
    }
    GARUDA_TRY(break_ties(table, columns.subspan(num_keys), ties, control, *numbers));
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
