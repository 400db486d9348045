// Row groups are left out only where no row of theirs passes a test, and are where their statistics show that.
#include "io/parquet/row_group_tests.hpp"

#include <arrow/io/memory.h>
#include <parquet/arrow/schema.h>
#include <parquet/arrow/writer.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/statistics.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>

#include "tests/io/arrow_tables.hpp"
#include "tests/reference/data_types.hpp"
#include "tests/test_run.hpp"

namespace garuda::io {
namespace {

using namespace testing;  // the tests' own vocabulary
using reference::timed;
using reference::typed;

/// A value as a file has it, as a constant of a query, and its place among the values of its type: equal ones share it.
struct Known {
  std::string json;
  Literal literal;
  int rank = 0;
};

Literal text(std::string value) { return {typed(TypeId::utf8), std::move(value)}; }

/// Values of a type in ascending order.
struct Values {
  std::shared_ptr<arrow::DataType> stored;
  std::vector<Known> ascending;
  bool has_nan = false;  ///< the last one is NaN
};

std::string quoted(std::string const& text) { return "\"" + text + "\""; }

template <class Number>
Values integers(std::shared_ptr<arrow::DataType> stored, DataType const& type, std::vector<Number> const& numbers) {
  Values values{std::move(stored), {}};
  for (auto const number : numbers)
    values.ascending.push_back({std::to_string(number), {type, number}, static_cast<int>(values.ascending.size())});
  return values;
}

Values texts(std::shared_ptr<arrow::DataType> stored, TypeId id, std::vector<std::string> const& ascending) {
  Values values{std::move(stored), {}};
  for (auto const& text : ascending)
    values.ascending.push_back({quoted(text), {typed(id), text}, static_cast<int>(values.ascending.size())});
  return values;
}

Values floats(std::shared_ptr<arrow::DataType> stored, TypeId id) {
  constexpr auto kInfinity = std::numeric_limits<double>::infinity();
  Values values{std::move(stored), {}, true};
  auto const add = [&](char const* json, double number, int rank) {
    values.ascending.push_back({json, {typed(id), number}, rank});
  };
  add("-Inf", -kInfinity, 0);
  add("-1.5", -1.5, 1);
  add("-0.0", -0.0, 2);
  add("0.0", 0.0, 2);
  add("0.25", 0.25, 3);
  add("1024", 1024, 4);
  add("Inf", kInfinity, 5);
  add("NaN", std::numeric_limits<double>::quiet_NaN(), 6);
  return values;
}

Literal decimal(Int128 digits, std::int32_t scale) {
  auto const bits = static_cast<UInt128>(digits);
  return {typed(TypeId::decimal128, 38, scale),
          std::array{static_cast<std::uint64_t>(bits), static_cast<std::uint64_t>(bits >> 64)}};
}

/// Constants have `more` digits behind the point than the column, as after a cast to a wider type.
Values decimals(std::int32_t precision, std::int32_t more) {
  Values values{arrow::decimal128(precision, 2), {}};
  auto const scale_up = [&](Int128 digits) {
    for (auto i = 0; i < more; ++i) digits *= 10;
    return digits;
  };
  for (int const units : {-9, -1, 0, 3, 8})
    values.ascending.push_back({quoted(std::to_string(units) + ".25"),
                                decimal(scale_up(units < 0 ? units * 100 - 25 : units * 100 + 25), 2 + more),
                                static_cast<int>(values.ascending.size())});
  return values;
}

std::vector<Values> all_types() {
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr auto kGreatest = std::numeric_limits<std::int64_t>::max();
  using arrow::TimeUnit;
  using Ints = std::vector<std::int64_t>;
  using UnsignedInts = std::vector<std::uint64_t>;
  std::vector<std::string> const words{"", "a", "ab", "b", "ba", "longer than a view holds", "zz", "\xC3\xA9"};
  Values booleans{
      arrow::boolean(),
      {{"false", Literal{typed(TypeId::boolean), false}, 0}, {"true", Literal{typed(TypeId::boolean), true}, 1}}};
  return {
      booleans,
      integers(arrow::int8(), typed(TypeId::int8), Ints{-128, -1, 0, 5, 127}),
      integers(arrow::int16(), typed(TypeId::int16), Ints{-32768, -1, 0, 300, 32767}),
      integers(arrow::int32(), typed(TypeId::int32), Ints{-2147483648, -1, 0, 70'000, 2147483647}),
      integers(arrow::int64(), typed(TypeId::int64), Ints{kLeast, -1, 0, 5'000'000'000, kGreatest}),
      integers(arrow::uint8(), typed(TypeId::uint8), UnsignedInts{0, 1, 127, 128, 255}),
      integers(arrow::uint16(), typed(TypeId::uint16), UnsignedInts{0, 1, 32767, 32768, 65535}),
      integers(arrow::uint32(), typed(TypeId::uint32), UnsignedInts{0, 1, 2147483647, 2147483648, 4294967295}),
      integers(arrow::uint64(), typed(TypeId::uint64), UnsignedInts{0, 1, kGreatest, 1ULL << 63, ~0ULL}),
      integers(arrow::int32(), typed(TypeId::int64), Ints{-5, 0, 7, 90}),
      floats(arrow::float32(), TypeId::float32),
      floats(arrow::float64(), TypeId::float64),
      floats(arrow::float32(), TypeId::float64),
      decimals(5, 0),
      decimals(15, 3),
      decimals(30, 6),
      integers(arrow::date32(), typed(TypeId::date32), Ints{-40'000, -1, 0, 1, 20'000}),
      integers(arrow::time32(TimeUnit::SECOND), timed(TypeId::time32, garuda::TimeUnit::second), Ints{0, 1, 86'399}),
      integers(arrow::time32(TimeUnit::MILLI), timed(TypeId::time32, garuda::TimeUnit::millisecond), Ints{0, 1, 999}),
      integers(arrow::time64(TimeUnit::MICRO), timed(TypeId::time64, garuda::TimeUnit::microsecond), Ints{0, 1, 999}),
      integers(arrow::time64(TimeUnit::NANO), timed(TypeId::time64, garuda::TimeUnit::nanosecond), Ints{0, 1, 999}),
      integers(arrow::timestamp(TimeUnit::SECOND), timed(TypeId::timestamp, garuda::TimeUnit::second),
               Ints{-100'000, -1, 0, 1'700'000'000}),
      integers(arrow::timestamp(TimeUnit::MILLI), timed(TypeId::timestamp, garuda::TimeUnit::millisecond),
               Ints{-1, 0, 1, 1'700'000'000'000}),
      integers(arrow::timestamp(TimeUnit::MICRO, "UTC"), timed(TypeId::timestamp, garuda::TimeUnit::microsecond, "UTC"),
               Ints{-1, 0, 1, 1'700'000'000'000'000}),
      integers(arrow::timestamp(TimeUnit::NANO), timed(TypeId::timestamp, garuda::TimeUnit::nanosecond),
               Ints{kLeast + 1, -1, 0, kGreatest}),
      integers(arrow::duration(TimeUnit::MILLI), timed(TypeId::duration, garuda::TimeUnit::millisecond),
               Ints{-5, 0, 1, 7}),
      texts(arrow::utf8(), TypeId::utf8, words),
      texts(arrow::large_utf8(), TypeId::utf8_view, words),
      texts(arrow::utf8_view(), TypeId::utf8, words),
      texts(arrow::binary(), TypeId::binary, words),
      texts(arrow::fixed_size_binary(2), TypeId::binary, {"aa", "ab", "b ", "zz"}),
      texts(arrow::dictionary(arrow::int32(), arrow::utf8()), TypeId::utf8, words),
  };
}

/// Places among the known values of a type; nullopt: null.
using Cells = std::vector<std::optional<std::size_t>>;

std::shared_ptr<arrow::Array> array_of(Values const& values, Cells const& cells) {
  std::string json;
  for (auto const& cell : cells) json += (json.empty() ? "" : ", ") + (cell ? values.ascending[*cell].json : "null");
  return array(values.stored, "[" + json + "]");
}

/// The footer of a file in memory whose row groups have `rows` rows.
std::shared_ptr<parquet::FileMetaData> footer_of(std::vector<Column> const& columns, std::int64_t rows,
                                                 bool has_statistics = true) {
  parquet::WriterProperties::Builder builder;
  if (!has_statistics) builder.disable_statistics();
  auto const sink = arrow::io::BufferOutputStream::Create().ValueOrDie();
  auto const table = arrow::Table::FromRecordBatches({batch(columns)}).ValueOrDie();
  auto const stored = parquet::ArrowWriterProperties::Builder().store_schema()->build();
  auto const status =
      parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), sink, rows, builder.build(), stored);
  if (!status.ok()) throw std::runtime_error(status.ToString());
  auto const bytes = sink->Finish().ValueOrDie();
  return parquet::ParquetFileReader::Open(std::make_shared<arrow::io::BufferReader>(bytes))->metadata();
}

FindTested find_among(std::vector<Column> const& columns) {
  return [columns](std::string const& name) -> std::optional<TestedColumn> {
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (columns[i].name == name) return TestedColumn{static_cast<int>(i), columns[i].values->type()};
    return std::nullopt;
  };
}

bool in_range(ValueRange const& range, int rank, std::optional<int> least, std::optional<int> greatest) {
  if (least && (rank < *least || (rank == *least && range.without_least))) return false;
  return !greatest || (rank < *greatest || (rank == *greatest && !range.without_greatest));
}

/// A test whose ranges have their ends among the known values, and who passes it by these values' ranks.
struct RankedTest {
  RowTest test;
  std::vector<std::pair<std::optional<int>, std::optional<int>>> ends;
  std::vector<RankedTest> parts;

  /// Whether a row passes; of columns that are not there nothing is known, and rows may.
  bool passes(Values const& values, std::vector<std::pair<std::string, Cells>> const& columns, std::size_t row) const {
    auto const of = [&](RankedTest const& part) { return part.passes(values, columns, row); };
    if (test.kind == RowTest::Kind::all) return std::ranges::all_of(parts, of);
    if (test.kind == RowTest::Kind::any) return std::ranges::any_of(parts, of);
    for (auto const& [name, cells] : columns) {
      if (name != test.column) continue;
      if (!cells[row]) return test.or_null;
      return passes_rank(values.ascending[*cells[row]].rank);
    }
    return true;
  }
  bool passes_rank(int rank) const {
    for (std::size_t i = 0; i < ends.size(); ++i)
      if (in_range(test.ranges[i], rank, ends[i].first, ends[i].second)) return true;
    return false;
  }
};

class RandomTests {
 public:
  RandomTests(Values const& values, std::uint64_t seed) : values_(values), random_(seed) {}

  bool one_in(int cases) { return below(static_cast<std::size_t>(cases)) == 0; }
  std::size_t below(std::size_t end) { return random_() % end; }

  /// Rows of a few neighbours among the values; `null_in`: one in so many is null, 0: none.
  Cells cells(std::size_t rows, int null_in) {
    auto const first = below(values_.ascending.size());
    auto const span = 1 + below(std::min<std::size_t>(3, values_.ascending.size() - first));
    Cells cells;
    for (std::size_t i = 0; i < rows; ++i)
      cells.push_back(null_in != 0 && one_in(null_in) ? std::nullopt : std::optional(first + below(span)));
    return cells;
  }

  RankedTest of_column() {
    RankedTest made;
    made.test.kind = RowTest::Kind::column;
    made.test.column = one_in(12) ? "missing" : one_in(2) ? "a" : "b";
    made.test.or_null = one_in(4);
    for (auto ranges = one_in(8) ? 0 : 1 + below(2); ranges > 0; --ranges) add_range(made);
    return made;
  }

  RankedTest tree(int depth) {
    if (depth == 0 || one_in(2)) return of_column();
    RankedTest made;
    made.test.kind = one_in(2) ? RowTest::Kind::all : RowTest::Kind::any;
    for (auto parts = below(4); parts > 0; --parts) {
      made.parts.push_back(tree(depth - 1));
      made.test.parts.push_back(made.parts.back().test);
    }
    return made;
  }

 private:
  void add_range(RankedTest& made) {
    ValueRange range;
    std::pair<std::optional<int>, std::optional<int>> ends;
    auto const end = [&](std::optional<Literal>& bound, std::optional<int>& rank) {
      if (one_in(3)) return;
      auto const& known = values_.ascending[below(values_.ascending.size())];
      bound = known.literal;
      rank = known.rank;
    };
    end(range.least, ends.first);
    end(range.greatest, ends.second);
    range.without_least = one_in(3);
    range.without_greatest = one_in(3);
    if (one_in(3) && range.least) {  // as of a comparison by equality
      range = {range.least, range.least};
      ends.second = ends.first;
    }
    made.test.ranges.push_back(range);
    made.ends.push_back(ends);
  }

  Values const& values_;
  std::mt19937_64 random_;
};

/// Whether the statistics of a column show that none of the rows passes: what the ranks of the least and the greatest
/// value say, and of the nulls. NaN is in no statistics, so that every range without another end may have a row.
bool is_shown_to_fail(RankedTest const& ranked, Values const& values,
                      std::span<std::optional<std::size_t> const> rows) {
  std::vector<int> ranks;
  bool has_null = false;
  for (auto const& cell : rows)
    if (cell)
      ranks.push_back(values.ascending[*cell].rank);
    else
      has_null = true;
  if (has_null && ranked.test.or_null) return false;
  if (ranks.empty()) return true;
  auto const nan = values.ascending.back().rank;
  if (values.has_nan) {
    if (std::ranges::any_of(ranked.ends, [&](auto const& ends) { return ends.second.value_or(nan) == nan; }))
      return false;
    std::erase(ranks, nan);
    if (ranks.empty()) return ranked.ends.empty();
  }
  auto const [least, greatest] = std::ranges::minmax(ranks);
  for (auto i = std::size_t{0}; i < ranked.ends.size(); ++i) {
    auto const& [from, to] = ranked.ends[i];
    auto const& range = ranked.test.ranges[i];
    bool const begins = !to || least < *to || (least == *to && !range.without_greatest);
    bool const ends = !from || greatest > *from || (greatest == *from && !range.without_least);
    if (begins && ends) return false;
  }
  return true;
}

TEST(RowGroupTests, KeepEveryGroupWithARowThatPasses) {
  constexpr std::size_t kGroups = 12;
  constexpr std::size_t kRows = 5;
  std::uint64_t kept = 0;
  std::uint64_t left_out = 0;
  auto const first = garuda::testing::first_seed(1);
  for (auto const& values : all_types()) {
    for (auto seed = first; seed < first + 8; ++seed) {
      SCOPED_TRACE(values.stored->ToString() + ", seed " + std::to_string(seed));
      RandomTests random(values, seed);
      std::vector<std::pair<std::string, Cells>> columns{{"a", {}}, {"b", {}}};
      for (std::size_t group = 0; group < kGroups; ++group)
        for (auto& [name, cells] : columns)
          std::ranges::copy(random.cells(kRows, static_cast<int>(random.below(4))), std::back_inserter(cells));
      std::vector<Column> const arrays{{"a", array_of(values, columns[0].second)},
                                       {"b", array_of(values, columns[1].second)}};
      auto const footer = footer_of(arrays, kRows);
      ASSERT_EQ(footer->num_row_groups(), kGroups);
      for (int i = 0; i < 60; ++i) {
        auto const ranked = random.tree(i % 3);
        for (std::size_t group = 0; group < kGroups; ++group) {
          bool const may = may_pass(ranked.test, *footer->RowGroup(static_cast<int>(group)), find_among(arrays));
          ++(may ? kept : left_out);
          bool does = false;
          for (auto row = group * kRows; row < (group + 1) * kRows; ++row)
            does = does || ranked.passes(values, columns, row);
          if (does) ASSERT_TRUE(may) << "test " << i << ", row group " << group;
          if (ranked.test.kind != RowTest::Kind::column || ranked.test.column == "missing") continue;
          auto const& cells = columns[ranked.test.column == "a" ? 0 : 1].second;
          ASSERT_EQ(may, !is_shown_to_fail(ranked, values, std::span(cells).subspan(group * kRows, kRows)))
              << "test " << i << ", row group " << group;
        }
      }
    }
  }
  EXPECT_GT(kept, left_out / 4);
  EXPECT_GT(left_out, kept / 4);
}

RowTest column_test(std::string name, std::vector<ValueRange> ranges, bool or_null = false) {
  RowTest test{RowTest::Kind::column};
  test.column = std::move(name);
  test.ranges = std::move(ranges);
  test.or_null = or_null;
  return test;
}

TEST(RowGroupTests, KeepGroupsWithoutStatistics) {
  auto const number = Literal{typed(TypeId::int64), std::int64_t{99}};
  std::vector<Column> const columns{{"a", array(arrow::int64(), "[1, 2, null]")}};
  for (bool const has_statistics : {true, false}) {
    auto const footer = footer_of(columns, 3, has_statistics);
    auto const group = footer->RowGroup(0);
    auto const test = column_test("a", {{number, number}});
    EXPECT_EQ(may_pass(test, *group, find_among(columns)), !has_statistics);
    EXPECT_TRUE(may_pass(RowTest(), *group, find_among(columns)));
    EXPECT_FALSE(may_pass({RowTest::Kind::any}, *group, find_among(columns)));
    EXPECT_TRUE(may_pass(column_test("b", {{number, number}}), *group, find_among(columns)));
  }
}

TEST(RowGroupTests, KeepGroupsThatAreComparedWithAnotherKind) {
  auto const word = text("x");
  auto const real = Literal{typed(TypeId::float64), 99.5};
  std::vector<Column> const columns{{"a", array(arrow::int64(), "[1, 2]")},
                                    {"h", array(arrow::float16(), "[1, 2]")},
                                    {"l", array(arrow::decimal256(60, 0), "[\"1\", \"2\"]")}};
  auto const footer = footer_of(columns, 2);
  auto const group = footer->RowGroup(0);
  for (auto const& value : {word, real}) {
    EXPECT_TRUE(may_pass(column_test("a", {{value, value}}), *group, find_among(columns)));
    EXPECT_TRUE(may_pass(column_test("h", {{value, value}}), *group, find_among(columns)));
    EXPECT_TRUE(may_pass(column_test("l", {{value, value}}), *group, find_among(columns)));
  }
}

/// A footer whose one row group has these statistics of its one column.
std::shared_ptr<parquet::FileMetaData> footer_with(std::shared_ptr<arrow::Field> const& field,
                                                   parquet::EncodedStatistics const& statistics) {
  auto const properties = parquet::default_writer_properties();
  std::shared_ptr<parquet::SchemaDescriptor> schema;
  auto const status = parquet::arrow::ToParquetSchema(arrow::schema({field}).get(), *properties, &schema);
  if (!status.ok()) throw std::runtime_error(status.ToString());
  auto const builder = parquet::FileMetaDataBuilder::Make(schema.get(), properties);
  auto* const group = builder->AppendRowGroup();
  auto* const chunk = group->NextColumnChunk();
  chunk->SetStatistics(statistics);
  chunk->Finish(4, -1, -1, 4, 100, 100, false, false, {}, {});
  group->set_num_rows(4);
  group->Finish(100);
  return builder->Finish();
}

TEST(RowGroupTests, TakeShortenedStringsAsBounds) {
  parquet::EncodedStatistics statistics;
  statistics.set_min("app").set_max("arz");  // of "apple" to "arrow"
  statistics.is_min_value_exact = false;
  statistics.is_max_value_exact = false;
  auto const field = arrow::field("a", arrow::utf8());
  auto const footer = footer_with(field, statistics);
  std::vector<Column> const columns{{"a", array(arrow::utf8(), "[]")}};
  auto const may = [&](std::optional<std::string> const& least, std::optional<std::string> const& greatest,
                       bool or_null = false) {
    ValueRange range;
    if (least) range.least = text(*least);
    if (greatest) range.greatest = text(*greatest);
    return may_pass(column_test("a", {range}, or_null), *footer->RowGroup(0), find_among(columns));
  };
  for (auto const* const word : {"app", "apple", "arrow", "arz", "aq"}) EXPECT_TRUE(may(word, word)) << word;
  for (auto const* const word : {"", "ap", "apo", "arza", "as", "b"}) EXPECT_FALSE(may(word, word)) << word;
  EXPECT_TRUE(may("arrow", {}));
  EXPECT_FALSE(may("arza", {}));
  EXPECT_FALSE(may({}, "apo"));
  // The statistics do not count nulls, so there may be some.
  EXPECT_TRUE(may("b", "b", true));
  statistics.set_null_count(0);
  auto const counted = footer_with(field, statistics);
  EXPECT_FALSE(may_pass(column_test("a", {}, true), *counted->RowGroup(0), find_among(columns)));
}

TEST(RowGroupTests, CompareDecimalsOfAllDigits) {
  Int128 most = 9;
  for (int i = 1; i < 38; ++i) most = most * 10 + 9;
  std::vector<Column> const columns{
      {"a", array(arrow::decimal128(38, 0), "[\"" + std::string(38, '9') + "\", \"-" + std::string(38, '9') + "\"]")}};
  auto const footer = footer_of(columns, 1);
  for (std::int32_t scale = 0; scale < 38; ++scale) {
    auto const one = decimal(1, scale);
    auto const large = decimal(most, scale);
    auto const may = [&](int group, std::optional<Literal> const& least, std::optional<Literal> const& greatest) {
      return may_pass(column_test("a", {{least, greatest}}), *footer->RowGroup(group), find_among(columns));
    };
    EXPECT_TRUE(may(0, one, {})) << scale;
    EXPECT_FALSE(may(0, {}, one)) << scale;
    EXPECT_TRUE(may(0, large, {})) << scale;
    EXPECT_EQ(may(0, {}, large), scale == 0) << scale;
    EXPECT_FALSE(may(1, one, {})) << scale;
    EXPECT_TRUE(may(1, {}, one)) << scale;
  }
}

}  // namespace
}  // namespace garuda::io
