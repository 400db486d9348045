#include "core/escaped_text.hpp"

#include <gmock/gmock.h>

namespace garuda {
namespace {

using ::testing::ElementsAre;

TEST(EscapedText, SplitsAtSeparatorsWithoutABackslash) {
  EXPECT_THAT(split_unescaped("a,b", ','), ElementsAre("a", "b"));
  EXPECT_THAT(split_unescaped(R"(a\,b,c\\,d\)", ','), ElementsAre(R"(a\,b)", R"(c\\)", R"(d\)"));
  EXPECT_THAT(split_unescaped("", ','), ElementsAre(""));
  EXPECT_THAT(split_unescaped(",", ','), ElementsAre("", ""));
  EXPECT_EQ(find_unescaped(R"(a\=b=c)", '='), 4U);
  EXPECT_EQ(find_unescaped(R"(a\=b)", '='), std::string_view::npos);
}

TEST(EscapedText, TakesCharactersAfterBackslashesAsTheyAre) {
  EXPECT_EQ(unescape(R"(a\,b\=c\\d\e)").value(), R"(a,b=c\de)");
  EXPECT_EQ(unescape("").value(), "");
  EXPECT_EQ(unescape(R"(a\)").error().code(), ErrorCode::usage);
}

}  // namespace
}  // namespace garuda
