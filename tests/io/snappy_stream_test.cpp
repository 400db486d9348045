// Streams of Snappy: what Arrow's library compressed, streams made by hand, and damaged ones.
#include "io/parquet/snappy_stream.hpp"

#include <arrow/util/compression.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace garuda::io {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::array kContents{SnappyContent::bytes, SnappyContent::words64};

/// nullopt: the stream is damaged.
std::optional<Bytes> decompress(Bytes const& bytes, SnappyContent content) {
  // In memory of their own size, so that a sanitizer sees what lies beyond.
  Bytes const stream(bytes);
  auto const opened = SnappyStream::open(stream);
  if (!opened || opened->length() > 1 << 24) return std::nullopt;
  Bytes out(opened->length(), 0xAA);
  if (!opened->write_to(out, content)) return std::nullopt;
  return out;
}

Bytes compress(Bytes const& bytes) {
  auto const codec = arrow::util::Codec::Create(arrow::Compression::SNAPPY).ValueOrDie();
  auto const size = static_cast<std::int64_t>(bytes.size());
  Bytes stream(static_cast<std::size_t>(codec->MaxCompressedLen(size, bytes.data())));
  auto const length =
      codec->Compress(size, bytes.data(), static_cast<std::int64_t>(stream.size()), stream.data()).ValueOrDie();
  stream.resize(static_cast<std::size_t>(length));
  return stream;
}

/// Words in which some low bytes vary, text of few words, runs, and bytes that do not compress, by `kind`.
Bytes content(std::mt19937& random, int kind, std::size_t size) {
  Bytes bytes;
  while (bytes.size() < size) {
    std::uint64_t word = kind < 6 ? random() & ((std::uint64_t{1} << 8 * kind) - 1) : random() % 3 + bytes.size();
    if (kind >= 8) {
      std::string const text = std::array{"furiously ", "the ", "requests sleep quickly ", "a"}[random() % 4];
      bytes.insert(bytes.end(), text.begin(), text.end());
      if (kind == 9) bytes.resize(bytes.size() + random() % 90, static_cast<std::uint8_t>(random() % 2));
      continue;
    }
    for (std::size_t i = 0; i < sizeof(word); ++i) bytes.push_back(static_cast<std::uint8_t>(word >> 8 * i));
  }
  bytes.resize(size);
  return bytes;
}

constexpr int kKinds = 10;

TEST(SnappyStream, WhatALibraryCompressed) {
  std::mt19937 random(3);
  for (int kind = 0; kind < kKinds; ++kind)
    for (std::size_t const size : {0, 1, 7, 8, 59, 60, 61, 95, 96, 97, 128, 1000, 4096, 65535, 65537, 200'000}) {
      auto const bytes = content(random, kind, size);
      auto const stream = compress(bytes);
      for (auto const of : kContents) EXPECT_EQ(decompress(stream, of), bytes) << "kind " << kind << ", " << size;
      auto const literal = SnappyStream::open(stream)->literal();
      if (!literal.empty()) {
        EXPECT_TRUE(std::ranges::equal(literal, bytes));
      }
    }
}

/// Appends a tag, and what it stands for to `bytes`.
class Made {
 public:
  Bytes bytes;

  void literal(Bytes const& value) {
    auto const last = value.size() - 1;
    if (last < 60) {
      tags_.push_back(static_cast<std::uint8_t>(last << 2));
    } else {
      tags_.push_back(61 << 2);
      tags_.push_back(static_cast<std::uint8_t>(last));
      tags_.push_back(static_cast<std::uint8_t>(last >> 8));
    }
    tags_.insert(tags_.end(), value.begin(), value.end());
    bytes.insert(bytes.end(), value.begin(), value.end());
  }

  void copy(int kind, std::size_t length, std::size_t distance) {
    if (kind == 1) {
      tags_.push_back(static_cast<std::uint8_t>(1 | (length - 4) << 2 | distance >> 8 << 5));
      tags_.push_back(static_cast<std::uint8_t>(distance));
    } else {
      tags_.push_back(static_cast<std::uint8_t>(kind | (length - 1) << 2));
      for (int i = 0; i < (kind == 2 ? 2 : 4); ++i) tags_.push_back(static_cast<std::uint8_t>(distance >> 8 * i));
    }
    for (std::size_t i = 0; i < length; ++i) bytes.push_back(bytes[bytes.size() - distance]);
  }

  Bytes stream() const {
    Bytes whole;
    auto length = bytes.size();
    for (; length >= 0x80; length >>= 7) whole.push_back(static_cast<std::uint8_t>(length | 0x80));
    whole.push_back(static_cast<std::uint8_t>(length));
    whole.insert(whole.end(), tags_.begin(), tags_.end());
    return whole;
  }

 private:
  Bytes tags_;
};

Made made_of_all_tags(std::mt19937& random, std::size_t tags) {
  Made made;
  made.literal({1, 2, 3});
  for (std::size_t i = 0; i < tags; ++i) {
    auto const there = made.bytes.size();
    auto const near = std::min<std::size_t>(there, random() % 3 == 0 ? 20 : 2047);
    auto const distance = 1 + random() % near;
    switch (random() % 6) {
      case 0:
        made.literal(Bytes(1 + random() % (random() % 8 == 0 ? 300 : 20), static_cast<std::uint8_t>(random())));
        break;
      case 1:
        made.copy(1, 4 + random() % 8, distance);
        break;
      case 2:
        made.copy(2, 1 + random() % 64, distance);
        break;
      case 3:
        made.copy(3, 1 + random() % 64, 1 + random() % there);
        break;
      default: {
        auto const length = 1 + random() % 4;
        made.literal(Bytes(length, static_cast<std::uint8_t>(random())));
        made.copy(2, 8 - length, std::min<std::size_t>(made.bytes.size(), 8 * (1 + random() % 4)));
      }
    }
  }
  return made;
}

TEST(SnappyStream, EveryTag) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    auto const made = made_of_all_tags(random, 1 + random() % 200);
    for (auto const of : kContents) EXPECT_EQ(decompress(made.stream(), of), made.bytes) << round;
  }
}

TEST(SnappyStream, DamagedStreams) {
  EXPECT_FALSE(SnappyStream::open({}));
  for (auto const of : kContents) {
    EXPECT_EQ(decompress({0}, of), Bytes{});
    EXPECT_FALSE(decompress({4, 1, 1}, of)) << "a copy of what is not there";
    EXPECT_FALSE(decompress({5, 0, 7, 1, 0}, of)) << "a copy of itself";
    EXPECT_FALSE(decompress({3, 0, 7}, of)) << "fewer bytes than it says";
    EXPECT_FALSE(decompress({1, 4, 7, 7}, of)) << "more bytes than it says";
    EXPECT_FALSE(decompress({9, 63 << 2, 0xFF, 0xFF, 0xFF, 0xFF, 1}, of)) << "a literal that is longer than the stream";
  }
  std::mt19937 random(11);
  for (int round = 0; round < 3000; ++round) {
    auto stream = round % 2 == 0 ? compress(content(random, static_cast<int>(random() % kKinds), 1 + random() % 3000))
                                 : made_of_all_tags(random, 1 + random() % 100).stream();
    for (int i = 0; i < 3; ++i) stream[random() % stream.size()] = static_cast<std::uint8_t>(random());
    if (round % 5 == 0) stream.resize(random() % stream.size());
    // Both read the same bytes, or none.
    EXPECT_EQ(decompress(stream, SnappyContent::bytes), decompress(stream, SnappyContent::words64));
  }
}

}  // namespace
}  // namespace garuda::io
