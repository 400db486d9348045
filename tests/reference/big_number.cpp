#include "tests/reference/big_number.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace garuda::reference {

void BigNatural::trim() {
  while (!words_.empty() && words_.back() == 0) words_.pop_back();
}

void BigNatural::add_shifted(std::uint64_t value, std::uint32_t shift) {
  std::uint32_t const parts[3] = {static_cast<std::uint32_t>(value << (shift % 32)),
                                  static_cast<std::uint32_t>((value >> (31 - shift % 32)) >> 1),
                                  static_cast<std::uint32_t>(((value >> 32) >> (31 - shift % 32)) >> 1)};
  auto w = static_cast<std::size_t>(shift / 32);
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < 3 || carry != 0; ++i, ++w) {
    if (w >= words_.size()) words_.resize(w + 1, 0);
    carry += std::uint64_t{words_[w]} + (i < 3 ? parts[i] : 0);
    words_[w] = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
  trim();
}

void BigNatural::multiply_add(std::uint32_t factor, std::uint32_t term) {
  std::uint64_t carry = term;
  for (auto& word : words_) {
    carry += std::uint64_t{word} * factor;
    word = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
  if (carry != 0) words_.push_back(static_cast<std::uint32_t>(carry));
  trim();
}

void BigNatural::add(BigNatural const& other) { add(other, 0); }

void BigNatural::add(BigNatural const& other, std::uint32_t shift) {
  for (std::size_t w = 0; w < other.words_.size(); ++w)
    add_shifted(other.words_[w], shift + static_cast<std::uint32_t>(32 * w));
}

BigNatural BigNatural::times(BigNatural const& other) const {
  BigNatural product;
  product.words_.resize(words_.size() + other.words_.size());
  for (std::size_t i = 0; i < words_.size(); ++i) {
    std::uint64_t carry = 0;
    for (std::size_t j = 0; j < other.words_.size(); ++j) {
      carry += std::uint64_t{words_[i]} * other.words_[j] + product.words_[i + j];
      product.words_[i + j] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    product.words_[i + other.words_.size()] = static_cast<std::uint32_t>(carry);
  }
  product.trim();
  return product;
}

std::uint32_t BigNatural::divide(std::uint32_t divisor) {
  std::uint64_t rest = 0;
  for (auto w = words_.size(); w-- > 0;) {
    rest = (rest << 32) | words_[w];
    words_[w] = static_cast<std::uint32_t>(rest / divisor);
    rest %= divisor;
  }
  trim();
  return static_cast<std::uint32_t>(rest);
}

std::uint32_t BigNatural::bits() const {
  std::uint32_t bits = 0;
  for (std::uint32_t word = words_.empty() ? 0 : words_.back(); word != 0; word >>= 1) ++bits;
  return bits + (words_.empty() ? 0 : 32 * static_cast<std::uint32_t>(words_.size() - 1));
}

void BigNatural::subtract(BigNatural const& other) {
  std::int64_t borrow = 0;
  for (std::size_t w = 0; w < words_.size(); ++w) {
    borrow += std::int64_t{words_[w]} - (w < other.words_.size() ? std::int64_t{other.words_[w]} : 0);
    words_[w] = static_cast<std::uint32_t>(borrow);
    borrow = borrow < 0 ? -1 : 0;
  }
  trim();
}

int BigNatural::compare(BigNatural const& other) const {
  if (words_.size() != other.words_.size()) return words_.size() < other.words_.size() ? -1 : 1;
  for (auto w = words_.size(); w-- > 0;)
    if (words_[w] != other.words_[w]) return words_[w] < other.words_[w] ? -1 : 1;
  return 0;
}

std::uint32_t BigNatural::strip_zero_bits() {
  std::uint32_t zeros = 0;
  while (words_.front() == 0) {
    words_.erase(words_.begin());
    zeros += 32;
  }
  while ((words_.front() & 1) == 0) {
    for (std::size_t w = 0; w < words_.size(); ++w)
      words_[w] = (words_[w] >> 1) | (w + 1 < words_.size() ? words_[w + 1] << 31 : 0);
    trim();
    ++zeros;
  }
  return zeros;
}

std::string BigNatural::digits() const {
  auto words = words_;
  std::string text;
  while (!words.empty()) {
    std::uint64_t rest = 0;
    for (auto w = words.size(); w-- > 0;) {
      rest = (rest << 32) | words[w];
      words[w] = static_cast<std::uint32_t>(rest / 1'000'000'000);
      rest %= 1'000'000'000;
    }
    while (!words.empty() && words.back() == 0) words.pop_back();
    for (int d = 0; d < 9; ++d, rest /= 10) text += static_cast<char>('0' + rest % 10);
  }
  while (text.size() > 1 && text.back() == '0') text.pop_back();
  std::reverse(text.begin(), text.end());
  return text.empty() ? "0" : text;
}

void BigSum::add(double value) {
  int exponent = 0;
  auto const mantissa = std::frexp(std::fabs(value), &exponent);  // in [0.5, 1): 53 bits of it are an integer
  auto magnitude = static_cast<std::uint64_t>(std::ldexp(mantissa, 53));
  exponent -= 53;
  for (; exponent < exponent_; ++exponent) magnitude >>= 1;  // subnormals: zero bits
  (std::signbit(value) ? negative_ : positive_)
      .add_shifted(magnitude, static_cast<std::uint32_t>(exponent - exponent_));
}

void BigSum::add(std::string const& digits) {
  auto const is_negative = digits.front() == '-';
  BigNatural value;
  for (std::size_t i = is_negative ? 1 : 0; i < digits.size(); ++i)
    value.multiply_add(10, static_cast<std::uint32_t>(digits[i] - '0'));
  (is_negative ? negative_ : positive_).add(value);
}

BigNatural BigSum::magnitude(bool& negative) const {
  negative = positive_.compare(negative_) < 0;
  auto larger = negative ? negative_ : positive_;
  larger.subtract(negative ? positive_ : negative_);
  return larger;
}

std::string BigSum::digits() const {
  bool negative = false;
  auto const text = magnitude(negative).digits();
  return negative ? "-" + text : text;
}

double rounded(BigNatural value, std::int32_t exponent) {
  if (value.is_zero()) return 0.0;
  exponent += static_cast<std::int32_t>(value.strip_zero_bits());
  // n · 2^-e = n · 5^e / 10^e; n · 2^e has decimal digits by itself.
  auto const places = std::max(-exponent, 0);
  for (std::int32_t i = 0; i < places; ++i) value.multiply_add(5, 0);
  for (; exponent > 0; --exponent) value.multiply_add(2, 0);
  auto const text = value.digits() + "e-" + std::to_string(places);
  return std::strtod(text.c_str(), nullptr);
}

double BigSum::round() const {
  bool negative = false;
  auto const value = magnitude(negative);
  return negative ? -rounded(value, exponent_) : rounded(value, exponent_);
}

}  // namespace garuda::reference
