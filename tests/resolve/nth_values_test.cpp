#include "operators/resolve/nth_values.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace garuda::resolve {
namespace {

enum class Values { random, equal, few, ascending, periodic, extremes };

std::uint64_t value_of(Values kind, std::size_t i, std::mt19937_64& random) {
  switch (kind) {
    case Values::equal:
      return 7;
    case Values::few:
      return random() % 3;
    case Values::ascending:
      return i;
    case Values::periodic:  // what a sample at equal distances takes for all there is
      return i % 40 == 0 ? 5 : random();
    case Values::extremes:
      return random() % 2 == 0 ? 0 : ~std::uint64_t{0};
    default:
      return random();
  }
}

TEST(NthValues, AreThoseOfSortedValues) {
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> room;
  for (auto const kind :
       {Values::random, Values::equal, Values::few, Values::ascending, Values::periodic, Values::extremes})
    for (std::size_t const size : {1U, 2U, 3U, 255U, 1'023U, 1'024U, 1'025U, 10'240U, 70'001U}) {
      std::vector<std::uint64_t> values;
      for (std::size_t i = 0; i < size; ++i) values.push_back(value_of(kind, i, random));
      auto sorted = values;
      std::ranges::sort(sorted);
      auto const before = values;
      for (auto const place :
           {std::size_t{0}, std::size_t{1} % size, size / 10, size / 2, size - 2 + (size == 1), size - 1}) {
        auto const found = nth_words(values, place, room);
        EXPECT_EQ(found.value, sorted[place]) << size << ' ' << place;
        EXPECT_EQ(found.next, sorted[std::min(place + 1, size - 1)]) << size << ' ' << place;
        EXPECT_EQ(values, before);
      }
    }
}

}  // namespace
}  // namespace garuda::resolve
