#include "operators/device/strings/stored_strings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace garuda::device {

std::uint64_t Strings::count() const noexcept {
  std::uint64_t strings = 0;
  for (auto const& piece : pieces) strings += piece->count;
  return strings;
}

Result<std::shared_ptr<Strings const>> strings_of_both(std::shared_ptr<Strings const> const& first,
                                                       std::shared_ptr<Strings const> const& second) {
  auto both = std::make_shared<Strings>();
  both->pieces = first->pieces;
  for (auto const& piece : second->pieces)
    if (std::ranges::find(both->pieces, piece) == both->pieces.end()) both->pieces.push_back(piece);
  if (both->count() > compute::kMostStrings)
    return fail(ErrorCode::limit_exceeded,
                fmt::format("keys of a join on a device are of at most 2^31 strings: {}", both->count()));
  if (both->pieces.size() > compute::kMostStringPieces)
    return fail(ErrorCode::limit_exceeded, fmt::format("keys on a device are strings of at most {} tables: {}",
                                                       compute::kMostStringPieces, both->pieces.size()));
  return both;
}

Result<compute::DeviceStrings> view_of(compute::ComputeContext& context, Strings const& strings, Strings const& among) {
  std::vector<compute::StringPiece> pieces;
  for (auto const& piece : strings.pieces) {
    compute::StringPiece view{piece->offsets.address(), piece->bytes.address(),
                              piece->valid ? piece->valid.address() : 0, piece->count};
    for (auto const& other : among.pieces) {
      if (other == piece) break;
      view.target += other->count;
    }
    pieces.push_back(view);
  }
  return compute::DeviceStrings::create(context, pieces);
}

}  // namespace garuda::device
