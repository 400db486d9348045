#include "tests/workloads/workloads.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>

#include "keys/numbering/mix.hpp"
#include "tests/workloads/pairwise_cases.hpp"

namespace garuda::testing {
namespace {

using Words = std::vector<std::uint64_t>;

constexpr std::array<std::string_view, kNumKeyPatterns> kPatternNames{
    "dense_unique", "random_unique", "stride_2_10", "stride_2_16", "all_equal", "zipf_0_5",
    "zipf_1_0",     "zipf_1_5",      "zipf_both",   "no_match",    "extremes"};
constexpr std::array<std::string_view, kNumNulls> kNullsNames{"none", "left", "right", "both"};
constexpr std::uint64_t kMaxZipfPairs = std::uint64_t{1} << 20;
constexpr std::uint64_t kMaxEqualPairs = 9'000'000;

/// The standard's distributions differ between libraries, its generators do not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : generator_(seed) {}
  std::uint64_t bits() { return generator_(); }
  std::uint64_t below(std::uint64_t bound) { return generator_() % bound; }
  /// A random number in [0, 1).
  double fraction() { return static_cast<double>(generator_() >> 11) * 0x1p-53; }
  void shuffle(Words& words) {
    for (std::size_t i = words.size(); i > 1; --i) std::swap(words[i - 1], words[below(i)]);
  }

 private:
  std::mt19937_64 generator_;
};

std::uint64_t largest_key(std::uint32_t key_bits) {
  return key_bits == 32 ? std::numeric_limits<std::uint32_t>::max() : std::numeric_limits<std::uint64_t>::max();
}

/// first, first + stride, …, shuffled.
Words strided(std::uint64_t rows, std::uint64_t first, std::uint64_t stride, std::uint64_t mask, Random& random) {
  Words words(rows);
  for (std::uint64_t i = 0; i < rows; ++i) words[i] = (first + i * stride) & mask;
  random.shuffle(words);
  return words;
}

Words random_unique(std::uint64_t rows, Words const& shared, std::uint64_t mask, Random& random) {
  Words words(shared.begin(),
              shared.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(shared.size(), rows)));
  std::unordered_set<std::uint64_t> seen(words.begin(), words.end());
  while (words.size() < rows) {
    auto const word = random.bits() & mask;
    if (seen.insert(word).second) words.push_back(word);
  }
  random.shuffle(words);
  return words;
}

/// `rows` keys out of 0…domain-1, the key of rank r with a probability proportional to (r + 1)^-exponent. Which key has
/// which rank is random.
Words zipf(std::uint64_t rows, std::uint64_t domain, double exponent, Words const& key_of_rank, Random& random) {
  if (domain == 0) domain = 1;
  std::vector<double> cumulative(domain);
  double total = 0;
  for (std::uint64_t r = 0; r < domain; ++r) cumulative[r] = total += std::pow(static_cast<double>(r + 1), -exponent);
  Words words(rows);
  for (auto& word : words) {
    auto const at = std::upper_bound(cumulative.begin(), cumulative.end(), random.fraction() * total);
    auto const rank = std::min<std::uint64_t>(static_cast<std::uint64_t>(at - cumulative.begin()), domain - 1);
    word = rank < key_of_rank.size() ? key_of_rank[rank] : rank;
  }
  return words;
}

/// Gives right rows keys of their own from where on the pairs would pass kMaxZipfPairs.
void cap_pairs(Words const& left, Words& right, std::uint64_t first_free_key) {
  std::unordered_map<std::uint64_t, std::uint64_t> multiplicity;
  for (auto const word : left) ++multiplicity[word];
  std::uint64_t pairs = 0;
  for (std::size_t i = 0; i < right.size(); ++i) {
    auto const found = multiplicity.find(right[i]);
    auto const matches = found == multiplicity.end() ? 0 : found->second;
    if (pairs + matches > kMaxZipfPairs)
      right[i] = first_free_key + i;
    else
      pairs += matches;
  }
}

Words extremes(std::uint64_t rows, std::uint64_t domain, std::uint32_t key_bits, Random& random) {
  auto const largest = largest_key(key_bits);
  auto const middle = largest / 2;
  std::uint64_t const edges[] = {0, largest, middle, middle + 1, 1, largest - 1};
  Words words(rows);
  for (std::uint64_t i = 0; i < rows; ++i) {
    if (i < std::size(edges))
      words[i] = edges[i];
    else
      words[i] = random.below(2 * domain) * (largest / (2 * domain));
  }
  random.shuffle(words);
  return words;
}

