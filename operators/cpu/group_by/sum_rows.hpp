// Counts and sums of several columns, side by side: a row of a table adds to one row of words, that of its group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "operators/contract/group_by_kernel.hpp"
#include "operators/cpu/group_by/accumulators.hpp"
#include "operators/cpu/group_by/float_range.hpp"
#include "operators/cpu/group_by/sum_kernels.hpp"

namespace garuda::cpu {

/// The addend in a row of words: a column's values, or nullopt: rows.
using Summed = std::optional<std::size_t>;

/// Whether a column's sums are wanted that cannot leave a word.
bool sums_fitting_word(contract::StateRequest const& request) noexcept;

/// Lists of what lies side by side, the number of rows first, where `counts_rows`; the first list has it. First, 3 or 4
/// each, sums of words; then, at most kMostSumWords words each, those that are left, sums of 32 bits, and sums of
/// floats, which take two words and may have nulls. All others are in none: those that might leave a word, or have
/// nulls. If there is but one it is in none, either, unless it is of floats.
std::vector<std::vector<Summed>> side_by_side(std::span<contract::StateRequest const> requests, bool counts_rows);

inline constexpr std::size_t kMostSumWords = 8;

/// Words of a group's row of one list.
std::size_t row_words(std::span<contract::StateRequest const> requests, std::span<Summed const> list) noexcept;

/// Adds floats as integers over the column's lowest bit to words that others keep. Where all floats are integers,
/// inputs of int64 are taken for the float64s next to them.
class FloatTotals {
 public:
  FloatTotals(contract::ValueKind kind, FixedPoint fixed_point) noexcept;

  /// Adds the values of rows [first, first + groups.size()) of `input`: the i-th to the two's complement words, low one
  /// first, at sums + stride * groups[i]. `first`: a multiple of 32 when there are nulls.
  void add(contract::AggregateInput const& input, std::uint64_t first, std::span<std::uint32_t const> groups,
           std::uint64_t* sums, std::size_t stride);
  /// Adds the values of rows [first, first + count) to the words at `sums`, as above.
  void add_to_one(contract::AggregateInput const& input, std::uint64_t first, std::size_t count, std::uint64_t* sums);
  /// Takes over what is known of the floats that `other` added.
  void merge(FloatTotals const& other) noexcept {
    seen_.add(other.seen_);
    are_integers_ = are_integers_ && other.are_integers_;
  }

  /// False: floats that were added lie elsewhere than was guessed, and their sums mean nothing.
  bool fits() const noexcept {
    if (fixed_.is_integral) return are_integers_;
    return !fixed_.is_guess || seen_.fits(fixed_);
  }
  /// Sums are in units of 2^exponent.
  std::int32_t exponent() const noexcept {
    return static_cast<std::int32_t>(fixed_.position) + contract::unit_exponent(kind_);
  }

 private:
  template <class Add>
  void for_integers(contract::AggregateInput const& input, std::uint64_t first, std::size_t count, Add const& add);
  template <class Float>
  void read_integers(contract::AggregateInput const& input, std::uint64_t first, std::size_t count, std::uint64_t* low,
                     std::uint64_t* high);
  template <class Float, class Add>
  void for_integers_of(contract::AggregateInput const& input, std::uint64_t first, std::size_t count, Add const& add);

  contract::ValueKind kind_;
  FixedPoint fixed_;
  FloatRange seen_;           ///< where their place was guessed
  bool are_integers_ = true;  ///< where all floats are to be
};

/// The rows of words of one list. Throws std::bad_alloc.
class SumRows {
 public:
  /// `fixed_points`: a request each.
  SumRows(std::span<Summed const> list, std::span<contract::StateRequest const> requests,
          std::span<FixedPoint const> fixed_points);

  /// Makes room for `num_groups` groups; new ones are zero.
  void resize(std::uint64_t num_groups) { sums_.resize(num_groups * row_words_); }
  /// Forgets all groups.
  void clear() noexcept { sums_.clear(); }

  /// Adds rows [first, first + groups.size()) of `values`, a column each: the i-th to groups[i]. `first`: a multiple of
  /// 32 when there are nulls.
  void add(std::span<contract::AggregateInput const> values, std::uint64_t first,
           std::span<std::uint32_t const> groups);

  /// Adds the groups from_groups[i] of `from` to the groups to_groups[i].
  void merge(SumRows const& from, std::span<std::uint32_t const> from_groups, std::span<std::uint32_t const> to_groups);

  /// False: floats that were added lie elsewhere than was guessed, and their sums mean nothing.
  bool fits() const noexcept;

  bool counts_rows() const noexcept { return counts_rows_; }
  /// Requires: rows are counted.
  std::uint64_t num_rows(std::uint64_t group) const noexcept { return sums_[group * row_words_]; }
  contract::Words nums_rows(std::span<std::uint32_t const> groups) const { return words_of(groups, 0, 1); }

  /// Writes the sums of `groups`, in their order, into the states of their columns.
  void write_sums(std::span<std::uint32_t const> groups, std::span<contract::AggregateState> states) const;

 private:
  /// A column of a list.
  struct Term {
    std::size_t column = 0;
    contract::ValueKind kind = contract::ValueKind::none;
    std::size_t word = 0;  ///< its first one in a row
    std::optional<FloatTotals> floats;
  };

  void add_by_kernel(std::span<contract::AggregateInput const> values, std::uint64_t first,
                     std::span<std::uint32_t const> groups);
  template <class T>
  void add_run(std::span<Term const> terms, std::span<contract::AggregateInput const> values, std::uint64_t first,
               std::span<std::uint32_t const> groups, bool counts_rows);
  contract::Words words_of(std::span<std::uint32_t const> groups, std::size_t word, std::size_t count) const;

  std::vector<Term> terms_;  ///< uint64, int32, uint32, then floats, as side_by_side lists them
  bool counts_rows_ = false;
  bool is_of_words_ = false;  ///< kept as sum_kernels.hpp has it
  std::size_t row_words_ = 0;
  StateArray<std::uint64_t> sums_;  ///< row_words_ a group
};

}  // namespace garuda::cpu
