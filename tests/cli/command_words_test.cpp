#include "cli/command_line.hpp"

#include <gtest/gtest.h>

namespace garuda::cli {
namespace {

using Words = std::vector<std::string>;

TEST(CommandWords, AreCutAtBlanks) {
  EXPECT_EQ(command_words("").value(), Words());
  EXPECT_EQ(command_words(" \t\r").value(), Words());
  EXPECT_EQ(command_words("join  a.csv\tb.csv --on id\r").value(), (Words{"join", "a.csv", "b.csv", "--on", "id"}));
}

TEST(CommandWords, QuotesHoldWhatIsInThem) {
  EXPECT_EQ(command_words(R"('a b' "c d"e'f' '' "")").value(), (Words{"a b", "c def", "", ""}));
  EXPECT_EQ(command_words(R"('a\,b' "a\,b" a\,b)").value(), (Words{R"(a\,b)", R"(a\,b)", "a,b"}));
  EXPECT_EQ(command_words(R"("say \"so\"" 'it is "so"' "it's" back\\slash "back\\slash" a\ b)").value(),
            (Words{R"(say "so")", R"(it is "so")", "it's", R"(back\slash)", R"(back\slash)", "a b"}));
}

TEST(CommandWords, ACommentEndsTheLine) {
  EXPECT_EQ(command_words("# all of it").value(), Words());
  EXPECT_EQ(command_words("join # 'open").value(), Words{"join"});
  EXPECT_EQ(command_words("a#b '#' \\#").value(), (Words{"a#b", "#", "#"}));
}

TEST(CommandWords, WhatIsOpenIsAnError) {
  for (auto const* line : {"'", "a 'b", "\"", "\"a\\\"", "a\\", "\\"}) {
    auto const words = command_words(line);
    ASSERT_FALSE(words) << line;
    EXPECT_EQ(words.error().code(), ErrorCode::usage);
  }
}

}  // namespace
}  // namespace garuda::cli
