// States of a column's groups, updated row by row: exact sums, extremes and lists of values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "core/buffer.hpp"
#include "core/numbers/wide_integer.hpp"
#include "core/parallel_blocks.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "operators/cpu/group_by/column_values.hpp"

namespace garuda::cpu {

/// A growing array of plain values in memory that takes huge pages when it is large. Throws std::bad_alloc.
template <class T>
class StateArray {
 public:
  std::uint64_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T* data() noexcept { return buffer_.as<T>(); }
  T const* data() const noexcept { return buffer_.as<T>(); }
  std::span<T const> values() const noexcept { return {data(), size_}; }
  T& operator[](std::uint64_t i) noexcept { return data()[i]; }
  T const& operator[](std::uint64_t i) const noexcept { return data()[i]; }

  /// Makes room for `size` values.
  void reserve(std::uint64_t size) {
    if (size <= capacity_) return;
    auto larger = AlignedBuffer::allocate(static_cast<std::int64_t>(size * sizeof(T)));
    if (!larger) throw std::bad_alloc();
    if (size_ > 0) std::memcpy(larger->data(), buffer_.data(), size_ * sizeof(T));
    buffer_ = std::move(*larger);
    capacity_ = size;
  }

  /// Sets the size; what is new becomes `value`.
  void resize(std::uint64_t size, T value = T{}) {
    if (size > capacity_) grow(size);
    if (size > size_) std::fill(data() + size_, data() + size, value);
    size_ = size;
  }

  void push_back(T value) {
    if (size_ == capacity_) grow(size_ + 1);
    data()[size_++] = value;
  }

  /// Room for `count` values behind the last one, of which `append` takes some.
  T* room_for(std::uint64_t count) {
    if (size_ + count > capacity_) grow(size_ + count);
    return data() + size_;
  }
  void append(std::uint64_t count) noexcept { size_ += count; }

  /// Forgets the values, keeps the memory.
  void clear() noexcept { size_ = 0; }

 private:
  void grow(std::uint64_t size) { reserve(std::max(size, capacity_ + capacity_ / 2)); }

  AlignedBuffer buffer_;
  std::uint64_t size_ = 0;
  std::uint64_t capacity_ = 0;
};

/// Lists of one column, a group each. Word: that of its extremes. Throws std::bad_alloc.
template <class Word>
class ListStates {
 public:
  explicit ListStates(contract::StateRequest const& request) : bound_(request.list), order_(request.order) {}

  /// Makes room for `num_groups` groups; new ones have no values.
  void resize(std::uint64_t num_groups) {
    num_groups_ = num_groups;
    if (bound_.most == 0) return;
    counts_.resize(num_groups);
    words_.resize(num_groups * bound_.most);
  }

  /// Makes room for `rows` rows in all, where all values are kept.
  void reserve_rows(std::uint64_t rows) {
    if (bound_.most != 0) return;
    words_.reserve(rows);
    groups_.reserve(rows);
  }

  void clear() {
    num_groups_ = 0;
    counts_.clear();
    words_.clear();
    groups_.clear();
  }

  /// Adds the values of rows, as ColumnAccumulator::add does. T: of values whose extremes are words of type Word.
  template <class T>
  void add(contract::AggregateInput const& input, std::uint64_t first, std::span<std::uint32_t const> groups) {
    if (bound_.most == 0) {
      auto* const its_groups = groups_.room_for(groups.size());
      auto* const words = words_.room_for(groups.size());
      std::uint64_t added = 0;
      for_values<T>(input, first, groups, [=, &added](std::uint32_t group, T value) {
        its_groups[added] = group;
        words[added++] = ordered(value);
      });
      groups_.append(added);
      words_.append(added);
    } else
      with_better([&](auto const& is_better) {
        for_values<T>(input, first, groups,
                      [&](std::uint32_t group, T value) { keep(group, ordered(value), is_better); });
      });
  }

