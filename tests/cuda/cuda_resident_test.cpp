// Joins and group-bys of tables in CUDA memory against plain ones: every shape, room that does not suffice.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <type_traits>
#include <vector>

#include "core/numbers/wide_integer.hpp"
#include "operators/cuda/cuda_lane.hpp"
#include "operators/resolve/aggregates.hpp"
#include "tests/cuda/cuda_device.hpp"
#include "tests/unwrap.hpp"
#include "tests/workloads/workloads.hpp"

namespace garuda::cuda {
namespace {

using testing::succeed;
using testing::value_of;

using Row = std::vector<std::uint64_t>;

/// Columns as words of 64 bits; the first are the keys.
struct HostTable {
  std::vector<std::uint32_t> bytes;  ///< of a value: 4 or 8
  std::vector<std::vector<std::uint64_t>> columns;
  std::size_t rows() const { return columns[0].size(); }
};

/// `stride`: distance of the distinct keys.
HostTable make_table(std::size_t rows, std::vector<std::uint32_t> bytes, std::uint64_t distinct, std::uint64_t stride,
                     std::uint64_t seed) {
  std::mt19937_64 random(seed);
  HostTable table{std::move(bytes), {}};
  for (std::size_t c = 0; c < table.bytes.size(); ++c) {
    auto& column = table.columns.emplace_back(rows);
    for (auto& value : column) {
      value = c == 0 ? (random() % distinct) * stride : random();
      if (table.bytes[c] == 4) value = static_cast<std::uint32_t>(value);
    }
  }
  return table;
}

std::vector<Row> expected_rows(HostTable const& left, HostTable const& right) {
  std::multimap<std::uint64_t, std::size_t> rows;
  for (std::size_t i = 0; i < left.rows(); ++i) rows.emplace(left.columns[0][i], i);
  std::vector<Row> joined;
  for (std::size_t r = 0; r < right.rows(); ++r) {
    auto const [first, last] = rows.equal_range(right.columns[0][r]);
    for (auto match = first; match != last; ++match) {
      Row row{right.columns[0][r]};
      for (std::size_t c = 1; c < left.columns.size(); ++c) row.push_back(left.columns[c][match->second]);
      for (std::size_t c = 1; c < right.columns.size(); ++c) row.push_back(right.columns[c][r]);
      joined.push_back(std::move(row));
    }
  }
  std::ranges::sort(joined);
  return joined;
}

template <class Value>
std::uint64_t bits_of(Value value) {
  if constexpr (sizeof(Value) == 4) {
    return std::bit_cast<std::uint32_t>(value);
  } else {
    return std::bit_cast<std::uint64_t>(value);
  }
}

/// Count, sum, least, greatest and mean as bits. Finite floats are multiples of 2^-20 whose sums 128 bits hold; the
/// others are positive infinities.
template <class Value>
std::vector<std::uint64_t> aggregates_of(std::vector<Value> const& values) {
  constexpr bool kIsFloat = std::is_floating_point_v<Value>;
  constexpr std::int32_t kExponent = kIsFloat ? -20 : 0;
  constexpr auto kInfinity = std::numeric_limits<double>::infinity();
  Int128 sum = 0;
  bool has_infinity = false;
  for (auto const value : values) {
    if constexpr (kIsFloat) {
      has_infinity = has_infinity || std::isinf(value);
      if (!std::isinf(value)) sum += static_cast<Int128>(std::ldexp(static_cast<double>(value), -kExponent));
    } else {
      sum += static_cast<Int128>(value);
    }
  }
  auto const rounded = has_infinity ? kInfinity : resolve::round_to_double(sum, kExponent);
  auto const [least, greatest] = std::ranges::minmax(values);
  return {values.size(), kIsFloat ? bits_of(rounded) : static_cast<std::uint64_t>(sum), bits_of(least),
          bits_of(greatest), bits_of(rounded / static_cast<double>(values.size()))};
}

/// Every form of payload and build side; partitions of a few rows, and tables of several chunks in one.
constexpr std::array kJoinTunings{
    GarudaCudaResidentTuning{},
    GarudaCudaResidentTuning{GARUDA_CUDA_BUILD_LEFT, GARUDA_CUDA_PAYLOAD_CARRY, 1, 1, 8},
    GarudaCudaResidentTuning{GARUDA_CUDA_BUILD_RIGHT, GARUDA_CUDA_PAYLOAD_CARRY, 1U << 20, 1, 16},
    GarudaCudaResidentTuning{GARUDA_CUDA_BUILD_AUTOMATIC, GARUDA_CUDA_PAYLOAD_CARRY, 64, 2, 0},
    GarudaCudaResidentTuning{GARUDA_CUDA_BUILD_AUTOMATIC, GARUDA_CUDA_PAYLOAD_GATHER, 16, 1, 16},
};

std::vector<std::uint32_t> const kAllFunctions{GARUDA_CUDA_FUNCTION_COUNT, GARUDA_CUDA_FUNCTION_SUM,
                                               GARUDA_CUDA_FUNCTION_MIN, GARUDA_CUDA_FUNCTION_MAX,
                                               GARUDA_CUDA_FUNCTION_MEAN};
std::vector<std::uint32_t> const kExtremes{GARUDA_CUDA_FUNCTION_MAX, GARUDA_CUDA_FUNCTION_COUNT,
                                           GARUDA_CUDA_FUNCTION_MIN};

class CudaResident : public testing::CudaDeviceTest {
 protected:
  void SetUp() override {
    CudaDeviceTest::SetUp();
    if (IsSkipped()) return;
    lanes_ = value_of(CudaLane::open(device(), {}));
  }
  void TearDown() override {
    for (auto* buffer : buffers_) api().destroy_buffer(buffer);
    buffers_.clear();
    lanes_.clear();
  }

