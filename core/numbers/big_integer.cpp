#include "core/numbers/big_integer.hpp"

#include <algorithm>
#include <bit>

#include "core/numbers/exact_rounding.hpp"
#include "garuda/error.hpp"

namespace garuda {

BigInteger& BigInteger::operator=(BigInteger const& other) noexcept {
  count_ = other.count_;
  negative_ = other.negative_;
  std::copy_n(other.words_.begin(), count_, words_.begin());
  return *this;
}

BigInteger::BigInteger(std::uint64_t value) noexcept : count_(value == 0 ? 0 : 1) { words_[0] = value; }

BigInteger::BigInteger(std::span<std::uint64_t const> words, bool is_signed) noexcept
    : count_(static_cast<std::uint32_t>(words.size())), negative_(is_signed && (words.back() >> 63) != 0) {
  std::uint64_t carry = negative_ ? 1 : 0;
  for (std::uint32_t w = 0; w < count_; ++w) {
    words_[w] = (negative_ ? ~words[w] : words[w]) + carry;
    carry = carry != 0 && words_[w] == 0 ? 1 : 0;
  }
  trim();
}

void BigInteger::set_count(std::uint32_t count) {
  GARUDA_EXPECTS(count <= kMostWords);
  count_ = count;
}

void BigInteger::trim() noexcept {
  while (count_ > 0 && words_[count_ - 1] == 0) --count_;
  negative_ = negative_ && count_ > 0;
}

void BigInteger::write(std::span<std::uint64_t> words) const noexcept {
  std::uint64_t carry = negative_ ? 1 : 0;
  for (std::size_t w = 0; w < words.size(); ++w) {
    auto const word = w < count_ ? words_[w] : 0;
    words[w] = (negative_ ? ~word : word) + carry;
    carry = carry != 0 && words[w] == 0 ? 1 : 0;
  }
}

std::uint32_t BigInteger::bit_width() const noexcept {
  return count_ == 0 ? 0 : 64 * (count_ - 1) + static_cast<std::uint32_t>(std::bit_width(words_[count_ - 1]));
}

BigInteger BigInteger::operator-() const noexcept {
  auto result = *this;
  result.negative_ = count_ > 0 && !negative_;
  return result;
}

BigInteger BigInteger::operator<<(std::uint32_t bits) const {
  auto const skipped = bits / 64;
  auto const shift = bits % 64;
  BigInteger result;
  if (count_ == 0) return result;
  result.set_count(count_ + skipped + 1);
  result.negative_ = negative_;
  std::fill_n(result.words_.begin(), skipped, 0);
  std::uint64_t carry = 0;
  for (std::uint32_t w = 0; w < count_; ++w) {
    result.words_[w + skipped] = words_[w] << shift | carry;
    carry = shift == 0 ? 0 : words_[w] >> (64 - shift);
  }
  result.words_[count_ + skipped] = carry;
  result.trim();
  return result;
}

int BigInteger::compare_magnitude(BigInteger const& other) const noexcept {
  if (count_ != other.count_) return count_ < other.count_ ? -1 : 1;
  for (auto w = count_; w-- > 0;)
    if (words_[w] != other.words_[w]) return words_[w] < other.words_[w] ? -1 : 1;
  return 0;
}

BigInteger BigInteger::sum(BigInteger const& other, bool other_is_negative) const {
  BigInteger result;
  bool const adds = negative_ == other_is_negative;
  bool const is_swapped = compare_magnitude(other) < 0;
  auto const& larger = is_swapped ? other : *this;
  auto const& smaller = is_swapped ? *this : other;
  result.set_count(larger.count_ + (adds ? 1 : 0));
  result.negative_ = is_swapped ? other_is_negative : negative_;
  Int128 carry = 0;
  for (std::uint32_t w = 0; w < larger.count_; ++w) {
    auto const addend = Int128{w < smaller.count_ ? smaller.words_[w] : 0};
    carry += Int128{larger.words_[w]} + (adds ? addend : -addend);
    result.words_[w] = static_cast<std::uint64_t>(carry);
    carry >>= 64;
  }
  if (adds) result.words_[larger.count_] = static_cast<std::uint64_t>(carry);
  result.trim();
  return result;
}

BigInteger BigInteger::operator*(BigInteger const& other) const {
  BigInteger result;
  if (count_ == 0 || other.count_ == 0) return result;
  result.set_count(count_ + other.count_);
  result.negative_ = negative_ != other.negative_;
  std::fill_n(result.words_.begin(), result.count_, 0);
  for (std::uint32_t i = 0; i < count_; ++i) {
    std::uint64_t carry = 0;
    for (std::uint32_t j = 0; j < other.count_; ++j) {
      auto const total = UInt128{words_[i]} * other.words_[j] + result.words_[i + j] + carry;
      result.words_[i + j] = static_cast<std::uint64_t>(total);
      carry = static_cast<std::uint64_t>(total >> 64);
    }
    result.words_[i + other.count_] = carry;
  }
  result.trim();
  return result;
}

bool BigInteger::divide(std::uint64_t divisor) noexcept {
  std::uint64_t rest = 0;
  for (auto w = count_; w-- > 0;) {
    auto const dividend = UInt128{rest} << 64 | words_[w];
    words_[w] = static_cast<std::uint64_t>(dividend / divisor);
    rest = static_cast<std::uint64_t>(dividend % divisor);
  }
  trim();
  return rest != 0;
}

double BigInteger::round(std::int32_t exponent, bool goes_on) const noexcept {
  if (count_ == 0) return 0.0;
  // The highest words decide; all others only say that the value goes on below them, which one more bit does.
  constexpr std::uint32_t kDeciding = 3;
  auto const dropped = count_ > kDeciding ? count_ - kDeciding : 0;
  ExactInteger top;
  top.count = static_cast<int>(count_ - dropped) + 1;
  bool const is_more =
      goes_on || std::any_of(words_.begin(), words_.begin() + dropped, [](std::uint64_t word) { return word != 0; });
  top.words[0] = is_more ? std::uint64_t{1} << 63 : 0;
  std::copy_n(words_.begin() + dropped, count_ - dropped, top.words + 1);
  auto const bits = round_magnitude(top, exponent + 64 * (static_cast<std::int32_t>(dropped) - 1));
  return std::bit_cast<double>(negative_ ? bits | kSign64 : bits);
}

}  // namespace garuda
