// Rounds exact sums to numbers: to nearest even, once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/numbers/big_integer.hpp"
#include "core/numbers/wide_integer.hpp"
#include "operators/contract/group_by_kernel.hpp"

namespace garuda::resolve {

/// Integer sums of groups, which may take any number of words: one word is signed as the values are, several are
/// signed. Borrows the state.
class IntegerSums {
 public:
  IntegerSums(contract::AggregateState const& state, contract::ValueKind kind) noexcept
      : sums_(state.sums.data()),
        words_(state.words_per_sum != 0 ? state.words_per_sum : contract::sum_words(kind)),
        is_signed_(words_ > 1 || (kind != contract::ValueKind::uint32 && kind != contract::ValueKind::uint64)) {}

  std::uint64_t lowest_word(std::uint64_t group) const noexcept { return sums_[words_ * group]; }
  /// The sum of `group`; nullopt when it takes more than 128 bits.
  std::optional<Int128> narrow(std::uint64_t group) const noexcept;
  BigInteger exact(std::uint64_t group) const { return {std::span(sums_ + words_ * group, words_), is_signed_}; }
  /// The double nearest to the sum times 2^exponent.
  double rounded(std::uint64_t group, std::int32_t exponent) const noexcept;

 private:
  std::uint64_t const* sums_;
  std::uint32_t words_;
  bool is_signed_;
};

/// The double nearest to (two's complement integer of `words`, low word first, at most 36 of them) · 2^exponent; a tie
/// goes to the even mantissa. Zero is +0.0, and numbers beyond the largest double are infinite.
double round_to_double(std::span<std::uint64_t const> words, std::int32_t exponent) noexcept;

/// The double nearest to value · 2^exponent, with the same rules.
double round_to_double(Int128 value, std::int32_t exponent) noexcept;

/// The sum of group `group`, rounded once: the canonical NaN when it has a NaN or both infinities. `kind`: of the
/// values.
double round_float_sum(contract::FloatSums const& sums, std::uint64_t group, contract::ValueKind kind) noexcept;

}  // namespace garuda::resolve
