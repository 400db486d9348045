#include "bench/workloads/words.hpp"

#include <gtest/gtest.h>

namespace garuda::bench {
namespace {

TEST(RowCount, ReadsEveryNotation) {
  EXPECT_EQ(parse_row_count("0").value(), 0U);
  EXPECT_EQ(parse_row_count("1000000").value(), 1'000'000U);
  EXPECT_EQ(parse_row_count("2^27").value(), 1U << 27);
  EXPECT_EQ(parse_row_count("2^0").value(), 1U);
  EXPECT_EQ(parse_row_count("10^3").value(), 1000U);
  EXPECT_EQ(parse_row_count("16M").value(), 16U << 20);
  EXPECT_EQ(parse_row_count("64K").value(), 64U << 10);
  EXPECT_EQ(parse_row_count("1G").value(), 1U << 30);
  EXPECT_EQ(parse_row_count("6e6").value(), 6'000'000U);
  EXPECT_EQ(parse_row_count("1.5e6").value(), 1'500'000U);
  EXPECT_EQ(parse_row_count("2^40").value(), std::uint64_t{1} << 40);
}

TEST(RowCount, RefusesEverythingElseNamingIt) {
  for (auto const* text :
       {"", "M", "-1", "1.5", "2^", "^3", "2^x", "6e", "16MB", "1e-3", " 8", "8 ", "nan", "inf", "+3"}) {
    auto const result = parse_row_count(text);
    ASSERT_FALSE(result.has_value()) << text;
    EXPECT_EQ(result.error().code(), ErrorCode::usage);
    EXPECT_NE(result.error().message().find('\'' + std::string(text) + '\''), std::string::npos);
  }
}

TEST(RowCount, RefusesMoreThan2To40) {
  for (auto const* text : {"2^41", "2^4000", "1025G", "1e13", "1e300", "1099511627777"})
    EXPECT_FALSE(parse_row_count(text).has_value()) << text;
}

TEST(RowCount, PrintsWhatItReads) {
  for (std::uint64_t const rows : {0ULL, 1ULL, 7ULL, 1024ULL, 1'000'000ULL, 3ULL << 20, 1ULL << 27, 12'345'678ULL})
    EXPECT_EQ(parse_row_count(to_row_count(rows)).value(), rows) << to_row_count(rows);
  EXPECT_EQ(to_row_count(1ULL << 27), "2^27");
  EXPECT_EQ(to_row_count(6'000'000), "6e6");
  EXPECT_EQ(to_row_count(3ULL << 20), "3M");
}

}  // namespace
}  // namespace garuda::bench
