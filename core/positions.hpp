// Positions of columns.
#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

namespace garuda {

/// The numbers below `count`, ascending: positions of all columns of a table, or of its first ones.
inline std::vector<std::size_t> first_positions(std::size_t count) {
  std::vector<std::size_t> positions(count);
  std::iota(positions.begin(), positions.end(), std::size_t{0});
  return positions;
}

}  // namespace garuda
