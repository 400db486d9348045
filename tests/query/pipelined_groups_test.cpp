// Groups of rows that come batch by batch, on several lanes and in any order, against those of the table.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "keys/stable_words.hpp"
#include "operators/group_by/pipelined_groups.hpp"
#include "operators/pipeline/rows.hpp"
#include "tests/query/random_tables.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/data_types.hpp"
#include "tests/reference/reference_group_by.hpp"
#include "tests/reference/reference_join.hpp"

namespace garuda::group_by {
namespace {

using ::garuda::testing::Draw;
using ::garuda::testing::random_table;
using reference::typed;

constexpr std::size_t kLanes = 3;

Table table_of(std::vector<std::string> const& names, std::vector<reference::Column> const& columns) {
  Schema schema;
  for (std::size_t c = 0; c < columns.size(); ++c) schema.push_back({names[c], columns[c].type, true});
  std::vector<Batch> batches;
  batches.push_back(reference::make_batch(columns));
  return {std::move(schema), std::move(batches)};
}

bool is_one_of(DataType const& type, std::initializer_list<TypeId> ids) {
  return std::ranges::find(ids, type.id) != ids.end();
}

/// Names of the result are those of the spec.
Result<std::unique_ptr<PipelinedGroups>> create(Schema const& rows, GroupBySpec const& spec, Control const& control,
                                                std::vector<std::size_t> const& integers = {}) {
  auto names = spec.keys;
  for (auto const& aggregate : spec.aggregates) names.push_back(aggregate.name.value_or("value"));
  return PipelinedGroups::create({rows, std::vector<bool>(rows.size()), integers}, spec, names, kLanes, control);
}

/// Keys and aggregates that lanes can keep, of the columns of a table.
GroupBySpec random_spec(Schema const& schema, Draw& draw) {
  GroupBySpec spec;
  spec.ordered = true;
  for (auto const& field : schema) {
    if (keys::StableWords::can_write(field.type, false) && spec.keys.size() < 3 && draw.one_in(2))
      spec.keys.push_back(field.name);
    spec.aggregates.push_back({AggregateFunction::count, field.name, "count " + field.name});
    bool const is_float = is_one_of(field.type, {TypeId::float16, TypeId::float32, TypeId::float64});
    bool const is_integer = is_one_of(field.type, {TypeId::int8, TypeId::int16, TypeId::int32, TypeId::int64,
                                                   TypeId::uint8, TypeId::uint16, TypeId::uint32, TypeId::uint64});
    if (is_integer || is_float)
      for (auto const function : {AggregateFunction::sum, AggregateFunction::mean})
        spec.aggregates.push_back({function, field.name, std::string(to_string(function)) + " " + field.name});
    if (is_integer || is_float || field.type.id == TypeId::date32)
      for (auto const function : {AggregateFunction::min, AggregateFunction::max})
        spec.aggregates.push_back({function, field.name, std::string(to_string(function)) + " " + field.name});
  }
  spec.aggregates.push_back({AggregateFunction::count, std::nullopt, "rows"});
  return spec;
}

/// Adds the rows in pieces, each to a lane, in an order of their own. nullopt: floats lie too far apart, or elsewhere
/// than in the first rows. `schema`: of the groups' rows, where pieces have narrower columns.
Result<std::optional<Table>> grouped_in_pieces(Table const& table, GroupBySpec const& spec, Draw& draw,
                                               std::vector<std::size_t> const& integers = {},
                                               Schema const* schema = nullptr) {
  Control const control;
  GARUDA_TRY_ASSIGN(auto const groups, create(schema == nullptr ? table.schema() : *schema, spec, control, integers));
  if (groups == nullptr) return fail(ErrorCode::usage, "lanes cannot keep these groups");
  auto const sample = pipeline::slice_rows(table.view(), 0, 20);
  std::vector<TableView> const samples{sample.view()};
  GARUDA_TRY_ASSIGN(auto const can_grow, groups->start(samples));
  if (!can_grow) return std::nullopt;
  std::vector<std::uint64_t> begins;
  auto const rows = static_cast<std::uint64_t>(table.num_rows());
  for (std::uint64_t begin = 0; begin < rows; begin += 7) begins.push_back(begin);
  for (std::size_t i = begins.size(); i > 1; --i) std::swap(begins[i - 1], begins[draw.below(i)]);
  for (auto const begin : begins) {
    auto const piece = pipeline::slice_rows(table.view(), begin, 7);
    auto first = begin;
    for (auto const& batch : piece.batches()) {
      auto const view = batch.view();
      GARUDA_TRY(groups->add(draw.below(kLanes), first, TableView(table.schema(), std::span(&view, 1))));
      first += static_cast<std::uint64_t>(batch.num_rows);
    }
  }
  return groups->finish();
}

TEST(PipelinedGroups, AreThoseOfTheTable) {
  std::size_t num_compared = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(seed);
    auto const table = random_table("c", draw.of<std::size_t>({0, 1, 5, 40, 300}), draw);
    auto const spec = random_spec(table.schema(), draw);
    auto const groups = grouped_in_pieces(table, spec, draw);
    std::optional<reference::TextTable> expected;
    try {
      expected = reference::reference_group_by(table.view(), spec);
    } catch (reference::SumOverflow const&) {
      EXPECT_FALSE(groups && *groups);
      continue;
    }
    ASSERT_TRUE(groups) << groups.error().message();
    if (!*groups) continue;
    EXPECT_EQ(reference::read_table((*groups)->view()), *expected);
    ++num_compared;
  }
  EXPECT_GT(num_compared, 100);  // a sum beyond its type ends in an error, and floats may be infinite
}

/// The sum of the values of one column of floats, the first 20 of which are the sample.
Result<std::optional<Table>> sum_of(std::vector<double> const& values, GroupBySpec const& spec) {
  Draw draw(1);
  return grouped_in_pieces(table_of({"value"}, {reference::make_column<double>(typed(TypeId::float64), values)}), spec,
                           draw);
}

TEST(PipelinedGroups, SumFloatsExactly) {
  GroupBySpec spec;
  spec.aggregates = {{AggregateFunction::sum, "value", "sum"}};
  // Integers may lie further apart than other floats.
  for (auto const& others :
       {std::vector{1e4, 0.1, -1e4, 0.0, -0.0, 1e-3}, std::vector{1.0, 0x1p62, -0x1.fffffffffffffp62, 0x1p53 - 1}})
    for (auto const sampled : {1.0, 1.5}) {
      std::vector<double> values(20, sampled);
      values.insert(values.end(), others.begin(), others.end());
      auto const groups = sum_of(values, spec);
      ASSERT_TRUE(groups);
      bool const are_integers = others.front() == 1.0;
      EXPECT_EQ(groups->has_value(), are_integers == (sampled == 1.0));
      if (!*groups) continue;
      auto const table = table_of({"value"}, {reference::make_column<double>(typed(TypeId::float64), values)});
      EXPECT_EQ(reference::read_table((*groups)->view()), reference::reference_group_by(table.view(), spec));
    }
}

TEST(PipelinedGroups, TakeIntegersInPlaceOfTheirFloats) {
  using Limits = std::numeric_limits<std::int64_t>;
  constexpr auto kExact = std::int64_t{1} << 53;
  Draw draw(1);
  for (auto const& keys : {std::vector<std::string>(), {"few"}, {"many"}})
    for (bool const has_nulls : {false, true})
      for (std::size_t const rows : {0, 1, 2, 600}) {
        std::vector<std::int64_t> few, many;
        std::vector<std::optional<std::int64_t>> integers;
        std::vector<std::optional<double>> floats;
        for (std::size_t i = 0; i < rows; ++i) {
          few.push_back(static_cast<std::int64_t>(draw.below(3)));
          many.push_back(static_cast<std::int64_t>(draw.below(90)));
          auto const edge = draw.of<std::int64_t>({Limits::max(), Limits::max() - 511, Limits::min(), kExact + 1, 0});
          integers.push_back(draw.one_in(2) ? edge : static_cast<std::int64_t>(draw.below(1 << 30)) - (1 << 29));
          if (has_nulls && draw.one_in(4)) integers.back() = std::nullopt;
          floats.push_back(integers.back() ? std::optional(static_cast<double>(*integers.back())) : std::nullopt);
        }
        auto const of_values = [&](reference::Column values) {
          return table_of({"few", "many", "value"},
                          {reference::make_column<std::int64_t>(typed(TypeId::int64), few),
                           reference::make_column<std::int64_t>(typed(TypeId::int64), many), std::move(values)});
        };
        GroupBySpec spec;
        spec.keys = keys;
        spec.ordered = true;
        for (auto const function : {AggregateFunction::sum, AggregateFunction::mean, AggregateFunction::count})
          spec.aggregates.push_back({function, "value", std::string(to_string(function))});
        ASSERT_TRUE(only_sums(spec, "value"));
        auto const groups =
            grouped_in_pieces(of_values(reference::make_column(typed(TypeId::int64), integers)), spec, draw, {2});
        ASSERT_TRUE(groups && *groups) << rows;
        auto const expected = of_values(reference::make_column(typed(TypeId::float64), floats));
        EXPECT_EQ(reference::read_table((*groups)->view()), reference::reference_group_by(expected.view(), spec));
      }
}

TEST(PipelinedGroups, TakeDecimalsOfFewerBits) {
  using Limits = std::numeric_limits<std::int64_t>;
  Draw draw(2);
  for (std::uint64_t const num_keys : {1, 3, 90})
    for (bool const are_large : {false, true})
      for (bool const has_nulls : {false, true}) {
        std::vector<std::int64_t> keys;
        std::vector<std::optional<std::int64_t>> narrow;
        std::vector<std::optional<Int128>> wide;
        for (std::size_t i = 0; i < 600; ++i) {
          keys.push_back(static_cast<std::int64_t>(draw.below(num_keys)));
          auto const small = static_cast<std::int64_t>(draw.below(1 << 30)) - (1 << 29);
          narrow.push_back(are_large ? draw.of<std::int64_t>({Limits::max(), Limits::min(), small}) : small);
          if (has_nulls && draw.one_in(4)) narrow.back() = std::nullopt;
          wide.push_back(narrow.back() ? std::optional(Int128{*narrow.back()}) : std::nullopt);
        }
        auto const of_values = [&](reference::Column values) {
          return table_of({"key", "value"},
                          {reference::make_column<std::int64_t>(typed(TypeId::int64), keys), std::move(values)});
        };
        GroupBySpec spec;
        spec.keys = {"key"};
        spec.ordered = true;
        for (auto const function : {AggregateFunction::sum, AggregateFunction::mean, AggregateFunction::count})
          spec.aggregates.push_back({function, "value", std::string(to_string(function))});
        auto const expected = of_values(reference::make_column(typed(TypeId::decimal128, 30, 2), wide));
        auto const pieces = of_values(reference::make_column(typed(TypeId::decimal64, 30, 2), narrow));
        auto const groups = grouped_in_pieces(pieces, spec, draw, {}, &expected.schema());
        ASSERT_TRUE(groups && *groups) << num_keys;
        EXPECT_EQ(reference::read_table((*groups)->view()), reference::reference_group_by(expected.view(), spec));
      }
}

TEST(PipelinedGroups, NeedMoreThanSums) {
  auto const spec_of = [](AggregateFunction function) {
    GroupBySpec spec;
    spec.aggregates = {{AggregateFunction::mean, "value", "mean"}, {function, "value", "other"}};
    return spec;
  };
  EXPECT_TRUE(only_sums(spec_of(AggregateFunction::sum), "value"));
  for (auto const function : {AggregateFunction::min, AggregateFunction::var, AggregateFunction::median})
    EXPECT_FALSE(only_sums(spec_of(function), "value"));
  auto keyed = spec_of(AggregateFunction::sum);
  keyed.keys = {"value"};
  EXPECT_FALSE(only_sums(keyed, "value"));
}

TEST(PipelinedGroups, SayWhenFloatsLieElsewhere) {
  GroupBySpec spec;
  spec.aggregates = {{AggregateFunction::sum, "value", "sum"}};
  for (auto const value : {1e300, 1e-300, 0x1p63, -0x1p63, std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::denorm_min()}) {
    std::vector<double> values(40, 1.0);
    values.back() = value;
    auto const groups = sum_of(values, spec);
    ASSERT_TRUE(groups) << value;
    EXPECT_FALSE(*groups) << value;
    std::swap(values.front(), values.back());
    EXPECT_FALSE(*sum_of(values, spec)) << value << " among the samples";
  }
}

TEST(PipelinedGroups, SumsThatLeaveTheirWordsComeBack) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  auto const value = reference::make_column<std::int64_t>(typed(TypeId::int64),
                                                          std::vector<std::int64_t>{kMost, kMost, -kMost, -kMost, 5});
  auto const table = table_of({"value"}, {value});
  GroupBySpec spec;
  spec.aggregates = {{AggregateFunction::sum, "value", "sum"}};
  Draw draw(1);
  auto const groups = grouped_in_pieces(table, spec, draw);
  ASSERT_TRUE(groups && *groups);
  EXPECT_EQ(reference::read_table((*groups)->view()), reference::reference_group_by(table.view(), spec));
}

