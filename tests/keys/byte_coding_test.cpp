// Short strings and binary as numbers: equal, in the order of their bytes, and back again, in every layout.
#include "keys/codes/byte_coding.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "core/variable_value.hpp"
#include "keys/group_keys.hpp"
#include "keys/join_keys.hpp"
#include "tests/keys/encoded_words.hpp"

namespace garuda::keys {
namespace {

using Values = std::vector<std::optional<std::string>>;

constexpr TypeId kLayouts[] = {TypeId::utf8,         TypeId::large_utf8, TypeId::binary,
                               TypeId::large_binary, TypeId::utf8_view,  TypeId::binary_view};

/// Memory of a batch; each buffer ends where its last value does.
struct Memory {
  std::vector<std::unique_ptr<std::byte[]>> buffers;
  std::vector<void const*> viewed;
  std::vector<std::int64_t> viewed_bytes;
  ViewBuffers list;

  std::byte* add(void const* bytes, std::size_t size) {
    auto& buffer = buffers.emplace_back(new std::byte[size]);
    if (size > 0) std::memcpy(buffer.get(), bytes, size);
    return buffer.get();
  }
};

template <class Offset>
void add_offsets(Values const& values, Memory& memory, ArrayView& array) {
  std::vector<Offset> offsets{0};
  std::string bytes;
  for (auto const& value : values) {
    // What a null slot holds means nothing.
    bytes += value.value_or("\x01null, and many bytes that nobody is to look at");
    offsets.push_back(static_cast<Offset>(bytes.size()));
  }
  array.offsets = memory.add(offsets.data(), offsets.size() * sizeof(Offset));
  array.values = memory.add(bytes.data(), bytes.size());
}

/// Long values lie in buffers of their own, every third one in that of the value before.
void add_views(Values const& values, Memory& memory, ArrayView& array) {
  std::vector<ValueView> views;
  std::string last;
  for (auto const& value : values) {
    if (!value) {
      views.push_back(make_view("a null that points to nowhere", 1 << 30));
      continue;
    }
    bool const is_appended = views.size() % 3 == 2 && !memory.viewed.empty();
    auto const offset = is_appended ? last.size() : 0;
    auto view = make_view(*value, static_cast<std::int32_t>(offset));
    if (value->size() > kInlineViewBytes) {
      last = is_appended ? last + *value : *value;
      if (!is_appended) memory.viewed.push_back(nullptr);
      memory.viewed.back() = memory.add(last.data(), last.size());
      auto const index = static_cast<std::int32_t>(memory.viewed.size() - 1);
      std::memcpy(view.bytes + 4, &index, sizeof(index));
    }
    views.push_back(view);
  }
  memory.viewed_bytes.assign(memory.viewed.size(), 1 << 20);
  memory.list = {static_cast<std::int64_t>(memory.viewed.size()), memory.viewed.data(), memory.viewed_bytes.data()};
  array.offsets = &memory.list;
  array.values = memory.add(views.data(), views.size() * sizeof(ValueView));
}

/// Values behind `skipped` others that the array leaves out.
Batch batch_of(TypeId id, Values const& values, std::size_t skipped) {
  auto memory = std::make_shared<Memory>();
  Values all(skipped, "what a slice leaves out");
  all.insert(all.end(), values.begin(), values.end());
  ArrayView array;
  array.length = static_cast<std::int64_t>(values.size());
  array.offset = static_cast<std::int64_t>(skipped);
  std::vector<std::uint8_t> validity((all.size() + 7) / 8);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i]) validity[i / 8] = static_cast<std::uint8_t>(validity[i / 8] | 1U << i % 8);
  if (std::ranges::any_of(all, [](auto const& value) { return !value; }))
    array.validity = reinterpret_cast<std::uint8_t const*>(memory->add(validity.data(), validity.size()));
  if (is_view(DataType{id}))
    add_views(all, *memory, array);
  else if (has_large_offsets(DataType{id}))
    add_offsets<std::int64_t>(all, *memory, array);
  else
    add_offsets<std::int32_t>(all, *memory, array);
  return {array.length, {array}, memory};
}

/// A table of the values in two batches.
Table table_of(TypeId id, Values const& values) {
  auto const half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::vector<Batch> batches;
  batches.push_back(batch_of(id, {values.begin(), half}, 3));
  batches.push_back(batch_of(id, {half, values.end()}, 0));
  return Table({{"k", DataType{id}, true}}, std::move(batches));
}

std::optional<std::string> value_of(DataType const& type, ArrayView const& array, std::int64_t row) {
  if (array.is_null(row)) return std::nullopt;
  return std::string(variable_value(array, value_layout(type), array.offset + row));
}