  GarudaCudaApi const& api() const { return device().api(); }
  GarudaCudaLane* lane() const { return lanes_.front()->handle(); }
  void check(std::int32_t code) const { succeed(cuda_result(code, error_)); }

  std::uint64_t upload(std::vector<std::uint64_t> const& values, std::uint32_t bytes) {
    std::vector<std::uint32_t> narrow(values.begin(), values.end());
    void const* const source = bytes == 4 ? static_cast<void const*>(narrow.data()) : values.data();
    GarudaCudaBuffer* buffer = nullptr;
    std::uint64_t address = 0;
    check(api().create_buffer(lane(), values.size() * bytes, &buffer, &address, &error_));
    buffers_.push_back(buffer);
    check(api().upload(lane(), address, source, values.size() * bytes, &error_));
    return address;
  }

  std::vector<std::uint64_t> download(std::uint64_t address, std::uint32_t bytes, std::uint64_t rows) {
    std::vector<std::uint64_t> values(rows);
    if (bytes == 8) {
      check(api().download(lane(), address, values.data(), rows * 8, &error_));
      return values;
    }
    std::vector<std::uint32_t> narrow(rows);
    check(api().download(lane(), address, narrow.data(), rows * 4, &error_));
    std::ranges::copy(narrow, values.begin());
    return values;
  }

  GarudaCudaResidentTable upload(HostTable const& table) {
    GarudaCudaResidentTable resident{};
    resident.rows = table.rows();
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      GarudaCudaColumn const column{upload(table.columns[c], table.bytes[c]), table.bytes[c]};
      (c == 0 ? resident.key : resident.columns[resident.num_columns++]) = column;
    }
    return resident;
  }

  /// Joins by every form of payload and build side. Cases with more rows than GARUDA_TEST_MAX_ROWS are left out.
  void expect_joined(HostTable const& left, HostTable const& right, std::uint64_t expected_first) {
    if (std::max(left.rows(), right.rows()) > testing::max_test_rows()) return;
    SCOPED_TRACE(::testing::Message() << left.rows() << " × " << right.rows() << " rows, keys of " << left.bytes[0]
                                      << " bytes, room for " << expected_first);
    auto const left_table = upload(left);
    auto const right_table = upload(right);
    auto const expected = expected_rows(left, right);
    for (auto const& tuning : kJoinTunings) {
      SCOPED_TRACE(::testing::Message() << "build " << tuning.build << ", payload " << tuning.payload
                                        << ", partitions of " << tuning.partition_rows);
      expect_joined(left_table, right_table, tuning, expected_first, expected);
      if (HasFailure()) return;
    }
  }

