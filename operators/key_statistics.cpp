#include "operators/key_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace garuda::operators {
namespace {

/// A run of a cache line or two.
constexpr std::uint64_t kRunKeys = 16;

template <class Word>
std::vector<std::uint64_t> sampled(std::span<Word const> words) {
  std::vector<std::uint64_t> keys;
  if (words.size() <= kSampledKeys) {
    keys.assign(words.begin(), words.end());
    return keys;
  }
  keys.reserve(kSampledKeys);
  auto const runs = kSampledKeys / kRunKeys;
  auto const stride = words.size() / runs;
  for (std::uint64_t run = 0; run < runs; ++run) {
    auto const first = words.begin() + static_cast<std::ptrdiff_t>(run * stride);
    keys.insert(keys.end(), first, first + kRunKeys);
  }
  return keys;
}

double range_of(partition::EncodedKeys const& keys) { return static_cast<double>(keys.max - keys.min) + 1; }

}  // namespace

KeyStatistics sample_keys(partition::EncodedKeys const& keys) {
  if (keys.num_rows == 0) return {};
  auto sample = keys.key_bits == 32 ? sampled(keys.words32()) : sampled(keys.words64());
  std::ranges::sort(sample);
  double distinct = 0;
  double once = 0;
  double twice = 0;
  std::size_t heaviest = 0;
  for (std::size_t first = 0; first < sample.size();) {
    auto last = first;
    while (last < sample.size() && sample[last] == sample[first]) ++last;
    auto const count = last - first;
    distinct += 1;
    once += count == 1 ? 1 : 0;
    twice += count == 2 ? 1 : 0;
    heaviest = std::max(heaviest, count);
    first = last;
  }
  auto const rows = static_cast<double>(keys.num_rows);
  auto const is_whole = sample.size() == keys.num_rows;
  KeyStatistics statistics;
  statistics.distinct = distinct;
  if (!is_whole && heaviest == 1) {
    statistics.distinct = rows;
  } else if (!is_whole) {
    // Keys that rows may have been drawn from, and those of them that rows did draw.
    auto const drawn_from = distinct + once * std::max(once - 1, 0.0) / (2 * (twice + 1));
    statistics.distinct = drawn_from * -std::expm1(-rows / drawn_from);
  }
  statistics.distinct = std::max(std::min({statistics.distinct, rows, range_of(keys)}), 1.0);
  if (heaviest > 1) statistics.heaviest_share = static_cast<double>(heaviest) / static_cast<double>(sample.size());
  return statistics;
}

}  // namespace garuda::operators
