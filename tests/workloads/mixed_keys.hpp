// Pairs of tables whose join keys are of two types, or wider than a word of 64 bits.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/reference/column_builder.hpp"
#include "tests/workloads/tables.hpp"

namespace garuda::testing {

struct MixedKeys {
  std::string name;
  Table left;
  Table right;
};

inline DataType decimal_of(TypeId id, std::int32_t precision) {
  auto type = type_of(id);
  type.precision = precision;
  type.scale = 2;
  return type;
}

/// `value` as a key; decimals of 128 bits with its sign.
template <class Key>
Key mixed_key(std::int64_t value) {
  if constexpr (std::is_same_v<Key, reference::Decimal128>)
    return {static_cast<std::uint64_t>(value), value >> 63};
  else
    return static_cast<Key>(value);
}

/// Rows of few keys around 0, of wide types some that differ from those only beyond 32 bits; with nulls every third key
/// is null, decimals of 128 bits with a value there that no key may have.
template <class Key>
Table mixed_table(DataType type, std::size_t rows, std::uint64_t seed, bool nulls) {
  std::mt19937_64 random(seed);
  TestColumn<Key> keys{"k", std::move(type), {}, {}};
  TestColumn<std::int32_t> plain{"plain", type_of(TypeId::int32), {}, {}};
  for (std::size_t i = 0; i < rows; ++i) {
    auto value = static_cast<std::int64_t>(random() % 40);
    if (!std::is_unsigned_v<Key>) value -= 20;
    if (sizeof(Key) > 4 && random() % 5 == 0) value += std::int64_t{1} << 33;
    keys.values.push_back(mixed_key<Key>(value));
    plain.values.push_back(static_cast<std::int32_t>(i));
    if (!nulls) continue;
    keys.valid.push_back(random() % 3 != 0);
    if constexpr (std::is_same_v<Key, reference::Decimal128>)
      if (!keys.valid.back()) keys.values.back() = {0, 7};
  }
  return TestTable().add(std::move(keys)).add(std::move(plain)).build(70);
}

inline std::vector<MixedKeys> mixed_keys(bool nulls) {
  using reference::Decimal128;
  auto const d32 = decimal_of(TypeId::decimal32, 7);
  auto const d64 = decimal_of(TypeId::decimal64, 12);
  auto const d128 = decimal_of(TypeId::decimal128, 30);
  std::vector<MixedKeys> pairs;
  auto const add = [&]<class Left, class Right>(char const* name, DataType left, DataType right, Left, Right) {
    pairs.push_back(
        {name, mixed_table<Left>(std::move(left), 150, 1, nulls), mixed_table<Right>(std::move(right), 190, 2, nulls)});
  };
  add("int32, int64", type_of(TypeId::int32), type_of(TypeId::int64), std::int32_t{}, std::int64_t{});
  add("int64, int8", type_of(TypeId::int64), type_of(TypeId::int8), std::int64_t{}, std::int8_t{});
  add("uint16, int64", type_of(TypeId::uint16), type_of(TypeId::int64), std::uint16_t{}, std::int64_t{});
  add("uint64, uint8", type_of(TypeId::uint64), type_of(TypeId::uint8), std::uint64_t{}, std::uint8_t{});
  add("int8, int16", type_of(TypeId::int8), type_of(TypeId::int16), std::int8_t{}, std::int16_t{});
  add("decimal32, decimal64", d32, d64, std::int32_t{}, std::int64_t{});
  add("decimal128, decimal64", d128, d64, Decimal128{}, std::int64_t{});
  add("decimal32, decimal128", d32, d128, std::int32_t{}, Decimal128{});
  add("decimal128, decimal128", d128, decimal_of(TypeId::decimal128, 20), Decimal128{}, Decimal128{});
  return pairs;
}

/// A table whose key, a decimal of so many digits, has 128 bits in row `row` alone.
inline Table with_key_beyond_64_bits(std::size_t rows, std::size_t row, std::int32_t digits = 38) {
  TestColumn<reference::Decimal128> keys{"k", decimal_of(TypeId::decimal128, digits), {}, {}};
  for (std::size_t i = 0; i < rows; ++i)
    keys.values.push_back(i == row ? reference::Decimal128{std::uint64_t{1} << 63, 0}
                                   : mixed_key<reference::Decimal128>(static_cast<std::int64_t>(i)));
  return TestTable().add(std::move(keys)).build(33);
}

}  // namespace garuda::testing
