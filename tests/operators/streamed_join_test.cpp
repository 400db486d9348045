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

#include "garuda/engine.hpp"
#include "tests/operators/tables.hpp"
#include "tests/reference/reference_join.hpp"

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
    options.validation = true;
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

TEST_F(StreamedJoin, SaysWhyItCannot) {
  auto const good = keyed_table<std::int32_t>(TypeId::int32, 50, 10, 12).build();
  auto const empty = keyed_table<std::int32_t>(TypeId::int32, 0, 1, 13).build();
  TestColumn<std::int32_t> keys{"k", type_of(TypeId::int32), {1, 2}, {true, false}};
  auto const nulls = TestTable().add(std::move(keys)).build();
  TestColumn<std::int16_t> shorts{"k", type_of(TypeId::int16), {1, 2}, {}};
  auto const narrow = TestTable().add(std::move(shorts)).build();
  auto const forced = options_with("");
  EXPECT_EQ(code_of(good, empty, on_keys(), forced), ErrorCode::usage);
  EXPECT_EQ(code_of(good, nulls, on_keys(), forced), ErrorCode::usage);
  EXPECT_EQ(code_of(narrow, narrow, on_keys(), forced), ErrorCode::usage);
  auto ordered = on_keys();
  ordered.ordered = true;
  EXPECT_EQ(code_of(good, good, ordered, forced), ErrorCode::usage);
  EXPECT_EQ(engine().join_count(good.view(), good.view(), on_keys(), forced).error().code(), ErrorCode::usage);
  auto limited = forced;
  limited.device_memory_limit_bytes = 1'000;
  EXPECT_EQ(code_of(good, good, on_keys(), limited), ErrorCode::limit_exceeded);
  // Left to choose, the join takes slices and its plan says why.
  auto open = forced;
  open.tuning.placement = Placement::automatic;
  auto const plan = engine().explain_join(good.view(), nulls.view(), on_keys(), open);
  ASSERT_TRUE(plan) << plan.error().describe();
  EXPECT_TRUE(std::ranges::any_of(plan->notes, [](auto const& note) {
    return note.find("placement=slices: column 'k' has nulls") != std::string::npos;
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