  /// Runs a join twice: nothing of the first run may be left over.
  void expect_joined(GarudaCudaResidentTable const& left, GarudaCudaResidentTable const& right,
                     GarudaCudaResidentTuning const& tuning, std::uint64_t expected_first,
                     std::vector<Row> const& expected) {
    GarudaCudaResidentJoin* join = nullptr;
    check(api().begin_resident_join(lane(), &left, &right, GARUDA_CUDA_JOIN_ROWS, expected_first, &tuning, &join,
                                    &error_));
    ASSERT_NE(join, nullptr);
    std::unique_ptr<GarudaCudaResidentJoin, void (*)(GarudaCudaResidentJoin*)> const owner(join,
                                                                                           api().end_resident_join);
    for (int run = 0; run < 2; ++run) {
      GarudaCudaResidentRows found{};
      check(api().run_resident_join(join, &found, &error_));
      ASSERT_EQ(found.rows, expected.size());
      std::vector<Row> rows(found.rows);
      auto const take = [&](GarudaCudaColumn const& column) {
        auto const values = download(column.address, column.bytes, found.rows);
        for (std::size_t i = 0; i < rows.size(); ++i) rows[i].push_back(values[i]);
      };
      take(found.key);
      for (std::uint32_t c = 0; c < left.num_columns; ++c) take(found.left[c]);
      for (std::uint32_t c = 0; c < right.num_columns; ++c) take(found.right[c]);
      std::ranges::sort(rows);
      ASSERT_EQ(rows, expected);
    }
  }

  using OwnedGroupBy = std::unique_ptr<GarudaCudaResidentGroupBy, void (*)(GarudaCudaResidentGroupBy*)>;
  OwnedGroupBy begin_group_by(GarudaCudaResidentTable const& table,
                              std::vector<GarudaCudaResidentAggregate> const& aggregates,
                              std::uint64_t expected_groups) {
    GarudaCudaResidentGroupBy* group_by = nullptr;
    check(api().begin_resident_group_by(lane(), &table.key, table.rows, aggregates.data(),
                                        static_cast<std::uint32_t>(aggregates.size()), expected_groups, &group_by,
                                        &error_));
    return {group_by, api().end_resident_group_by};
  }

  /// Every function of a column of `Value`, against the library's own rounding of exact sums.
  template <class Value>
  void expect_aggregated(std::uint32_t kind, std::uint32_t key_bytes, std::size_t rows, std::uint64_t distinct,
                         Value (*value_of_bits)(std::uint64_t), std::vector<std::uint32_t> const& functions,
                         std::uint64_t expected_groups) {
    if (rows > testing::max_test_rows()) return;
    SCOPED_TRACE(::testing::Message() << "kind " << kind << ", " << rows << " rows, " << distinct << " keys");
    auto table = make_table(rows, {key_bytes, sizeof(Value)}, distinct, 3, rows);
    std::map<std::uint64_t, std::vector<Value>> groups;
    for (std::size_t i = 0; i < rows; ++i) {
      auto const value = value_of_bits(table.columns[1][i]);
      table.columns[1][i] = bits_of(value);
      groups[table.columns[0][i]].push_back(value);
    }
    auto const resident = upload(table);
    std::vector<GarudaCudaResidentAggregate> aggregates;
    for (auto const function : functions) aggregates.push_back({resident.columns[0].address, kind, function});
    auto const owner = begin_group_by(resident, aggregates, expected_groups);
    for (int run = 0; run < 2; ++run) {
      GarudaCudaResidentGroups found{};
      check(api().run_resident_group_by(owner.get(), &found, &error_));
      ASSERT_EQ(found.groups, groups.size());
      auto const keys = download(found.key.address, key_bytes, found.groups);
      std::vector<std::vector<std::uint64_t>> columns;
      for (std::size_t a = 0; a < functions.size(); ++a) {
        bool const is_extreme = functions[a] == GARUDA_CUDA_FUNCTION_MIN || functions[a] == GARUDA_CUDA_FUNCTION_MAX;
        columns.push_back(download(found.results[a], is_extreme ? sizeof(Value) : 8, found.groups));
      }
      for (std::size_t g = 0; g < keys.size(); ++g) {
        auto const group = groups.find(keys[g]);
        ASSERT_NE(group, groups.end()) << keys[g];
        auto const expected = aggregates_of(group->second);
        for (std::size_t a = 0; a < columns.size(); ++a)
          ASSERT_EQ(columns[a][g], expected[functions[a]]) << "function " << functions[a];
      }
    }
  }

