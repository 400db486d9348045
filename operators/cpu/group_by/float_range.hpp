// Where the floats of a column lie, such that their sums are integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "garuda/error.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "operators/cpu/group_by/sum_kernels.hpp"

namespace garuda::cpu {

/// A bit that no bit of a column's floats lies below, counted from the kind's unit (unit_exponent), such that all of
/// them, and every sum of them, are integers of 127 bits and a sign over it.
struct FixedPoint {
  std::uint32_t position = 0;
  std::uint32_t most_shift = 0;  ///< the lowest bit of no float's mantissa lies so much higher, except for zeros
  bool is_guess = false;         ///< floats that are added are looked at: some may be elsewhere
  bool is_integral = false;      ///< floats are integers between -2^63 and 2^63, whatever their mantissas' bits
};

/// Looks for a FixedPoint of the floats of a column; values may be added from several threads through `add` of their
/// own FloatRange.
class FloatRange {
 public:
  /// Adds the rows [first, first + count) of `input`.
  void add(contract::AggregateInput const& input, std::uint64_t first, std::uint64_t count);
  void add(FloatRange const& other) noexcept;

  /// nullopt when sums of `num_rows` values would not fit, or when there are infinities or NaNs.
  std::optional<FixedPoint> fixed_point(std::uint64_t num_rows) const noexcept;
  /// fixed_point() with room on both sides for `num_rows` values of which these are a sample.
  std::optional<FixedPoint> guess(std::uint64_t num_rows) const noexcept;
  /// Whether all values are where `point` has them.
  bool fits(FixedPoint point) const noexcept;

 private:
  template <class Float>
  void add_values(contract::AggregateInput const& input, std::uint64_t first, std::uint64_t count);
  /// Position of the lowest mantissa's lowest bit, and how much higher that of the highest is.
  FixedPoint extent() const noexcept;
  std::uint32_t most_shift(std::uint64_t num_rows) const noexcept;

  std::uint32_t least_ = 0xFFFF'FFFF;  ///< exponent field of the values but zero
  std::uint32_t largest_ = 0;
  std::uint32_t exponent_limit_ = 0;  ///< exponent field of infinities and NaNs
  std::uint32_t mantissa_bits_ = 0;
  bool are_integers_ = true;  ///< between -2^63 and 2^63
};

/// The bits of a float of type Float behind its exponent's.
template <class Float>
inline constexpr std::uint32_t kMantissaBits = sizeof(Float) == 4 ? 23 : 52;

/// Where integers lie that come in place of the floats of `kind` next to them.
inline FixedPoint point_of_integers(contract::ValueKind kind) noexcept {
  return {static_cast<std::uint32_t>(-contract::unit_exponent(kind)), 0, false, true};
}

inline bool sums_floats(contract::StateRequest const& request) noexcept {
  return contract::is_float(request.kind) && (request.states & contract::kSumState) != 0;
}

/// How to split floats that `point` holds, of `unit` (unit_exponent) and so many bits of mantissa; nullopt: they
/// lie too far apart, a part of one may be subnormal, which a processor may have been told to take for zero, or a sum
/// with a carrier infinite.
std::optional<FloatSplit> float_split(FixedPoint point, std::uint32_t mantissa_bits, std::int32_t unit);

/// Finds the fixed points from all values, in parallel on the threads of the calling task arena; nullopt when a column
/// has none. Phase reported: range. Errors: those of TableValues::read, cancelled.
Result<std::optional<std::vector<FixedPoint>>> find_fixed_points(contract::WholeTable const& table,
                                                                 contract::WholeGroupByOptions const& options);

/// Guesses the fixed points from a few thousand values; nullopt when these already have none. Errors: those of
/// TableValues::read.
Result<std::optional<std::vector<FixedPoint>>> guess_fixed_points(contract::WholeTable const& table);

/// Whether all values from block `first` on are where `points` have them. Otherwise as find_fixed_points.
Result<bool> rest_fits(contract::WholeTable const& table, std::vector<FixedPoint> const& points, std::size_t first,
                       contract::WholeGroupByOptions const& options);

}  // namespace garuda::cpu
