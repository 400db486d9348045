// Every way to partition gives the same: each instruction set, one pass or two, with payload, counted before or not.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "partition/radix_partition.hpp"
#include "tests/workloads/workloads.hpp"

namespace garuda::partition {
namespace {

constexpr std::uint32_t kWidths[] = {1, 2, 4, 8, 16, 4, 8};

/// Keys of a table some of whose rows may have none, and columns of every width in parts of uneven length.
struct Input {
  std::uint32_t key_bits = 32;
  std::vector<std::uint64_t> keys;  ///< of the rows that have one
  std::vector<std::uint32_t> rows;  ///< their rows; empty: key i is row i
  std::uint64_t table_rows = 0;
  std::vector<std::vector<std::byte>> values;  ///< a column
  std::vector<PayloadColumn> payload;

  std::uint64_t row_of(std::uint64_t i) const { return rows.empty() ? i : rows[i]; }

  keys::EncodedKeys encoded() const {
    keys::EncodedKeys result;
    result.key_bits = key_bits;
    result.num_rows = keys.size();
    result.table_rows = table_rows;
    result.owned_words = AlignedBuffer::allocate(static_cast<std::int64_t>(keys.size() * key_bits / 8)).value();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (key_bits == 32)
        result.owned_words.as<std::uint32_t>()[i] = static_cast<std::uint32_t>(keys[i]);
      else
        result.owned_words.as<std::uint64_t>()[i] = keys[i];
    }
    result.words = result.owned_words.data();
    result.row_ids = AlignedBuffer::allocate(static_cast<std::int64_t>(rows.size() * 4)).value();
    if (!rows.empty()) std::memcpy(result.row_ids.data(), rows.data(), rows.size() * 4);
    result.common_low_bits = 0;
    result.max = ~std::uint64_t{0} >> (64 - key_bits);
    return result;
  }
};

enum class Keys { random, dense, equal, strided, one_heavy };

std::uint64_t key_of(Keys kind, std::uint64_t i, std::uint64_t random) {
  switch (kind) {
    case Keys::dense:
      return i;
    case Keys::equal:
      return 0xDEAD'BEEF;
    case Keys::strided:
      return i << 10;
    case Keys::one_heavy:
      return i % 10 != 0 ? 77 : random;
    default:
      return random;
  }
}

Input make_input(Keys kind, std::uint32_t key_bits, std::uint64_t table_rows, bool nulls) {
  Input input;
  input.key_bits = key_bits;
  input.table_rows = table_rows;
  std::mt19937_64 random(table_rows + key_bits);
  for (std::uint64_t row = 0; row < table_rows; ++row) {
    auto const key = key_of(kind, row, random());
    if (nulls && row % 7 == 3) continue;
    input.keys.push_back(key_bits == 32 ? static_cast<std::uint32_t>(key) : key);
    if (nulls) input.rows.push_back(static_cast<std::uint32_t>(row));
  }
  for (auto const width : kWidths) {
    auto& bytes = input.values.emplace_back(table_rows * width);
    for (auto& byte : bytes) byte = static_cast<std::byte>(random());
    PayloadColumn column;
    column.width = width;
    for (std::uint64_t first = 0, step = 1; first < table_rows; first += step, step = step * 3 + 1)
      column.parts.push_back({first, bytes.data() + first * width});
    if (column.parts.empty()) column.parts.push_back({0, bytes.data()});
    input.payload.push_back(std::move(column));
  }
  return input;
}

/// Compares the whole result with a stable sort by `partition_of`.
void expect_sorted(PartitionedKeys const& result, Input const& input, RadixDigit digit, bool row_ids) {
  std::vector<std::uint64_t> order(input.keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
    return partition_of(input.keys[a], digit) < partition_of(input.keys[b], digit);
  });
  ASSERT_EQ(result.num_rows(), order.size());
  ASSERT_EQ(result.num_partitions(), std::uint32_t{1} << digit.bits);
  std::vector<std::uint64_t> counts(result.num_partitions());
  for (auto const key : input.keys) ++counts[partition_of(key, digit)];
  for (std::size_t p = 0; p < counts.size(); ++p)
    ASSERT_EQ(result.offsets[p + 1] - result.offsets[p], counts[p]) << "partition " << p;
  for (std::size_t i = 0; i < order.size(); ++i) {
    auto const key = input.key_bits == 32 ? result.keys32()[i] : result.keys64()[i];
    ASSERT_EQ(key, input.keys[order[i]]) << "position " << i;
    if (row_ids) {
      ASSERT_EQ(result.row_id(i), input.row_of(order[i])) << "position " << i;
    }
  }
  if (!row_ids) {
    ASSERT_EQ(result.owned_row_ids.size_bytes(), 0);
  }
  ASSERT_EQ(result.payload.size(), input.payload.size());
  for (std::size_t c = 0; c < result.payload.size(); ++c) {
    auto const width = input.payload[c].width;
    ASSERT_EQ(result.payload[c].size_bytes(), static_cast<std::int64_t>(order.size() * width));
    for (std::size_t i = 0; i < order.size(); ++i)
      ASSERT_EQ(std::memcmp(result.payload[c].data() + i * width,
                            input.values[c].data() + input.row_of(order[i]) * width, width),
                0)
          << "column " << c << " position " << i;
  }
}

