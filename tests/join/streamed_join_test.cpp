// Joins whose tables go to the device whole, through the public API: whole results against the oracle, whatever the
// ranges, batches and kinds of host memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "garuda/engine.hpp"
#include "tests/reference/reference_join.hpp"
#include "tests/test_run.hpp"
#include "tests/workloads/mixed_keys.hpp"
#include "tests/workloads/tables.hpp"

namespace garuda {
namespace {

using testing::TestColumn;
using testing::TestTable;
using testing::type_of;

/// `rows` keys drawn from `distinct` values far apart, of either sign, with payload of one and of two words.
template <class Key>
TestTable keyed_table(TypeId type, std::size_t rows, std::uint64_t distinct, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  TestColumn<Key> keys{"k", type_of(type), {}, {}};
  TestColumn<std::int32_t> narrow{"narrow", type_of(TypeId::int32), {}, {}};
  TestColumn<std::int64_t> wide{"wide", type_of(TypeId::int64), {}, {}};
  for (std::size_t i = 0; i < rows; ++i) {
    keys.values.push_back(static_cast<Key>((random() % distinct) * 0x9e3779b97f4a7c15));
    narrow.values.push_back(static_cast<std::int32_t>(i));
    wide.values.push_back(static_cast<std::int64_t>(random()));
  }
  return TestTable().add(std::move(keys)).add(std::move(narrow)).add(std::move(wide));
}

class StreamedJoin : public ::testing::Test {
 protected:
  static Engine make_engine() {
    EngineOptions options;
    options.validation = testing::with_validation();
    auto created = Engine::create(options);
    if (!created) throw std::runtime_error(created.error().describe());
    return std::move(*created);
  }
  static void SetUpTestSuite() { engine_ = new Engine(make_engine()); }
  static void TearDownTestSuite() {
    EXPECT_EQ(engine_->validation_messages(), std::vector<std::string>{});
    delete engine_;
    engine_ = nullptr;
  }
  void SetUp() override {
    auto const devices = engine().devices();
    if (std::ranges::none_of(devices, &DeviceInfo::usable)) GTEST_SKIP() << "no usable device";
  }

  static Engine& engine() { return *engine_; }

  static JoinSpec on_keys() {
    JoinSpec spec;
    spec.on = {{"k", "k"}};
    return spec;
  }
  /// Whether the device can do what a tuning asks for: not all of them import host memory.
  static bool takes(std::string_view tuning) {
    auto const lacking = engine().devices()[0].missing_optional;
    return tuning.find("upload=import") == std::string_view::npos ||
           std::ranges::find(lacking, "VK_EXT_external_memory_host") == lacking.end();
  }
  static JoinOptions options_with(std::string const& tuning) {
    JoinOptions options;
    options.path = Path::compute;
    options.device = "0";
    auto parsed = parse_join_tuning("placement=device" + (tuning.empty() ? "" : "," + tuning));
    if (!parsed) throw std::runtime_error(parsed.error().describe());
    options.tuning = *parsed;
    return options;
  }

  static std::uint64_t counter(RunStats const& stats, std::string const& name) {
    for (auto const& [known, value] : stats.counters)
      if (known == name) return value;
    return 0;
  }

  static RunStats expect_join(Table const& left, Table const& right, JoinSpec const& spec, JoinOptions const& options) {
    auto result = engine().join(left.view(), right.view(), spec, options);
    if (!result) {
      ADD_FAILURE() << result.error().describe();
      return {};
    }
    auto joined = collect(**result);
    if (!joined) {
      ADD_FAILURE() << joined.error().describe();
      return {};
    }
    auto const expected = reference::reference_join_table(left.view(), right.view(), spec);
    auto const actual = reference::read_table(joined->view());
    EXPECT_EQ(actual.names, expected.names);
    EXPECT_EQ(reference::sorted(actual), reference::sorted(expected));
    auto stats = (*result)->stats();
    EXPECT_EQ(stats.rows_out, expected.rows.size());
    EXPECT_EQ(stats.path, Path::compute);
    EXPECT_FALSE((*result)->next()->has_value());
    return stats;
  }

  static ErrorCode code_of(Table const& left, Table const& right, JoinSpec const& spec, JoinOptions const& options) {
    auto const result = engine().join(left.view(), right.view(), spec, options);
    EXPECT_FALSE(result);
    return result ? ErrorCode::cancelled : result.error().code();
  }

