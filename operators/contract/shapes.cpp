#include "operators/contract/shapes.hpp"

#include <algorithm>

#include "partition/radix_partition.hpp"

namespace garuda::contract {

std::uint64_t partitioned_bytes(JoinShape const& shape, std::uint32_t radix_bits,
                                std::span<std::size_t const> carried) {
  auto const row_bytes = std::uint64_t{shape.key_bits} / 8 + (shape.wide_row_ids ? 8 : 4);
  auto keys = (shape.rows_left + shape.rows_right) * row_bytes;
  // By position in the partitioned keys, and by row of the table.
  for (auto const side : {Side::left, Side::right})
    if (shape.parts.rows(side) != SideRows::none)
      keys += (side == Side::left ? shape.rows_left : shape.rows_right) / 8 * 2;
  // Words of a condition's columns, of 64 bits at most, and once more in the order of partitions.
  keys += 16 * (shape.rows_left * shape.tested.left_columns + shape.rows_right * shape.tested.right_columns);
  double carried_bytes = 0;
  for (auto const c : carried) {
    auto const& column = shape.output[c];
    carried_bytes +=
        column.carried_bytes() * static_cast<double>(column.side == Side::left ? shape.rows_left : shape.rows_right);
  }
  if (radix_bits <= partition::kOnePassBits) return keys + static_cast<std::uint64_t>(carried_bytes);
  // A second pass reads what the first has written.
  return keys + std::max(shape.rows_left, shape.rows_right) * row_bytes + 2 * static_cast<std::uint64_t>(carried_bytes);
}

}  // namespace garuda::contract
