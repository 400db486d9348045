#include "tests/query/random_tables.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/type_rows.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/data_types.hpp"

namespace garuda::testing {
namespace {

using reference::Column;
using reference::dictionary_of;
using reference::timed;
using reference::typed;

/// Which rows of a column are null.
std::vector<bool> random_nulls(std::size_t rows, Draw& draw) {
  std::vector<bool> nulls(rows);
  if (draw.one_in(3)) return nulls;
  auto const share = draw.of<std::size_t>({2, 4, 10});
  for (std::size_t i = 0; i < rows; ++i) nulls[i] = draw.one_in(share);
  return nulls;
}

template <class T, class Value>
Column column_of(DataType const& type, std::size_t rows, Draw& draw, Value const& value) {
  auto const nulls = random_nulls(rows, draw);
  std::vector<std::optional<T>> values(rows);
  for (std::size_t i = 0; i < rows; ++i)
    if (!nulls[i]) values[i] = value();
  return reference::make_column<T>(type, values, static_cast<std::int64_t>(draw.below(3)));
}

std::vector<std::optional<std::string>> random_texts(std::size_t rows, Draw& draw) {
  auto const nulls = random_nulls(rows, draw);
  std::vector<std::optional<std::string>> texts(rows);
  for (std::size_t i = 0; i < rows; ++i)
    if (!nulls[i]) texts[i] = random_text(draw);
  return texts;
}

Column random_dictionary(std::size_t rows, Draw& draw) {
  std::vector<std::optional<std::string>> words;
  for (auto count = 1 + draw.below(6); count > 0; --count) words.emplace_back(random_text(draw));
  if (draw.one_in(4)) words.emplace_back(std::nullopt);
  auto const nulls = random_nulls(rows, draw);
  std::vector<std::optional<std::int32_t>> codes(rows);
  for (std::size_t i = 0; i < rows; ++i)
    if (auto const code = draw.below(words.size()); !nulls[i] && words[code])
      codes[i] = static_cast<std::int32_t>(code);
  return reference::make_dictionary(codes, reference::make_strings(words));
}

Column random_column(DataType const& type, std::size_t rows, Draw& draw) {
  auto const integer = [&] { return random_integer(type, draw); };
  switch (type.id) {
    case TypeId::boolean: {
      auto const nulls = random_nulls(rows, draw);
      std::vector<std::optional<bool>> values(rows);
      for (std::size_t i = 0; i < rows; ++i)
        if (!nulls[i]) values[i] = draw.one_in(2);
      return reference::make_booleans(values);
    }
    case TypeId::int8:
      return column_of<std::int8_t>(type, rows, draw, integer);
    case TypeId::int32:
    case TypeId::date32:
      return column_of<std::int32_t>(type, rows, draw, integer);
    case TypeId::uint32:
      return column_of<std::uint32_t>(type, rows, draw, integer);
    case TypeId::float32:
      return column_of<float>(type, rows, draw, [&] { return static_cast<float>(random_float(draw)); });
    case TypeId::float64:
      return column_of<double>(type, rows, draw, [&] { return random_float(draw); });
    case TypeId::decimal128:
      return column_of<reference::Decimal128>(type, rows, draw, [&] {
        auto const value = integer();
        return reference::Decimal128{static_cast<std::uint64_t>(value), value < 0 ? -1 : 0};
      });
    case TypeId::utf8:
    case TypeId::large_utf8:
    case TypeId::utf8_view:
      return reference::make_strings(random_texts(rows, draw), type.id);
    case TypeId::dictionary:
      return random_dictionary(rows, draw);
    default:
      return column_of<std::int64_t>(type, rows, draw, integer);
  }
}

}  // namespace

std::vector<DataType> const& column_types() {
  static std::vector<DataType> const types{{TypeId::boolean},
                                           {TypeId::int8},
                                           {TypeId::int32},
                                           {TypeId::int32},
                                           {TypeId::int64},
                                           {TypeId::int64},
                                           {TypeId::uint32},
                                           {TypeId::float32},
                                           {TypeId::float64},
                                           {TypeId::float64},
                                           {TypeId::date32},
                                           timed(TypeId::timestamp, TimeUnit::microsecond),
                                           typed(TypeId::decimal64, 9, 2),
                                           typed(TypeId::decimal128, 18, 4),
                                           {TypeId::utf8},
                                           {TypeId::utf8},
                                           {TypeId::large_utf8},
                                           {TypeId::utf8_view},
                                           dictionary_of({TypeId::utf8})};
  return types;
}

std::int64_t random_integer(DataType const& type, Draw& draw) {
  auto const small = static_cast<std::int64_t>(draw.below(7));
  auto const is_extreme = draw.one_in(60);
  switch (type.id) {
    case TypeId::int8:
      return is_extreme ? draw.of({-128, 127}) : small - 2;
    case TypeId::int32:
      return is_extreme ? draw.of({std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()})
                        : small - 2;
    case TypeId::uint32:
      return is_extreme ? std::int64_t{std::numeric_limits<std::uint32_t>::max()} : small;
    case TypeId::date32:
      return draw.of({0, 59, 60, 10'957, 11'016, 19'782, -1, -719'162}) + static_cast<std::int64_t>(draw.below(2));
    case TypeId::timestamp:
      return draw.of<std::int64_t>({0, -1, 86'399'999'999, 951'782'400'000'000, 1'709'164'800'123'456}) + small % 2;
    case TypeId::decimal64:
      return is_extreme ? draw.of({999'999'999, -999'999'999}) : draw.of({0, 50, -5, 125, 300, 12'345});
    case TypeId::decimal128:
      return is_extreme ? 999'999'999'999'999'999 : draw.of({0, 5'000, -500, 12'500, 30'000, 1});
    default:
      return is_extreme ? draw.of({std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()})
                        : small - 2;
  }
}

double random_float(Draw& draw) {
  if (draw.one_in(12)) return draw.of({std::nan(""), HUGE_VAL, -HUGE_VAL, 1e300, 5e-324});
  return draw.of({0.0, -0.0, 1.0, 1.5, -2.25, 3.0, 0.1, 4.0});
}

std::string random_text(Draw& draw) {
  return draw.of<char const*>(
      {"", "a", "A", "ab", "b", "Äb", " ab ", "日本", "a text of more than twelve bytes", "b%a"});
}

Table random_table(std::string const& prefix, std::size_t rows, Draw& draw) {
  Schema schema;
  auto const add = [&](DataType type) { schema.push_back({prefix + std::to_string(schema.size()), std::move(type)}); };
  add(draw.one_in(4) ? DataType{TypeId::int32} : DataType{TypeId::int64});
  for (auto count = 2 + draw.below(5); count > 0; --count) add(draw.of(column_types()));
  std::vector<Batch> batches;
  for (auto left = rows; left > 0 || draw.one_in(6);) {
    auto const in_batch = batches.size() < 2 && draw.one_in(2) ? draw.below(left + 1) : left;
    std::vector<Column> columns;
    for (auto const& field : schema) columns.push_back(random_column(field.type, in_batch, draw));
    batches.push_back(reference::make_batch(columns));
    left -= in_batch;
  }
  return {std::move(schema), std::move(batches)};
}

}  // namespace garuda::testing