double zipf_exponent(KeyPattern pattern) {
  return pattern == KeyPattern::zipf_0_5 ? 0.5 : pattern == KeyPattern::zipf_1_0 ? 1.0 : 1.5;
}

std::pair<Words, Words> make_words(JoinCase const& c, Random& random) {
  auto const mask = largest_key(c.key_bits);
  auto const domain = std::max<std::uint64_t>({c.left_rows, c.right_rows, 1});
  auto const both_strided = [&](std::uint64_t stride) {
    auto left = strided(c.left_rows, 0, stride, mask, random);
    return std::pair{std::move(left), strided(c.right_rows, 0, stride, mask, random)};
  };
  switch (c.pattern) {
    case KeyPattern::dense_unique:
      return both_strided(1);
    case KeyPattern::stride_2_10:
      return both_strided(1U << 10);
    case KeyPattern::stride_2_16:
      return both_strided(1U << 16);
    case KeyPattern::random_unique: {
      auto left = random_unique(c.left_rows, {}, mask, random);
      auto const shared = std::min(left.size(), static_cast<std::size_t>((c.right_rows + 1) / 2));
      auto const middle = left.begin() + static_cast<std::ptrdiff_t>(shared);
      return {left, random_unique(c.right_rows, Words(left.begin(), middle), mask, random)};
    }
    case KeyPattern::all_equal: {
      auto const key = random.bits() & mask;
      return {Words(c.left_rows, key), Words(c.right_rows, key)};
    }
    case KeyPattern::zipf_0_5:
    case KeyPattern::zipf_1_0:
    case KeyPattern::zipf_1_5: {
      auto left = strided(c.left_rows, 0, 1, mask, random);
      return {left, zipf(c.right_rows, c.left_rows, zipf_exponent(c.pattern), left, random)};
    }
    case KeyPattern::zipf_both: {
      auto const keys = strided(domain, 0, 1, mask, random);
      auto left = zipf(c.left_rows, domain, 1.0, keys, random);
      auto right = zipf(c.right_rows, domain, 1.0, keys, random);
      cap_pairs(left, right, domain);
      return {std::move(left), std::move(right)};
    }
    case KeyPattern::no_match: {
      auto left = strided(c.left_rows, 0, 2, mask, random);
      return {std::move(left), strided(c.right_rows, 1, 2, mask, random)};
    }
    case KeyPattern::extremes: {
      auto left = extremes(c.left_rows, domain, c.key_bits, random);
      return {std::move(left), extremes(c.right_rows, domain, c.key_bits, random)};
    }
  }
  throw std::runtime_error("unknown key pattern");
}

/// Nulls keep the key they had below them, so that a kernel that took them in would find matches.
std::vector<bool> make_validity(std::uint64_t rows, bool with_nulls, Random& random) {
  if (!with_nulls) return {};
  std::vector<bool> valid(rows);
  for (std::uint64_t i = 0; i < rows; ++i) valid[i] = random.below(8) != 0;
  return valid;
}

std::vector<Axis> large_axes() {
  std::vector<Axis> axes{{"key_bits", {"32", "64"}}, {"left", {}}, {"right", {}}, {"pattern", {}}, {"nulls", {}}};
  for (auto const axis : {1, 2}) {
    for (auto const size : kSmallSizes) axes[axis].values.push_back(std::to_string(size));
    for (auto const size : kLargeSizes) axes[axis].values.push_back(std::to_string(size));
  }
  for (auto const name : kPatternNames) axes[3].values.emplace_back(name);
  for (auto const name : kNullsNames) axes[4].values.emplace_back(name);
  return axes;
}

std::uint64_t size_of(std::size_t value) {
  return value < std::size(kSmallSizes) ? kSmallSizes[value] : kLargeSizes[value - std::size(kSmallSizes)];
}

bool is_large_case(std::span<std::size_t const> choice) {
  auto const left = choice[1];
  auto const right = choice[2];
  if (left == kOpen || right == kOpen) return true;
  if (left < std::size(kSmallSizes) && right < std::size(kSmallSizes)) return false;
  return choice[3] == kOpen || is_affordable(static_cast<KeyPattern>(choice[3]), size_of(left), size_of(right));
}

}  // namespace

std::string_view to_string(KeyPattern pattern) noexcept { return kPatternNames[static_cast<std::size_t>(pattern)]; }
std::string_view to_string(Nulls nulls) noexcept { return kNullsNames[static_cast<std::size_t>(nulls)]; }

