#include "operators/plan/key_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "keys/samples/key_counts.hpp"

namespace garuda::plan {
namespace {

/// A run of a cache line or two.
constexpr std::uint64_t kRunKeys = 16;

template <class Word>
std::vector<Word> sampled(std::span<Word const> words) {
  if (words.size() <= kSampledKeys) return {words.begin(), words.end()};
  std::vector<Word> keys;
  keys.reserve(kSampledKeys);
  auto const runs = kSampledKeys / kRunKeys;
  auto const stride = words.size() / runs;
  for (std::uint64_t run = 0; run < runs; ++run) {
    auto const first = words.begin() + static_cast<std::ptrdiff_t>(run * stride);
    keys.insert(keys.end(), first, first + kRunKeys);
  }
  return keys;
}

/// The content of a sample of so many keys.
struct Sample {
  std::uint64_t keys = 0;
  keys::Frequencies frequencies;
};

template <class Word>
Sample sample(std::span<Word const> words) {
  auto const keys = sampled(words);
  return {keys.size(), keys::KeyCounts<Word>(std::span<Word const>(keys)).frequencies()};
}

double range_of(keys::EncodedKeys const& keys) { return static_cast<double>(keys.max - keys.min) + 1; }

}  // namespace

KeyStatistics sample_keys(keys::EncodedKeys const& keys) {
  if (keys.num_rows == 0) return {};
  auto const [sampled, found] = keys.key_bits == 32 ? sample(keys.words32()) : sample(keys.words64());
  auto const rows = static_cast<double>(keys.num_rows);
  auto const is_whole = sampled == keys.num_rows;
  KeyStatistics statistics;
  statistics.distinct = static_cast<double>(found.distinct);
  if (!is_whole && found.heaviest == 1) {
    statistics.distinct = rows;
  } else if (!is_whole) {
    // Keys that rows may have been drawn from, and those of them that rows did draw.
    auto const drawn_from = found.drawn_from();
    statistics.distinct = drawn_from * -std::expm1(-rows / drawn_from);
  }
  statistics.distinct = std::max(std::min({statistics.distinct, rows, range_of(keys)}), 1.0);
  if (found.heaviest > 1)
    statistics.heaviest_share = static_cast<double>(found.heaviest) / static_cast<double>(sampled);
  return statistics;
}

}  // namespace garuda::plan
