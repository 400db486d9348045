#include "operators/compute/primitives/sorted_side.hpp"

#include <algorithm>

namespace garuda::compute {
namespace {

// All passes of a sort are timed as one.
constexpr RadixPhases kPhases{"sort histogram", "sort scan", "sort scatter"};

}  // namespace

Result<SortedSide> SortedSide::create(ComputeContext& context, DeviceRows rows, std::uint32_t bits) {
  GARUDA_EXPECTS(rows.rows > 0 && bits <= 32 * rows.keys.words);
  SortedSide side;
  side.rows_ = std::move(rows);
  auto const columns = side.rows_.payload.size() + (side.rows_.number_rows ? 1 : 0);
  std::uint32_t shift = 0;
  for (auto const pass_bits : bits_of_passes(std::max(bits, 1U), context.tuning().stable_bits)) {
    // A digit lies within one word of the key or within the low word after a shift: see digit_of in radix.glsl.
    GARUDA_TRY_ASSIGN(auto pass,
                      RadixPass::create(context, side.rows_.rows, 1, RadixDigit{pass_bits, shift, false, true},
                                        static_cast<std::uint32_t>(columns)));
    side.passes_.push_back(std::move(pass));
    shift += pass_bits;
  }
  for (std::size_t copy = 0; copy < std::min<std::size_t>(side.passes_.size(), 2); ++copy) {
    auto& [keys, payload] = side.copies_[copy];
    GARUDA_TRY_ASSIGN(keys, context.device_buffer(side.rows_.rows * side.rows_.keys.words * 4, "sorted keys"));
    for (std::size_t c = 0; c < columns; ++c) {
      GARUDA_TRY_ASSIGN(auto column, context.device_buffer(side.rows_.rows * side.words_of(c) * 4, "sorted column"));
      payload.push_back(std::move(column));
    }
  }
  side.last_ = (side.passes_.size() - 1) % 2;
  return side;
}

std::uint32_t SortedSide::words_of(std::size_t column) const {
  if (!rows_.number_rows) return rows_.payload[column].words;
  return column == 0 ? 1 : rows_.payload[column - 1].words;
}

RadixRows SortedSide::moved_by(std::size_t pass) const {
  auto const& source = copies_[(pass + 1) % 2];
  auto const& target = copies_[pass % 2];
  bool const first = pass == 0;
  RadixRows moved;
  moved.rows = rows_.rows;
  moved.keys = {first ? rows_.keys.address : source.keys.address(), target.keys.address(), rows_.keys.words};
  moved.number_rows = first && rows_.number_rows;
  std::size_t const numbers = rows_.number_rows ? 1 : 0;
  for (std::size_t c = 0; c < target.payload.size(); ++c) {
    auto const original = c < numbers ? 0 : rows_.payload[c - numbers].address;
    moved.payload.push_back({first ? original : source.payload[c].address(), target.payload[c].address(), words_of(c)});
  }
  return moved;
}

Result<void> SortedSide::record(ComputeContext& context) {
  for (std::size_t pass = 0; pass < passes_.size(); ++pass)
    GARUDA_TRY(passes_[pass].record(context, kPhases, moved_by(pass)));
  return {};
}

}  // namespace garuda::compute
