#include "keys/samples/match_sample.hpp"

#include <algorithm>
#include <vector>

#include "garuda/error.hpp"
#include "keys/numbering/mix.hpp"
#include "keys/samples/key_counts.hpp"

namespace garuda::keys {
namespace {

/// Keys drawn from the larger side, and keys of the smaller one that they are compared with.
constexpr std::uint64_t kDrawn = std::uint64_t{1} << 13;
constexpr std::uint64_t kCompared = std::uint64_t{1} << 18;
constexpr std::uint64_t kMatchRunRows = 64;
/// At most every fourth key of a small side is looked at: the sample is to cost little beside the join.
constexpr std::uint64_t kSmallestShare = 4;
constexpr std::uint32_t kFilterBits = 17;

template <class Word>
std::vector<Word> draw(std::span<Word const> keys) {
  auto const count = std::clamp<std::uint64_t>(keys.size() / kSmallestShare, 1, kDrawn);
  std::vector<Word> drawn(count);
  for (std::uint64_t i = 0; i < count; ++i) drawn[i] = keys[mix(i) % keys.size()];
  return drawn;
}

template <class Word>
double estimate(std::span<Word const> larger, std::span<Word const> smaller) {
  auto const drawn = draw(larger);
  KeyCounts<Word> const counts(drawn);
  std::vector<bool> filter(std::size_t{1} << kFilterBits);
  for (auto const key : drawn) filter[hash_digit(mix(key), kFilterBits)] = true;
  auto const runs =
      std::clamp<std::uint64_t>(smaller.size() / kSmallestShare / kMatchRunRows, 1, kCompared / kMatchRunRows);
  std::uint64_t compared = 0;
  std::uint64_t matches = 0;
  for (std::uint64_t r = 0; r < runs; ++r) {
    auto const begin = smaller.size() / runs * r;
    auto const end = std::min<std::uint64_t>(begin + kMatchRunRows, smaller.size());
    compared += end - begin;
    for (auto i = begin; i < end; ++i) {
      auto const hash = mix(smaller[i]);
      if (filter[hash_digit(hash, kFilterBits)]) matches += counts.count(smaller[i], hash);
    }
  }
  // No match in the sample says that there are few, not that there is none.
  auto const seen = std::max(static_cast<double>(matches), 0.5);
  return seen * (static_cast<double>(larger.size()) / static_cast<double>(drawn.size())) *
         (static_cast<double>(smaller.size()) / static_cast<double>(compared));
}

}  // namespace

double expected_matches(EncodedKeys const& left, EncodedKeys const& right) {
  GARUDA_EXPECTS(left.key_bits == right.key_bits);
  if (left.num_rows == 0 || right.num_rows == 0) return 0;
  auto const& larger = left.num_rows > right.num_rows ? left : right;
  auto const& smaller = left.num_rows > right.num_rows ? right : left;
  return left.key_bits == 32 ? estimate(larger.words32(), smaller.words32())
                             : estimate(larger.words64(), smaller.words64());
}

}  // namespace garuda::keys
