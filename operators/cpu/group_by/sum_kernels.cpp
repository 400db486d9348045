// Sums in vectors of four words, which the compiler makes of the instructions of each set (GARUDA_KERNELS).
#include <cstring>

#include "operators/cpu/group_by/sum_kernels.hpp"

namespace garuda::cpu {
namespace {

using Words4 [[gnu::vector_size(32)]] = std::uint64_t;

/// Rows whose words are brought together before any is added: one by one, each would be read before its words have left
/// the core's store buffer.
constexpr std::size_t kSumRowsAtOnce = 256;

inline void const* word_at(void const* words, std::size_t i) noexcept {
  return static_cast<char const*>(words) + i * sizeof(std::uint64_t);
}

/// The words of the columns as rows, zeros where there is no fourth column.
template <std::size_t kColumns>
void write_sum_rows(void const* const* columns, std::uint64_t* rows) noexcept {
  for (std::size_t i = 0; i < kSumRowsAtOnce; i += 4) {
    Words4 words[4] = {};
    for (std::size_t w = 0; w < kColumns; ++w) std::memcpy(&words[w], word_at(columns[w], i), sizeof(Words4));
    Words4 const even_ab = __builtin_shufflevector(words[0], words[1], 0, 4, 2, 6);
    Words4 const odd_ab = __builtin_shufflevector(words[0], words[1], 1, 5, 3, 7);
    Words4 const even_cd = __builtin_shufflevector(words[2], words[3], 0, 4, 2, 6);
    Words4 const odd_cd = __builtin_shufflevector(words[2], words[3], 1, 5, 3, 7);
    Words4 const by_row[4] = {
        __builtin_shufflevector(even_ab, even_cd, 0, 1, 4, 5), __builtin_shufflevector(odd_ab, odd_cd, 0, 1, 4, 5),
        __builtin_shufflevector(even_ab, even_cd, 2, 3, 6, 7), __builtin_shufflevector(odd_ab, odd_cd, 2, 3, 6, 7)};
    std::memcpy(rows + 4 * i, by_row, sizeof(by_row));
  }
}

/// Rows that are fewer than are brought together at once.
template <std::size_t kColumns>
void write_last_sum_rows(void const* const* columns, std::size_t count, std::uint64_t* rows) noexcept {
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t w = 0; w < kSumRowWords; ++w) {
      rows[4 * i + w] = 0;
      if (w < kColumns) std::memcpy(&rows[4 * i + w], word_at(columns[w], i), sizeof(std::uint64_t));
    }
}

template <std::size_t kColumns>
void add_sum_rows(void const* const* columns, std::uint32_t const* groups, std::size_t count, std::uint64_t* sums) {
  alignas(64) std::uint64_t rows[kSumRowWords * kSumRowsAtOnce];
  std::uint64_t ones[kSumRowsAtOnce];
  for (auto& one : ones) one = 1;
  for (std::size_t first = 0; first < count; first += kSumRowsAtOnce) {
    void const* from[kColumns];
    for (std::size_t w = 0; w < kColumns; ++w) from[w] = columns[w] == nullptr ? ones : word_at(columns[w], first);
    auto const made = count - first < kSumRowsAtOnce ? count - first : kSumRowsAtOnce;
    if (made == kSumRowsAtOnce)
      write_sum_rows<kColumns>(from, rows);
    else
      write_last_sum_rows<kColumns>(from, made, rows);
    for (std::size_t i = 0; i < made; ++i) {
      auto* const at = sums + kSumRowWords * std::size_t{groups[first + i]};
      Words4 sum;
      Words4 row;
      std::memcpy(&sum, at, sizeof(sum));
      std::memcpy(&row, rows + kSumRowWords * i, sizeof(row));
      sum += row;
      std::memcpy(at, &sum, sizeof(sum));
    }
  }
}

constexpr SumKernels kSumKernels{add_sum_rows<3>, add_sum_rows<4>};

}  // namespace

GARUDA_KERNELS(SumKernels, sum_kernels, kSumKernels)

}  // namespace garuda::cpu