void expect_decoded(TypeId id, EncodedGroupKeys const& keys, std::vector<std::uint64_t> const& words,
                    Values const& values) {
  auto const decoder = KeyDecoder::create(keys, {DataType{id}});
  ASSERT_TRUE(decoder);
  auto const decoded = decoder->decode(0, words, {});
  ASSERT_TRUE(decoded);
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(value_of(DataType{id}, decoded->array, static_cast<std::int64_t>(i)), values[i]) << "row " << i;
}

/// Words ascend as values do, nulls first, and are decoded.
void expect_order_and_values(TypeId id, Values const& values) {
  SCOPED_TRACE(::testing::Message() << to_string(DataType{id}) << ", " << values.size() << " values");
  auto const table = table_of(id, values);
  std::vector<std::size_t> const columns{0};
  auto const keys = encode_group_keys(table.view(), columns, KeyForm::automatic, {});
  ASSERT_TRUE(keys) << keys.error().describe();
  ASSERT_TRUE(keys->is_packed);
  ASSERT_EQ(keys->attributes[0].inverse, CodeInverse::bytes);
  std::vector<std::uint64_t> words;
  for (std::size_t i = 0; i < values.size(); ++i) words.push_back(word_at(keys->packed, i));
  for (std::size_t a = 0; a < values.size(); ++a)
    for (std::size_t b = 0; b < values.size(); ++b)
      ASSERT_EQ(words[a] < words[b], values[a] < values[b]) << "rows " << a << " and " << b;
  if (!words.empty()) {
    EXPECT_EQ(keys->packed.min, *std::ranges::min_element(words));
    EXPECT_EQ(keys->packed.max, *std::ranges::max_element(words));
  }
  expect_decoded(id, *keys, words, values);
}

void expect_order_and_values(Values const& values) {
  for (auto const id : kLayouts) expect_order_and_values(id, values);
}

std::string bytes_of(std::size_t length, char byte) { return std::string(length, byte); }

TEST(ByteCoding, EveryLengthBesideItsNeighbours) {
  for (std::size_t const length : {1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 15, 16, 17, 23, 24, 25, 30, 31})
    expect_order_and_values({bytes_of(length, 'x'), bytes_of(length - 1, 'x'), bytes_of(length + 1, 'x'), std::nullopt,
                             bytes_of(length - 1, 'x') + 'y', bytes_of(length, 'x')});
  for (std::size_t const length : {1, 4, 5, 8, 9, 16, 17, 31, 32})  // of one length
    expect_order_and_values({bytes_of(length, 'b'), 'a' + bytes_of(length - 1, 'b'), bytes_of(length - 1, 'b') + 'z',
                             bytes_of(length, 'b')});
}

/// Blocks of values of one length, and such where one value is of another or null, wherever it stands.
TEST(ByteCoding, ManyValuesOfOneLengthButOne) {
  constexpr std::size_t kRows = 5'000;
  for (std::size_t const length : {1, 5, 12, 16, 17, 31, 32})
    for (auto const other : {kRows, std::size_t{0}, std::size_t{1'023}, std::size_t{1'024}, kRows - 1})
      for (bool const is_null : {false, true}) {
        Values values;
        for (std::size_t i = 0; i < kRows; ++i) {
          auto value = bytes_of(length, 'k');
          if (i % length < 8) value[i % length] = static_cast<char>('k' + i % 7);
          value.back() = static_cast<char>(200 + i % 50);
          values.emplace_back(std::move(value));
        }
        if (other < kRows) values[other] = is_null ? std::nullopt : std::optional(bytes_of(length - 1, 'k'));
        for (auto const id : {TypeId::utf8, TypeId::large_utf8, TypeId::utf8_view}) {
          auto const table = table_of(id, values);
          std::vector<std::size_t> const columns{0};
          auto const keys = encode_group_keys(table.view(), columns, KeyForm::automatic, {});
          ASSERT_TRUE(keys && keys->is_packed) << length << ", " << other;
          std::vector<std::uint64_t> words;
          for (std::size_t i = 0; i < values.size(); ++i) words.push_back(word_at(keys->packed, i));
          expect_decoded(id, *keys, words, values);
        }
      }
}

TEST(ByteCoding, ZerosHighBytesAndEmptyValues) {
  using namespace std::string_literals;
  expect_order_and_values({""s, "\0"s, "\0\0"s, "a"s, "a\0"s, "a\0\0"s, "a\0b"s, std::nullopt, "\0a"s, "\xFF"s,
                           "\xFF\xFF"s, "\xFF\0"s, "\xC3\x28"s, "\x80"s, "a\xFF"s});
  expect_order_and_values({});
  expect_order_and_values({""});
  expect_order_and_values({"", std::nullopt, ""});
  expect_order_and_values({std::nullopt, std::nullopt});
  expect_order_and_values({"the same", "the same", "the same"});
  expect_order_and_values({"one row"});
  expect_order_and_values({"id0000000001", "id0000100000", "id0000099999", "id0000000100"});
  expect_order_and_values({"first.last", "middle.last", "x.last"});
}

