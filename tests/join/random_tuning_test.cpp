// Tunings drawn at random from every value of every key, through the public API, on every path that needs no CUDA: the
// result is the oracle's, or the tuning is refused. Tables without rows and keys that are all null are among the
// inputs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "garuda/engine.hpp"
#include "operators/resolve/tuning_text.hpp"
#include "tests/engine/engine_test.hpp"
#include "tests/join/join_kinds.hpp"
#include "tests/reference/reference_group_by.hpp"
#include "tests/reference/reference_join.hpp"
#include "tests/workloads/tables.hpp"
#include "tests/workloads/workloads.hpp"

namespace garuda {
namespace {

using testing::TestColumn;
using testing::TestTable;
using testing::type_of;

/// A value of a knob: one of its choices, or a number, the outermost ones often, the others by magnitude.
template <class Tuning>
std::int64_t random_value(resolve::Knob<Tuning> const& knob, std::mt19937_64& random) {
  if (!knob.choices.empty()) return knob.choices[random() % knob.choices.size()].value;
  if (random() % 4 == 0) return knob.low;
  if (random() % 4 == 0) return knob.high;
  auto const log = std::log2(static_cast<double>(knob.high - knob.low + 1));
  auto const share = static_cast<double>(random() % 1'000) / 1'000;
  return knob.low + static_cast<std::int64_t>(std::exp2(share * log)) - 1;
}

/// About a quarter of all keys, each with one of its values.
template <class Tuning>
Tuning random_tuning(std::span<resolve::Knob<Tuning> const> knobs, std::mt19937_64& random) {
  Tuning tuning;
  for (auto const& knob : knobs)
    if (random() % 4 == 0) knob.set(tuning, random_value(knob, random));
  return tuning;
}

/// The content of a table's keys.
enum class Content : std::uint8_t { no_rows, null_keys, one_row, equal_keys, dense_keys, sparse_keys };

constexpr std::string_view kContents[] = {"no rows", "null keys", "one row", "equal keys", "dense keys", "sparse keys"};

/// A key, a key of text, and columns with and without nulls. Keys of different tables match where both are dense or
/// equal.
Table random_table(Content content, std::size_t most_rows, std::mt19937_64& random) {
  TestColumn<std::int64_t> keys{"k", type_of(TypeId::int64), {}, {}};
  TestColumn<std::int32_t> plain{"p", type_of(TypeId::int32), {}, {}};
  TestColumn<double> holes{"h", type_of(TypeId::float64), {}, {}};
  std::vector<std::string> texts;
  auto const rows = content == Content::no_rows   ? 0
                    : content == Content::one_row ? 1
                                                  : 1 + random() % std::max<std::size_t>(most_rows, 1);
  bool const some_nulls = random() % 2 == 0;
  for (std::size_t row = 0; row < rows; ++row) {
    auto const drawn = content == Content::equal_keys    ? 5
                       : content == Content::sparse_keys ? random()
                                                         : random() % (1 + most_rows / 2);
    keys.values.push_back(static_cast<std::int64_t>(drawn));
    if (some_nulls || content == Content::null_keys)
      keys.valid.push_back(content != Content::null_keys && random() % 5 != 0);
    plain.values.push_back(static_cast<std::int32_t>(row));
    holes.values.push_back(static_cast<double>(random() % 1'000) / 8);
    holes.valid.push_back(random() % 3 != 0);
    texts.push_back(std::string(random() % 4, 'x'));
  }
  TestTable table;
  table.add(keys).add(std::move(plain)).add(std::move(holes)).add_text("t", texts, keys.valid);
  return table.build(random() % 2 == 0 ? 0 : static_cast<std::int64_t>(1 + rows / 3));
}

Content random_content(std::mt19937_64& random) { return static_cast<Content>(random() % std::size(kContents)); }

/// Most rows with which the smallest slices are not too many for a software device.
std::size_t most_rows(Path path, std::uint32_t slice_rows) {
  std::size_t const most = path == Path::cpu ? 250 : 40;
  return slice_rows == 0 ? most : std::min<std::size_t>(most, std::size_t{6} * slice_rows);
}

/// Fewer lanes have room for these tables on any device.
constexpr std::uint32_t kManyLanes = 16;

/// A tuning may ask for what contradicts itself, the keys or the device, or for so many lanes that the share of device
/// memory of each is too small, which the sentence then says. Nothing else may fail.
template <class Options>
bool is_refusal(Error const& error, Options const& options) {
  if (error.code() == ErrorCode::limit_exceeded)
    return options.tuning.lanes >= kManyLanes &&
           error.describe().find("a lane's share of device memory") != std::string::npos;
  return error.code() == ErrorCode::usage || error.code() == ErrorCode::no_device;
}

class RandomTuning : public testing::EngineTest {
 protected:
  /// Runs `run_case` on every path and device, each time with a generator that a seed of its own started.
  template <class Options, class Run>
  static void on_every_path(Run const& run_case) {
    auto const first = testing::first_seed(90'000);
    for (auto const& options : all_paths<Options>())
      for (auto seed = first; seed < first + testing::random_cases(options.path, 400, 60); ++seed) {
        SCOPED_TRACE(std::string(to_string(options.path)) + ", seed " + std::to_string(seed));
        std::mt19937_64 random(seed);
        run_case(options, random);
        if (HasFailure()) return;
      }
  }
};

/// The result of a join in full, and its number of rows, counted.
void expect_join(Engine& engine, Table const& left, Table const& right, JoinSpec const& spec,
                 JoinOptions const& options) {
  auto const expected = reference::reference_join_table(left.view(), right.view(), spec);
  auto const counted = engine.join_count(left.view(), right.view(), spec, options);
  if (counted)
    EXPECT_EQ(counted->rows, expected.rows.size());
  else
    EXPECT_TRUE(is_refusal(counted.error(), options)) << counted.error().describe();
  auto const result = engine.join(left.view(), right.view(), spec, options);
  if (!result) {
    EXPECT_TRUE(is_refusal(result.error(), options)) << result.error().describe();
    return;
  }
  auto const joined = collect(**result);
  if (!joined) {
    EXPECT_TRUE(is_refusal(joined.error(), options)) << joined.error().describe();
    return;
  }
  testing::expect_rows(reference::read_table(joined->view()), expected, spec);
}

TEST_F(RandomTuning, JoinsEqualTheOracle) {
  on_every_path<JoinOptions>([](JoinOptions options, std::mt19937_64& random) {
    options.tuning = random_tuning(resolve::join_knobs(), random);
    SCOPED_TRACE(to_string(options.tuning));
    ASSERT_EQ(parse_join_tuning(to_string(options.tuning)), options.tuning);
    auto const rows = most_rows(options.path, options.tuning.slice_rows);
    auto const left = random_content(random);
    auto const right = random_content(random);
    JoinSpec spec;
    spec.on = {{"k", "k"}};
    spec.kind = testing::kJoinKinds[random() % std::size(testing::kJoinKinds)];
    spec.nulls_equal = random() % 4 == 0;
    spec.ordered = random() % 4 == 0;
    if (random() % 2 == 0) spec.columns = testing::some_columns(spec.kind);
    SCOPED_TRACE(testing::describe(spec));
    SCOPED_TRACE(std::string(kContents[static_cast<std::size_t>(left)]) + ", " +
                 std::string(kContents[static_cast<std::size_t>(right)]));
    auto const left_table = random_table(left, rows, random);
    expect_join(engine(), left_table, random_table(right, rows, random), spec, options);
  });
}

/// The groups in full.
void expect_groups(Engine& engine, Table const& table, GroupBySpec const& spec, GroupByOptions const& options) {
  auto const result = engine.group_by(table.view(), spec, options);
  if (!result) {
    EXPECT_TRUE(is_refusal(result.error(), options)) << result.error().describe();
    return;
  }
  auto const grouped = collect(**result);
  if (!grouped) {
    EXPECT_TRUE(is_refusal(grouped.error(), options)) << grouped.error().describe();
    return;
  }
  auto const expected = reference::reference_group_by(table.view(), spec);
  auto const actual = reference::read_table(grouped->view());
  EXPECT_EQ(actual.names, expected.names);
  if (spec.ordered)
    EXPECT_EQ(actual.rows, expected.rows);
  else
    EXPECT_EQ(reference::sorted(actual), reference::sorted(expected));
}

TEST_F(RandomTuning, GroupBysEqualTheOracle) {
  std::vector<std::vector<std::string>> const keys{{}, {"k"}, {"t"}, {"k", "p"}, {"k", "t", "h"}};
  auto const aggregates = parse_aggregates("count,sum:p,min:k,max:t,mean:h,sum:h,count:h");
  ASSERT_TRUE(aggregates);
  on_every_path<GroupByOptions>([&](GroupByOptions options, std::mt19937_64& random) {
    options.tuning = random_tuning(resolve::group_by_knobs(), random);
    SCOPED_TRACE(to_string(options.tuning));
    ASSERT_EQ(parse_group_by_tuning(to_string(options.tuning)), options.tuning);
    GroupBySpec spec;
    spec.keys = keys[random() % keys.size()];
    for (auto const& aggregate : *aggregates)
      if (random() % 2 == 0) spec.aggregates.push_back(aggregate);
    if (spec.keys.empty() && spec.aggregates.empty()) spec.aggregates = *aggregates;
    spec.ordered = random() % 4 == 0;
    auto const content = random_content(random);
    SCOPED_TRACE(std::string(kContents[static_cast<std::size_t>(content)]) + ", " + std::to_string(spec.keys.size()) +
                 " keys, " + std::to_string(spec.aggregates.size()) + " aggregates" +
                 (spec.ordered ? ", ordered" : ""));
    auto const table = random_table(content, most_rows(options.path, options.tuning.slice_rows), random);
    expect_groups(engine(), table, spec, options);
  });
}

}  // namespace
}  // namespace garuda
