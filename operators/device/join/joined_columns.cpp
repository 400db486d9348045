#include "operators/device/join/joined_columns.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "operators/materialize/column_words.hpp"

namespace garuda::device {
namespace {

constexpr char const* kFlagsPhase = "absent sides";

/// The side that a column says is absent; nothing of other columns.
std::optional<Side> absent_side(AddedColumn const& column) {
  if (column.kind == AddedColumn::Kind::left_absent) return Side::left;
  return column.kind == AddedColumn::Kind::right_absent ? std::optional(Side::right) : std::nullopt;
}

/// The columns behind key and payload, without a value but for words that say that no side is absent. Where no row
/// lacks a side, there are no such words, and no nulls.
Result<void> take_added(compute::ComputeContext& context, MovedSides const& sides, std::span<UnmatchedPart const> parts,
                        DeviceTableState& result) {
  for (auto const& column : sides.added) {
    auto const absent = absent_side(column);
    auto const lacks = [&](UnmatchedPart const& part) { return part.side != *absent && part.rows > 0; };
    if (absent && std::ranges::none_of(parts, lacks)) {
      for (auto& shown : result.columns)
        if (shown.nulls == result.stored.size()) shown.nulls.reset();
      result.stored.push_back({{}, column.words});
      continue;
    }
    GARUDA_TRY_ASSIGN(auto stored, take_column(result, column.words));
    if (absent) GARUDA_TRY(context.fill(kFlagsPhase, stored.buffer, 0));
    result.stored.push_back(std::move(stored));
  }
  return {};
}

}  // namespace

Result<std::vector<UnmatchedPart>> find_unmatched(compute::ComputeContext& context, contract::JoinParts const& parts,
                                                  std::vector<std::pair<Side, compute::MarkedRows>> sides) {
  std::vector<UnmatchedPart> found;
  for (auto& [side, marked] : sides) {
    GARUDA_TRY_ASSIGN(auto unmatched, compute::UnmatchedRows::create(context, std::move(marked), parts.rows(side)));
    GARUDA_TRY(unmatched.record_count(context));
    found.push_back({side, std::move(unmatched)});
  }
  for (auto& part : found) {
    GARUDA_TRY_ASSIGN(part.rows, part.unmatched.count(context));
  }
  return found;
}

std::uint64_t rows_of(std::span<UnmatchedPart const> parts) {
  std::uint64_t rows = 0;
  for (auto const& part : parts) rows += part.rows;
  return rows;
}

Result<void> write_rest(compute::ComputeContext& context, MovedSides const& sides, std::span<UnmatchedPart> parts,
                        std::uint64_t first, DeviceTableState& result) {
  GARUDA_TRY(take_added(context, sides, parts, result));
  for (auto& part : parts) {
    auto const columns = unmatched_columns(sides, part.side, part.unmatched.marked(), result.stored);
    if (part.rows > 0)
      GARUDA_TRY(part.unmatched.record_rows(context, columns, part.places != 0 ? 0 : first, part.places));
    first += part.rows;
  }
  for (std::size_t i = 0; i < sides.added.size(); ++i) {
    if (sides.added[i].kind != AddedColumn::Kind::keys) continue;
    auto const& stored = result.stored[sides.first_added() + i];
    compute::KeyResize resize;
    resize.source = {result.stored[0].buffer.address(), sides.key_words};
    resize.target = {stored.buffer.address(), stored.words};
    resize.rows = result.rows;
    if (result.rows > 0) GARUDA_TRY(compute::record_key_width(context, resize));
  }
  return context.submissions().finish();
}

}  // namespace garuda::device
