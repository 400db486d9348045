// Random schemas, specifications and tables through the public API, on every path that a driver has, against the
// oracle: 1 000 joins and as many group-bys on the CPU path, 200 on each of a driver; in full runs ten times as many. A
// case is a function of its seed, which a failure names; GARUDA_TEST_SEED=N begins with that of N.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/type_rows.hpp"
#include "garuda/engine.hpp"
#include "keys/codes/key_types.hpp"
#include "tests/join/join_test.hpp"
#include "tests/reference/cell_values.hpp"
#include "tests/reference/reference_group_by.hpp"
#include "tests/workloads/mixed_tables.hpp"
#include "tests/workloads/workloads.hpp"

namespace garuda {
namespace {

using testing::MixedTable;
using Random = std::mt19937_64;

constexpr std::uint64_t kMostRows = 70;

std::uint64_t num_cases(Path path) {
  if (testing::max_test_rows() < kMostRows * kMostRows) return 20;  // under a sanitizer
  return testing::random_cases(path, 1'000, 200);
}

/// A table of one row, none, or several batches, with any share of nulls.
Table random_table(Random& random) {
  MixedTable shape;
  shape.rows = random() % 12 == 0 ? random() % 2 : random() % kMostRows;
  if (random() % 2 == 0) shape.batch_rows = 1 + random() % 40;
  shape.keys = 1 + random() % 20;
  shape.nulls_in_8 = random() % 10 == 0 ? 8 : random() % 3;
  return shape.build(random());
}

Field const& field_named(Schema const& schema, std::string const& name) {
  return *std::ranges::find_if(schema, [&](Field const& field) { return field.name == name; });
}

/// One to `most` different columns.
std::vector<std::string> random_columns(std::size_t most, Random& random) {
  auto names = testing::mixed_columns();
  names.emplace_back("k");
  std::ranges::shuffle(names, random);
  names.resize(1 + random() % most);
  return names;
}

/// Columns that have a common type, most of them of equal names.
std::vector<std::pair<std::string, std::string>> random_keys(Schema const& schema, Random& random) {
  std::vector<std::pair<std::string, std::string>> keys;
  std::vector<std::string> taken;
  for (auto const& left : random_columns(4, random)) {
    std::vector<std::string> partners;
    for (auto const& right : testing::mixed_columns())
      if (std::ranges::find(taken, right) == taken.end() &&
          keys::common_key_type(field_named(schema, left), field_named(schema, right)))
        partners.push_back(right);
    if (left == "k") partners.emplace_back("k");
    if (partners.empty()) continue;
    bool const is_free = std::ranges::find(partners, left) != partners.end();
    auto const right = is_free && random() % 3 != 0 ? left : partners[random() % partners.size()];
    keys.emplace_back(left, right);
    taken.push_back(right);
  }
  return keys;
}

std::vector<ColumnRef> random_output(JoinKind kind, Random& random) {
  std::vector<ColumnRef> columns{{Side::left, "n"}};
  for (auto const& name : random_columns(4, random)) columns.push_back({Side::left, name});
  if (testing::has_left_columns_only(kind)) return columns;
  columns.push_back({Side::right, "n"});
  for (auto const& name : random_columns(4, random)) columns.push_back({Side::right, name});
  return columns;
}

/// Whether its values are compared by aggregates: others are counted, and taken by row.
bool is_ordered(DataType const& type) { return type.id != TypeId::dictionary || type.value->id == TypeId::utf8; }
bool is_number(DataType const& type) {
  return is_ordered(type) && (is_integer(type.id) || reference::is_float(type.id) || reference::is_decimal(type.id));
}
bool is_temporal(TypeId id) { return id >= TypeId::date32 && id <= TypeId::duration; }

/// An aggregate of `field`; of pairs `other` is the second column.
Aggregate random_aggregate(Field const& field, Field const& other, Random& random) {
  using F = AggregateFunction;
  std::vector<F> functions{F::count, F::first, F::last, F::any};
  auto const add = [&](auto... more) { (functions.push_back(more), ...); };
  if (is_ordered(field.type)) add(F::min, F::max, F::min_n, F::max_n, F::count_distinct);
  if (is_ordered(other.type)) add(F::arg_min, F::arg_max);
  if (field.type.id == TypeId::boolean) add(F::bool_and, F::bool_or);
  if (is_integer(field.type.id)) add(F::product);
  if (is_number(field.type)) add(F::sum, F::mean, F::var, F::var_pop, F::std_dev, F::std_dev_pop);
  if (is_number(field.type) || is_temporal(field.type.id)) add(F::median, F::quantile);
  if (is_number(field.type) && is_number(other.type)) add(F::covar, F::covar_pop, F::corr);
  Aggregate aggregate;
  aggregate.function = functions[random() % functions.size()];
  aggregate.column = field.name;
  using enum F;
  switch (aggregate.function) {
    case arg_min:
    case arg_max:
    case covar:
    case covar_pop:
    case corr:
      aggregate.second = other.name;
      break;
    case quantile:
      aggregate.quantile = static_cast<double>(random() % 101) / 100;
      break;
    case min_n:
    case max_n:
      aggregate.most = 1 + random() % 5;
      break;
    default:
      break;
  }
  return aggregate;
}

GroupBySpec random_group_by(Schema const& schema, Random& random) {
  GroupBySpec spec;
  if (random() % 10 != 0) spec.keys = random_columns(4, random);
  auto const values = random_columns(5, random);
  for (auto const& name : values) {
    auto const& other = values[random() % values.size()];
    auto aggregate = random_aggregate(field_named(schema, name), field_named(schema, other), random);
    aggregate.name = "a" + std::to_string(spec.aggregates.size());
    spec.aggregates.push_back(std::move(aggregate));
  }
  spec.ordered = random() % 2 == 0;
  return spec;
}

std::string describe(GroupBySpec const& spec) {
  std::string text = spec.ordered ? "ordered, by" : "by";
  for (auto const& key : spec.keys) text += " " + key;
  for (auto const& aggregate : spec.aggregates)
    text += ", " + std::string(to_string(aggregate.function)) + " of " + aggregate.column.value_or("") + " " +
            aggregate.second.value_or("");
  return text;
}

void expect_same_rows(reference::TextTable const& actual, reference::TextTable const& expected) {
  ASSERT_EQ(actual.rows.size(), expected.rows.size());
  for (std::size_t row = 0; row < actual.rows.size(); ++row)
    for (std::size_t c = 0; c < expected.names.size(); ++c)
      ASSERT_EQ(actual.rows[row][c], expected.rows[row][c]) << "row " << row << ", column " << expected.names[c];
}

class RandomSchema : public testing::JoinTest {
 protected:
  template <class Run>
  static void on_every_path(Run const& run_case) {
    auto const first = testing::first_seed(7'000);
    for (auto const& options : all_paths())
      for (auto seed = first; seed < first + num_cases(options.path); ++seed) {
        SCOPED_TRACE(std::string(to_string(options.path)) + ", seed " + std::to_string(seed));
        Random random(seed);
        run_case(options, random);
        if (HasFailure()) return;
      }
  }

  static void expect_groups(Table const& table, GroupBySpec const& spec, GroupByOptions const& options) {
    SCOPED_TRACE(describe(spec));
    auto const grouped = [&]() -> Result<Table> {
      GARUDA_TRY_ASSIGN(auto const result, engine().group_by(table.view(), spec, options));
      return collect(*result);
    }();
    try {
      auto const expected = reference::reference_group_by(table.view(), spec);
      ASSERT_TRUE(grouped) << grouped.error().describe();
      auto const actual = reference::read_table(grouped->view());
      EXPECT_EQ(actual.names, expected.names);
      expect_same_rows(spec.ordered ? actual : reference::sorted(actual),
                       spec.ordered ? expected : reference::sorted(expected));
    } catch (reference::SumOverflow const&) {
      ASSERT_FALSE(grouped);
      EXPECT_NE(grouped.error().message().find("is beyond"), std::string::npos) << grouped.error().describe();
    }
  }
};

TEST_F(RandomSchema, JoinsEqualTheOracle) {
  on_every_path([](JoinOptions const& options, Random& random) {
    auto const left = random_table(random);
    auto const right = random_table(random);
    JoinSpec spec;
    spec.on = random_keys(left.schema(), random);
    if (spec.on.empty()) return;
    spec.kind = testing::kJoinKinds[random() % std::size(testing::kJoinKinds)];
    spec.nulls_equal = random() % 3 == 0;
    spec.ordered = random() % 3 == 0;
    spec.columns = random_output(spec.kind, random);
    if (random() % 2 == 0) spec.where = testing::mixed_condition(left.schema(), 1 + random() % 4, random());
    std::string keys;
    for (auto const& [of_left, of_right] : spec.on) keys += " " + of_left + "=" + of_right;
    SCOPED_TRACE("on" + keys + (spec.where ? " where " + to_string(*spec.where) : ""));
    expect_join(left, right, spec, options);
  });
}

TEST_F(RandomSchema, GroupBysEqualTheOracle) {
  on_every_path([](JoinOptions const& path, Random& random) {
    auto const table = random_table(random);
    GroupByOptions options;
    static_cast<RunOptions&>(options) = path;
    expect_groups(table, random_group_by(table.schema(), random), options);
  });
}

}  // namespace
}  // namespace garuda
