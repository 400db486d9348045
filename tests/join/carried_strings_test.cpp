// Short strings that partitioning carries as cells: whole results of every kind against the oracle.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "garuda/engine.hpp"
#include "tests/join/join_kinds.hpp"
#include "tests/join/join_test.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/data_types.hpp"
#include "tests/reference/reference_join.hpp"

namespace garuda {
namespace {

using reference::typed;
using testing::kJoinKinds;

/// A string of `length` bytes, zeros and high bytes among them.
std::string some_bytes(std::size_t length, std::mt19937_64& random) {
  std::string text(length, '\0');
  for (auto& letter : text) letter = "a\0b\x7f"[random() % 4];
  return text;
}

/// Columns that are carried, and that are not: strings up to 7, 15 and 16 bytes, of each layout, and one with nulls.
struct StringTable {
  std::size_t rows = 0;
  std::size_t batch_rows = 0;
  std::uint64_t distinct = 1;
  std::uint64_t null_keys = 0;  ///< one in so many; 0: none
  std::size_t long_row = 0;     ///< whose "late" value has 40 bytes; 0: no row

  Table build(std::mt19937_64& random) const {
    Schema const schema{{"k", typed(TypeId::int32), true},    {"p", typed(TypeId::int64), false},
                        {"s7", typed(TypeId::utf8), false},   {"s15", typed(TypeId::large_utf8), false},
                        {"s16", typed(TypeId::utf8), false},  {"b", typed(TypeId::binary), false},
                        {"none", typed(TypeId::utf8), false}, {"late", typed(TypeId::utf8), false},
                        {"null", typed(TypeId::utf8), true}};
    std::vector<Batch> batches;
    for (std::size_t first = 0; first < rows; first += batch_rows)
      batches.push_back(batch(first, std::min(batch_rows, rows - first), random));
    return Table(schema, std::move(batches));
  }

 private:
  Batch batch(std::size_t first, std::size_t count, std::mt19937_64& random) const {
    std::vector<std::optional<std::int32_t>> keys;
    std::vector<std::optional<std::int64_t>> numbers;
    std::vector<std::vector<std::optional<std::string>>> texts(7);
    for (auto row = first; row < first + count; ++row) {
      bool const is_null = null_keys != 0 && random() % null_keys == 0;
      keys.push_back(is_null ? std::nullopt : std::optional(static_cast<std::int32_t>(random() % distinct)));
      numbers.emplace_back(static_cast<std::int64_t>(row));
      texts[0].emplace_back(some_bytes(random() % 8, random));
      texts[1].emplace_back(some_bytes(random() % 16, random));
      texts[2].emplace_back(some_bytes(random() % 17, random));
      texts[3].emplace_back(some_bytes(8 + random() % 8, random));
      texts[4].emplace_back(std::string());
      texts[5].emplace_back(some_bytes(long_row != 0 && row == long_row ? 40 : 3, random));
      texts[6].push_back(random() % 5 == 0 ? std::nullopt : std::optional(some_bytes(random() % 4, random)));
    }
    TypeId const types[] = {TypeId::utf8, TypeId::large_utf8, TypeId::utf8, TypeId::binary,
                            TypeId::utf8, TypeId::utf8,       TypeId::utf8};
    std::vector<reference::Column> columns{reference::make_column<std::int32_t>(typed(TypeId::int32), keys, 1),
                                           reference::make_column<std::int64_t>(typed(TypeId::int64), numbers, 2)};
    for (std::size_t t = 0; t < texts.size(); ++t) columns.push_back(reference::make_strings(texts[t], types[t]));
    return reference::make_batch(columns);
  }
};

class CarriedStrings : public testing::JoinTest {
 protected:
  static JoinOptions carrying(char const* tuning) {
    JoinOptions options;
    options.path = Path::cpu;
    options.threads = 3;
    return tuned(options, tuning);
  }

  static std::uint64_t columns_carried(Table const& left, Table const& right, JoinOptions const& options) {
    auto const result = engine().join(left.view(), right.view(), spec_of(JoinKind::inner), options);
    EXPECT_TRUE(result);
    EXPECT_TRUE(collect(**result));
    auto const stats = (*result)->stats();
    for (auto const& [name, count] : stats.counters)
      if (name == "columns_carried") return count;
    return 0;
  }
};

TEST_F(CarriedStrings, EveryKindGivesTheOraclesRows) {
  std::mt19937_64 random(1);
  auto const left = StringTable{700, 97, 300, 9}.build(random);
  auto const right = StringTable{500, 500, 300, 0}.build(random);
  for (auto const kind : kJoinKinds)
    for (bool const nulls_equal : {false, true})
      for (auto const* tuning : {"radix_bits=3,payload=carry", "radix_bits=1,payload=carry,chunk_rows=50",
                                 "radix_bits=4,payload=carry,build=left", "radix_bits=2,payload=gather"}) {
        expect_join(left, right, spec_of(kind, nulls_equal), carrying(tuning));
        expect_join(right, left, spec_of(kind, nulls_equal), carrying(tuning));
      }
}

/// Each row has one match at most, so that rows without one come in their place, as nulls.
TEST_F(CarriedStrings, RowsWithoutAMatchAreNull) {
  std::mt19937_64 random(2);
  auto const many = StringTable{3'000, 1'000, 40, 0}.build(random);
  std::vector<std::optional<std::int32_t>> keys;
  std::vector<std::optional<std::string>> texts;
  for (std::int32_t key = 0; key < 30; ++key) {
    keys.emplace_back(key);
    texts.emplace_back(some_bytes(random() % 16, random));
  }
  Schema const schema{{"k", typed(TypeId::int32), false}, {"t", typed(TypeId::utf8), false}};
  std::vector<Batch> batches;
  batches.push_back(reference::make_batch(
      {reference::make_column<std::int32_t>(typed(TypeId::int32), keys, 0), reference::make_strings(texts)}));
  Table const few(schema, std::move(batches));
  for (auto const kind : kJoinKinds) {
    expect_join(many, few, spec_of(kind), carrying("radix_bits=2,payload=carry"));
    expect_join(few, many, spec_of(kind), carrying("radix_bits=2,payload=carry"));
  }
}

TEST_F(CarriedStrings, WhatIsCarried) {
  std::mt19937_64 random(3);
  auto const of = [](std::size_t long_row) { return StringTable{4'000, 1'500, 900, 0, long_row}; };
  auto const short_late = of(0).build(random);
  auto const long_late = of(3'999).build(random);
  auto const options = carrying("radix_bits=3,payload=carry");
  // Each side carries p, s7, s15, b, none and late; not strings of 16 bytes, nor columns with nulls.
  EXPECT_EQ(columns_carried(short_late, short_late, options), 12U);
  // A value that is too long, which no sample needs to meet.
  EXPECT_EQ(columns_carried(long_late, short_late, options), 11U);
  expect_join(long_late, short_late, spec_of(JoinKind::inner), options);
  auto views = spec_of(JoinKind::inner);
  views.strings = StringForm::view;
  expect_join(short_late, short_late, views, options);
}

}  // namespace
}  // namespace garuda
