#include "operators/compute/strings/device_strings.hpp"

#include <algorithm>
#include <vector>

namespace garuda::compute {
namespace {

constexpr char const* kStringsPhase = "strings";

}  // namespace

Result<DeviceStrings> DeviceStrings::create(ComputeContext& context, std::span<StringPiece const> pieces) {
  GARUDA_EXPECTS(pieces.size() <= kMostStringPieces);
  std::vector<shaders::StringPiece> table;
  std::uint64_t first = 0;
  for (auto const& piece : pieces) {
    // Of pieces that begin with the same number the last one would be found.
    if (piece.strings == 0) continue;
    table.push_back({piece.offsets, piece.bytes, piece.valid, static_cast<std::uint32_t>(first),
                     static_cast<std::uint32_t>(piece.target)});
    first += piece.strings;
  }
  GARUDA_EXPECTS(first <= kMostStrings);
  DeviceStrings strings;
  auto const bytes = std::as_bytes(std::span(table));
  GARUDA_TRY_ASSIGN(strings.pieces_, context.device_buffer(bytes.size(), "pieces of strings"));
  if (!bytes.empty()) GARUDA_TRY(context.update(kStringsPhase, strings.pieces_, bytes));
  strings.view_ = {strings.pieces_.address(), static_cast<std::uint32_t>(table.size()),
                   static_cast<std::uint32_t>(first)};
  return strings;
}

}  // namespace garuda::compute
