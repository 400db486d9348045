// The values that a row adds to the states of its group are read here, from columns of any kind.
#pragma once

#include <bit>
#include <cstdint>

#include "core/numbers/float_parts.hpp"
#include "core/numbers/ordered_value.hpp"
#include "cuda_backend/group_by/resident_state_kernels.hpp"
#include "cuda_backend/group_by/value_kinds.hpp"

namespace garuda::cuda_backend {

__device__ inline std::uint64_t load_value(GroupState const& state, std::uint32_t row) {
  if (is_wide(state.kind)) return static_cast<std::uint64_t const*>(state.values)[row];
  return static_cast<std::uint32_t const*>(state.values)[row];
}

/// The value as an unsigned word of the same order.
__device__ inline std::uint64_t ordered_value(std::uint64_t value, GarudaCudaValueKind kind) {
  auto const narrow = static_cast<std::uint32_t>(value);
  switch (kind) {
    case GARUDA_CUDA_INT32:
      return ordered_signed(narrow);
    case GARUDA_CUDA_INT64:
      return ordered_signed(value);
    case GARUDA_CUDA_FLOAT32:
      return ordered_from_bits(canonical_bits(std::bit_cast<float>(narrow)));
    case GARUDA_CUDA_FLOAT64:
      return ordered_from_bits(canonical_bits(std::bit_cast<double>(value)));
    default:
      return value;
  }
}

/// A state's value of one row or of one chunk's group: a count, the ordered extreme, or the low and the high word of a
/// sum.
struct StateValue {
  std::uint64_t low;
  std::uint64_t high;
};

__device__ inline FloatParts parts_of(GroupState const& state, std::uint64_t value) {
  return state.kind == GARUDA_CUDA_FLOAT64 ? split_float(std::bit_cast<double>(value))
                                           : split_float(std::bit_cast<float>(static_cast<std::uint32_t>(value)));
}

/// A finite float as an integer over the state's first bit, below which no value of the column has any.
__device__ inline StateValue float_term(GroupState const& state, std::uint64_t value) {
  auto const parts = parts_of(state, value);
  if (parts.magnitude == 0) return {0, 0};
  auto term = static_cast<unsigned __int128>(parts.magnitude);
  if (parts.position >= state.first_bit) {
    term <<= parts.position - state.first_bit;
  } else {
    term >>= state.first_bit - parts.position;
  }
  if (parts.negative) term = 0 - term;
  return {static_cast<std::uint64_t>(term), static_cast<std::uint64_t>(term >> 64)};
}

__device__ inline StateValue value_of_row(GroupState const& state, std::uint32_t row) {
  if (state.function == StateFunction::count) return {1, 0};
  auto const value = load_value(state, row);
  if (state.function != StateFunction::sum) return {ordered_value(value, state.kind), 0};
  if (is_float(state.kind)) return float_term(state, value);
  auto const extended = state.kind == GARUDA_CUDA_INT32
                            ? static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(value)))
                            : value;
  bool const is_negative = is_signed(state.kind) && extended >> 63 != 0;
  return {extended, is_negative ? ~std::uint64_t{0} : 0};
}

/// The 64 bits of a float's integer from the state's first bit on, with its sign; special values have none.
__device__ inline StateValue window_term(GroupState const& state, FloatParts const& parts) {
  constexpr int kBits = 64;
  auto const shift = static_cast<int>(parts.position) - static_cast<int>(state.first_bit);
  if (shift <= -kBits || shift >= kBits) return {0, 0};
  auto const term = shift >= 0 ? parts.magnitude << shift : parts.magnitude >> -shift;
  bool const is_negative = parts.negative && term != 0;
  return {is_negative ? 0 - term : term, is_negative ? ~std::uint64_t{0} : 0};
}

/// The value of a row whose group has a number.
__device__ inline StateValue numbered_value(GroupState const& state, std::uint32_t row) {
  if (state.function == StateFunction::flags) return {parts_of(state, load_value(state, row)).special, 0};
  if (state.function == StateFunction::sum && is_float(state.kind))
    return window_term(state, parts_of(state, load_value(state, row)));
  return value_of_row(state, row * state.values_each);
}

/// Whether the row takes part in a state of its group.
__device__ inline bool takes_part(GroupState const& state, std::uint32_t row, std::uint32_t group) {
  if (state.validity != nullptr && (state.validity[row / 32] >> (row % 32) & 1U) == 0) return false;
  if (state.high_extremes == nullptr) return true;
  auto const high = static_cast<std::uint64_t const*>(state.values)[2 * std::uint64_t{row} + 1];
  return ordered_signed(high) == state.high_extremes[std::uint64_t{group} * state.stride];
}

}  // namespace garuda::cuda_backend