  /// Adds the groups from_groups[i] of `from` to the groups to_groups[i]. Requires: the best few are kept.
  void merge(ListStates const& from, std::span<std::uint32_t const> from_groups,
             std::span<std::uint32_t const> to_groups) {
    GARUDA_EXPECTS(bound_.most > 0);
    with_better([&](auto const& is_better) {
      for (std::size_t i = 0; i < from_groups.size(); ++i)
        for (std::uint32_t v = 0; v < from.counts_[from_groups[i]]; ++v)
          keep(to_groups[i], from.words_[std::uint64_t{from_groups[i]} * bound_.most + v], is_better);
    });
  }

  /// The lists of `groups`, in their order; cut short when `control` is cancelled. Requires: all groups with values
  /// where all values are kept.
  contract::ValueLists lists_of(std::span<std::uint32_t const> groups, Control const* control) const {
    std::vector<std::uint64_t> sizes;  // of each group of the table
    if (bound_.most == 0) sizes.resize(num_groups_);
    for_blocks(groups_.size(), control, [&](std::uint64_t i) { ++sizes[groups_[i]]; });
    contract::ValueLists lists;
    lists.offsets.reserve(groups.size() + 1);
    lists.offsets.push_back(0);
    for (auto const group : groups)
      lists.offsets.push_back(lists.offsets.back() + (bound_.most == 0 ? sizes[group] : counts_[group]));
    lists.words.resize(lists.offsets.back() * kWords);
    if (bound_.most > 0) {
      for (std::size_t i = 0; i < groups.size(); ++i)
        put(words_.data() + std::uint64_t{groups[i]} * bound_.most, counts_[groups[i]], lists.offsets[i], lists);
      return lists;
    }
    auto& places = sizes;  // of each group's next value
    for (std::size_t i = 0; i < groups.size(); ++i) places[groups[i]] = lists.offsets[i];
    for_blocks(words_.size(), control, [&](std::uint64_t i) { put(&words_[i], 1, places[groups_[i]]++, lists); });
    return lists;
  }

 private:
  static constexpr auto kWords = sizeof(Word) / sizeof(std::uint64_t);

  /// Calls body(i) for every i below `count`, unless `control` is cancelled.
  template <class Body>
  static void for_blocks(std::uint64_t count, Control const* control, Body const& body) {
    for (std::uint64_t first = 0; first < count && !is_cancelled(control); first += kBlockRows)
      for (auto i = first; i < std::min(first + kBlockRows, count); ++i) body(i);
  }

  static void put(Word const* words, std::size_t count, std::uint64_t place, contract::ValueLists& lists) {
    if (count > 0) std::memcpy(lists.words.data() + place * kWords, words, count * sizeof(Word));
  }

  /// Calls use with what tells whether a word comes before another one.
  template <class Use>
  void with_better(Use const& use) const {
    // The compiler is to know the bound where words are no entries of an order.
    if (bound_.least)
      use([order = order_](Word a, Word b) { return is_less(order, a, b); });
    else
      use([order = order_](Word a, Word b) { return is_less(order, b, a); });
  }

  template <class IsBetter>
  void keep(std::uint32_t group, Word word, IsBetter const& is_better) {
    auto const most = bound_.most;
    auto* const best = words_.data() + std::uint64_t{group} * most;
    auto& count = counts_[group];
    if (count == most && !is_better(word, best[most - 1])) return;
    auto at = count < most ? count++ : most - 1;
    for (; at > 0 && is_better(word, best[at - 1]); --at) best[at] = best[at - 1];
    best[at] = word;
  }