TEST(PipelinedGroups, DoNotTakeWhatNeedsAllRows) {
  auto const table =
      table_of({"text", "float"}, {reference::make_strings({"a", "b"}),
                                   reference::make_column<double>(typed(TypeId::float64), std::vector<double>{1, 2})});
  Control const control;
  for (auto const& [function, column] : {std::pair{AggregateFunction::min, "text"},
                                         {AggregateFunction::median, "float"},
                                         {AggregateFunction::first, "text"}}) {
    GroupBySpec spec;
    spec.aggregates = {{function, column, std::nullopt}};
    auto const groups = create(table.schema(), spec, control);
    ASSERT_TRUE(groups);
    EXPECT_EQ(*groups, nullptr) << to_string(function);
  }
}

TEST(PipelinedGroups, PayWhereKeysHaveSeveralRows) {
  Control const control;
  /// Row i of each of several places has the key that `key_of` gives it.
  auto const pays = [&](std::int64_t places, std::int64_t rows, std::uint64_t expected, auto const& key_of) {
    std::vector<Table> samples;
    std::vector<TableView> views;
    for (std::int64_t place = 0; place < places; ++place) {
      std::vector<std::int64_t> values(static_cast<std::size_t>(rows));
      for (std::int64_t i = 0; i < rows; ++i) values[static_cast<std::size_t>(i)] = key_of(place, i);
      samples.push_back(table_of({"key"}, {reference::make_column<std::int64_t>(typed(TypeId::int64), values)}));
    }
    for (auto const& sample : samples) views.push_back(sample.view());
    GroupBySpec spec;
    spec.keys = {"key"};
    spec.aggregates = {{AggregateFunction::count, std::nullopt, "rows"}};
    auto const groups = create(samples.front().schema(), spec, control);
    return *(*groups)->pays(views, expected);
  };
  auto const spread = [](std::int64_t keys) { return [keys](std::int64_t, std::int64_t i) { return i % keys; }; };
  auto const clustered = [](std::int64_t place, std::int64_t i) { return place * 1'000'000 + i / 4; };
  EXPECT_TRUE(pays(1, 8'192, 8'192, spread(100)));
  EXPECT_TRUE(pays(1, 40, 40, spread(16)));
  EXPECT_FALSE(pays(1, 8'192, 8'192, spread(4'000)));
  EXPECT_FALSE(pays(1, 10, 10, spread(10)));
  // Few rows of many, whose keys come again elsewhere.
  EXPECT_TRUE(pays(8, 40, 200'000, spread(40)));
  EXPECT_FALSE(pays(4, 40, 300, spread(40)));
  EXPECT_FALSE(pays(8, 1'024, 6'000'000, clustered));
}

}  // namespace
}  // namespace garuda::group_by
