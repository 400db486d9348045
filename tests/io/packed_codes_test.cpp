// Codes as Parquet packs them: every number of bits, groups that are cut off, runs, and pages that are wrong.
#include "io/parquet/packed_codes.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace garuda::io {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Codes = std::vector<std::uint32_t>;

/// Dictionaries have no more values here, so that wide codes do not take gigabytes.
constexpr std::uint32_t kMostValues = 1 << 16;

void append_header(Bytes& bytes, std::uint64_t header) {
  for (; header >= 0x80; header >>= 7) bytes.push_back(static_cast<std::uint8_t>(header | 0x80));
  bytes.push_back(static_cast<std::uint8_t>(header));
}

/// Appends codes in groups of eight; `cut`: without what lies behind the last code.
void append_groups(Bytes& bytes, Codes const& codes, unsigned bits, bool cut) {
  auto const groups = (codes.size() + 7) / 8;
  append_header(bytes, groups << 1 | 1);
  Bytes packed(groups * bits);
  for (std::size_t i = 0; i < codes.size(); ++i)
    for (unsigned bit = 0; bit < bits; ++bit)
      if ((codes[i] >> bit & 1) != 0)
        packed[(i * bits + bit) / 8] |= static_cast<std::uint8_t>(1U << (i * bits + bit) % 8);
  if (cut) packed.resize((codes.size() * bits + 7) / 8);
  bytes.insert(bytes.end(), packed.begin(), packed.end());
}

void append_run(Bytes& bytes, std::uint32_t code, std::uint64_t length, unsigned bits) {
  append_header(bytes, length << 1);
  for (unsigned i = 0; i < (bits + 7) / 8; ++i) bytes.push_back(static_cast<std::uint8_t>(code >> 8 * i));
}

std::vector<std::int64_t> dictionary_of(std::size_t count) {
  std::vector<std::int64_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::int64_t>(i) * 1'000'003 - 5;
  return values;
}

/// nullopt: the page is wrong.
std::optional<std::vector<std::int64_t>> decode(Bytes const& page, std::vector<std::int64_t> const& dictionary,
                                                std::size_t count) {
  // In memory of their own size, so that a sanitizer sees what lies beyond.
  Bytes const bytes(page);
  std::vector<std::int64_t> values(count);
  CodedValues<std::int64_t> codes(dictionary, values.data());
  if (!codes.decode(bytes, static_cast<std::int32_t>(count))) return std::nullopt;
  return values;
}

std::vector<std::int64_t> values_of(Codes const& codes, std::vector<std::int64_t> const& dictionary) {
  std::vector<std::int64_t> values;
  for (auto const code : codes) values.push_back(dictionary[code]);
  return values;
}

TEST(PackedCodes, EveryNumberOfBits) {
  std::mt19937 random(7);
  for (unsigned bits = 0; bits <= kMostCodeBits; ++bits) {
    auto const named = std::uint64_t{1} << bits;
    auto const values = static_cast<std::uint32_t>(std::min<std::uint64_t>(named, kMostValues));
    auto const dictionary = dictionary_of(values);
    for (std::size_t const count : {1, 7, 8, 9, 16, 100, 1023})
      for (bool const cut : {false, true}) {
        Codes codes(count);
        for (auto& code : codes) code = random() % values;
        Bytes page{static_cast<std::uint8_t>(bits)};
        append_groups(page, codes, bits, cut);
        EXPECT_EQ(decode(page, dictionary, count), values_of(codes, dictionary)) << bits << " bits, " << count;
      }
  }
}

TEST(PackedCodes, RunsAndGroupsInTurns) {
  auto const dictionary = dictionary_of(300);
  Bytes page{9};
  Codes codes;
  for (std::uint32_t turn = 0; turn < 40; ++turn) {
    append_run(page, turn, turn + 1, 9);
    codes.insert(codes.end(), turn + 1, turn);
    Codes packed(8 * (turn % 5 + 1));
    for (std::size_t i = 0; i < packed.size(); ++i) packed[i] = static_cast<std::uint32_t>(i * 7 + turn) % 300;
    append_groups(page, packed, 9, false);
    codes.insert(codes.end(), packed.begin(), packed.end());
  }
  EXPECT_EQ(decode(page, dictionary, codes.size()), values_of(codes, dictionary));
  // The last run may be longer than the page.
  codes.resize(codes.size() - 3);
  EXPECT_EQ(decode(page, dictionary, codes.size()), values_of(codes, dictionary));
}

TEST(PackedCodes, PagesThatAreWrong) {
  auto const dictionary = dictionary_of(5);
  EXPECT_TRUE(decode({}, dictionary, 0));
  EXPECT_FALSE(decode({}, dictionary, 1));
  EXPECT_FALSE(decode({3}, dictionary, 1)) << "no run";
  EXPECT_FALSE(decode({33, 2, 0, 0, 0, 0, 0}, dictionary, 1)) << "more bits than a code has";
  EXPECT_FALSE(decode({3, 0, 1}, dictionary, 1)) << "a run of none";
  EXPECT_FALSE(decode({3, 1}, dictionary, 1)) << "no groups";
  EXPECT_FALSE(decode({3, 2}, dictionary, 1)) << "a run without its code";
  EXPECT_FALSE(decode({3, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1, 1}, dictionary, 1)) << "a header without an end";
  EXPECT_FALSE(decode({3, 2, 4, 2}, dictionary, 2)) << "fewer codes";
  EXPECT_TRUE(decode({3, 2, 4}, dictionary, 1));
  EXPECT_FALSE(decode({3, 2, 5}, dictionary, 1)) << "a run of a code that is not there";
  EXPECT_FALSE(decode({3, 2, 0}, {}, 1)) << "no dictionary";
  for (std::size_t wrong = 0; wrong < 100; ++wrong) {
    Codes codes(100, 4);
    codes[wrong] = 5;
    Bytes page{3};
    append_groups(page, codes, 3, false);
    EXPECT_FALSE(decode(page, dictionary, 100)) << wrong;
    page.pop_back();
    page.pop_back();
    EXPECT_FALSE(decode(page, dictionary, 100));
  }
}

}  // namespace
}  // namespace garuda::io