struct Way {
  InstructionSet instructions;
  std::uint32_t one_pass_bits;
  bool row_ids;
  int threads;
};

std::vector<Way> all_ways() {
  std::vector<Way> ways;
  for (auto const set : instruction_sets())
    for (std::uint32_t const one_pass_bits : {0, 1, 3})
      for (auto const threads : {1, 4}) ways.push_back({set, one_pass_bits, threads == 4, threads});
  return ways;
}

class PartitionWay : public ::testing::TestWithParam<Way> {
 protected:
  void check(Input const& input, RadixDigit digit) {
    auto const& way = GetParam();
    SCOPED_TRACE(::testing::Message() << to_string(way.instructions) << " one_pass_bits " << way.one_pass_bits
                                      << " threads " << way.threads << " keys " << input.keys.size() << " of "
                                      << input.key_bits << " bits, digit bits " << digit.bits << " shift "
                                      << digit.shift << " mixed " << digit.mixed);
    oneapi::tbb::global_control const limit(oneapi::tbb::global_control::max_allowed_parallelism, 4);
    oneapi::tbb::task_arena arena(way.threads);
    arena.execute([&] {
      PartitionOptions options;
      options.payload = input.payload;
      options.row_ids = way.row_ids;
      options.instructions = way.instructions;
      options.one_pass_bits = way.one_pass_bits;
      auto const result = radix_partition(input.encoded(), digit, {}, std::move(options));
      ASSERT_TRUE(result) << result.error().describe();
      expect_sorted(*result, input, digit, way.row_ids);
    });
  }
};

