// Parts of texts, against the standard library's search, and results that are kept.
#include "expr/functions/patterns.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "expr/functions/text_memo.hpp"

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

/// Looks `texts` up, whose results have an end more or, where they are short, are the texts; returns how many were
/// made.
std::size_t number_made(TextMemo& memo, std::vector<std::string> const& texts) {
  std::size_t made = 0;
  std::vector<std::string_view> results;
  std::string ended;
  for (auto const& text : texts) {
    // Neither the text nor what is made of it outlives the call.
    std::string const passing = text;
    results.push_back(memo.get(passing, [&](std::string_view of) {
      ++made;
      if (of.size() < 4) return of;
      ended = std::string(of) + "!";
      return std::string_view(ended);
    }));
    EXPECT_EQ(results.back(), text.size() < 4 ? text : text + "!");
  }
  if (made < texts.size() / 2)
    for (std::size_t i = 0; i < texts.size(); ++i)
      EXPECT_EQ(results[i], texts[i].size() < 4 ? texts[i] : texts[i] + "!");
  return made;
}

TEST(TextMemo, TextsThatComeAgainAreMadeOnce) {
  std::vector<std::string> texts;
  for (int i = 0; i < 50'000; ++i) texts.push_back(i % 5000 == 0 ? "" : std::to_string(i % 5000 * 7));
  TextMemo memo;
  EXPECT_EQ(number_made(memo, texts), 5000U);
}

TEST(TextMemo, TextsThatDoNotComeAgainAreMadeEachTime) {
  std::vector<std::string> texts;
  for (int i = 0; i < 40'000; ++i) texts.push_back(std::to_string(i));
  TextMemo memo;
  EXPECT_EQ(number_made(memo, texts), texts.size());
  EXPECT_EQ(number_made(memo, texts), texts.size()) << "it was judged that none comes again";
}

TEST(TextMemo, LongTextsAreKeptWhileThereIsRoom) {
  std::vector<std::string> texts(3, std::string(std::size_t{3} << 20, 'x'));
  texts.emplace_back(std::size_t{1} << 20, 'y');
  texts.emplace_back(std::size_t{1} << 20, 'y');
  TextMemo memo;
  EXPECT_EQ(number_made(memo, texts), 4U) << "the first ones are too long, the others fit";
}

}  // namespace
}  // namespace garuda::expr
