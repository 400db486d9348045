// The strategy by which tables in device memory are joined: a pure function of their shape and the device's rates.
#pragma once

#include <optional>
#include <vector>

#include "garuda/join.hpp"
#include "operators/compute/join/resident_join.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "operators/compute/strings/device_strings.hpp"
#include "operators/contract/join_kind.hpp"
#include "operators/contract/offers/costs.hpp"

namespace garuda::compute {

/// One side of a join of resident tables.
struct ResidentSideShape {
  double rows = 0;
  double payload_bytes = 0;  ///< of a row, of the columns that the result needs beside the key
  double payload_columns = 0;
  std::uint32_t key_bits = 0;  ///< in which its keys differ; 0: not known
  bool has_index = false;      ///< kept beside its columns, of its keys
  /// From the least key to the greatest, and that no two rows have the same one: where they were looked at.
  std::optional<double> key_span{};
  bool is_unique = false;
  bool may_have_null_keys = false;
};

ResidentSideShape shape_of(DeviceRows const& rows) noexcept;

/// Keys of several columns, which become one word before they are joined.
struct ComposedKeyShape {
  double rows = 0;          ///< of both sides; 0: keys are words of the tables
  double column_bytes = 0;  ///< of a row's key columns
  double key_words = 1;     ///< of its key
  std::uint32_t columns = 0;
  std::uint32_t bits = 0;     ///< of packed keys
  double numbered_words = 0;  ///< that are compared where keys are numbered; 0: they are packed
};

/// Device bytes that such keys take.
double composed_key_bytes(ComposedKeyShape const& keys) noexcept;

struct ResidentJoinShape {
  ResidentSideShape left;
  ResidentSideShape right;
  double key_bytes = 4;
  double matches = 0;    ///< rows of the result, about
  bool ordered = false;  ///< by left row, then right row; unmatched rows by row
  contract::JoinParts parts{};
  bool counts = false;  ///< of the result only its rows' number is wanted
  bool nulls_equal = false;
  bool is_scattered = false;               ///< both sides are partitioned already
  double tested_reads = 0;                 ///< of a join whose pairs of row numbers are tested: values that each reads
  double converted_bytes = 0;              ///< of values that are made for these tests
  std::vector<NumberedStrings> strings{};  ///< of keys of strings, which are joined by their numbers
  ComposedKeyShape composed{};
  std::optional<Side> build = std::nullopt;  ///< asked for
  JoinTuning asked{};                        ///< asked for: method, payload, and radix_bits of bitmaps

  ResidentSideShape const& of(Side side) const noexcept { return side == Side::left ? left : right; }
};

/// Cost of the join by phase; method global does not sort a side whose index is kept, if `way.build` names it.
/// `way.method`: not automatic. Rules of Wu et al. 2025, §5.4 and §6, as terms: matches
/// and payload columns are random reads of what is gathered, payload and key widths are bytes of every pass that
/// carries them, small build sides are reads of tables that caches hold; skew costs what its rows do.
contract::PhaseCosts resident_join_costs(ResidentJoinShape const& shape, ResidentJoinStrategy const& way,
                                         rates::DeviceRates const& rates, ComputeTuning const& tuning);

/// Whether a bitmap over the range of the build side's keys may do the join, whatever they are: of left rows alone,
/// built on the right; or of counts, built on a side where no key is twice.
bool may_use_bitmap(ResidentJoinShape const& shape, Side build);

/// Whether the join looks its rows up in an index that is kept.
bool uses_index(ResidentJoinShape const& shape, ResidentJoinStrategy const& way);

/// The ways that `shape.asked` allows, the cheapest first. Ordered rows come of method global
/// with the right side built alone; `bitmap` is among them where the shape says of a side what it takes. Errors: usage
/// for ordered rows by another method, and for a bitmap of what has none.
Result<std::vector<ResidentJoinStrategy>> resident_join_strategies(ResidentJoinShape const& shape,
                                                                   rates::DeviceRates const& rates,
                                                                   ComputeTuning const& tuning);

/// `tuning` with the choices made that force `way`.
JoinTuning forcing(ResidentJoinStrategy const& way, JoinTuning tuning = {});
/// Returns the way that forcing() made the choices of, for rows, or their number (`counts`), of such parts.
ResidentJoinStrategy forced(JoinTuning const& tuning, contract::JoinParts const& parts, bool counts);

/// Costs of a join in slices. `method`: not automatic. `scattered_bits`: of partitioned, the bits by which the host
/// scatters slices; 0: the device does.
contract::PhaseCosts compute_join_costs(contract::JoinShape const& shape, contract::DeviceCut const& cut,
                                        rates::DeviceRates const& rates, rates::HostRates const& host,
                                        JoinMethod method = JoinMethod::partitioned, std::uint32_t scattered_bits = 0);

}  // namespace garuda::compute