TEST_P(PartitionWay, MovesEveryStream) {
  std::uint64_t next = 0;
  for (auto const kind : {Keys::random, Keys::dense, Keys::equal, Keys::strided, Keys::one_heavy})
    for (std::uint32_t const key_bits : {32U, 64U})
      for (bool const nulls : {false, true}) {
        if (!testing::takes_case(next++)) continue;
        check(make_input(kind, key_bits, 50'021, nulls), {6, 0, kind == Keys::strided});
        if (HasFatalFailure()) return;
      }
}

TEST_P(PartitionWay, AnyNumberOfRowsAndBits) {
  for (std::uint64_t const rows : {0, 1, 15, 64, 65, 255, 513, 1'023, 1'025, 20'000})
    for (auto const digit : {RadixDigit{1, 0, false}, RadixDigit{6, 3, true}, RadixDigit{11, 0, false},
                             RadixDigit{13, 0, true}, RadixDigit{6, 26, false}}) {
      check(make_input(Keys::random, 32, rows, rows % 2 == 1), digit);
      if (HasFatalFailure()) return;
    }
}

INSTANTIATE_TEST_SUITE_P(All, PartitionWay, ::testing::ValuesIn(all_ways()));

/// Large enough for one partition of the first pass to be cut among threads.
TEST(PartitionOptions, OneHugePartitionIsCutInTheSecondPass) {
  auto const input = make_input(Keys::one_heavy, 32, 400'000, false);
  oneapi::tbb::global_control const limit(oneapi::tbb::global_control::max_allowed_parallelism, 4);
  oneapi::tbb::task_arena arena(4);
  arena.execute([&] {
    PartitionOptions options;
    options.one_pass_bits = 5;
    auto const result = radix_partition(input.encoded(), {8, 0, false}, {}, std::move(options));
    ASSERT_TRUE(result) << result.error().describe();
    Input keys_only = input;
    keys_only.payload.clear();
    expect_sorted(*result, keys_only, {8, 0, false}, true);
  });
}

TEST(PartitionOptions, CountsOfTheChoiceAreUsed) {
  for (auto const kind : {Keys::dense, Keys::one_heavy}) {
    auto const input = make_input(kind, 32, 100'000, false);
    auto keys = input.encoded();
    auto choice = choose_digit(keys, keys, 6, {}).value();
    ASSERT_GT(choice.right.chunks, 0U);
    EXPECT_EQ(choice.right.digit, choice.digit);
    Input keys_only = input;
    keys_only.payload.clear();
    PartitionOptions options;
    options.counts = std::move(choice.right);
    auto result = radix_partition(std::move(keys), choice.digit, {}, std::move(options));
    ASSERT_TRUE(result) << result.error().describe();
    expect_sorted(*result, keys_only, choice.digit, true);
    // Counts of another digit are not.
    choice = choose_digit(input.encoded(), input.encoded(), 6, {}).value();
    options = {};
    options.counts = std::move(choice.left);
    result = radix_partition(input.encoded(), {4, 1, true}, {}, std::move(options));
    ASSERT_TRUE(result) << result.error().describe();
    expect_sorted(*result, keys_only, {4, 1, true}, true);
  }
}

TEST(PartitionOptions, BaselineIsAlwaysThereAndTheBestIsLast) {
  ASSERT_FALSE(instruction_sets().empty());
  EXPECT_EQ(instruction_sets().front(), InstructionSet::baseline);
  EXPECT_EQ(best_instruction_set(), instruction_sets().back());
  std::set<std::string_view> names;
  for (auto const set : instruction_sets()) EXPECT_TRUE(names.insert(to_string(set)).second);
}

TEST(PartitionOptions, BrokenPreconditionsThrow) {
  auto const input = make_input(Keys::dense, 32, 10, false);
  PayloadColumn odd = input.payload[0];
  odd.width = 3;
  PartitionOptions options;
  options.payload = std::span(&odd, 1);
  EXPECT_THROW((void)radix_partition(input.encoded(), {1, 0, false}, {}, std::move(options)), LogicError);
  options = {};
  options.one_pass_bits = 17;
  EXPECT_THROW((void)radix_partition(input.encoded(), {1, 0, false}, {}, std::move(options)), LogicError);
}

TEST(PartitionOptions, CancellationIsSeenInTwoPasses) {
  std::atomic<bool> const cancelled = true;
  Control control;
  control.cancelled = &cancelled;
  auto const input = make_input(Keys::random, 64, 200'000, false);
  PartitionOptions options;
  options.one_pass_bits = 2;
  auto const result = radix_partition(input.encoded(), {4, 0, false}, control, std::move(options));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::cancelled);
}

TEST(PayloadPlaces, ColumnsOfTheSameMemoryMoveOnce) {
  std::vector<std::byte> memory(64);
  auto const column = [&](std::uint32_t width, std::vector<std::size_t> const& places) {
    PayloadColumn made{width, {}};
    for (auto const place : places) made.parts.push_back({made.parts.size(), memory.data() + place});
    return made;
  };
  std::vector<PayloadColumn> const columns{column(8, {0, 32}), column(8, {0, 40}), column(8, {}), column(8, {0, 32}),
                                           column(4, {0, 32}), column(8, {0, 40}), column(4, {0})};
  using Places = std::vector<std::optional<std::size_t>>;
  EXPECT_EQ(payload_places(columns), (Places{0, 1, std::nullopt, 0, 2, 1, 3}));
  EXPECT_EQ(payload_places({}), Places{});
}

}  // namespace
}  // namespace garuda::partition