TEST(ByteCoding, AllOf64Bits) {
  Values values;
  std::string const low(8, '\0');
  std::string const high(8, '\xFF');
  values = {low, high, std::string("\x80\0\0\0\0\0\0\0", 8), std::string("\0\0\0\0\0\0\0\x01", 8)};
  expect_order_and_values(values);
  // With null they take more.
  values.push_back(std::nullopt);
  auto const table = table_of(TypeId::binary, values);
  std::vector<std::size_t> const columns{0};
  auto const keys = encode_group_keys(table.view(), columns, KeyForm::automatic, {});
  ASSERT_TRUE(keys);
  EXPECT_FALSE(keys->is_packed);
}

TEST(ByteCoding, DrawnValues) {
  std::uint64_t const seed = 20'261'123;
  std::mt19937_64 random(seed);
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  struct Drawn {
    std::string_view alphabet;
    std::size_t most;
  };
  for (auto const& [alphabet, most] :
       {Drawn{"ab", 32}, Drawn{std::string_view("\0\xFF", 2), 7}, Drawn{"0", 32}, Drawn{"0123456789", 15}}) {
    for (auto const shortest : {std::size_t{0}, most / 2, most}) {
      Values values;
      for (int i = 0; i < 120; ++i) {
        auto& value = values.emplace_back();
        if (random() % 8 == 0) continue;
        value.emplace();
        auto const length = shortest + random() % (most - shortest + 1);
        while (value->size() < length) *value += alphabet[random() % alphabet.size()];
      }
      expect_order_and_values(values);
    }
  }
}

/// Equal words just where values are equal; coded or numbered.
void expect_injective(TypeId left_type, TypeId right_type, Values const& left, Values const& right) {
  auto const left_table = table_of(left_type, left);
  auto const right_table = table_of(right_type, right);
  auto const keys = encode_join_keys({left_table.view(), {0}}, {right_table.view(), {0}}, {}, NullKeys::kept);
  ASSERT_TRUE(keys) << keys.error().describe();
  for (std::size_t a = 0; a < left.size(); ++a)
    for (std::size_t b = 0; b < right.size(); ++b)
      ASSERT_EQ(word_at(keys->left, a) == word_at(keys->right, b), left[a] == right[b]) << a << ", " << b;
}

TEST(ByteCoding, KeysOfTwoTablesAreCodedAlike) {
  Values const left{"apple", "pear", "", std::nullopt, "fig"};
  Values const right{"fig", "figs", "fi", "pear", "zebra-fruit", std::nullopt};
  for (auto const a : {TypeId::utf8, TypeId::large_utf8, TypeId::utf8_view})
    for (auto const b : {TypeId::utf8, TypeId::large_utf8, TypeId::utf8_view}) expect_injective(a, b, left, right);
  expect_injective(TypeId::utf8, TypeId::utf8, left, {});
  expect_injective(TypeId::utf8, TypeId::utf8, {}, {});
}

/// The values of `few` are coded; of `others` there are by far more rows.
void expect_found_among(Values const& few, Values const& others) {
  Values many;
  for (int i = 0; i < 16 + 8 * static_cast<int>(few.size()); ++i) many.insert(many.end(), others.begin(), others.end());
  many.insert(many.end(), few.begin(), few.end());
  for (auto const id : kLayouts) {
    expect_injective(id, id, few, many);
    expect_injective(id, id, many, few);
  }
  for (auto const a : {TypeId::utf8, TypeId::large_utf8, TypeId::utf8_view})
    for (auto const b : {TypeId::utf8, TypeId::large_utf8, TypeId::utf8_view}) expect_injective(a, b, few, many);
}

TEST(ByteCoding, OthersShareAWordBesideAFarSmallerTable) {
  Values const few{"id1", "id2"};
  auto const share_a_word = [&](std::size_t rows) {
    Values many(rows, "none of these");
    many[0] = "another";
    auto const left = table_of(TypeId::utf8, many);
    auto const right = table_of(TypeId::utf8, few);
    auto const keys = encode_join_keys({left.view(), {0}}, {right.view(), {0}}, {});
    EXPECT_TRUE(keys);
    return word_at(keys->left, 0) == word_at(keys->left, 1);
  };
  EXPECT_TRUE(share_a_word(8 * few.size()));
  EXPECT_FALSE(share_a_word(8 * few.size() - 1));
}

