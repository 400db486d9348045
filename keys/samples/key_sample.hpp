// Facts of group-by keys from a sample of rows: how diverse each attribute is, in what range its
// values lie, and about how many groups there are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "keys/codes/attribute_reader.hpp"
#include "keys/key_layout.hpp"

namespace garuda::keys {

/// Bins of the histograms that tell how diverse an attribute is (GARUDA §4.2.2).
inline constexpr std::uint32_t kAttributeBins = std::uint32_t{1} << 16;
/// Most rows that are looked at.
inline constexpr std::uint64_t kSampledRows = std::uint64_t{1} << 17;
/// How many rows of a table are: all of few, else an eighth, as counting a row takes about as long as grouping it.
constexpr std::uint64_t sampled_rows(std::uint64_t num_rows) noexcept {
  constexpr std::uint64_t kFewest = std::uint64_t{1} << 15;
  constexpr std::uint64_t kShare = 8;
  return std::min(num_rows, std::clamp(num_rows / kShare, kFewest, kSampledRows));
}

struct KeySample {
  std::uint64_t rows = 0;                    ///< in the sample; 0: none was needed
  std::vector<std::uint32_t> nonempty_bins;  ///< an attribute: of kAttributeBins
  std::vector<CodeRange> ranges;             ///< an attribute: of the sampled rows
  std::uint64_t estimated_groups = 0;        ///< of the whole table: exact when all rows are in the sample
};

/// Samples short runs of rows, evenly spread, or all rows where sampled_rows says so. On the threads
/// of the calling task arena.
/// Reads no rows where all columns are dictionary-encoded, without nulls, and have few combinations of codes:
/// these are as many groups as there can be. Groups beyond those in the sample are estimated from how many groups were
/// seen once and how many twice, never more than the rows (Frequencies::drawn_from).
/// Errors: out_of_memory, cancelled.
Result<KeySample> sample_keys(std::vector<AttributeReader> const& readers, std::vector<RowBlock> const& blocks,
                              std::uint64_t num_rows, Control const& control);

}  // namespace garuda::keys
