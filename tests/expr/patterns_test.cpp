// Parts of texts, against the standard library's search.
#include "expr/functions/patterns.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <string_view>

namespace garuda::expr {
namespace {

/// A text of few letters, so that parts are often nearly there.
std::string random_letters(std::mt19937_64& random, std::size_t size) {
  std::string text(size, ' ');
  for (auto& letter : text) letter = static_cast<char>('a' + random() % 2);
  return text;
}

TEST(Patterns, FirstPartsOfTextsAreFound) {
  std::mt19937_64 random(1);
  for (std::size_t size = 0; size <= 70; ++size)
    for (int round = 0; round < 200; ++round) {
      auto const text = random_letters(random, size);
      // No byte before or behind it is the text's.
      std::unique_ptr<char[]> const bytes(new char[size]);
      text.copy(bytes.get(), size);
      std::string_view const view(bytes.get(), size);
      auto const part = random_letters(random, random() % 9);
      auto const from = random() % (size + 1);
      ASSERT_EQ(find_bytes(view, part, from), view.find(part, from)) << part << " in " << text << " from " << from;
    }
}

TEST(Patterns, PartsBetweenAnyTextMatchWhereTheyAreFound) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 5000; ++round) {
    auto const text = random_letters(random, random() % 40);
    auto const part = random_letters(random, random() % 7);
    auto const matches = [&](std::string const& pattern) {
      return (*LikePattern::compile(pattern, ""))->matches(text);
    };
    EXPECT_EQ(matches("%" + part + "%"), text.find(part) != std::string::npos) << part << " in " << text;
    EXPECT_EQ(matches(part + "%"), text.starts_with(part)) << part << " in " << text;
    EXPECT_EQ(matches("%" + part), text.ends_with(part)) << part << " in " << text;
    EXPECT_EQ(matches(part), text == part) << part << " in " << text;
  }
}

}  // namespace
}  // namespace garuda::expr
