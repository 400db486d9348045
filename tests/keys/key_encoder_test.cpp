#include "keys/key_encoder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <random>

#include "keys/join_keys.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/data_types.hpp"

namespace garuda::keys {
namespace {

using reference::Column;
using reference::make_batch;
using reference::make_column;
using reference::typed;
using ::testing::HasSubstr;

using Key = std::vector<std::optional<std::int64_t>>;  // a value a column

/// A column of the keys' values.
Column column_of(TypeId id, std::vector<std::optional<std::int64_t>> const& values, std::int64_t offset) {
  auto const as = [&]<class T>(T*) {
    std::vector<std::optional<T>> typed_values;
    for (auto const& value : values) {
      if (value)
        typed_values.emplace_back(static_cast<T>(*value));
      else
        typed_values.emplace_back();
    }
    return make_column<T>(typed(id), typed_values, offset);
  };
  switch (id) {
    case TypeId::int8:
      return as(static_cast<std::int8_t*>(nullptr));
    case TypeId::uint16:
      return as(static_cast<std::uint16_t*>(nullptr));
    case TypeId::int32:
    case TypeId::decimal32:
      return as(static_cast<std::int32_t*>(nullptr));
    case TypeId::decimal128: {
      std::vector<std::optional<reference::Decimal128>> wide;
      for (auto const& value : values) {
        if (value)
          wide.push_back(reference::Decimal128{static_cast<std::uint64_t>(*value), *value >> 63});
        else
          wide.emplace_back();
      }
      return make_column<reference::Decimal128>(typed(id), wide, offset);
    }
    default:
      return as(static_cast<std::int64_t*>(nullptr));
  }
}

/// A table of the keys, in batches of different lengths and offsets.
Table table_of(std::vector<TypeId> const& types, std::vector<Key> const& keys) {
  Schema schema;
  for (auto const id : types) schema.push_back({"k" + std::to_string(schema.size()), typed(id), true});
  std::vector<Batch> batches;
  std::size_t count = 1;
  for (std::size_t first = 0; first < keys.size(); first += count, count = std::min(3 * count, keys.size() - first)) {
    std::vector<Column> columns;
    for (std::size_t c = 0; c < types.size(); ++c) {
      std::vector<std::optional<std::int64_t>> values;
      for (std::size_t i = 0; i < count; ++i) values.push_back(keys[first + i][c]);
      columns.push_back(column_of(types[c], values, static_cast<std::int64_t>(batches.size() % 3)));
    }
    batches.push_back(make_batch(columns));
  }
  return Table(std::move(schema), std::move(batches));
}

std::vector<std::size_t> first_columns(std::size_t count) {
  std::vector<std::size_t> columns(count);
  for (std::size_t i = 0; i < count; ++i) columns[i] = i;
  return columns;
}

/// All words to which a row was encoded.
struct Row {
  std::size_t table = 0;
  std::uint64_t row = 0;
  std::vector<std::uint64_t> words;
};

std::uint64_t row_of(EncodedKeys const& keys, std::uint64_t i) {
  return keys.row_ids.size_bytes() == 0 ? i : keys.row_ids.as<std::uint32_t>()[i];
}

std::vector<Row> rows_of(EncodedTable const& encoded, std::size_t table) {
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < encoded.packed.num_rows; ++i) {
    Row row{table, row_of(encoded.packed, i), {}};
    if (encoded.words.empty())
      row.words.push_back(encoded.packed.key_bits == 32 ? encoded.packed.words32()[i] : encoded.packed.words64()[i]);
    for (auto const& words : encoded.words) row.words.push_back(words.as<std::uint64_t>()[i]);
    rows.push_back(std::move(row));
  }
  return rows;
}

void expect_bounds(EncodedKeys const& keys, std::vector<Row> const& rows) {
  std::uint64_t varying = 0;
  for (auto const& row : rows) {
    EXPECT_GE(row.words[0], keys.min);
    EXPECT_LE(row.words[0], keys.max);
    varying |= row.words[0] ^ rows[0].words[0];
  }
  if (rows.empty()) return;
  EXPECT_EQ(keys.common_low_bits, low_bits_of(varying, keys.key_bits));
}

bool has_null(Key const& key) {
  return std::any_of(key.begin(), key.end(), [](auto const& value) { return !value; });
}

struct Case {
  std::vector<TypeId> left;
  std::vector<TypeId> right;
  std::int64_t least = 0;
  std::int64_t greatest = 0;
};

std::vector<Key> draw_keys(std::mt19937_64& random, Case const& types, std::size_t rows, double nulls) {
  // Few values, the outermost among them, so that keys meet.
  std::vector<std::int64_t> const values{types.least, types.least + 1, types.greatest, types.greatest - 1,
                                         (types.least + types.greatest) / 2};
  std::vector<Key> keys(rows);
  for (auto& key : keys)
    for (std::size_t c = 0; c < types.left.size(); ++c) {
      key.emplace_back();
      if (std::uniform_real_distribution<>(0, 1)(random) >= nulls) key.back() = values[random() % values.size()];
    }
  return keys;
}

/// Rows of both tables have equal words exactly when their keys are equal, and those that get none have nulls.
void check(std::array<Table const*, 2> const& tables, std::array<std::vector<Key>, 2> const& keys, std::size_t columns,
           NullKeys nulls, KeyForm form) {
  std::array const sides{KeyColumns{tables[0]->view(), first_columns(columns)},
                         KeyColumns{tables[1]->view(), first_columns(columns)}};
  auto const open = open_keys(sides, {});
  ASSERT_TRUE(open) << open.error().describe();
  Control const control;
  KeyEncoder encoder(*open, nulls, control);
  ASSERT_TRUE(encoder.scan());
  ASSERT_TRUE(encoder.choose_layout(form, true));
  std::vector<Row> rows;
  for (std::size_t t = 0; t < 2; ++t) {
    auto const encoded = encoder.encode(t);
    ASSERT_TRUE(encoded);
    auto const of_table = rows_of(*encoded, t);
    std::vector<std::uint64_t> kept;
    for (std::size_t i = 0; i < keys[t].size(); ++i)
      if (nulls == NullKeys::kept || !has_null(keys[t][i])) kept.push_back(i);
    ASSERT_EQ(of_table.size(), kept.size());
    for (std::size_t i = 0; i < kept.size(); ++i) ASSERT_EQ(of_table[i].row, kept[i]);
    EXPECT_EQ(encoded->packed.table_rows, keys[t].size());
    if (encoder.layout().is_packed) expect_bounds(encoded->packed, of_table);
    rows.insert(rows.end(), of_table.begin(), of_table.end());
  }
  for (auto const& a : rows)
    for (auto const& b : rows)
      ASSERT_EQ(a.words == b.words, keys[a.table][a.row] == keys[b.table][b.row])
          << "table " << a.table << " row " << a.row << ", table " << b.table << " row " << b.row;
}

TEST(KeyEncoder, WordsOfTwoTablesAreEqualWhereKeysAre) {
  auto constexpr kLeast = std::numeric_limits<std::int64_t>::min();
  auto constexpr kGreatest = std::numeric_limits<std::int64_t>::max();
  std::vector<Case> const cases{
      {{TypeId::int8}, {TypeId::int64}, -128, 127},
      {{TypeId::int64}, {TypeId::int64}, kLeast, kGreatest},
      {{TypeId::uint16, TypeId::int8}, {TypeId::int32, TypeId::int32}, 0, 127},
      {{TypeId::int32, TypeId::int64, TypeId::uint16}, {TypeId::int64, TypeId::int32, TypeId::uint16}, 0, 65'535},
      {{TypeId::decimal32, TypeId::int32}, {TypeId::decimal128, TypeId::int64}, -2'000'000'000, 2'000'000'000},
      {{TypeId::int64, TypeId::int64}, {TypeId::int64, TypeId::int64}, kLeast / 4, kGreatest / 4},
  };
  std::uint64_t const seed = 20'261'122;
  std::mt19937_64 random(seed);
  for (std::size_t c = 0; c < cases.size(); ++c)
    for (auto const share_of_nulls : {0.0, 0.3, 1.0})
      for (auto const nulls : {NullKeys::kept, NullKeys::left_out})
        for (auto const form : {KeyForm::automatic, KeyForm::words}) {
          SCOPED_TRACE(::testing::Message() << "seed " << seed << ", case " << c << ", nulls " << share_of_nulls);
          std::array const keys{draw_keys(random, cases[c], 60, share_of_nulls),
                                draw_keys(random, cases[c], 45, share_of_nulls / 2)};
          auto const left = table_of(cases[c].left, keys[0]);
          auto const right = table_of(cases[c].right, keys[1]);
          check({&left, &right}, keys, cases[c].left.size(), nulls, form);
        }
}

TEST(KeyEncoder, NullsAtTheEdgesOfBlocks) {
  // More rows than a block, so that blocks begin behind rows that are left out.
  std::vector<Key> keys(150'000);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    keys[i].emplace_back();
    if (i % 65'536 > 3 && i % 7 != 0) keys[i].back() = static_cast<std::int64_t>(i) - 1000;
  }
  std::vector<std::optional<std::int64_t>> values;
  for (auto const& key : keys) values.push_back(key[0]);
  auto const table = reference::make_table("k", {column_of(TypeId::int32, values, 5)});
  auto const encoded = encode_join_keys({table.view(), {0}}, {table.view(), {0}}, {});
  ASSERT_TRUE(encoded) << encoded.error().describe();
  std::uint64_t next = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!keys[i][0]) continue;
    ASSERT_EQ(row_of(encoded->left, next), i);
    ASSERT_EQ(encoded->left.words32()[next] + encoded->base.value(), static_cast<std::uint64_t>(*keys[i][0]));
    ++next;
  }
  EXPECT_EQ(encoded->left.num_rows, next);
}

TEST(KeyEncoder, KeysOfAJoinAreNumberedBeyond64Bits) {
  auto const table = table_of({TypeId::int64, TypeId::int64}, {{0, 0}, {std::int64_t{1} << 40, 1 << 30}});
  auto const wide = encode_join_keys({table.view(), {0, 1}}, {table.view(), {0, 1}}, {});
  ASSERT_TRUE(wide) << wide.error().describe();
  EXPECT_TRUE(wide->is_numbered);
  EXPECT_EQ(wide->left.key_bits, 32U);
  auto const narrow = table_of({TypeId::int64, TypeId::int64}, {{0, 0}, {std::int64_t{1} << 30, 1 << 30}});
  auto const keys = encode_join_keys({narrow.view(), {0, 1}}, {narrow.view(), {1, 0}}, {});
  ASSERT_TRUE(keys) << keys.error().describe();
  EXPECT_EQ(keys->left.key_bits, 64U);
}

}  // namespace
}  // namespace garuda::keys