  void expect_grouped(std::size_t rows, std::uint64_t distinct, std::uint64_t stride, std::uint64_t expected_groups) {
    if (rows > testing::max_test_rows()) return;
    SCOPED_TRACE(::testing::Message() << rows << " rows, " << distinct << " keys, expected " << expected_groups);
    auto const table = make_table(rows, {4, 4}, distinct, stride, distinct + rows);
    std::map<std::uint64_t, std::int64_t> expected;
    for (std::size_t i = 0; i < rows; ++i)
      expected[table.columns[0][i]] += static_cast<std::int32_t>(table.columns[1][i]);
    auto const resident = upload(table);
    auto const owner = begin_group_by(
        resident, {{resident.columns[0].address, GARUDA_CUDA_INT32, GARUDA_CUDA_FUNCTION_SUM}}, expected_groups);
    auto* const group_by = owner.get();
    for (int run = 0; run < 2; ++run) {
      GarudaCudaResidentGroups groups{};
      check(api().run_resident_group_by(group_by, &groups, &error_));
      ASSERT_EQ(groups.groups, expected.size());
      auto const keys = download(groups.key.address, 4, groups.groups);
      auto const sums = download(groups.results[0], 8, groups.groups);
      std::map<std::uint64_t, std::int64_t> found;
      for (std::size_t g = 0; g < keys.size(); ++g) found[keys[g]] += static_cast<std::int64_t>(sums[g]);
      ASSERT_EQ(found, expected);
    }
  }

  GarudaCudaError error_{};

