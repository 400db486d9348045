// The value at a place of the order of values, and the one behind it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

namespace garuda::resolve {

template <class Word>
struct NthValues {
  Word value;
  Word next;  ///< `value` where that is the last one
};

/// Reorders `values`. Requires: place < values.size().
template <class Word, class Less>
NthValues<Word> nth_values(std::span<Word> values, std::size_t place, Less const& is_less) {
  auto const at = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(values.begin(), at, values.end(), is_less);
  return {*at, at + 1 == values.end() ? *at : *std::min_element(at + 1, values.end(), is_less)};
}

/// Bounds of the values at a place and behind it, estimated from a sorted sample.
struct WordBracket {
  std::uint64_t least = 0;
  std::uint64_t greatest = std::numeric_limits<std::uint64_t>::max();

  static constexpr std::size_t kSample = 256;

  /// Bounds the values at `place` and behind it in the order of `values`; seldom wrong where they come in random order.
  WordBracket(std::span<std::uint64_t const> values, std::size_t place) {
    std::array<std::uint64_t, kSample> sample;
    for (std::size_t i = 0; i < kSample; ++i) sample[i] = values[i * values.size() / kSample];
    std::ranges::sort(sample);
    auto const share = (static_cast<double>(place) + 0.5) / static_cast<double>(values.size());
    // Four standard deviations of how many of the sample are less.
    auto const slack = 4 * std::sqrt(static_cast<double>(kSample) * share * (1 - share)) + 2;
    auto const first = share * static_cast<double>(kSample) - slack;
    auto const last = share * static_cast<double>(kSample) + slack;
    if (first >= 0) least = sample[static_cast<std::size_t>(first)];
    if (last < static_cast<double>(kSample)) greatest = sample[static_cast<std::size_t>(last)];
  }
};

/// nth_values() of words, which stay as they are: one pass without a branch leaves a few of many values to choose from.
/// `room`: memory that is used again. Source: Floyd and Rivest, CACM 18(3), 1975.
inline NthValues<std::uint64_t> nth_words(std::span<std::uint64_t const> values, std::size_t place,
                                          std::vector<std::uint64_t>& room) {
  constexpr std::size_t kFewValues = 4 * WordBracket::kSample;
  room.resize(values.size());
  auto left = values;  // of which the one at `at` is looked for
  auto at = place;
  while (left.size() >= kFewValues) {
    WordBracket const bracket(left, at);
    std::size_t below = 0;
    std::size_t kept = 0;
    // In place from the second time on: never ahead of what is read.
    auto const width = bracket.greatest - bracket.least;
    auto* const to = room.data();
    for (auto const value : left) {
      to[kept] = value;
      below += value < bracket.least ? 1 : 0;
      kept += value - bracket.least <= width ? 1 : 0;
    }
    bool const has_both = below <= at && at - below + 1 < kept;
    bool const is_last = at + 1 == left.size() && below + kept == left.size();
    if (2 * kept > left.size() || !(has_both || is_last)) {
      // The kept values may have overwritten those that are left: from the start.
      room.assign(values.begin(), values.end());
      return nth_values<std::uint64_t>(room, place, std::less<>());
    }
    at -= below;
    left = std::span(room).first(kept);
  }
  if (left.data() != room.data()) std::ranges::copy(left, room.begin());
  return nth_values(std::span(room).first(left.size()), at, std::less<>());
}

}  // namespace garuda::resolve
