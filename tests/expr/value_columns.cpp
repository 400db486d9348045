// The table of edge values.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "core/type_rows.hpp"
#include "tests/expr/value_cases.hpp"
#include "tests/reference/data_types.hpp"

namespace garuda::expr {
namespace {

using reference::timed;
using reference::typed;

/// A value and its literal in SQL; the value of nothing is null.
struct EdgeValue {
  Scalar value;
  std::string literal;
};

std::vector<EdgeValue> integers(std::vector<std::int64_t> const& values) {
  std::vector<EdgeValue> edges{{{}, "null"}};
  for (auto const value : values) edges.push_back({value, fmt::format("({}::hugeint)", value)});
  return edges;
}

std::vector<EdgeValue> floats(std::vector<double> const& values) {
  std::vector<EdgeValue> edges{{{}, "null"}};
  for (auto const value : values) edges.push_back({value, fmt::format("'{}'::double", value)});
  return edges;
}

std::vector<EdgeValue> texts(std::vector<std::string> const& values) {
  std::vector<EdgeValue> edges{{{}, "null"}};
  for (auto const& value : values) edges.push_back({value, fmt::format("'{}'", value)});
  return edges;
}

/// Decimals by their digits, which have as many behind the point as the scale.
std::vector<EdgeValue> decimals(std::vector<std::string> const& values) {
  std::vector<EdgeValue> edges{{{}, "null"}};
  for (auto const& text : values) {
    Int128 value = 0;
    for (auto const c : text)
      if (c >= '0' && c <= '9') value = 10 * value + (c - '0');
    edges.push_back({text.front() == '-' ? -value : value, "'" + text + "'"});
  }
  return edges;
}

std::vector<EdgeValue> times(std::vector<std::int64_t> const& values, std::string_view form) {
  std::vector<EdgeValue> edges{{{}, "null"}};
  for (auto const value : values) edges.push_back({value, fmt::format(fmt::runtime(form), value)});
  return edges;
}

template <class Value>
void put(ValueColumn& column, std::size_t row, EdgeValue const& edge) {
  auto* const to = reinterpret_cast<Value*>(column.memory.data()) + row;
  std::visit(
      [&]<class Held>(Held const& held) {
        if constexpr (std::is_same_v<Held, std::string> && std::is_same_v<Value, std::string_view>)
          *to = column.strings[row] = held;
        else if constexpr (std::is_convertible_v<Held, Value> && !std::is_same_v<Value, std::string_view>)
          *to = static_cast<Value>(held);
      },
      edge.value);
}

/// `repeats`: so many rows have a value before the next one's.
ValueColumn column_of(std::string name, DataType type, std::string sql_type, std::vector<EdgeValue> const& edges,
                      std::size_t repeats, std::size_t rows) {
  ValueColumn column{std::move(name), std::move(type), std::move(sql_type), {}, {}, {}, {}, {}};
  column.kind = *kind_of(column.type);
  column.memory.resize(rows);
  column.valid.resize(rows);
  column.strings.resize(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    auto const& edge = edges[row / repeats % edges.size()];
    column.literals.push_back(edge.literal);
    column.valid[row] = std::holds_alternative<std::monostate>(edge.value) ? 0 : 1;
    with_kind(column.kind, [&]<class Value>(Value) { put<Value>(column, row, edge); });
  }
  return column;
}

constexpr auto kLeast32 = std::numeric_limits<std::int32_t>::min();
constexpr auto kMost32 = std::numeric_limits<std::int32_t>::max();
constexpr auto kLeast64 = std::numeric_limits<std::int64_t>::min();
constexpr auto kMost64 = std::numeric_limits<std::int64_t>::max();

}  // namespace

Vector ValueColumn::block(std::size_t first) const {
  return with_kind(kind, [&]<class Value>(Value) {
    return Vector{kind, false, reinterpret_cast<Value const*>(memory.data()) + first, valid.data() + first};
  });
}

namespace {

/// Adds two columns of a type, of which the second one changes after all values of the first.
class ColumnList {
 public:
  explicit ColumnList(std::size_t rows) : rows_(rows) {}