TEST(ByteCoding, FewValuesAmongManyOthers) {
  using namespace std::string_literals;
  expect_found_among({"id1", "id20", "id300"}, {"",
                                                "i",
                                                "id",
                                                "id0",
                                                "id3",
                                                "id4",
                                                "id29",
                                                "id30",
                                                "id301",
                                                "id3000",
                                                "jd1",
                                                "id\xFF",
                                                "id1\0"s,
                                                "id20\0"s,
                                                "id2",
                                                std::nullopt,
                                                std::string(31, 'i'),
                                                std::string(33, 'i'),
                                                std::string(100'000, 'i'),
                                                "id1and16bytesmore",
                                                "iD300"});
  expect_found_among({}, {"", "a", std::nullopt, std::string(40, 'a')});
  expect_found_among({std::nullopt}, {"", "a", std::nullopt});
  expect_found_among({""}, {"\0"s, "", "a"});
  expect_found_among({"\0"s, "\0\0"s}, {"", "\0\0\0"s, "\0a"s});
  for (std::size_t const length : {1, 8, 15, 16, 17, 31, 32})
    expect_found_among({bytes_of(length, 'k'), bytes_of(length - 1, 'k') + 'm'},
                       {bytes_of(length - 1, 'k') + 'l', bytes_of(length - 1, 'k'), bytes_of(length + 1, 'k'),
                        bytes_of(length - 1, 'k') + 'n', 'l' + bytes_of(length - 1, 'k')});
  // All codes of 64 bits are values of the few: there is none behind the last.
  expect_found_among({std::string(8, '\0'), std::string(8, '\xFF')}, {std::string(7, '\0'), std::string(9, '\xFF')});
}

TEST(ByteCoding, DrawnValuesAmongOthers) {
  std::uint64_t const seed = 20'261'128;
  std::mt19937_64 random(seed);
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  auto const drawn = [&](std::string_view alphabet, std::size_t most) {
    std::string value(random() % (most + 1), ' ');
    for (auto& byte : value) byte = alphabet[random() % alphabet.size()];
    return value;
  };
  for (std::size_t const most : {3, 9, 17})
    for (int i = 0; i < 4; ++i) {
      Values few;
      Values others;
      for (int j = 0; j < 5; ++j) few.emplace_back(drawn("bc", most));
      for (int j = 0; j < 30; ++j) others.emplace_back(drawn("abcd", most + 1));
      expect_found_among(few, others);
    }
}

TEST(ByteCoding, LongAndDiverseValuesAreNumbered) {
  std::string const huge(10'000'000, 'h');
  Values const values{huge, huge + "1", huge + "2", "h", huge, std::nullopt, bytes_of(33, 'h'), bytes_of(32, 'h')};
  for (auto const id : {TypeId::utf8, TypeId::binary_view}) expect_injective(id, id, values, {"h", huge, std::nullopt});
  auto const table = table_of(TypeId::utf8, values);
  std::vector<std::size_t> const columns{0};
  auto const keys = encode_group_keys(table.view(), columns, KeyForm::automatic, {});
  ASSERT_TRUE(keys);
  EXPECT_TRUE(keys->attributes[0].is_dictionary);
  EXPECT_FALSE(KeyDecoder::create(*keys, {DataType{TypeId::utf8}}));
}

TEST(ByteCoding, FixedSizeBinary) {
  DataType type{TypeId::fixed_size_binary};
  type.fixed_byte_width = 5;
  std::string const bytes(
      "abcdeabcdfab\0de\xFF\xFF\xFF\xFF\xFF"
      "abcde",
      25);
  ArrayView array;
  array.length = 5;
  array.values = bytes.data();
  BatchView const batch{5, std::span(&array, 1)};
  Schema const schema{{"k", type, true}};
  std::vector<std::size_t> const columns{0};
  auto const keys = encode_group_keys(TableView(schema, std::span(&batch, 1)), columns, KeyForm::automatic, {});
  ASSERT_TRUE(keys);
  std::vector<std::uint64_t> words;
  for (std::uint64_t i = 0; i < 5; ++i) words.push_back(word_at(keys->packed, i));
  EXPECT_EQ(words[0], words[4]);
  EXPECT_TRUE(words[2] < words[0] && words[0] < words[1] && words[1] < words[3]);
  auto const decoded = KeyDecoder::create(*keys, {type})->decode(0, words, {});
  ASSERT_TRUE(decoded);
  EXPECT_EQ(std::memcmp(decoded->array.values, bytes.data(), bytes.size()), 0);
}

}  // namespace
}  // namespace garuda::keys