  static Engine* engine_;
};

Engine* StreamedJoin::engine_ = nullptr;

TEST_F(StreamedJoin, EqualsTheOracleWhateverTheRanges) {
  auto const left = keyed_table<std::int32_t>(TypeId::int32, 700, 300, 1).build(97);
  auto const right = keyed_table<std::int32_t>(TypeId::int32, 901, 400, 2).build(250);
  for (auto const* tuning : {"", "slice_rows=100", "slice_rows=64,chunk_rows=10", "build=right,slice_rows=300",
                             "upload=stage,lanes=3", "upload=import,slice_rows=256,lanes=1"}) {
    if (!takes(tuning)) continue;
    SCOPED_TRACE(tuning);
    auto const stats = expect_join(left, right, on_keys(), options_with(tuning));
    EXPECT_EQ(counter(stats, "pinned"), 0U);
  }
}

TEST_F(StreamedJoin, WideKeysAndRowsThatMultiply) {
  auto const left = keyed_table<std::int64_t>(TypeId::int64, 300, 20, 3).build();
  auto const right = keyed_table<std::int64_t>(TypeId::int64, 500, 25, 4).build(64);
  // Far more rows than a range of the probe side has: ranges are cut.
  auto const stats = expect_join(left, right, on_keys(), options_with("slice_rows=128"));
  EXPECT_GT(counter(stats, "ranges_split"), 0U);
  EXPECT_GT(counter(stats, "ranges"), 4U);
  // One key: four probe rows have more matches than a set of columns holds, so larger sets are taken.
  auto const one = keyed_table<std::int64_t>(TypeId::int64, 200, 1, 5).build();
  auto const many = keyed_table<std::int64_t>(TypeId::int64, 210, 1, 6).build();
  expect_join(one, many, on_keys(), options_with("slice_rows=8,chunk_rows=100"));
}

TEST_F(StreamedJoin, GivesTheColumnsThatAreAskedFor) {
  auto const left = keyed_table<std::int32_t>(TypeId::date32, 100, 50, 7).build();
  auto const right = keyed_table<std::int32_t>(TypeId::date32, 60, 50, 8).build(11);
  auto spec = on_keys();
  spec.columns = {{Side::right, "wide"}, {Side::right, "k"}, {Side::left, "narrow"}, {Side::right, "wide"}};
  expect_join(left, right, spec, options_with("slice_rows=32"));
  spec.columns = {{Side::left, "narrow"}};
  expect_join(left, right, spec, options_with(""));
  spec.columns = {{Side::left, "k"}};
  expect_join(left, right, spec, options_with("build=left"));
}

TEST_F(StreamedJoin, ReadsAndGivesPinnedMemory) {
  auto const left = keyed_table<std::int32_t>(TypeId::int32, 3'000, 2'000, 9).build(1'000);
  auto const right = keyed_table<std::int32_t>(TypeId::int32, 4'000, 2'000, 10).build();
  DeviceTableOptions where;
  where.device = "0";
  auto const pinned_left = engine().pin(left.view(), where);
  if (!pinned_left && pinned_left.error().code() == ErrorCode::no_device) GTEST_SKIP() << "no import of host memory";
  ASSERT_TRUE(pinned_left) << pinned_left.error().describe();
  auto const pinned_right = engine().pin(right.view(), where);
  ASSERT_TRUE(pinned_right) << pinned_right.error().describe();
  EXPECT_EQ(reference::read_table(pinned_left->view()).rows, reference::read_table(left.view()).rows);
  for (int round = 0; round < 2; ++round) {
    auto const stats = expect_join(*pinned_left, *pinned_right, on_keys(), options_with("slice_rows=1000"));
    EXPECT_EQ(counter(stats, "pinned"), 1U);
    EXPECT_EQ(counter(stats, "batches_not_pinned"), 0U);
  }
  // Only one of both: staged, and no less right.
  auto const stats = expect_join(*pinned_left, right, on_keys(), options_with("upload=stage"));
  EXPECT_EQ(counter(stats, "pinned"), 0U);
  engine().release_device_memory();
}

TEST_F(StreamedJoin, PinnedMemoryOutlivesItsEngine) {
  auto const left = keyed_table<std::int32_t>(TypeId::int32, 100, 100, 11).build();
  std::optional<Table> pinned;
  std::optional<PinnedBuffer> buffer;
  {
    auto engine = make_engine();
    auto made = engine.pin(left.view());
    if (!made && made.error().code() == ErrorCode::no_device) GTEST_SKIP() << "no import of host memory";
    ASSERT_TRUE(made) << made.error().describe();
    pinned.emplace(std::move(*made));
    auto allocated = engine.allocate_pinned(5'000);
    ASSERT_TRUE(allocated) << allocated.error().describe();
    buffer.emplace(std::move(*allocated));
    EXPECT_EQ(buffer->bytes().size(), 5'000U);
    EXPECT_EQ(engine.allocate_pinned(0).error().code(), ErrorCode::usage);
    EXPECT_EQ(engine.validation_messages(), std::vector<std::string>{});
  }
  std::memset(buffer->bytes().data(), 1, buffer->bytes().size());
  EXPECT_EQ(reference::read_table(pinned->view()).rows, reference::read_table(left.view()).rows);
}

std::vector<bool> random_bits(std::size_t rows, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<bool> bits;
  for (std::size_t i = 0; i < rows; ++i) bits.push_back(random() % 3 != 0);
  return bits;
}

template <class T>
TestColumn<T> column_of(std::string name, DataType type, std::size_t rows, std::uint64_t seed, bool nulls) {
  std::mt19937_64 random(seed);
  TestColumn<T> column{std::move(name), std::move(type), {}, {}};
  for (std::size_t i = 0; i < rows; ++i) column.values.push_back(static_cast<T>(random()));
  if (nulls) column.valid = random_bits(rows, seed + 1);
  return column;
}

/// Keys of few values, some null; columns of narrow types, with nulls, of variable width and of whole words.
TestTable mixed_table(std::size_t rows, std::uint64_t seed, bool null_keys) {
  auto keys = column_of<std::int32_t>("k", type_of(TypeId::int32), rows, seed, null_keys);
  for (auto& key : keys.values) key %= 60;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < rows; ++i) texts.push_back(std::string(i % 7, 'x') + std::to_string(i));
  return TestTable()
      .add(column_of<std::int8_t>("tiny", type_of(TypeId::int8), rows, seed + 2, true))
      .add(std::move(keys))
      .add_flags("flag", random_bits(rows, seed + 4), random_bits(rows, seed + 5))
      .add_text("text", texts, random_bits(rows, seed + 6))
      .add(column_of<std::uint16_t>("small", type_of(TypeId::uint16), rows, seed + 7, false))
      .add(column_of<std::int64_t>("wide", type_of(TypeId::int64), rows, seed + 8, true))
      .add(column_of<std::int32_t>("plain", type_of(TypeId::int32), rows, seed + 10, false));
}

TEST_F(StreamedJoin, TakesColumnsOfEveryKind) {
  auto const left = mixed_table(300, 20, true).build(70);
  auto const right = mixed_table(500, 40, true).build();
  for (auto const* const tuning : {"", "slice_rows=64,chunk_rows=10", "build=right,slice_rows=100", "payload=gather",
                                   "upload=import", "upload=stage,lanes=2"}) {
    if (!takes(tuning)) continue;
    SCOPED_TRACE(tuning);
    expect_join(left, right, on_keys(), options_with(tuning));
  }
  auto spec = on_keys();
  spec.columns = {{Side::right, "text"}, {Side::right, "k"}, {Side::left, "flag"}, {Side::right, "text"}};
  expect_join(left, right, spec, options_with("slice_rows=32"));
  spec.columns = {{Side::left, "text"}};
  expect_join(left, mixed_table(90, 60, false).build(), spec, options_with(""));
}

/// More columns with nulls than one word has bits.
TEST_F(StreamedJoin, TakesManyColumnsWithNulls) {
  auto const wide = [](std::size_t rows, std::uint64_t seed) {
    TestTable table;
    table.add(column_of<std::int8_t>("k", type_of(TypeId::int8), rows, seed, true));
    for (std::size_t c = 0; c < 40; ++c)
      table.add(column_of<std::int16_t>("c" + std::to_string(c), type_of(TypeId::int16), rows, seed + c + 1, true));
    return table;
  };
  expect_join(wide(60, 1).build(), wide(80, 100).build(30), on_keys(), options_with("slice_rows=32"));
}

TEST_F(StreamedJoin, TakesKeysOfOtherWidthsAndNullKeys) {
  auto const keys = [](auto value, TypeId id, std::size_t rows, std::uint64_t seed, bool nulls) {
    using Key = decltype(value);
    auto column = column_of<Key>("k", type_of(id), rows, seed, nulls);
    for (auto& key : column.values) key = static_cast<Key>(key % 50);
    return TestTable()
        .add(std::move(column))
        .add(column_of<std::int32_t>("plain", type_of(TypeId::int32), rows, seed + 1, false))
        .build(33);
  };
  auto const i8 = keys(std::int8_t{}, TypeId::int8, 90, 1, true);
  auto const i16 = keys(std::int16_t{}, TypeId::int16, 80, 2, false);
  auto const i64 = keys(std::int64_t{}, TypeId::int64, 120, 3, true);
  auto const u16 = keys(std::uint16_t{}, TypeId::uint16, 100, 4, true);
  auto both_keys = on_keys();
  both_keys.columns = {{Side::left, "k"}, {Side::right, "k"}, {Side::right, "plain"}};
  for (auto const& [left, right] : {std::pair{&i8, &i8}, {&i8, &i16}, {&i64, &i8}, {&u16, &i64}, {&i64, &i64}}) {
    expect_join(*left, *right, both_keys, options_with("slice_rows=40"));
    expect_join(*left, *right, on_keys(), options_with("build=right"));
  }
  // Nothing but null keys in a range, in a table.
  auto none = column_of<std::int64_t>("k", type_of(TypeId::int64), 70, 5, true);
  none.valid.assign(70, false);
  none.valid[69] = true;
  none.values[69] = i64.view().batch(0).columns[0].data<std::int64_t>()[0];
  auto const last = TestTable().add(none).build();
  none.valid[69] = false;
  auto const all_null = TestTable().add(none).build();
  for (auto const* const tuning : {"build=left,slice_rows=16", "build=right,slice_rows=16"}) {
    expect_join(last, i64, on_keys(), options_with(tuning));
    expect_join(all_null, i64, on_keys(), options_with(tuning));
  }
}

TEST_F(StreamedJoin, TakesKeysOfTwoTypes) {
  auto spec = on_keys();
  spec.columns = {{Side::left, "k"}, {Side::right, "k"}, {Side::right, "plain"}};
  for (auto const& pair : testing::mixed_keys(true)) {
    SCOPED_TRACE(pair.name);
    expect_join(pair.left, pair.right, spec, options_with("build=right,slice_rows=128"));
  }
  // Decimals of more than 18 digits do not stream.
  expect_join(testing::with_key_beyond_64_bits(100, 100), testing::with_key_beyond_64_bits(100, 77), on_keys(),
              options_with(""));
  // A value of more digits than its type has, in a range of its own: an error that names the row. The host joins it.
  auto const wide = testing::with_key_beyond_64_bits(100, 77, 18);
  auto const good = testing::with_key_beyond_64_bits(100, 100, 18);
  expect_join(good, good, on_keys(), options_with(""));
  JoinOptions on_host;
  on_host.path = Path::cpu;
  EXPECT_TRUE(engine().join(good.view(), wide.view(), on_keys(), on_host));
  for (auto const* const tuning : {"build=left,slice_rows=16", "build=right"}) {
    auto result = engine().join(good.view(), wide.view(), on_keys(), options_with(tuning));
    auto const joined = result ? collect(**result) : Result<Table>(tl::unexpected(result.error()));
    ASSERT_FALSE(joined) << tuning;
    EXPECT_EQ(joined.error().code(), ErrorCode::invalid_input);
    EXPECT_NE(joined.error().describe().find("a value beyond 64 bits in row 77"), std::string::npos);
  }
}

/// Pieces of a column that is made on the way up begin within values of five words.
TEST_F(StreamedJoin, TakesValuesThatPiecesCut) {
  constexpr std::size_t kRows = 50'000;
  constexpr std::int32_t kWidth = 17;
  DataType type = type_of(TypeId::fixed_size_binary);
  type.fixed_byte_width = kWidth;
  std::vector<std::byte> values(kRows * kWidth);
  std::mt19937_64 random(7);
  for (auto& value : values) value = static_cast<std::byte>(random());
  std::vector<std::int32_t> keys(kRows);
  for (std::size_t i = 0; i < kRows; ++i) keys[i] = static_cast<std::int32_t>(i);
  std::vector<Batch> batches(1);
  batches[0].num_rows = kRows;
  for (void const* const data : {static_cast<void const*>(keys.data()), static_cast<void const*>(values.data())}) {
    ArrayView array;
    array.length = kRows;
    array.null_count = 0;
    array.values = data;
    batches[0].columns.push_back(array);
  }
  Table const large({{"k", type_of(TypeId::int32), false}, {"blob", type, false}}, std::move(batches));
  expect_join(keyed_table<std::int32_t>(TypeId::int32, 40, 20, 3).build(), large, on_keys(), options_with(""));
  auto dense = column_of<std::int32_t>("k", type_of(TypeId::int32), 900, 9, false);
  for (auto& key : dense.values) key = static_cast<std::int32_t>(static_cast<std::uint32_t>(key) % kRows);
  expect_join(large, TestTable().add(std::move(dense)).build(), on_keys(), options_with("build=left"));
}

TEST_F(StreamedJoin, SaysWhyItCannot) {
  auto const good = keyed_table<std::int32_t>(TypeId::int32, 50, 10, 12).build();
  auto const empty = keyed_table<std::int32_t>(TypeId::int32, 0, 1, 13).build();
  auto const texts = TestTable().add_text("k", {"a", "b"}).build();
  auto const mixed = mixed_table(50, 13, true).build();
  auto const forced = options_with("");
  EXPECT_EQ(code_of(good, empty, on_keys(), forced), ErrorCode::usage);
  expect_join(texts, texts, on_keys(), forced);  // does not stream, but goes there whole
  auto left = on_keys();
  left.kind = JoinKind::left;
  EXPECT_EQ(code_of(mixed, mixed, left, forced), ErrorCode::usage) << "columns without a width";
  auto limited = forced;
  limited.device_memory_limit_bytes = 1'000;
  EXPECT_EQ(code_of(good, good, on_keys(), limited), ErrorCode::limit_exceeded);
  EXPECT_EQ(code_of(good, good, left, limited), ErrorCode::limit_exceeded);
  EXPECT_EQ(code_of(mixed, mixed, on_keys(), limited), ErrorCode::limit_exceeded);
  // Left to choose, the join takes slices and its plan says why.
  auto open = forced;
  open.tuning.placement = Placement::automatic;
  auto const plan = engine().explain_join(good.view(), empty.view(), on_keys(), open);
  ASSERT_TRUE(plan) << plan.error().describe();
  EXPECT_TRUE(std::ranges::any_of(plan->notes, [](auto const& note) {
    return note.find("placement=slices: a table is empty") != std::string::npos;
  }));
  auto const streamed = engine().explain_join(good.view(), good.view(), on_keys(), forced);
  ASSERT_TRUE(streamed) << streamed.error().describe();
  EXPECT_NE(to_string(*streamed).find("placement"), std::string::npos);
}

TEST_F(StreamedJoin, IsCancelledBetweenRanges) {
  auto const left = keyed_table<std::int32_t>(TypeId::int32, 500, 300, 14).build();
  auto const right = keyed_table<std::int32_t>(TypeId::int32, 2'000, 300, 15).build();
  auto options = options_with("slice_rows=100");
  std::atomic<bool> cancelled{false};
  options.control.cancelled = &cancelled;
  options.control.on_progress = [&](Progress const&) { cancelled = true; };
  auto result = engine().join(left.view(), right.view(), on_keys(), options);
  ASSERT_TRUE(result) << result.error().describe();
  auto const joined = collect(**result);
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().code(), ErrorCode::cancelled);
  // Given up early, a join stops by itself.
  options.control = {};
  auto abandoned = engine().join(left.view(), right.view(), on_keys(), options);
  ASSERT_TRUE(abandoned) << abandoned.error().describe();
  EXPECT_TRUE((*abandoned)->next());
}

}  // namespace
}  // namespace garuda
