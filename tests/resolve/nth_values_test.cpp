#include "operators/resolve/nth_values.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "garuda/control.hpp"
#include "operators/resolve/aggregates.hpp"

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

/// The values of one group, as many as one sort takes some hundred milliseconds for.
TEST(ValuesOfGroups, AreSortedUntilTheRunIsCancelled) {
  std::mt19937_64 random(2);
  contract::AggregateState state;
  state.lists.offsets = {0, std::uint64_t{1} << 20};
  for (std::uint64_t i = 0; i < state.lists.offsets[1]; ++i) state.lists.words.push_back(random() % 1'000);
  DataType const type{TypeId::int64};
  std::atomic<bool> cancelled{false};
  Control control;
  control.cancelled = &cancelled;
  FinaliseInput input{.state = state, .kind = contract::ValueKind::uint64, .input = type, .result = type};
  for (auto const* given : {static_cast<Control const*>(nullptr), static_cast<Control const*>(&control)})
    for (bool const is_cancelled : {false, true}) {
      input.control = given;
      cancelled = is_cancelled;
      std::int64_t distinct = -1;
      FinaliseOutput const out{reinterpret_cast<std::byte*>(&distinct), nullptr};
      EXPECT_FALSE(finalise_distinct(input, {0, 1, nullptr}, out));
      EXPECT_EQ(distinct, given != nullptr && is_cancelled ? -1 : 1'000);
    }
}

}  // namespace
}  // namespace garuda::resolve
