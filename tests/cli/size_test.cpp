#include "cli/arguments/run_arguments.hpp"

#include <gmock/gmock.h>

namespace garuda::cli {
namespace {

TEST(Size, NumbersAndUnits) {
  EXPECT_EQ(parse_size("1"), 1);
  EXPECT_EQ(parse_size("1000000"), 1'000'000);
  EXPECT_EQ(parse_size("2e9"), 2'000'000'000);
  EXPECT_EQ(parse_size("64B"), 64);
  EXPECT_EQ(parse_size("256MiB"), 256 << 20);
  EXPECT_EQ(parse_size("256mib"), 256 << 20);
  EXPECT_EQ(parse_size("16M"), 16 << 20);
  EXPECT_EQ(parse_size("4k"), 4096);
  EXPECT_EQ(parse_size("1.5GB"), 1'500'000'000);
  EXPECT_EQ(parse_size("0.5GiB"), 512 << 20);
  EXPECT_EQ(parse_size("3TiB"), std::uint64_t{3} << 40);
  EXPECT_EQ(parse_size("8000000TB"), 8'000'000'000'000'000'000);
}

TEST(Size, RefusesWhatIsNone) {
  for (auto const* text : {"", "MiB", "0", "0.5", "-1", "1 MiB", "1MiBs", "1iB", "1X", "nan", "inf", "1e30",
                           "9300000TB", "0x10", "+1", "1,5GB"}) {
    auto const size = parse_size(text);
    ASSERT_FALSE(size) << text;
    EXPECT_EQ(size.error().code(), ErrorCode::usage);
    EXPECT_THAT(size.error().message(), ::testing::HasSubstr(std::string("'") + text + "'"));
  }
}

}  // namespace
}  // namespace garuda::cli
