#include "operators/compute/sorted_side.hpp"

#include <algorithm>

namespace garuda::operators {
namespace {

// All passes of a sort are timed as one.
constexpr RadixPhases kPhases{"sort histogram", "sort scan", "sort scatter"};

}  // namespace

Result<SortedSide> SortedSide::create(ComputeContext& context, DeviceRows rows, std::uint32_t bits) {
  GARUDA_EXPECTS(rows.rows > 0 && rows.number_rows && rows.payload.empty() && bits <= 32 * rows.keys.words);
  SortedSide side;
  side.rows_ = std::move(rows);
  std::uint32_t shift = 0;
  for (auto const pass_bits : bits_of_passes(std::max(bits, 1U), context.tuning().partition_bits)) {
    // A digit lies within one word of the key or within the low word after a shift: see digit_of in radix.glsl.
    GARUDA_TRY_ASSIGN(auto pass,
                      RadixPass::create(context, side.rows_.rows, 1, RadixDigit{pass_bits, shift, false, true}, 1));
    side.passes_.push_back(std::move(pass));
    shift += pass_bits;
  }
  for (std::size_t copy = 0; copy < std::min<std::size_t>(side.passes_.size(), 2); ++copy) {
    auto& [keys, numbers] = side.copies_[copy];
    GARUDA_TRY_ASSIGN(keys, context.device_buffer(side.rows_.rows * side.rows_.keys.words * 4, "sorted keys"));
    GARUDA_TRY_ASSIGN(numbers, context.device_buffer(side.rows_.rows * 4, "sorted rows"));
  }
  side.last_ = (side.passes_.size() - 1) % 2;
  return side;
}

Result<void> SortedSide::record(ComputeContext& context) {
  for (std::size_t pass = 0; pass < passes_.size(); ++pass) {
    auto const& source = copies_[(pass + 1) % 2];
    auto const& target = copies_[pass % 2];
    bool const first = pass == 0;
    RadixRows moved;
    moved.rows = rows_.rows;
    moved.keys = {first ? rows_.keys.address : source.keys.address(), target.keys.address(), rows_.keys.words};
    moved.payload = {{first ? 0 : source.numbers.address(), target.numbers.address(), 1}};
    moved.number_rows = first;
    GARUDA_TRY(passes_[pass].record(context, kPhases, moved));
  }
  return {};
}

}  // namespace garuda::operators
