// Pairs of floats whose sums, products and quotients are hard to round.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace garuda::testing {

template <class Float>
struct FloatPairs {
  std::vector<Float> first;
  std::vector<Float> second;
};

/// Zeros, infinities, NaNs with payloads, denormals, and the numbers at the ends of what is normal and exact.
template <class Float>
std::vector<Float> special_floats() {
  using Limits = std::numeric_limits<Float>;
  auto const least = Limits::min();
  auto const tiny = Limits::denorm_min();
  std::vector<Float> values;
  for (Float const value : {Float{0},
                            tiny,
                            3 * tiny,
                            least / 2,
                            std::nextafter(least, Float{0}),
                            least,
                            std::nextafter(least, Float{1}),
                            2 * least,
                            4 * least,
                            least / Limits::epsilon(),
                            std::sqrt(least),
                            std::nextafter(std::sqrt(least), Float{0}),
                            Limits::epsilon(),
                            Float{0.1},
                            Float{1} / 3,
                            Float{1} - Limits::epsilon() / 2,
                            Float{1},
                            Float{1} + Limits::epsilon(),
                            Float{1.5},
                            Float{2},
                            Float{3},
                            Float{10},
                            1 / Limits::epsilon(),
                            2 / Limits::epsilon() - 1,
                            2 / Limits::epsilon() + 2,
                            std::sqrt(Limits::max()),
                            Limits::max() / 2,
                            std::nextafter(Limits::max(), Float{0}),
                            Limits::max(),
                            Limits::infinity(),
                            Limits::quiet_NaN(),
                            Limits::signaling_NaN(),
                            static_cast<Float>(1e30),
                            static_cast<Float>(1e-30),
                            static_cast<Float>(1e-38),
                            Float{std::numeric_limits<float>::max()} + std::ldexp(Float{1}, 103),
                            static_cast<Float>(1.4e-45)}) {
    values.push_back(value);
    values.push_back(-value);
  }
  return values;
}

/// Draws pairs of one sort after the other.
template <class Float>
class FloatPairDraw {
 public:
  explicit FloatPairDraw(std::uint64_t seed) : random_(seed) {}

  void add(FloatPairs<Float>& pairs) {
    auto const [first, second] = next();
    pairs.first.push_back(first);
    pairs.second.push_back(second);
  }

 private:
  using Limits = std::numeric_limits<Float>;
  using Bits = std::conditional_t<sizeof(Float) == 8, std::uint64_t, std::uint32_t>;
  static constexpr int kDigits = Limits::digits;
  static constexpr int kLeast = Limits::min_exponent - 1;  // exponents of the normal numbers
  static constexpr int kMost = Limits::max_exponent - 1;

  int between(int least, int most) {
    return least + static_cast<int>(random_() % static_cast<unsigned>(most - least + 1));
  }
  Float any_bits() {
    auto const bits = static_cast<Bits>(random_());
    Float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
  /// A number of `digits` digits, the last of which is set, and this exponent.
  Float number(int exponent, int digits = kDigits) {
    auto const below = (random_() & ((std::uint64_t{1} << (digits - 1)) - 1)) | 1;
    auto const whole = static_cast<Float>(below | std::uint64_t{1} << (digits - 1));
    return std::ldexp(random_() % 2 == 0 ? whole : -whole, exponent - digits + 1);
  }
  Float anywhere() { return number(between(kLeast, kMost)); }

  struct Pair {
    Float first;
    Float second;
  };

  Pair next() {
    switch (sort_++ % 9) {
      case 0:
        return {any_bits(), any_bits()};
      case 1: {  // exponents as those of data
        return {number(between(-20, 20)), number(between(-20, 20))};
      }
      case 2: {  // sums at any distance, where digits of the second are cut
        auto const exponent = between(kLeast + kDigits + 3, kMost);
        return {number(exponent), number(exponent - between(0, kDigits + 3))};
      }
      case 3: {  // sums halfway between two numbers, and beside that
        auto const exponent = between(kLeast + 2 * kDigits, kMost);
        auto half = std::ldexp(Float{1}, exponent - kDigits);
        if (auto const side = random_() % 3; side > 0) half = std::nextafter(half, side == 1 ? Float{0} : Float{1e30});
        return {number(exponent), random_() % 2 == 0 ? half : -half};
      }
      case 4: {  // products of a digit or two too many: half of them are halfway between two numbers
        auto const digits = kDigits / 2 + 1;
        return {number(between(-40, 40), digits), number(between(-40, 40), digits)};
      }
      case 5: {  // quotients beside numbers and between them
        auto const divisor = number(between(-40, 40));
        auto const quotient = number(between(-20, 20), between(2, kDigits));
        auto const dividend = quotient * divisor;
        return {std::nextafter(dividend, random_() % 2 == 0 ? Float{0} : 2 * dividend), divisor};
      }
      case 6: {  // products at the ends
        auto const first = between(kLeast / 2, kMost / 2);
        auto const end = random_() % 2 == 0 ? kMost + between(-2, 1) : kLeast + between(-kDigits - 2, 2);
        return {number(first), number(std::min(std::max(end - first, kLeast), kMost))};
      }
      case 7: {  // quotients at the ends
        auto const second = between(kLeast / 2, kMost / 2);
        auto const end = random_() % 2 == 0 ? kMost + between(-2, 2) : kLeast + between(-kDigits - 2, 2);
        return {number(std::min(std::max(end + second, kLeast), kMost)), number(second)};
      }
      default: {  // sums that cancel, down to denormals
        auto const exponent = random_() % 2 == 0 ? kLeast + between(0, 3) : between(kLeast, kMost);
        auto const first = number(exponent);
        return {first, -std::nextafter(first, random_() % 2 == 0 ? Float{0} : 2 * first)};
      }
    }
  }

  std::mt19937_64 random_;
  std::uint64_t sort_ = 0;
};

/// All pairs of special values, then `count` drawn ones.
template <class Float>
FloatPairs<Float> hard_pairs(std::size_t count, std::uint64_t seed) {
  FloatPairs<Float> pairs;
  auto const special = special_floats<Float>();
  for (auto const first : special)
    for (auto const second : special) {
      pairs.first.push_back(first);
      pairs.second.push_back(second);
    }
  FloatPairDraw<Float> draw(seed);
  for (std::size_t i = 0; i < count; ++i) draw.add(pairs);
  return pairs;
}

}  // namespace garuda::testing
