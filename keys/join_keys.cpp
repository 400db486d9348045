#include "keys/join_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "core/wide_integer.hpp"

namespace garuda::keys {
namespace {

/// Whether a wide code is that of a decimal of 64 bits.
bool fits_64_bits(UInt128 code) {
  auto const value = static_cast<Int128>(code ^ (UInt128{1} << 127));
  return value == static_cast<std::int64_t>(value);
}

Result<void> check_range(OpenKeys const& keys, std::size_t attribute, CodeRange const& range) {
  auto const& reader = keys.readers[attribute];
  if (!reader.is_wide() || !range.has_values || (fits_64_bits(range.min) && fits_64_bits(range.max))) return {};
  AttributeCodes codes;
  for (auto const& block : keys.blocks) {
    reader.read(block, codes);
    for (std::size_t i = 0; i < codes.low.size(); ++i)
      if (codes.valid[i] != 0 && !fits_64_bits(codes.wide(i)))
        return key_beyond_64_bits(reader.field(), block.first_row + i);
  }
  return {};
}

Result<EncodedJoinKeys> encode(std::span<KeyColumns const> tables, NullKeys nulls, Control const& control) {
  GARUDA_TRY_ASSIGN(auto const open, open_keys(tables, control));
  KeyEncoder encoder(open, nulls, control);
  GARUDA_TRY(encoder.scan());
  for (std::size_t t = 0; t < open.size(); ++t)
    for (std::size_t a = 0; a < open[t].readers.size(); ++a)
      GARUDA_TRY(check_range(open[t], a, encoder.scans()[t].ranges[a]));
  GARUDA_TRY(encoder.choose_layout(KeyForm::automatic, true));
  auto const& layout = encoder.layout();
  if (!layout.is_packed)
    return fail(ErrorCode::limit_exceeded,
                fmt::format("the key columns of a join take more than 64 bits together: {}", layout.packed_bits));
  EncodedJoinKeys keys;
  GARUDA_TRY_ASSIGN(auto left, encoder.encode(0));
  GARUDA_TRY_ASSIGN(auto right, encoder.encode(1));
  keys.left = std::move(left.packed);
  keys.right = std::move(right.packed);
  auto const range = layout.positions(0);
  keys.has_nulls = std::ranges::any_of(layout.ranges, &CodeRange::has_nulls);
  // Null is position 0, before the least key.
  if (range.has_values)
    keys.base = static_cast<std::uint64_t>(range.min) - open[0].readers[0].code_of_zero() - (range.has_nulls ? 1 : 0);
  return keys;
}

}  // namespace

Result<EncodedJoinKeys> encode_join_keys(KeyColumns const& left, KeyColumns const& right, Control const& control,
                                         NullKeys nulls) {
  try {
    return encode(std::array{left, right}, nulls, control);
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory for the blocks of the key columns");
  }
}

}  // namespace garuda::keys
