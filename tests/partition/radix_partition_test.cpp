#include "partition/radix_partition.hpp"

#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tests/partition/partitioned_words.hpp"
#include "tests/workloads/workloads.hpp"

namespace garuda::partition {
namespace {

template <class Row>
AlignedBuffer copy_of(std::vector<Row> const& rows) {
  auto buffer = AlignedBuffer::allocate(static_cast<std::int64_t>(rows.size() * sizeof(Row)));
  std::copy(rows.begin(), rows.end(), buffer.value().template as<Row>());
  return std::move(buffer).value();
}

/// Checks the whole result against a stable sort by partition.
template <class Word>
void expect_partitioned(PartitionedKeys const& result, std::vector<Word> const& words,
                        std::vector<std::uint64_t> const& rows, RadixDigit digit) {
  auto const partitions = std::uint64_t{1} << digit.bits;
  ASSERT_EQ(result.num_partitions(), partitions);
  ASSERT_EQ(result.offsets.size(), partitions + 1);
  ASSERT_EQ(result.num_rows(), words.size());
  std::vector<std::uint64_t> order(words.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
    return expected_partition(words[a], digit) < expected_partition(words[b], digit);
  });
  auto const keys = keys_of<Word>(result);
  for (std::uint64_t i = 0; i < order.size(); ++i) {
    ASSERT_EQ(keys[i], words[order[i]]) << "position " << i;
    ASSERT_EQ(result.row_id(i), rows[order[i]]) << "position " << i;
  }
  std::vector<std::uint64_t> counts(partitions);
  for (auto const word : words) ++counts[expected_partition(word, digit)];
  for (std::uint64_t p = 0; p < partitions; ++p) {
    ASSERT_EQ(result.offsets[p + 1] - result.offsets[p], counts[p]) << "partition " << p;
    if (counts[p] == 0) continue;
    auto const [min, max] = std::minmax_element(keys.begin() + static_cast<std::ptrdiff_t>(result.offsets[p]),
                                                keys.begin() + static_cast<std::ptrdiff_t>(result.offsets[p + 1]));
    ASSERT_EQ(result.ranges[p].min, *min) << "partition " << p;
    ASSERT_EQ(result.ranges[p].max, *max) << "partition " << p;
  }
}

PartitionOptions with_ranges() {
  PartitionOptions options;
  options.ranges = true;
  return options;
}

template <class Word>
void partition_and_check(std::vector<Word> const& words, RadixDigit digit) {
  auto const result = radix_partition(encoded(words), digit, {}, with_ranges());
  ASSERT_TRUE(result) << result.error().describe();
  std::vector<std::uint64_t> rows(words.size());
  std::iota(rows.begin(), rows.end(), 0);
  expect_partitioned(*result, words, rows, digit);
}

enum class Data { random, dense, equal, stride_2_10, stride_2_16, one_heavy, edges };

template <class Word>
std::vector<Word> make_words(Data data, std::size_t rows) {
  std::mt19937_64 random(rows + static_cast<std::size_t>(data));
  std::vector<Word> words(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    auto const bits = random();
    std::uint64_t key = bits;
    if (data == Data::dense) key = i;
    if (data == Data::equal) key = 0xDEAD'BEEF;
    if (data == Data::stride_2_10) key = i << 10;
    if (data == Data::stride_2_16) key = i << 16;
    if (data == Data::one_heavy && i % 10 != 0) key = 77;
    if (data == Data::edges) key = bits % 2 == 0 ? 0 : ~std::uint64_t{0};
    words[i] = static_cast<Word>(key);
  }
  return words;
}

struct Case {
  int threads;
  Data data;
  RadixDigit digit;
};

class RadixPartition : public ::testing::TestWithParam<Case> {};

TEST_P(RadixPartition, IsAStableSortByDigit) {
  auto const threads = GetParam().threads;
  auto const data = GetParam().data;
  auto const digit = GetParam().digit;
  // More threads than this machine may have cores.
  oneapi::tbb::global_control const limit(oneapi::tbb::global_control::max_allowed_parallelism, 4);
  oneapi::tbb::task_arena arena(threads);
  for (std::size_t const rows : {0, 1, 2, 255, 257, 70'001, 200'000}) {
    SCOPED_TRACE(::testing::Message() << "rows " << rows << " threads " << threads << " data " << static_cast<int>(data)
                                      << " bits " << digit.bits << " shift " << digit.shift << " mixed "
                                      << digit.mixed);
    arena.execute([&] {
      partition_and_check(make_words<std::uint32_t>(data, rows), digit);
      partition_and_check(make_words<std::uint64_t>(data, rows), digit);
    });
  }
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  std::uint64_t next = 0;
  for (auto const threads : {1, 2, 4})
    for (auto const data :
         {Data::random, Data::dense, Data::equal, Data::stride_2_10, Data::stride_2_16, Data::one_heavy, Data::edges})
      for (auto const digit : {RadixDigit{0, 0, false}, RadixDigit{1, 0, false}, RadixDigit{8, 10, false},
                               RadixDigit{16, 0, false}, RadixDigit{5, 0, true}, RadixDigit{6, 16, true}})
        if (testing::takes_case(next++)) cases.push_back({threads, data, digit});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, RadixPartition, ::testing::ValuesIn(all_cases()));

TEST(RadixPartition, KeepsRowIdsOf32And64Bits) {
  auto const words = make_words<std::uint32_t>(Data::random, 100'000);
  std::vector<std::uint32_t> narrow(words.size());
  std::vector<std::uint64_t> wide(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    wide[i] = (std::uint64_t{1} << 33) + 3 * i;
    narrow[i] = static_cast<std::uint32_t>(0xFFFF'FFFF - 2 * i);
  }
  for (std::uint32_t const bits : {0U, 7U}) {
    auto keys = encoded(words, std::uint64_t{1} << 32);
    keys.row_ids = copy_of(narrow);
    auto result = radix_partition(std::move(keys), {bits, 0, true}, {}, with_ranges());
    ASSERT_TRUE(result) << result.error().describe();
    EXPECT_FALSE(result->wide_row_ids);
    expect_partitioned(*result, words, std::vector<std::uint64_t>(narrow.begin(), narrow.end()), {bits, 0, true});

    keys = encoded(words, std::uint64_t{1} << 34);
    keys.row_ids = copy_of(wide);
    result = radix_partition(std::move(keys), {bits, 0, true}, {}, with_ranges());
    ASSERT_TRUE(result) << result.error().describe();
    EXPECT_TRUE(result->wide_row_ids);
    expect_partitioned(*result, words, wide, {bits, 0, true});
  }
}

/// Rows without row ids are numbered while they are moved, in eight bytes where the table may have so many.
template <class Word>
void number_rows() {
  auto const words = make_words<Word>(Data::random, 70'001);
  std::vector<std::uint64_t> rows(words.size());
  std::iota(rows.begin(), rows.end(), 0);
  for (auto const table_rows : {std::uint64_t{words.size()}, std::uint64_t{1} << 34})
    for (auto const set : instruction_sets()) {
      auto options = with_ranges();
      options.instructions = set;
      auto const result = radix_partition(encoded(words, table_rows), {9, 5, false}, {}, std::move(options));
      ASSERT_TRUE(result) << result.error().describe();
      EXPECT_EQ(result->wide_row_ids, table_rows > words.size());
      expect_partitioned(*result, words, rows, {9, 5, false});
    }
}

TEST(RadixPartition, NumbersTheRowsOfSmallAndLargeTables) {
  number_rows<std::uint32_t>();
  number_rows<std::uint64_t>();
}

TEST(RadixPartition, OnePartitionCopiesNothing) {
  std::vector<std::uint32_t> const words{5, 4, 9};
  auto borrowed = radix_partition(encoded(words), {}, {});
  ASSERT_TRUE(borrowed);
  EXPECT_EQ(borrowed->keys, words.data());
  EXPECT_EQ(borrowed->row_ids, nullptr);
  EXPECT_EQ(borrowed->owned_keys.size_bytes(), 0);
  EXPECT_EQ(borrowed->ranges[0].min, 4U);
  EXPECT_EQ(borrowed->ranges[0].max, 9U);

  auto keys = encoded(words);
  keys.owned_words = copy_of(words);
  keys.words = keys.owned_words.data();
  auto const* const address = keys.words;
  auto const owned = radix_partition(std::move(keys), {}, {});
  ASSERT_TRUE(owned);
  EXPECT_EQ(owned->keys, address);
  EXPECT_EQ(owned->owned_keys.data(), address);
}

TEST(RadixPartition, PartitionOfAgreesWithTheScatter) {
  for (auto const digit : {RadixDigit{4, 3, false}, RadixDigit{16, 48, false}, RadixDigit{9, 0, true},
                           RadixDigit{9, 55, true}, RadixDigit{0, 0, true}, RadixDigit{}})
    for (auto const key : make_words<std::uint64_t>(Data::random, 1'000))
      ASSERT_EQ(partition_of(key, digit), expected_partition(key, digit));
}

TEST(RadixPartition, BrokenPreconditionsThrow) {
  std::vector<std::uint32_t> const words{1};
  EXPECT_THROW((void)radix_partition(encoded(words), {17, 0, false}, {}), LogicError);
  EXPECT_THROW((void)radix_partition(encoded(words), {8, 25, false}, {}), LogicError);
  EXPECT_THROW((void)radix_partition(encoded(words), {8, 57, true}, {}), LogicError);
  EXPECT_THROW((void)choose_digit(encoded(words), encoded(words), 17, {}), LogicError);
  EXPECT_THROW((void)choose_digit(encoded(words), encoded(std::vector<std::uint64_t>{1}), 1, {}), LogicError);
}

TEST(RadixPartition, CancellationIsSeen) {
  std::atomic<bool> const cancelled = true;
  Control control;
  control.cancelled = &cancelled;
  auto const words = make_words<std::uint32_t>(Data::random, 1'000'000);
  auto const partitioned = radix_partition(encoded(words), {4, 0, false}, control);
  ASSERT_FALSE(partitioned);
  EXPECT_EQ(partitioned.error().code(), ErrorCode::cancelled);
  auto const digit = choose_digit(encoded(words), encoded(words), 4, control);
  ASSERT_FALSE(digit);
  EXPECT_EQ(digit.error().code(), ErrorCode::cancelled);
}

/// Keys of one mixed partition spread over the digit behind it: the tables of the CPU path rely on it.
TEST(RadixPartition, MixedDigitsBehindOneAnotherAreIndependent) {
  RadixDigit const outer{4, 0, true};
  RadixDigit const inner{4, kMaxRadixBits, true};
  std::vector<std::uint64_t> counts(16);
  std::uint64_t total = 0;
  for (std::uint64_t key = 0; key < 200'000; ++key) {
    if (partition_of(key, outer) != 3) continue;
    ++counts[partition_of(key, inner)];
    ++total;
  }
  EXPECT_NEAR(static_cast<double>(total), 200'000.0 / 16, 600);
  for (auto const count : counts) EXPECT_NEAR(static_cast<double>(count), static_cast<double>(total) / 16, 150);
}

template <class Word>
RadixDigit digit_for(std::vector<Word> const& left, std::vector<Word> const& right, std::uint32_t bits) {
  auto const digit = choose_digit(encoded(left), encoded(right), bits, {});
  EXPECT_TRUE(digit) << digit.error().describe();
  return digit->digit;
}

TEST(ChooseDigit, DenseAndRandomKeysStayRaw) {
  for (std::uint32_t const bits : {1U, 6U, 16U}) {
    auto const dense = make_words<std::uint32_t>(Data::dense, 300'000);
    auto const random = make_words<std::uint32_t>(Data::random, 200'000);
    EXPECT_EQ(digit_for(dense, dense, bits), (RadixDigit{bits, 0, false}));
    EXPECT_EQ(digit_for(dense, random, bits), (RadixDigit{bits, 0, false}));
    EXPECT_EQ(digit_for(random, {}, bits), (RadixDigit{bits, 0, false}));
  }
}

TEST(ChooseDigit, StridedKeysStayRawAboveTheBitsTheyShare) {
  auto const by_1024 = make_words<std::uint64_t>(Data::stride_2_10, 100'000);
  auto const by_65536 = make_words<std::uint64_t>(Data::stride_2_16, 100'000);
  EXPECT_EQ(digit_for(by_1024, by_1024, 6), (RadixDigit{6, 10, false}));
  EXPECT_EQ(digit_for(by_65536, by_65536, 6), (RadixDigit{6, 16, false}));
  EXPECT_EQ(shared_low_bits(RadixDigit{6, 16, false}), 22U);
  EXPECT_EQ(shared_low_bits(RadixDigit{6, 0, true}), 0U);
  // One side's stride is not the other's.
  auto offset = by_1024;
  for (auto& key : offset) key += 512;
  EXPECT_EQ(digit_for(by_1024, offset, 0), (RadixDigit{0, 9, false}));
}

TEST(ChooseDigit, UnevenKeysAreMixed) {
  // Multiples of 2^10 but for one key: no shift is common, and all but one land in the partition of digit 0.
  auto keys = make_words<std::uint32_t>(Data::stride_2_10, 100'000);
  keys.push_back(1);
  EXPECT_EQ(digit_for(keys, {1, 2, 3}, 6), (RadixDigit{6, 0, true}));
  EXPECT_EQ(digit_for({1, 2, 3}, keys, 6), (RadixDigit{6, 0, true}));
  // A heavy key beside keys that do not balance.
  for (std::size_t i = 0; i < keys.size(); i += 2) keys[i] = 7;
  EXPECT_EQ(digit_for(keys, {}, 6), (RadixDigit{6, 0, true}));
}

TEST(ChooseDigit, AHeavyKeyAloneDoesNotMix) {
  auto heavy = make_words<std::uint32_t>(Data::dense, 100'000);
  for (std::size_t i = 0; i < heavy.size(); i += 2) heavy[i] = 7;
  EXPECT_FALSE(digit_for(heavy, heavy, 6).mixed);
  auto const equal = make_words<std::uint32_t>(Data::equal, 100'000);
  auto const digit = digit_for(equal, equal, 6);
  EXPECT_FALSE(digit.mixed);
  EXPECT_LT(shared_low_bits(digit), 32U);
}

TEST(ChooseDigit, NoBitsNeedNoPass) {
  auto const equal = make_words<std::uint64_t>(Data::equal, 1'000);
  EXPECT_EQ(digit_for(equal, equal, 0), (RadixDigit{0, 63, false}));
  EXPECT_EQ(digit_for<std::uint64_t>({}, {}, 0).bits, 0U);
}

}  // namespace
}  // namespace garuda::partition