std::string to_string(JoinCase const& c) {
  return std::to_string(c.left_rows) + " x " + std::to_string(c.right_rows) + " " + std::string(to_string(c.pattern)) +
         " u" + std::to_string(c.key_bits) + " nulls=" + std::string(to_string(c.nulls)) +
         " seed=" + std::to_string(c.seed);
}

JoinKeys make_keys(JoinCase const& c) {
  Random random(c.seed);
  JoinKeys keys;
  std::tie(keys.left.words, keys.right.words) = make_words(c, random);
  keys.left.valid = make_validity(c.left_rows, c.nulls == Nulls::left || c.nulls == Nulls::both, random);
  keys.right.valid = make_validity(c.right_rows, c.nulls == Nulls::right || c.nulls == Nulls::both, random);
  return keys;
}

bool is_affordable(KeyPattern pattern, std::uint64_t left_rows, std::uint64_t right_rows) noexcept {
  return pattern != KeyPattern::all_equal || left_rows * right_rows <= kMaxEqualPairs;
}

std::vector<JoinCase> small_cases() {
  std::vector<JoinCase> cases;
  for (auto const left : kSmallSizes)
    for (auto const right : kSmallSizes)
      for (std::size_t pattern = 0; pattern < kNumKeyPatterns; ++pattern)
        for (std::size_t nulls = 0; nulls < kNumNulls; ++nulls)
          for (std::uint32_t const key_bits : {32U, 64U})
            cases.push_back(
                {key_bits, left, right, static_cast<KeyPattern>(pattern), static_cast<Nulls>(nulls), cases.size() + 1});
  return cases;
}

std::vector<JoinCase> large_cases() {
  std::vector<JoinCase> cases;
  for (auto const& choice : pairwise_cases(large_axes(), is_large_case).cases)
    cases.push_back({choice[0] == 0 ? 32U : 64U, size_of(choice[1]), size_of(choice[2]),
                     static_cast<KeyPattern>(choice[3]), static_cast<Nulls>(choice[4]), cases.size() + 1});
  for (std::uint32_t const key_bits : {32U, 64U}) {
    cases.push_back({key_bits, 1'000'000, 1'000'000, KeyPattern::dense_unique, Nulls::none, 1});
    cases.push_back({key_bits, 1, 100'000, KeyPattern::all_equal, Nulls::none, 1});
    cases.push_back({key_bits, 3'000, 3'000, KeyPattern::all_equal, Nulls::none, 1});
  }
  return cases;
}

SliceSide::SliceSide(reference::Keys const& keys, std::uint32_t key_bits) : key_bits_(key_bits) {
  for (std::size_t row = 0; row < keys.words.size(); ++row) {
    if (!keys.is_valid(row)) continue;
    if (key_bits == 32)
      words32_.push_back(static_cast<std::uint32_t>(keys.words[row]));
    else
      words64_.push_back(keys.words[row]);
    rows_.push_back(row);
  }
}

contract::KeySpan SliceSide::span() const {
  contract::KeySpan span;
  if (key_bits_ == 32) {
    span.words = std::span<std::uint32_t const>(words32_);
  } else {
    span.words = std::span<std::uint64_t const>(words64_);
  }
  if (size() == 0) return span;
  std::visit(
      [&](auto words) {
        span.min = *std::min_element(words.begin(), words.end());
        span.max = *std::max_element(words.begin(), words.end());
      },
      span.words);
  return span;
}

std::vector<reference::RowPair64> table_rows(std::span<contract::RowPair const> pairs, SliceSide const& left,
                                             SliceSide const& right) {
  std::vector<reference::RowPair64> rows;
  rows.reserve(pairs.size());
  for (auto const& pair : pairs) rows.push_back({left.row(pair.left), right.row(pair.right)});
  return rows;
}

std::vector<bool> table_marks(contract::MarkBitmap const& marks, SliceSide const& side, std::uint64_t num_rows) {
  if (marks.size() != (side.size() + 63) / 64) throw std::runtime_error("the bitmap of marks has a wrong size");
  std::vector<bool> rows(num_rows);
  for (std::uint64_t i = 0; i < 64 * marks.size(); ++i) {
    if (((marks[i / 64] >> (i % 64)) & 1) == 0) continue;
    if (i >= side.size()) throw std::runtime_error("a bit behind the last row is set");
    rows[side.row(static_cast<std::uint32_t>(i))] = true;
  }
  return rows;
}

}  // namespace garuda::testing