  contract::ListBound bound_;
  keys::ColumnOrder const* order_;
  std::uint64_t num_groups_ = 0;
  StateArray<std::uint32_t> counts_;  ///< bounded: values that a group keeps
  StateArray<Word> words_;            ///< bounded: `most` a group, the best first; else in the order of rows
  StateArray<std::uint32_t> groups_;  ///< not bounded: that of each word
};

/// States of one column that compare values by their order-preserving words, a group each. Word: that of its extremes.
template <class Word>
struct OrderedStates {
  StateArray<Word> minima;
  StateArray<Word> maxima;
  std::optional<ListStates<Word>> lists;
};

/// States of one column, a group each. Sums of integers take one word, and a second one from the first group on whose
/// sum leaves it; so a sum that comes back is right, and one that does not is known. Throws std::bad_alloc.
class ColumnAccumulator {
 public:
  /// Requires: no sums of floats are wanted (sum_rows.hpp).
  explicit ColumnAccumulator(contract::StateRequest const& request);

  /// Makes room for `num_groups` groups; new ones have no values.
  void resize(std::uint64_t num_groups);
  /// Makes room for the values of `rows` rows, where all values are kept.
  void reserve_rows(std::uint64_t rows);
  /// Forgets all groups.
  void clear();

  /// Adds the values of rows [first, first + groups.size()) of `input`: the i-th to groups[i]. `first`: a multiple of
  /// 32 when there are nulls. Values of int64 are added to sums of int128, too, of which no extremes are wanted.
  void add(contract::AggregateInput const& input, std::uint64_t first, std::span<std::uint32_t const> groups);

  /// Adds the values of rows of `input` to one group, likewise. Requires: at most 2^31 rows, no lists.
  void add_to_one(contract::AggregateInput const& input, RowsOfOne const& rows, std::uint32_t group);

  /// Whether add_to_one() may be told that sums of the values of a few thousand rows, [first, first + count), are
  /// short.
  bool have_short_sums(contract::AggregateInput const& input, std::uint64_t first, std::uint64_t count) const;

  /// Adds the groups from_groups[i] of `from` to the groups to_groups[i]. Requires: lists are bounded.
  void merge(ColumnAccumulator const& from, std::span<std::uint32_t const> from_groups,
             std::span<std::uint32_t const> to_groups);

  /// Values of each group that are not null. Requires: they are counted.
  StateArray<std::uint64_t> const& counts() const noexcept { return counts_; }

  /// The states of `groups`, in their order; of lists without a bound: of all groups.
  contract::AggregateState states_of(std::span<std::uint32_t const> groups, Control const* control) const;

 private:
  template <class T, class Sum>
  void add_values(contract::AggregateInput const& input, std::uint64_t first, std::span<std::uint32_t const> groups);
  template <class T>
  void add_extremes(contract::AggregateInput const& input, std::uint64_t first, std::span<std::uint32_t const> groups);
  template <class T, class Sum>
  void add_total(contract::AggregateInput const& input, RowsOfOne const& rows, std::uint32_t group);
  template <class T>
  void add_extremes_to_one(contract::AggregateInput const& input, RowsOfOne const& rows, std::uint32_t group);
  template <class Sum>
  void add_sum(Sum addend, std::uint32_t group);
  bool is_widened(contract::AggregateInput const& input) const noexcept;
  template <class Sum>
  StateArray<Sum>& sums() noexcept;
  /// Notes that a group's sum left its words.
  void carry(std::uint32_t group, std::int64_t high);
  template <class Sum>
  void merge_sums(ColumnAccumulator& into, std::span<std::uint32_t const> from_groups,
                  std::span<std::uint32_t const> to_groups) const;
  template <class Sum>
  void write_sums(std::span<std::uint32_t const> groups, contract::AggregateState& state) const;

  contract::StateRequest request_;
  std::uint64_t num_groups_ = 0;
  StateArray<std::uint64_t> counts_;
  StateArray<std::int64_t> signed_sums_;
  StateArray<std::uint64_t> unsigned_sums_;
  StateArray<Int128> wide_sums_;
  StateArray<std::int64_t> high_;  ///< what overflowed, in units of 2^bits of a sum; empty until one does
  std::variant<OrderedStates<std::uint64_t>, OrderedStates<UInt128>> ordered_;
};

}  // namespace garuda::cpu
