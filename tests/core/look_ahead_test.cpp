#include "core/look_ahead.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

namespace garuda {
namespace {

constexpr std::size_t kCounts[] = {0, 1, 3, 4, 7, 8, 15, 16, 17, 255, 256, 257, 1'023, 1'024, 1'025, 5'000};

std::vector<std::size_t> numbers(std::size_t count) {
  std::vector<std::size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

template <class T>
std::vector<std::size_t> visited(std::size_t count) {
  std::vector<T> const elements(count);
  std::vector<std::size_t> visited;
  for_each_ahead<T>(elements.data(), count, [&](std::size_t i) { visited.push_back(i); });
  return visited;
}

TEST(LookAhead, VisitsEveryElementOnceInOrder) {
  struct Wide {
    std::uint64_t words[16];  // more than a line
  };
  for (auto const count : kCounts) {
    EXPECT_EQ(visited<std::uint8_t>(count), numbers(count));
    EXPECT_EQ(visited<std::uint32_t>(count), numbers(count));
    EXPECT_EQ(visited<std::uint64_t>(count), numbers(count));
    EXPECT_EQ(visited<Wide>(count), numbers(count));
  }
}

TEST(LookAhead, RangesFollowEachOther) {
  for (std::size_t const bytes_each : {1, 4, 16, 3'000}) {
    for (auto const count : kCounts) {
      std::vector<std::byte> const elements(count * bytes_each);
      std::size_t end_of_last = 0;
      for_ranges_ahead(elements.data(), bytes_each, count, [&](std::size_t begin, std::size_t end) {
        EXPECT_EQ(begin, end_of_last);
        EXPECT_LT(begin, end);
        end_of_last = end;
      });
      EXPECT_EQ(end_of_last, count);
    }
  }
}

}  // namespace
}  // namespace garuda
