#include "operators/cpu/group_by/floats/float_ranges.hpp"

#include <algorithm>
#include <mutex>
#include <span>

#include "operators/cpu/group_by/table_rows.hpp"

namespace garuda::cpu {
namespace {

/// Rows of a block, and blocks, that a guess is made from.
constexpr std::uint64_t kSampledRows = 512;
constexpr std::size_t kSampledBlocks = 64;

Result<FloatRange> range_of(contract::WholeTable const& table, std::size_t column, contract::TableBlock const& rows) {
  GARUDA_TRY_ASSIGN(auto const values, table.values->read(column, {rows.first, rows.count, nullptr}));
  FloatRange range;
  range.add(values.input, 0, rows.count);
  return range;
}

/// Of the blocks from `first` on.
Result<FloatRange> range_of(contract::WholeTable const& table, std::size_t column, std::size_t first,
                            contract::WholeGroupByOptions const& options) {
  auto const blocks = std::span(table.blocks).subspan(first);
  auto const rows = blocks.empty() ? 0 : table.num_rows - blocks.front().first;
  contract::PhaseTimer const clock(options.stats, "range",
                                   4 * rows * contract::value_words(table.requests[column].kind), rows);
  FloatRange range;
  std::mutex mutex;
  GARUDA_TRY(for_each_range(blocks, options.control, [&](contract::TableBlock const& block) -> Result<void> {
    GARUDA_TRY_ASSIGN(auto const part, range_of(table, column, block));
    std::lock_guard const lock(mutex);
    range.add(part);
    return {};
  }));
  return range;
}

}  // namespace

Result<std::optional<std::vector<FixedPoint>>> find_fixed_points(contract::WholeTable const& table,
                                                                 contract::WholeGroupByOptions const& options) {
  std::vector<FixedPoint> points(table.requests.size());
  for (std::size_t c = 0; c < points.size(); ++c) {
    if (!sums_floats(table.requests[c])) continue;
    GARUDA_TRY_ASSIGN(auto const range, range_of(table, c, 0, options));
    auto const point = range.fixed_point(table.num_rows);
    if (!point) return std::nullopt;
    points[c] = *point;
  }
  return points;
}

Result<std::optional<std::vector<FixedPoint>>> guess_fixed_points(contract::WholeTable const& table) {
  std::vector<FixedPoint> points(table.requests.size());
  auto const step = table.blocks.size() / kSampledBlocks + 1;
  for (std::size_t c = 0; c < points.size(); ++c) {
    if (!sums_floats(table.requests[c])) continue;
    FloatRange range;
    for (std::size_t b = 0; b < table.blocks.size(); b += step) {
      auto const& block = table.blocks[b];
      GARUDA_TRY_ASSIGN(auto const part, range_of(table, c, {block.first, std::min(block.count, kSampledRows)}));
      range.add(part);
    }
    auto const point = range.guess(table.num_rows);
    if (!point) return std::nullopt;
    points[c] = *point;
  }
  return points;
}

Result<bool> rest_fits(contract::WholeTable const& table, std::vector<FixedPoint> const& points, std::size_t first,
                       contract::WholeGroupByOptions const& options) {
  if (first == table.blocks.size()) return true;
  for (std::size_t c = 0; c < points.size(); ++c) {
    if (!points[c].is_guess) continue;
    GARUDA_TRY_ASSIGN(auto const range, range_of(table, c, first, options));
    if (!range.fits(points[c])) return false;
  }
  return true;
}

}  // namespace garuda::cpu
