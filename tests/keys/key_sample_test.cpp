// The estimate of groups, and ranges found natively, against whole scans.
#include "keys/samples/key_sample.hpp"

#include <gtest/gtest.h>
#include <optional>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "keys/key_layout.hpp"
#include "keys/numbering/mix.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/data_types.hpp"

namespace garuda::keys {
namespace {

using reference::make_column;
using reference::typed;

constexpr std::uint64_t kRows = 3 * kSampledRows + 17;

/// A table of one int64 key, in batches of `batch_rows`.
Table table_of(std::vector<std::int64_t> const& keys, std::size_t batch_rows) {
  std::vector<Batch> batches;
  for (std::size_t first = 0; first < keys.size(); first += batch_rows) {
    auto const last = std::min(first + batch_rows, keys.size());
    std::vector<std::int64_t> const part(keys.begin() + static_cast<std::ptrdiff_t>(first),
                                         keys.begin() + static_cast<std::ptrdiff_t>(last));
    batches.push_back(reference::make_batch({make_column<std::int64_t>(typed(TypeId::int64), part)}));
  }
  return Table({{"k", typed(TypeId::int64), true}}, std::move(batches));
}

KeySample sample(Table const& table) {
  std::vector<AttributeReader> readers;
  for (std::size_t c = 0; c < table.schema().size(); ++c) {
    auto const& type = table.schema()[c].type;
    readers.emplace_back(std::move(*open_key_column(table.view(), c, type, {})), type);
  }
  auto const rows = static_cast<std::uint64_t>(table.view().num_rows());
  auto found = sample_keys(readers, cut_row_blocks(table.view()), rows, {});
  EXPECT_TRUE(found);
  return found ? *found : KeySample{};
}

KeySample sample(std::vector<std::int64_t> const& keys, std::size_t batch_rows) {
  return sample(table_of(keys, batch_rows));
}

std::vector<std::int64_t> keys_drawn_from(std::uint64_t groups) {
  std::vector<std::int64_t> keys(kRows);
  for (std::uint64_t row = 0; row < kRows; ++row) keys[row] = static_cast<std::int64_t>(mix(row) % groups);
  return keys;
}

TEST(KeySample, EstimatesEvenlyDrawnGroups) {
  for (auto const batch_rows : {std::size_t{kRows}, std::size_t{10'007}})
    for (auto const groups : {std::uint64_t{1}, std::uint64_t{1000}, std::uint64_t{100'000}, kRows}) {
      auto const keys = keys_drawn_from(groups);
      auto distinct = keys;
      std::sort(distinct.begin(), distinct.end());
      auto const exact = static_cast<double>(std::unique(distinct.begin(), distinct.end()) - distinct.begin());
      auto const found = sample(keys, batch_rows);
      auto const wanted = sampled_rows(kRows);
      EXPECT_LE(found.rows, wanted + wanted / 64);
      EXPECT_GE(found.rows, wanted - wanted / 64);
      // Groups that no row has are counted in too where hardly any row shares its group.
      EXPECT_GT(static_cast<double>(found.estimated_groups), 0.9 * exact) << groups;
      EXPECT_LT(static_cast<double>(found.estimated_groups), 1.8 * exact) << groups;
    }
}

TEST(KeySample, NeverExceedsTheRowsAndIsExactWhenAllAreSeen) {
  std::vector<std::int64_t> own(kRows);
  for (std::uint64_t row = 0; row < kRows; ++row) own[row] = static_cast<std::int64_t>(row);
  EXPECT_EQ(sample(own, kRows).estimated_groups, kRows);
  own.resize(1000);
  auto const all = sample(own, 7);
  EXPECT_EQ(all.rows, 1000U);
  EXPECT_EQ(all.estimated_groups, 1000U);
  EXPECT_NEAR(all.nonempty_bins.at(0), 1000, 30);
}

TEST(KeySample, CountsFewKeysOfSeveralColumnsWithNulls) {
  // Small ranges are counted by place, with holes, nulls and columns of one value; the last has a range too large.
  constexpr std::uint64_t kAll = std::uint64_t{1} << 15;
  static_assert(sampled_rows(kAll) == kAll);
  using Integers = std::vector<std::optional<std::int64_t>>;
  for (auto const stride : {std::int64_t{1}, std::int64_t{11}, std::int64_t{1} << 40}) {
    Integers first, second;
    Integers const third(kAll, std::int64_t{-7});
    std::set<std::pair<std::optional<std::int64_t>, std::optional<std::int64_t>>> groups;
    std::array<std::set<std::optional<std::int64_t>>, 2> values;
    for (std::uint64_t row = 0; row < kAll; ++row) {
      auto const random = mix(row);
      auto const a = static_cast<std::int64_t>(random % 13);
      auto const b = static_cast<std::int64_t>(random / 13 % 17);
      first.push_back(a == 5 ? std::nullopt : std::optional(a * stride - 40));
      second.push_back(b % 3 == a % 3 ? std::optional(b) : std::nullopt);
      groups.emplace(first.back(), second.back());
      values[0].insert(first.back());
      values[1].insert(second.back());
    }
    std::vector<Batch> batches;
    batches.push_back(reference::make_batch({make_column<std::int64_t>(typed(TypeId::int64), first),
                                             make_column<std::int64_t>(typed(TypeId::int64), second),
                                             make_column<std::int64_t>(typed(TypeId::int64), third)}));
    Schema schema;
    for (auto const* name : {"a", "b", "c"}) schema.push_back({name, typed(TypeId::int64), true});
    auto const found = sample(Table(std::move(schema), std::move(batches)));
    EXPECT_EQ(found.rows, kAll);
    EXPECT_EQ(found.estimated_groups, groups.size());
    EXPECT_EQ(found.nonempty_bins, (std::vector<std::uint32_t>{13, 18, 1}));
    EXPECT_EQ(values[0].size(), 13U);
    EXPECT_EQ(values[1].size(), 18U);
    for (std::size_t c = 0; c < 2; ++c) {
      EXPECT_TRUE(found.ranges[c].has_nulls);
      EXPECT_EQ(static_cast<std::int64_t>(static_cast<std::uint64_t>(found.ranges[c].span())) - 1,
                c == 0 ? 12 * stride : 16);
    }
  }
}

/// Native scans and packing against the codes, value by value.
template <class T>
void check_native(TypeId id, std::vector<T> const& values) {
  std::vector<Batch> batches;
  batches.push_back(reference::make_batch({make_column<T>(typed(id), values)}));
  Table const table({{"k", typed(id), false}}, std::move(batches));
  auto const& type = table.schema()[0].type;
  auto const reader = std::make_optional<AttributeReader>(std::move(*open_key_column(table.view(), 0, type, {})), type);
  AttributeCodes codes;
  for (auto const& block : {RowBlock{0, 0, static_cast<std::int64_t>(values.size()), 0}, RowBlock{0, 1, 2, 1}}) {
    ASSERT_TRUE(reader->native_integers(block));
    auto const range = scan_range(*reader, block, codes);
    CodeRange expected;
    reader->read(block, codes);
    for (auto const code : codes.low) expected.add(code);
    EXPECT_TRUE(range.min == expected.min && range.max == expected.max);
    EXPECT_EQ(range.varying, expected.varying);
    std::vector<std::uint64_t> words(codes.low.size(), 3);
    pack_attribute(*reader, range, block, std::nullopt, false, codes, words.data());
    reader->read(block, codes);
    for (std::size_t i = 0; i < words.size(); ++i)
      EXPECT_EQ(words[i], 3 * static_cast<std::uint64_t>(range.cardinality()) + range.position(codes.low[i], true));
  }
}

TEST(CodeRange, NativeIntegersEqualTheirCodes) {
  constexpr auto kMin64 = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMax64 = std::numeric_limits<std::int64_t>::max();
  check_native<std::int8_t>(TypeId::int8, {-128, 127, 0, -1});
  check_native<std::uint8_t>(TypeId::uint8, {255, 0, 128});
  check_native<std::int16_t>(TypeId::int16, {-3, 5, 32'767});
  check_native<std::uint16_t>(TypeId::uint16, {65'535, 4, 6});
  check_native<std::int32_t>(TypeId::int32, {-64, 64, 128});
  check_native<std::uint32_t>(TypeId::uint32, {0xFFFF'FFFF, 1, 9});
  check_native<std::int64_t>(TypeId::int64, {kMax64 - 5, kMax64, kMax64 - 9});
  check_native<std::int64_t>(TypeId::int64, {kMin64, kMax64, 0});
  check_native<std::uint64_t>(TypeId::uint64, {~std::uint64_t{0}, ~std::uint64_t{0} - 16, ~std::uint64_t{0} - 32});
}

}  // namespace
}  // namespace garuda::keys
