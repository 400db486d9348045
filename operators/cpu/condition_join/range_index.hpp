// One column in order: where the words of a range begin and end.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/buffer.hpp"
#include "expr/condition_parts.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"

namespace garuda::cpu {

/// Sorted words, and for each value of their leading bits where its words begin. Read-only once made, by any threads.
class RangeIndex {
 public:
  /// Sorts `rows` words of `column`, or those of the rows `chosen` (which are numbers of it, ascending), on the threads
  /// of the calling task arena: partitioned by their leading bits, then each partition. Rows of one word stay in order.
  /// Errors: out_of_memory, cancelled.
  static Result<RangeIndex> create(expr::ColumnWords const& column, std::uint64_t rows,
                                   std::optional<std::vector<std::uint32_t>> chosen, Control const& control);

  /// Row numbers in the order of their words; once.
  std::vector<std::uint32_t> take_order() noexcept { return std::move(order_); }

  /// The first position whose word is `word` or more; all of them, if there is none.
  std::uint32_t lower_bound(std::uint64_t word) const noexcept;

  struct Positions {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;

    std::uint32_t size() const noexcept { return end - begin; }
  };
  /// Positions of the words in `range`.
  Positions find(expr::WordRange const& range) const noexcept {
    if (range.is_empty()) return {};
    auto const begin = lower_bound(range.low);
    auto const end = range.high >= max_ ? size_ : lower_bound(range.high + 1);
    return {begin, end < begin ? begin : end};
  }

 private:
  template <class Word>
  Result<void> sort(Word const* words, std::vector<std::uint32_t> const* chosen, Control const& control);
  template <class Word>
  void fill_buckets(std::uint32_t differing);
  template <class Word>
  std::uint32_t search(std::uint64_t word) const noexcept;

  std::uint32_t size_ = 0;
  bool is_wide_ = false;
  std::uint64_t min_ = 0;
  std::uint64_t max_ = 0;
  std::uint32_t shift_ = 0;  // of the leading bits
  std::uint64_t mask_ = 0;
  std::vector<std::uint32_t> buckets_;  // where the words of each value of the leading bits begin, then their number
  AlignedBuffer words_;
  std::vector<std::uint32_t> order_;
};

}  // namespace garuda::cpu
