// Loops over masks of rows, which the compiler vectorises for each set of instructions (GARUDA_KERNELS).
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "expr/comparators.hpp"
#include "expr/kernels/mask_kernels.hpp"

namespace garuda::expr {
namespace {

template <class Word>
std::uint32_t count_range(Word const* words, std::size_t count, Word low, Word span) {
  Word found = 0;  // as wide as the words: no widening in the loop
  for (std::size_t i = 0; i < count; ++i) found += static_cast<Word>(words[i] - low) <= span ? 1 : 0;
  return static_cast<std::uint32_t>(found);
}

template <class Word>
void mask_range(Word const* words, std::size_t count, Word low, Word span, std::uint8_t* mask) {
  for (std::size_t i = 0; i < count; ++i) mask[i] = static_cast<Word>(words[i] - low) <= span ? 1 : 0;
}

template <class Word>
void and_range(Word const* words, std::size_t count, Word low, Word span, std::uint8_t* mask) {
  for (std::size_t i = 0; i < count; ++i) mask[i] &= static_cast<Word>(words[i] - low) <= span ? 1 : 0;
}

template <class Value>
bool is_nan(Value value) {
  return value != value;
}

/// The comparators of floats, of which IEEE 754's are not an order.
template <class Value, class Body>
void with_float_comparator(Comparator comparator, Body const& body) {
  auto const equal = [](Value a, Value b) { return (a == b) | (is_nan(a) & is_nan(b)); };
  auto const less = [](Value a, Value b) { return (a < b) | (!is_nan(a) & is_nan(b)); };
  switch (comparator) {
    case Comparator::equal:
      return body(equal);
    case Comparator::not_equal:
      return body([=](Value a, Value b) { return !equal(a, b); });
    case Comparator::less:
      return body(less);
    case Comparator::less_equal:
      return body([=](Value a, Value b) { return !less(b, a); });
    case Comparator::greater:
      return body([=](Value a, Value b) { return less(b, a); });
    case Comparator::greater_equal:
      return body([=](Value a, Value b) { return !less(a, b); });
  }
}

template <class Word>
bool are_words_equal(char const* a, char const* b, std::size_t bytes) {
  Word first[2];
  Word last[2];
  std::memcpy(&first[0], a, sizeof(Word));
  std::memcpy(&first[1], b, sizeof(Word));
  std::memcpy(&last[0], a + bytes - sizeof(Word), sizeof(Word));
  std::memcpy(&last[1], b + bytes - sizeof(Word), sizeof(Word));
  return first[0] == first[1] && last[0] == last[1];
}

/// Whether texts are equal. Of short ones the first and the last bytes, which overlap, are compared without a call.
bool are_texts_equal(std::string_view a, std::string_view b) {
  auto const bytes = a.size();
  if (bytes != b.size()) return false;
  if (bytes > 16) return std::memcmp(a.data(), b.data(), bytes) == 0;
  if (bytes >= 8) return are_words_equal<std::uint64_t>(a.data(), b.data(), bytes);
  if (bytes >= 4) return are_words_equal<std::uint32_t>(a.data(), b.data(), bytes);
  if (bytes >= 2) return are_words_equal<std::uint16_t>(a.data(), b.data(), bytes);
  return bytes == 0 || a[0] == b[0];
}

template <class Value>
void compare_values(Comparator comparator, Value const* a, Value const* b, bool b_is_one, std::size_t count,
                    std::uint8_t* mask) {
  auto const put = [&](auto const& holds) {
    if (b_is_one) {
      auto const one = *b;
      for (std::size_t i = 0; i < count; ++i) mask[i] = holds(a[i], one) ? 1 : 0;
    } else {
      for (std::size_t i = 0; i < count; ++i) mask[i] = holds(a[i], b[i]) ? 1 : 0;
    }
  };
  if constexpr (std::is_floating_point_v<Value>) return with_float_comparator<Value>(comparator, put);
  if constexpr (std::is_same_v<Value, std::string_view>)
    if (!asks_order(comparator)) {
      bool const is_equal = comparator == Comparator::equal;
      if (b_is_one && b->empty()) return put([=](auto first, auto) { return first.empty() == is_equal; });
      return put([=](auto first, auto second) { return are_texts_equal(first, second) == is_equal; });
    }
  with_comparator(comparator, put);
}

void compare(Kind kind, Comparator comparator, void const* a, void const* b, bool b_is_one, std::size_t count,
             std::uint8_t* mask) {
  with_kind(kind, [&]<class Value>(Value) {
    compare_values(comparator, static_cast<Value const*>(a), static_cast<Value const*>(b), b_is_one, count, mask);
  });
}

void and_masks(std::uint8_t const* other, std::size_t count, std::uint8_t* mask) {
  for (std::size_t i = 0; i < count; ++i) mask[i] &= other[i];
}

void or_masks(std::uint8_t const* other, std::size_t count, std::uint8_t* mask) {
  for (std::size_t i = 0; i < count; ++i) mask[i] |= other[i];
}

void and_both(std::uint8_t const* a, std::uint8_t const* b, std::size_t count, std::uint8_t* mask) {
  for (std::size_t i = 0; i < count; ++i) mask[i] = a[i] & b[i];
}

void or_both(std::uint8_t const* a, std::uint8_t const* b, std::size_t count, std::uint8_t* mask) {
  for (std::size_t i = 0; i < count; ++i) mask[i] = a[i] | b[i];
}

std::uint32_t count_mask(std::uint8_t const* mask, std::size_t count) {
  std::uint32_t ones = 0;
  for (std::size_t first = 0; first < count; first += 128) {
    std::uint8_t sum = 0;  // of a few bytes: none overflows
    auto const end = first + 128 < count ? first + 128 : count;
    for (auto i = first; i < end; ++i) sum = static_cast<std::uint8_t>(sum + mask[i]);
    ones += sum;
  }
  return ones;
}

template <class Float>
void to_float(Kind kind, void const* values, std::size_t count, Float* floats) {
  with_machine_kind(kind, [&]<class Value>(Value) {
    auto const* const from = static_cast<Value const*>(values);
    for (std::size_t i = 0; i < count; ++i) floats[i] = static_cast<Float>(from[i]);
  });
}

constexpr MaskKernels kKernels{count_range<std::uint32_t>,
                               count_range<std::uint64_t>,
                               mask_range<std::uint32_t>,
                               mask_range<std::uint64_t>,
                               and_range<std::uint32_t>,
                               and_range<std::uint64_t>,
                               compare,
                               and_masks,
                               or_masks,
                               and_both,
                               or_both,
                               count_mask,
                               to_float<float>,
                               to_float<double>};

}  // namespace

GARUDA_KERNELS(MaskKernels, mask_kernels, kKernels)

}  // namespace garuda::expr
