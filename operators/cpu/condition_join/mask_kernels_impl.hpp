// Included once a set of instructions, in an unnamed namespace of its own: loops that the compiler vectorises for it.
#include "operators/cpu/condition_join/mask_kernels.hpp"

namespace garuda::cpu {
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

/// Calls body(compare) with the comparator as a function of two words.
template <class Word, class Body>
void with_comparator(contract::Comparator comparator, Body const& body) {
  using contract::Comparator;
  switch (comparator) {
    case Comparator::equal:
      return body([](Word a, Word b) { return a == b; });
    case Comparator::not_equal:
      return body([](Word a, Word b) { return a != b; });
    case Comparator::less:
      return body([](Word a, Word b) { return a < b; });
    case Comparator::less_equal:
      return body([](Word a, Word b) { return a <= b; });
    case Comparator::greater:
      return body([](Word a, Word b) { return a > b; });
    case Comparator::greater_equal:
      return body([](Word a, Word b) { return a >= b; });
  }
}

template <class Word>
void compare_word(contract::Comparator comparator, Word const* words, std::size_t count, Word word,
                  std::uint8_t* mask) {
  with_comparator<Word>(comparator, [&](auto compare) {
    for (std::size_t i = 0; i < count; ++i) mask[i] = compare(words[i], word) ? 1 : 0;
  });
}

template <class Word>
void compare_columns(contract::Comparator comparator, Word const* a, Word const* b, std::size_t count,
                     std::uint8_t* mask) {
  with_comparator<Word>(comparator, [&](auto compare) {
    for (std::size_t i = 0; i < count; ++i) mask[i] = compare(a[i], b[i]) ? 1 : 0;
  });
}

void and_masks(std::uint8_t const* other, std::size_t count, std::uint8_t* mask) {
  for (std::size_t i = 0; i < count; ++i) mask[i] &= other[i];
}

void or_masks(std::uint8_t const* other, std::size_t count, std::uint8_t* mask) {
  for (std::size_t i = 0; i < count; ++i) mask[i] |= other[i];
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

constexpr MaskKernels kKernels{count_range<std::uint32_t>,
                               count_range<std::uint64_t>,
                               mask_range<std::uint32_t>,
                               mask_range<std::uint64_t>,
                               and_range<std::uint32_t>,
                               and_range<std::uint64_t>,
                               compare_word<std::uint32_t>,
                               compare_word<std::uint64_t>,
                               compare_columns<std::uint32_t>,
                               compare_columns<std::uint64_t>,
                               and_masks,
                               or_masks,
                               count_mask};

}  // namespace
}  // namespace garuda::cpu