  void add(std::string const& name, DataType const& type, std::string const& sql_type,
           std::vector<EdgeValue> const& edges) {
    columns_.push_back(column_of(name + "1", type, sql_type, edges, 1, rows_));
    columns_.push_back(column_of(name + "2", type, sql_type, edges, edges.size(), rows_));
  }
  void add_numbers() {
    add("b", {TypeId::boolean}, "boolean", {{{}, "null"}, {true, "true"}, {false, "false"}});
    add("i", {TypeId::int32}, "integer",
        integers({0, 1, -1, 2, -2, 7, -7, 10, 100, -15, 25, 12'345, -12'345, kLeast32, kMost32, kMost32 - 1}));
    add("l", {TypeId::int64}, "bigint",
        integers({0, 1, -1, 3, -3, 5, -5, 7, 15, -15, 1'000, -999'999, kLeast64, kMost64, kMost64 / 2, 3'037'000'500}));
    add("s", {TypeId::int16}, "smallint", integers({0, 1, -1, 181, 182, -32'768, 32'767, 100}));
    add("u", {TypeId::uint32}, "uinteger", integers({0, 1, 2, 65'536, 4'294'967'295, 10}));
    add("d", {TypeId::float64}, "double",
        floats({0,    -0.0, 1,    -1,      0.5,   -0.5,   1.5,    2.5,    -2.5, 0.1,      1.005,    123'456.789,
                1e15, 1e16, 1e-5, 1.25e-7, 1e300, -1e300, 5e-324, 9.2e18, NAN,  INFINITY, -INFINITY}));
    add("f", {TypeId::float32}, "float",
        floats({0, -1, 0.5, 1.5, -2.5, static_cast<double>(0.1F), 16'777'216, static_cast<double>(3.4e38F), NAN,
                INFINITY}));
    add("p", typed(TypeId::decimal64, 9, 2), "decimal(9, 2)",
        decimals({"0.00", "0.01", "-0.01", "0.05", "-0.05", "1.00", "1.50", "-1.50", "2.49", "2.50", "-2.50",
                  "12345.67", "9999999.99", "-9999999.99"}));
    add("q", typed(TypeId::decimal128, 18, 4), "decimal(18, 4)",
        decimals({"0.0000", "0.0001", "-0.0001", "0.5000", "-0.5000", "1.0000", "2.4950", "-1.9999", "12345.6700",
                  "99999999999999.9999", "-99999999999999.9999"}));
    add("w", typed(TypeId::decimal128, 38, 10), "decimal(38, 10)",
        decimals({"0.0000000000", "0.0000000001", "-1.5000000000", "12345.6700000000",
                  "9999999999999999999999999999.9999999999", "-9999999999999999999999999999.9999999999"}));
  }
  void add_texts_and_times() {
    add("t", {TypeId::utf8}, "varchar",
        texts({"",
               " ",
               "a",
               "b",
               "abc",
               "ABC",
               "  abc  ",
               "xxabcxx",
               "%",
               "a_c",
               "a%c",
               "ä",
               "äöü ÄÖÜ",
               "straße",
               "日本語",
               "a\u0301",
               "😀x😀",
               "abcabc",
               "https://www.example.com/a/b",
               "Ünïcödé",
               "a much longer text than twelve bytes",
               "c",
               "ǆ",
               "İı"}));
    add("n", {TypeId::utf8}, "varchar",
        texts({"0",
               "1",
               "-1",
               " 42 ",
               "2147483647",
               "2147483648",
               "-2147483648",
               "1.5",
               "-2.5",
               "1e3",
               "1e-3",
               "abc",
               "",
               "nan",
               "inf",
               "-inf",
               "true",
               "f",
               "9223372036854775807",
               "0.005",
               "123456789.125",
               "+7",
               "1e400",
               "0.1",
               "99999999999999999999999999999999999999",
               "12345678901234567890123456789012345678901234567890",
               "170141183460469231731687303715884105727",
               "1e30",
               "1e39",
               ".5",
               "5."}));
    add("m", {TypeId::utf8}, "varchar",
        texts({"2024-02-29", "2023-02-29", "1970-01-01", "0001-01-01", "9999-12-31", "2024-13-01", "abc", "",
               "2024-02-29 12:30:45.123456", "1969-12-31 23:59:59.999999", "2024-01-01T00:00:00", "12:30:00",
               "12:30:00.5", "25:00:00"}));
    add("c", {TypeId::date32}, "date",
        times({0,      -1,     1,        59,       60,       365,      10'957,    11'016,  19'782,  19'783, 19'723,
               18'992, 18'993, -719'162, -719'163, -719'528, -800'000, 2'932'896, -25'567, 100'000, 16'070, 16'069},
              "date '1970-01-01' + {}"));
    add("z", timed(TypeId::timestamp, TimeUnit::microsecond), "timestamp",
        times({0, -1, 1, 999'999, 1'000'000, -1'000'001, 1'709'209'845'123'456, -62'135'596'800'000'000,
               -62'135'596'800'000'001, -70'000'000'000'000'000, 253'402'300'799'999'999, 951'782'400'000'000,
               86'399'999'999},
              "make_timestamp({}::bigint)"));
    add("k", timed(TypeId::time64, TimeUnit::microsecond), "time",
        times({0, 1, 86'399'999'999, 45'045'500'000, 3'600'000'000}, "time '00:00:00' + to_microseconds({})"));
  }
  std::vector<ValueColumn> take() { return std::move(columns_); }

 private:
  std::size_t rows_;
  std::vector<ValueColumn> columns_;
};

}  // namespace

std::vector<ValueColumn> value_columns(std::size_t rows) {
  ColumnList columns(rows);
  columns.add_numbers();
  columns.add_texts_and_times();
  return columns.take();
}

}  // namespace garuda::expr
