#include "tests/reference/reference_join.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "tests/reference/column_reader.hpp"
#include "tests/reference/reference_condition.hpp"

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
  std::set<std::size_t> keys;
  for (auto const& pair : spec.on) keys.insert(column_named(right, pair.second));
  for (std::size_t c = 0; c < right.num_columns(); ++c)
    if (keys.count(c) == 0) columns.emplace_back(Side::right, c);
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

/// A decimal number times 10^-scale: its digits without zeros behind them, and their exponent.
std::string number_text(std::string digits, int scale) {
  if (digits == "0") return "number 0";
  int exponent = -scale;
  for (; digits.back() == '0'; ++exponent) digits.pop_back();
  return "number " + digits + "e" + std::to_string(exponent);
}

double half_value(std::uint64_t bits) {
  auto const exponent = static_cast<int>(bits >> 10 & 31);
  auto const fraction = static_cast<double>(bits & 1023);
  auto const sign = (bits >> 15) != 0 ? -1.0 : 1.0;
  if (exponent == 31) return fraction == 0 ? sign * HUGE_VAL : std::nan("");
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

std::string float_text(TypeId id, std::string const& hexadecimal) {
  auto const bits = std::stoull(hexadecimal, nullptr, 16);
  double value = half_value(bits);
  if (id == TypeId::float32) {
    auto const narrow = static_cast<std::uint32_t>(bits);
    float single;
    std::memcpy(&single, &narrow, sizeof(single));
    value = static_cast<double>(single);
  }
  if (id == TypeId::float64) std::memcpy(&value, &bits, sizeof(value));
  if (std::isnan(value)) return "nan";
  if (value == std::floor(value) && std::fabs(value) < 1e15)
    return number_text(std::to_string(static_cast<long long>(value)), 0);
  char text[64];
  std::snprintf(text, sizeof(text), "float %a", value);
  return text;
}

/// The key of a row; nullopt: it has a null that matches nothing.
using RowKey = std::vector<Cell>;
std::optional<RowKey> row_key(TableView table, std::vector<Cell> const& row, std::vector<std::size_t> const& columns,
                              bool nulls_equal) {
  RowKey key;
  for (auto const c : columns) {
    if (!row[c] && !nulls_equal) return std::nullopt;
    key.push_back(key_text(table.schema()[c].type, row[c]));
  }
  return key;
}

}  // namespace

Cell key_text(DataType const& type, Cell const& cell) {
  if (!cell) return std::nullopt;
  constexpr int kUnitDigits[] = {0, 3, 6, 9};
  auto const unit = kUnitDigits[static_cast<int>(type.unit)];
  switch (type.id) {
    case TypeId::boolean:
      return cell;
    case TypeId::float16:
    case TypeId::float32:
    case TypeId::float64:
      return float_text(type.id, *cell);
    case TypeId::date32:
      return number_text(std::to_string(std::stoll(*cell) * 86'400), 0);
    case TypeId::date64:
      return number_text(*cell, 3);
    case TypeId::time32:
    case TypeId::time64:
    case TypeId::timestamp:
    case TypeId::duration:
      return number_text(*cell, unit);
    case TypeId::fixed_size_binary:
    case TypeId::utf8:
    case TypeId::large_utf8:
    case TypeId::utf8_view:
    case TypeId::binary:
    case TypeId::large_binary:
    case TypeId::binary_view:
      return "bytes " + *cell;
    case TypeId::dictionary:
      return key_text(*type.value, cell);
    default:
      return number_text(*cell, type.scale);
  }
}

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

TextTable reference_join_table(TableView left, TableView right, JoinSpec const& spec, bool normal_keys) {
  auto const left_text = read_table(left);
  auto const right_text = read_table(right);
  std::vector<std::size_t> left_keys;
  std::vector<std::size_t> right_keys;
  for (auto const& [left_name, right_name] : spec.on) {
    left_keys.push_back(column_named(left, left_name));
    right_keys.push_back(column_named(right, right_name));
  }
  auto const columns = result_columns(left, right, spec);
  auto const kind = spec.kind;
  bool const left_unmatched = kind == JoinKind::left || kind == JoinKind::full;
  bool const right_alone = kind == JoinKind::right || kind == JoinKind::full;

  std::multimap<RowKey, std::size_t> right_rows;
  for (std::size_t row = 0; row < right_text.rows.size(); ++row)
    if (auto const key = row_key(right, right_text.rows[row], right_keys, spec.nulls_equal))
      right_rows.emplace(*key, row);

  TextTable result;
  result.names = result_names(left, right, columns, kind == JoinKind::mark);
  // Adds a left row, a right row, or both. Where the result has all columns, its key is that of whichever row there is.
  auto const add_row = [&](std::vector<Cell> const* left_row, std::vector<Cell> const* right_row) {
    std::vector<Cell> cells;
    for (auto const& [side, c] : columns) {
      auto const* const row = side == Side::left ? left_row : right_row;
      auto const shared = std::find(left_keys.begin(), left_keys.end(), c);
      bool const is_key =
          !spec.columns && side == Side::left && shared != left_keys.end() && (left_unmatched || right_alone);
      auto const other = is_key ? right_keys[static_cast<std::size_t>(shared - left_keys.begin())] : 0;
      auto const normal = [&](TableView table, std::size_t column, Cell const& cell) {
        return is_key && normal_keys ? key_text(table.schema()[column].type, cell) : cell;
      };
      if (row != nullptr)
        cells.push_back(normal(side == Side::left ? left : right, c, (*row)[c]));
      else
        cells.push_back(is_key ? normal(right, other, (*right_row)[other]) : std::nullopt);
    }
    result.rows.push_back(std::move(cells));
  };
  std::vector<bool> right_has_match(right_text.rows.size());
  for (auto const& left_row : left_text.rows) {
    auto const key = row_key(left, left_row, left_keys, spec.nulls_equal);
    // Equal keys stay in the order of insertion.
    auto const [first, last] = key ? right_rows.equal_range(*key) : std::pair(right_rows.end(), right_rows.end());
    std::vector<std::size_t> matches;
    for (auto match = first; match != last; ++match)
      if (!spec.where ||
          holds(*spec.where, {left.schema(), left_row}, {right.schema(), right_text.rows[match->second]}) == true)
        matches.push_back(match->second);
    bool const has_match = !matches.empty();
    if (kind == JoinKind::mark || (kind == JoinKind::semi && has_match) || (kind == JoinKind::anti && !has_match))
      add_row(&left_row, nullptr);
    if (kind == JoinKind::mark) result.rows.back().emplace_back(has_match ? "true" : "false");
    if (has_left_columns_only(kind)) continue;
    if (left_unmatched && !has_match) add_row(&left_row, nullptr);
    for (auto const match : matches) {
      add_row(&left_row, &right_text.rows[match]);
      right_has_match[match] = true;
    }
  }
  for (std::size_t row = 0; right_alone && row < right_text.rows.size(); ++row)
    if (!right_has_match[row]) add_row(nullptr, &right_text.rows[row]);
  return result;
}

}  // namespace garuda::reference
