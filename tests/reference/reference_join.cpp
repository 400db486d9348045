#include "tests/reference/reference_join.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "tests/reference/column_reader.hpp"

namespace garuda::reference {
namespace {

/// (key, row) of every row that has a key, sorted.
std::vector<std::pair<std::uint64_t, std::uint64_t>> sorted_rows(Keys const& keys) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> rows;
  for (std::size_t row = 0; row < keys.words.size(); ++row)
    if (keys.is_valid(row)) rows.emplace_back(keys.words[row], row);
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::size_t column_named(TableView table, std::string const& name) {
  for (std::size_t c = 0; c < table.num_columns(); ++c)
    if (table.schema()[c].name == name) return c;
  throw std::runtime_error("no column " + name);
}

bool has_left_columns_only(JoinKind kind) {
  return kind == JoinKind::semi || kind == JoinKind::anti || kind == JoinKind::mark;
}

/// The columns of the result in order: side and position.
std::vector<std::pair<Side, std::size_t>> result_columns(TableView left, TableView right, JoinSpec const& spec) {
  std::vector<std::pair<Side, std::size_t>> columns;
  if (spec.columns) {
    for (auto const& column : *spec.columns)
      columns.emplace_back(column.side, column_named(column.side == Side::left ? left : right, column.name));
    return columns;
  }
  for (std::size_t c = 0; c < left.num_columns(); ++c) columns.emplace_back(Side::left, c);
  if (has_left_columns_only(spec.kind)) return columns;
  auto const key = column_named(right, spec.on.front().second);
  for (std::size_t c = 0; c < right.num_columns(); ++c)
    if (c != key) columns.emplace_back(Side::right, c);
  return columns;
}

std::vector<std::string> result_names(TableView left, TableView right,
                                      std::vector<std::pair<Side, std::size_t>> const& columns, bool has_mark) {
  std::set<std::string> taken;
  for (auto const& [side, c] : columns)
    if (side == Side::left) taken.insert(left.schema()[c].name);
  std::vector<std::string> names;
  for (auto const& [side, c] : columns) {
    auto name = (side == Side::left ? left : right).schema()[c].name;
    while (side == Side::right && taken.count(name) != 0) name += "_right";
    taken.insert(name);
    names.push_back(name);
  }
  std::string mark = "mark";
  while (taken.count(mark) != 0) mark += "_right";
  if (has_mark) names.push_back(mark);
  return names;
}

}  // namespace

std::vector<RowPair64> reference_join(Keys const& left, Keys const& right) {
  auto const right_rows = sorted_rows(right);
  std::vector<RowPair64> pairs;
  for (std::size_t row = 0; row < left.words.size(); ++row) {
    if (!left.is_valid(row)) continue;
    auto const key = left.words[row];
    auto match = std::lower_bound(right_rows.begin(), right_rows.end(), std::pair{key, std::uint64_t{0}});
    for (; match != right_rows.end() && match->first == key; ++match) pairs.push_back({row, match->second});
  }
  return pairs;
}

std::uint64_t reference_count(Keys const& left, Keys const& right) {
  auto const left_rows = sorted_rows(left);
  auto const right_rows = sorted_rows(right);
  std::uint64_t count = 0;
  std::size_t l = 0;
  std::size_t r = 0;
  while (l < left_rows.size() && r < right_rows.size()) {
    auto const key = std::max(left_rows[l].first, right_rows[r].first);
    std::uint64_t left_count = 0;
    std::uint64_t right_count = 0;
    for (; l < left_rows.size() && left_rows[l].first <= key; ++l) left_count += left_rows[l].first == key ? 1 : 0;
    for (; r < right_rows.size() && right_rows[r].first <= key; ++r) right_count += right_rows[r].first == key ? 1 : 0;
    count += left_count * right_count;
  }
  return count;
}

std::vector<bool> reference_mark(Keys const& left, Keys const& right, Side side) {
  auto const& marked = side == Side::left ? left : right;
  auto const others = sorted_rows(side == Side::left ? right : left);
  std::vector<bool> marks(marked.words.size());
  for (std::size_t row = 0; row < marks.size(); ++row) {
    if (!marked.is_valid(row)) continue;
    auto const match = std::lower_bound(others.begin(), others.end(), std::pair{marked.words[row], std::uint64_t{0}});
    marks[row] = match != others.end() && match->first == marked.words[row];
  }
  return marks;
}

TextTable read_table(TableView table) {
  TextTable text;
  for (auto const& field : table.schema()) text.names.push_back(field.name);
  for (std::size_t b = 0; b < table.num_batches(); ++b) {
    auto const& batch = table.batch(b);
    for (std::int64_t row = 0; row < batch.num_rows; ++row) {
      std::vector<Cell> cells;
      for (std::size_t c = 0; c < table.num_columns(); ++c)
        cells.push_back(read_cell(table.schema()[c].type, batch.columns[c], row));
      text.rows.push_back(std::move(cells));
    }
  }
  return text;
}

TextTable sorted(TextTable table) {
  std::sort(table.rows.begin(), table.rows.end());
  return table;
}

TextTable reference_join_table(TableView left, TableView right, JoinSpec const& spec) {
  auto const left_text = read_table(left);
  auto const right_text = read_table(right);
  auto const left_key = column_named(left, spec.on.front().first);
  auto const right_key = column_named(right, spec.on.front().second);
  auto const columns = result_columns(left, right, spec);
  auto const kind = spec.kind;
  bool const left_alone = kind == JoinKind::left || kind == JoinKind::full;
  bool const right_alone = kind == JoinKind::right || kind == JoinKind::full;

  // Keys of all types allowed are integers, unscaled ones for decimals, so equal keys are equal texts.
  std::multimap<Cell, std::size_t> right_rows;
  for (std::size_t row = 0; row < right_text.rows.size(); ++row)
    if (auto const& key = right_text.rows[row][right_key]; key || spec.nulls_equal) right_rows.emplace(key, row);

  TextTable result;
  result.names = result_names(left, right, columns, kind == JoinKind::mark);
  // Of a left row, a right row, or both; the key of a result with all columns is that of whichever there is.
  auto const add_row = [&](std::vector<Cell> const* left_row, std::vector<Cell> const* right_row) {
    std::vector<Cell> cells;
    for (auto const& [side, c] : columns) {
      auto const* const row = side == Side::left ? left_row : right_row;
      bool const is_key = !spec.columns && side == Side::left && c == left_key;
      if (row != nullptr)
        cells.push_back((*row)[c]);
      else
        cells.push_back(is_key ? (*right_row)[right_key] : std::nullopt);
    }
    result.rows.push_back(std::move(cells));
  };
  std::vector<bool> right_has_match(right_text.rows.size());
  for (auto const& left_row : left_text.rows) {
    auto const& key = left_row[left_key];
    auto const [first, last] = right_rows.equal_range(key);  // equal keys stay in the order of insertion
    bool const has_match = first != last;
    if (kind == JoinKind::mark || (kind == JoinKind::semi && has_match) || (kind == JoinKind::anti && !has_match))
      add_row(&left_row, nullptr);
    if (kind == JoinKind::mark) result.rows.back().emplace_back(has_match ? "true" : "false");
    if (has_left_columns_only(kind)) continue;
    if (left_alone && !has_match) add_row(&left_row, nullptr);
    for (auto match = first; match != last; ++match) {
      add_row(&left_row, &right_text.rows[match->second]);
      right_has_match[match->second] = true;
    }
  }
  for (std::size_t row = 0; right_alone && row < right_text.rows.size(); ++row)
    if (!right_has_match[row]) add_row(nullptr, &right_text.rows[row]);
  return result;
}

}  // namespace garuda::reference