 private:
  std::vector<std::unique_ptr<CudaLane>> lanes_;
  std::vector<GarudaCudaBuffer*> buffers_;
};

TEST_F(CudaResident, JoinsEveryShape) {
  for (std::uint32_t const key : {4U, 8U}) {
    // Keys in the upper bits of a word only, then dense ones.
    for (std::uint64_t const stride : {std::uint64_t{key == 4 ? 1U << 20 : 1ULL << 44}, std::uint64_t{1}}) {
      expect_joined(make_table(900, {key, 4}, 4'000, stride, 1), make_table(1'300, {key, 4}, 4'000, stride, 2), 1'300);
      expect_joined(make_table(9'000, {key, 4, 8}, 9'000, stride, 3), make_table(7'000, {key, 8}, 9'000, stride, 4),
                    10'000);
      expect_joined(make_table(30'000, {key}, 3'000, stride, 5), make_table(20'000, {key, 4}, 3'000, stride, 6), 1);
    }
    expect_joined(make_table(1, {key, 4}, 1, 1, 7), make_table(1'000, {key}, 1, 1, 8), 1'000);
    expect_joined(make_table(400, {key}, 1, 1, 9), make_table(300, {key, 4}, 1, 1, 10), 120'000);
    expect_joined(make_table(0, {key, 4}, 1, 1, 11), make_table(300, {key, 4}, 9, 1, 12), 1);
    expect_joined(make_table(255, {key, 4, 4}, 60, 1, 13), make_table(257, {key, 8, 4}, 60, 1, 14), 2'000);
    if (HasFailure()) return;
  }
}

/// More build rows of one key than a table holds, and more matches than a block lists at a time.
TEST_F(CudaResident, JoinsHeavyKeys) {
  expect_joined(make_table(9'000, {4, 4}, 2, 1, 1), make_table(12'000, {4}, 9'000, 1, 2), 100);
  expect_joined(make_table(40, {8, 4}, 1, 1, 3), make_table(5'000, {8, 4}, 1, 1, 4), 200'000);
}

TEST_F(CudaResident, GroupsEveryShape) {
  expect_grouped(1, 1, 1, 1);
  expect_grouped(257, 40, 3, 40);
  expect_grouped(5'000, 1, 1, 1);
  expect_grouped(100'000, 16, 1, 16);
  expect_grouped(100'000, 1'500, 0x10'0001, 1'500);
  expect_grouped(100'000, 30'000, 1, 30'000);
  expect_grouped(100'000, 30'000, 1U << 17, 30'000);  // keys in the upper bits only, repeating
  expect_grouped(200'000, 1'000'000, 1, 1'000'000);
}

/// Fewer groups expected than there are: tables and room are made larger.
TEST_F(CudaResident, GroupsMoreThanExpected) {
  expect_grouped(100'000, 60'000, 1, 1);
  expect_grouped(300'000, 250'000, 3, 3'000);
}

std::int32_t int32_of(std::uint64_t bits) { return static_cast<std::int32_t>(bits); }
std::uint32_t uint32_of(std::uint64_t bits) { return static_cast<std::uint32_t>(bits); }
std::int64_t int64_of(std::uint64_t bits) { return static_cast<std::int64_t>(bits) >> 20; }
std::uint64_t uint64_of(std::uint64_t bits) { return bits >> 20; }
float float_of(std::uint64_t bits) { return static_cast<float>(static_cast<std::int32_t>(bits) >> 8) * 0x1p-20F; }
double double_of(std::uint64_t bits) { return static_cast<double>(static_cast<std::int64_t>(bits) >> 24) * 0x1p-20; }

/// Doubles of magnitudes so far apart that a block's sum takes all the words there are.
double wide_double_of(std::uint64_t bits) {
  return std::ldexp(static_cast<double>(static_cast<std::int64_t>(bits) >> 24), static_cast<int>(bits % 51) - 20);
}

/// Now and then no number that can be added, so that the column is summed by windows.
double double_or_infinity_of(std::uint64_t bits) {
  return bits % 1'021 == 0 ? std::numeric_limits<double>::infinity() : wide_double_of(bits);
}

TEST_F(CudaResident, AggregatesEveryKind) {
  for (std::size_t const rows : {257U, 20'000U}) {
    for (std::uint64_t const distinct : {1U, 20U, 3'000U}) {
      expect_aggregated(GARUDA_CUDA_INT32, 4, rows, distinct, int32_of, kAllFunctions, distinct);
      expect_aggregated(GARUDA_CUDA_UINT32, 8, rows, distinct, uint32_of, kAllFunctions, distinct);
      expect_aggregated(GARUDA_CUDA_INT64, 8, rows, distinct, int64_of, kAllFunctions, distinct);
      expect_aggregated(GARUDA_CUDA_UINT64, 4, rows, distinct, uint64_of, kAllFunctions, distinct);
      expect_aggregated(GARUDA_CUDA_FLOAT32, 4, rows, distinct, float_of, kAllFunctions, distinct);
      expect_aggregated(GARUDA_CUDA_FLOAT64, 8, rows, distinct, double_of, kAllFunctions, distinct);
      if (HasFailure()) return;
    }
  }
}

/// Aggregates that one pass computes: alone and together, of many groups, of more than are expected.
TEST_F(CudaResident, AggregatesInOnePass) {
  std::vector<std::uint32_t> const sums{GARUDA_CUDA_FUNCTION_SUM};
  for (std::uint64_t const distinct : {5U, 3'000U, 150'000U}) {
    for (std::uint64_t const expected_groups : {distinct, std::uint64_t{1}}) {
      expect_aggregated(GARUDA_CUDA_FLOAT32, 8, 100'000, distinct, float_of, kExtremes, expected_groups);
      expect_aggregated(GARUDA_CUDA_FLOAT64, 4, 100'000, distinct, double_of, kExtremes, expected_groups);
      expect_aggregated(GARUDA_CUDA_INT64, 4, 100'000, distinct, int64_of, sums, expected_groups);
      expect_aggregated(GARUDA_CUDA_INT32, 8, 100'000, distinct, int32_of, sums, expected_groups);
      expect_aggregated(GARUDA_CUDA_UINT32, 4, 100'000, distinct, uint32_of, kAllFunctions, expected_groups);
      expect_aggregated(GARUDA_CUDA_FLOAT32, 4, 100'000, distinct, float_of, kAllFunctions, expected_groups);
      expect_aggregated(GARUDA_CUDA_FLOAT64, 8, 100'000, distinct, wide_double_of, kAllFunctions, expected_groups);
      if (HasFailure()) return;
    }
  }
}

TEST_F(CudaResident, SumsFloatsByWindowsWhereTheirRangeIsWide) {
  for (std::uint64_t const distinct : {1U, 20U, 3'000U})
    for (std::uint32_t const key_bytes : {4U, 8U})
      expect_aggregated(GARUDA_CUDA_FLOAT64, key_bytes, 20'000, distinct, double_or_infinity_of, kAllFunctions,
                        distinct);
}

/// Sums of floats that only exact addition gets right, and those that have no number.
TEST_F(CudaResident, SumsFloatsOnce) {
  auto const sum_of = [&](std::vector<double> const& values) {
    HostTable table{{4, 8}, {std::vector<std::uint64_t>(values.size(), 7), {}}};
    for (auto const value : values) table.columns[1].push_back(std::bit_cast<std::uint64_t>(value));
    auto const resident = upload(table);
    auto const owner =
        begin_group_by(resident, {{resident.columns[0].address, GARUDA_CUDA_FLOAT64, GARUDA_CUDA_FUNCTION_SUM}}, 1);
    GarudaCudaResidentGroups found{};
    check(api().run_resident_group_by(owner.get(), &found, &error_));
    return std::bit_cast<double>(download(found.results[0], 8, 1)[0]);
  };
  constexpr auto kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(sum_of({1e308, 1.0, -1e308}), 1.0);
  EXPECT_EQ(sum_of({1e308, 1e308}), kInfinity);
  EXPECT_EQ(sum_of({5e-324, -1e300, 1e300}), 5e-324);
  EXPECT_EQ(sum_of({0x1p53, 1.0, 0x1p-60}), 0x1p53 + 2);
  EXPECT_EQ(sum_of({0x1p53, 1.0}), 0x1p53);
  EXPECT_EQ(sum_of({0x1p93, 1.0, -0x1p93}), 1.0);
  EXPECT_EQ(sum_of({0x1p53, 1.0, 0x1p-20}), 0x1p53 + 2);
  EXPECT_EQ(sum_of({0x1.fffffffffffffp1023, 0x1p970}), kInfinity);
  EXPECT_EQ(sum_of({5e-324, 5e-324}), 1e-323);
  EXPECT_EQ(sum_of({0x1p-1022, -5e-324}), 0x0.fffffffffffffp-1022);
  EXPECT_EQ(sum_of({-3.0, 1.0}), -2.0);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(sum_of({-0.0, -0.0})), 0U);
  EXPECT_EQ(sum_of({-kInfinity, 1.0}), -kInfinity);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(sum_of({-kInfinity, kInfinity})), 0x7ff8'0000'0000'0000U);
}

TEST_F(CudaResident, ReportsSumsBeyond64Bits) {
  HostTable table{{4, 8}, {{1, 1}, {}}};
  table.columns[1].assign(2, std::uint64_t{1} << 62);
  auto const resident = upload(table);
  auto const owner =
      begin_group_by(resident, {{resident.columns[0].address, GARUDA_CUDA_INT64, GARUDA_CUDA_FUNCTION_SUM}}, 1);
  GarudaCudaResidentGroups found{};
  GarudaCudaError error{};
  EXPECT_EQ(api().run_resident_group_by(owner.get(), &found, &error), GARUDA_CUDA_LIMIT_EXCEEDED);
}

TEST_F(CudaResident, CountsBinsEveryWay) {
  constexpr std::uint64_t kBins = 256;
  auto const table = make_table(10'000, {4}, 100'000, 1, 5);
  std::vector<std::uint64_t> expected(kBins);
  for (auto const value : table.columns[0]) ++expected[value % kBins];
  GarudaCudaHistogram histogram{};
  histogram.values = upload(table.columns[0], 4);
  histogram.rows = table.rows();
  histogram.bins = kBins;
  histogram.counts = upload(std::vector<std::uint64_t>(kBins, 9), 4);
  for (std::uint32_t method = GARUDA_CUDA_HISTOGRAM_GRID_STRIDE; method <= GARUDA_CUDA_HISTOGRAM_CUB; ++method) {
    for (std::uint32_t const threads : {64U, 1'024U}) {
      histogram.method = method;
      histogram.threads = threads;
      histogram.blocks_each = 2;
      check(api().count_bins(lane(), &histogram, &error_));
      EXPECT_EQ(download(histogram.counts, 4, kBins), expected) << "method " << method;
    }
  }
  GarudaCudaError error{};
  histogram.bins = 2 * GARUDA_CUDA_MOST_CUB_BINS;
  EXPECT_EQ(api().count_bins(lane(), &histogram, &error), GARUDA_CUDA_USAGE);
  histogram.bins = 3;
  EXPECT_EQ(api().count_bins(lane(), &histogram, &error), GARUDA_CUDA_USAGE);
}

/// Every kernel with few launches, for runs under compute-sanitizer: partitions by one pass and by two, of keys and
/// columns of both widths, chunks that share a group, tables and room that do not suffice.
TEST_F(CudaResident, ReducedMatrix) {
  expect_joined(make_table(700, {4, 4}, 700, 1, 1), make_table(5'000, {4, 8}, 700, 1, 2), 1'000);
  expect_joined(make_table(700, {8, 8}, 700, 1ULL << 44, 3), make_table(5'000, {8, 4}, 700, 1ULL << 44, 4), 10'000);
  expect_joined(make_table(40, {4, 4}, 1, 1, 5), make_table(300, {4}, 1, 1, 6), 12'000);
  expect_grouped(20'000, 16, 1, 16);
  expect_grouped(9'000, 60, 1U << 17, 30'000);
  expect_grouped(9'000, 60, 1, 2'000'000);
  expect_grouped(20'000, 6'000, 1, 1);
  for (std::uint64_t const expected_groups : {16U, 30'000U}) {
    expect_aggregated(GARUDA_CUDA_INT32, 8, 9'000, 700, int32_of, kAllFunctions, expected_groups);
    expect_aggregated(GARUDA_CUDA_INT64, 4, 9'000, 700, int64_of, kAllFunctions, expected_groups);
    expect_aggregated(GARUDA_CUDA_FLOAT32, 8, 9'000, 700, float_of, kAllFunctions, expected_groups);
    expect_aggregated(GARUDA_CUDA_FLOAT64, 4, 9'000, 5, wide_double_of, kAllFunctions, expected_groups);
    expect_aggregated(GARUDA_CUDA_FLOAT64, 4, 9'000, 3'000, double_of, kExtremes, expected_groups);
    expect_aggregated(GARUDA_CUDA_INT32, 8, 9'000, 60, int32_of, {GARUDA_CUDA_FUNCTION_SUM}, expected_groups);
  }
  expect_aggregated(GARUDA_CUDA_FLOAT64, 8, 9'000, 20, double_or_infinity_of, kAllFunctions, 20);
}

/// The key that marks free slots in tables is a key like others.
TEST_F(CudaResident, GroupsEveryKey) { expect_grouped(4'000, 2, 0xffff'ffff, 2); }

}  // namespace
}  // namespace garuda::cuda
