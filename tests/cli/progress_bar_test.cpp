#include "cli/terminal.hpp"

#include <gtest/gtest.h>

namespace garuda::cli {
namespace {

TEST(ProgressLine, ShowsWhatIsKnown) {
  EXPECT_EQ(progress_line({"partition", 0, 0, 0}), "partition");
  EXPECT_EQ(progress_line({"join", 1, 2, 0}), "join [###############               ]  50 %");
  EXPECT_EQ(progress_line({"join", 2, 2, 7}), "join [##############################] 100 %  7 rows");
  EXPECT_EQ(progress_line({"join", 0, 0, 5'000'000'000}), "join  5000000000 rows");
}

TEST(ProgressLine, NeverPassesItsEnd) {
  EXPECT_EQ(progress_line({"join", 9, 2, 0}), "join [##############################] 100 %");
}

}  // namespace
}  // namespace garuda::cli
