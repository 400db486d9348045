// Counts and sums of several columns, side by side: a row adds one row of words to its group.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "operators/contract/group_by_kernel.hpp"
#include "operators/cpu/group_by/state_array.hpp"
#include "operators/cpu/group_by/sums/sum_kernels.hpp"

namespace garuda::cpu {

/// What a word of a row adds up: a column's values, or nullopt: rows.
using SummedWord = std::optional<std::size_t>;

/// Lists of words that lie side by side, 3 or 4 each: the number of rows first, where `counts_rows`, then sums of those
/// of `requests` whose values are words and whose sums fit one, without nulls. Fewer are added as quickly one by one,
/// and so are narrower values, which are read in half of the time.
std::vector<std::vector<SummedWord>> side_by_side(std::span<contract::StateRequest const> requests, bool counts_rows);

/// The words of one list. Sums are right modulo 2^64, which is what those need that fit a word. Throws std::bad_alloc.
class SumRows {
 public:
  explicit SumRows(std::span<SummedWord const> words);

  /// Makes room for `num_groups` groups; new ones are zero.
  void resize(std::uint64_t num_groups) { sums_.resize(num_groups * kSumRowWords); }
  /// Forgets all groups.
  void clear() noexcept { sums_.clear(); }

  /// Adds rows [first, first + groups.size()) of `values`, a column each: the i-th to groups[i].
  void add(std::span<contract::AggregateInput const> values, std::uint64_t first,
           std::span<std::uint32_t const> groups);

  /// Adds the groups from_groups[i] of `from` to the groups to_groups[i].
  void merge(SumRows const& from, std::span<std::uint32_t const> from_groups, std::span<std::uint32_t const> to_groups);

  std::span<SummedWord const> words() const noexcept { return words_; }
  std::uint64_t at(std::uint64_t group, std::size_t word) const noexcept { return sums_[group * kSumRowWords + word]; }

  /// A word of the groups, in their order.
  contract::Words of(std::span<std::uint32_t const> groups, std::size_t word) const;

 private:
  std::vector<SummedWord> words_;
  StateArray<std::uint64_t> sums_;  ///< kSumRowWords a group; those behind the last word stay zero
};

}  // namespace garuda::cpu
