#include "operators/compute/primitives/partitioned_side.hpp"

#include <algorithm>

namespace garuda::compute {
namespace {

constexpr std::uint32_t kHashBits = 32;

// Phases of a pass, by its number.
constexpr std::array<RadixPhases, 3> kPhases{{{"histogram 1", "scan 1", "scatter 1"},
                                              {"histogram 2", "scan 2", "scatter 2"},
                                              {"histogram 3", "scan 3", "scatter 3"}}};

std::uint32_t most_bits(ComputeTuning const& tuning) noexcept {
  return tuning.stable_join ? tuning.stable_bits : tuning.partition_bits;
}

}  // namespace

std::vector<std::uint32_t> bits_of_passes(std::uint32_t bits, std::uint32_t most) {
  auto const passes = (bits + most - 1) / most;
  std::vector<std::uint32_t> split;
  for (std::uint32_t pass = 0; pass < passes; ++pass) {
    auto const left = passes - pass;
    split.push_back((bits + left - 1) / left);
    bits -= split.back();
  }
  return split;
}

std::uint64_t radix_scratch_bytes(std::uint64_t rows, std::uint32_t bits, ComputeTuning const& tuning) noexcept {
  std::uint64_t bytes = 0;
  std::uint32_t used = 0;
  for (auto const pass_bits : bits_of_passes(bits, most_bits(tuning))) {
    bytes += RadixPass::scratch_bytes(rows, 1U << used, pass_bits, tuning);
    used += pass_bits;
  }
  return bytes;
}

Result<PartitionedSide> PartitionedSide::create(ComputeContext& context, DeviceRows rows, std::uint32_t bits) {
  GARUDA_EXPECTS(rows.rows > 0 && bits > 0 && bits <= 24);
  PartitionedSide side;
  side.rows_ = std::move(rows);
  side.most_rows_ = side.rows_.rows;
  side.bits_ = bits;
  auto const split = bits_of_passes(bits, most_bits(context.tuning()));
  auto const payload = side.num_payload();
  bool const wide = side.rows_.keys.words > 1 ||
                    std::ranges::any_of(side.rows_.payload, [](auto const& column) { return column.words > 1; });
  std::uint32_t used = 0;
  for (auto const pass_bits : split) {
    RadixDigit const digit{pass_bits, kHashBits - used - pass_bits, true, context.tuning().stable_join, wide};
    GARUDA_TRY_ASSIGN(
        auto pass, RadixPass::create(context, side.rows_.rows, 1U << used, digit, static_cast<std::uint32_t>(payload)));
    side.passes_.push_back(std::move(pass));
    used += pass_bits;
  }
  for (std::size_t copy = 0; copy < std::min<std::size_t>(split.size(), 2); ++copy) {
    auto& [keys, columns] = side.copies_[copy];
    GARUDA_TRY_ASSIGN(keys, context.device_buffer(side.rows_.rows * side.rows_.keys.words * 4, "partitioned keys"));
    for (std::size_t i = 0; i < payload; ++i) {
      GARUDA_TRY_ASSIGN(auto column,
                        context.device_buffer(side.rows_.rows * side.payload_words(i) * 4, "partitioned column"));
      columns.push_back(std::move(column));
    }
  }
  side.last_ = (split.size() - 1) % 2;
  return side;
}

std::uint32_t PartitionedSide::payload_words(std::size_t column) const {
  if (!rows_.number_rows) return rows_.payload.at(column).words;
  return column == 0 ? 1 : rows_.payload.at(column - 1).words;
}

RadixRows PartitionedSide::moved_by(std::size_t pass) const {
  bool const first = pass == 0;
  auto const& source = copies_[(pass + 1) % 2];
  auto const& target = copies_[pass % 2];
  RadixRows moved;
  moved.rows = rows_.rows;
  moved.keys = {first ? rows_.keys.address : source.keys.address(), target.keys.address(), rows_.keys.words};
  moved.number_rows = first && rows_.number_rows;
  auto const numbers = rows_.number_rows ? std::size_t{1} : 0;
  for (std::size_t i = 0; i < target.payload.size(); ++i) {
    bool const is_number = i < numbers;
    auto const original = is_number ? DeviceColumn{} : rows_.payload[i - numbers];
    moved.payload.push_back(
        {first ? original.address : source.payload[i].address(), target.payload[i].address(), original.words});
  }
  return moved;
}

Result<void> PartitionedSide::record(ComputeContext& context, DeviceRows rows) {
  GARUDA_EXPECTS(rows.rows > 0 && rows.rows <= most_rows_ && rows.keys.words == rows_.keys.words &&
                 rows.payload.size() == rows_.payload.size() && rows.number_rows == rows_.number_rows);
  rows_ = std::move(rows);
  return record(context);
}

Result<void> PartitionedSide::record(ComputeContext& context) {
  std::array<PartitionedSide*, 1> const sides{this};
  return record_side_by_side(context, sides);
}

RadixJob PartitionedSide::job_of(std::size_t pass) {
  Segments segments;
  if (pass > 0) segments = {&passes_[pass - 1].starts(), passes_[pass - 1].num_starts()};
  return {&passes_[pass], moved_by(pass), segments};
}

Result<void> PartitionedSide::record_side_by_side(ComputeContext& context, std::span<PartitionedSide* const> sides) {
  GARUDA_EXPECTS(!sides.empty());
  auto const passes = sides[0]->passes_.size();
  std::vector<std::vector<RadixJob>> jobs(passes);
  bool independent = false;
  for (auto* const side : sides) {
    GARUDA_EXPECTS(side->bits_ == sides[0]->bits_);
    for (std::size_t pass = 0; pass < passes; ++pass) {
      jobs[pass].push_back(side->job_of(pass));
      GARUDA_TRY(side->passes_[pass].record_clears(context, kPhases[0].count, jobs[pass].back().rows, independent));
      independent = true;
    }
  }
  for (std::size_t pass = 0; pass < passes; ++pass)
    GARUDA_TRY(RadixPass::record_side_by_side(context, kPhases.at(pass), jobs[pass]));
  return {};
}

}  // namespace garuda::compute
