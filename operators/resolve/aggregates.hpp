// Aggregates as data: what each one needs of a kernel, and how its partial states become values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/numbers/big_integer.hpp"
#include "core/numbers/wide_integer.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/types.hpp"
#include "operators/contract/group_by_kernel.hpp"

namespace garuda::resolve {

/// Types that one row of the table treats alike.
enum class ValueClass : std::uint8_t {
  none,  ///< can only be counted
  signed_integer,
  unsigned_integer,
  decimal,
  wide_decimal,  ///< of 256 bits: compared and cut into sums by the host
  floating,
  temporal,
  boolean,
  bytes,  ///< compared by their bytes
};

/// Bits of ValueClass.
using ClassSet = std::uint16_t;

constexpr ClassSet class_bit(ValueClass value_class) noexcept {
  return static_cast<ClassSet>(1U << static_cast<unsigned>(value_class));
}

/// The parameter that an aggregate has beside its column.
enum class Parameter : std::uint8_t { none, column, share, number };

Parameter parameter_of(AggregateFunction function) noexcept;
/// Errors: usage.
Result<void> check_parameter(Aggregate const& aggregate);
/// Name of the result's column where none is given.
std::string default_name(Aggregate const& aggregate);

/// How the values of a column enter a kernel.
struct ValueSource {
  ValueClass value_class = ValueClass::none;
  contract::ValueKind kind = contract::ValueKind::none;
};

ValueSource value_source(DataType const& type) noexcept;

/// Positions of groups: in their own order, or in that of `order`.
struct GroupRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint64_t const* order = nullptr;

  std::uint64_t operator[](std::uint64_t i) const noexcept { return order == nullptr ? first + i : order[first + i]; }
};

struct ResolvedAggregate;

/// The aggregate and the states of which a value is made.
struct FinaliseInput {
  contract::AggregateState const& state;  ///< the first of the aggregate's
  contract::ValueKind kind = contract::ValueKind::none;
  DataType const& input;
  DataType const& result;
  std::span<contract::AggregateState const> states{};  ///< of all state columns
  ResolvedAggregate const* aggregate = nullptr;
  keys::ColumnOrder const* order = nullptr;  ///< of bytes
  Control const* control = nullptr;          ///< when cancelled, what is written is of no use
};

/// Where values go: fixed-width values of the result's type, booleans a byte each.
struct FinaliseOutput {
  std::byte* values = nullptr;
  std::uint8_t* validity = nullptr;  ///< nullptr: no group is null; else the bits of those with values enough are set

  bool is_null(std::uint64_t i) const noexcept {
    return validity != nullptr && ((validity[i / 8] >> (i % 8)) & 1) == 0;
  }
  void set_null(std::uint64_t i) const noexcept { validity[i / 8] &= static_cast<std::uint8_t>(~(1U << (i % 8))); }
  template <class T>
  void put(std::uint64_t i, T const& value) const noexcept {
    std::memcpy(values + i * sizeof(T), &value, sizeof(T));
  }
};

/// Writes the values of `groups`; those that are null get anything. Returns the first group whose value the result's
/// type cannot hold.
using Finalise = std::optional<std::uint64_t> (*)(FinaliseInput const& input, GroupRange const& groups,
                                                  FinaliseOutput const& out);

/// The input of the states that an aggregate needs.
enum class Making : std::uint8_t {
  column,   ///< the column's values
  list,     ///< all of a group's values, which the host keeps
  row,      ///< the numbers of rows with a value
  ranked,   ///< these, in the order of the second column's values
  moments,  ///< exact products of numbers, as the host cuts them into integers
};

/// One row of the table of aggregates.
struct AggregateRow {
  AggregateFunction function;
  ClassSet classes;  ///< of the column
  Making making;
  contract::StateSet states;   ///< that it is made of
  std::uint32_t least_values;  ///< a group with fewer gives null; 0: none does
  DataType (*result_type)(DataType const& input);
  Finalise finalise;  ///< nullptr: the value is the column's at a row that the state names, or a list of such

  bool is_nullable() const noexcept { return least_values > 0; }
  bool gives_lists() const noexcept { return making == Making::list && finalise == nullptr; }
};

/// The row for a function of a column of class `value_class`, or nullptr when there is none.
AggregateRow const* find_aggregate(AggregateFunction function, ValueClass value_class) noexcept;

/// True when group `group` has no value that takes part.
inline bool is_empty_group(contract::AggregateState const& state, std::uint64_t group) noexcept {
  return !state.counts.empty() && state.counts[group] == 0;
}

/// True when group `group` has fewer than `least` values.
inline bool has_too_few(contract::AggregateState const& state, std::uint64_t group, std::uint32_t least) noexcept {
  return !state.counts.empty() && state.counts[group] < least;
}

/// The value behind its order-preserving words, in the lowest bits; of bytes the entry.
UInt128 value_bits(std::uint64_t const* ordered, contract::ValueKind kind) noexcept;

/// value_bits() as `type` stores it, whose values may be narrower than those of the kind.
UInt128 stored_bits(std::uint64_t const* ordered, contract::ValueKind kind, DataType const& type) noexcept;

/// `value` as float64 of a type with a scale: divided by 10^scale.
double scaled(double value, std::int32_t scale) noexcept;

/// NaNs in their one form, zeros as +0.0.
double canonical(double value) noexcept;

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

// Integers and their products; see moments.cpp.
std::optional<std::uint64_t> finalise_wide_sum(FinaliseInput const&, GroupRange const&, FinaliseOutput const&);
std::optional<std::uint64_t> finalise_wide_mean(FinaliseInput const&, GroupRange const&, FinaliseOutput const&);
std::optional<std::uint64_t> finalise_var(FinaliseInput const&, GroupRange const&, FinaliseOutput const&);
std::optional<std::uint64_t> finalise_std(FinaliseInput const&, GroupRange const&, FinaliseOutput const&);
std::optional<std::uint64_t> finalise_corr(FinaliseInput const&, GroupRange const&, FinaliseOutput const&);

// Lists of a group's values; see list_values.cpp.
std::optional<std::uint64_t> finalise_distinct(FinaliseInput const&, GroupRange const&, FinaliseOutput const&);
std::optional<std::uint64_t> finalise_quantile(FinaliseInput const&, GroupRange const&, FinaliseOutput const&);
std::optional<std::uint64_t> finalise_quantile_value(FinaliseInput const&, GroupRange const&, FinaliseOutput const&);
std::optional<std::uint64_t> finalise_product(FinaliseInput const&, GroupRange const&, FinaliseOutput const&);

}  // namespace garuda::resolve
