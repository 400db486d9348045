#include "operators/plan/key_repeats.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "keys/numbering/mix.hpp"

namespace garuda::plan {
namespace {

constexpr std::size_t kPartitions = 4;
constexpr std::uint64_t kKeysOfPartition = 2'048;
constexpr std::uint64_t kMarks = std::uint64_t{1} << 18;
/// Repeats that chance may put between two sides that have none: about 8 a partition are keys that share a mark.
constexpr std::uint32_t kChance = 8;

/// How many of the keys a mark finds taken.
template <class Word>
std::uint32_t repeats(std::span<Word const> keys) {
  std::array<std::uint64_t, kMarks / 64> taken{};
  std::uint32_t found = 0;
  for (auto const key : keys) {
    // Not the leading bits, which keys of a partition may share.
    auto const mark = keys::mix(key) % kMarks;
    auto& word = taken[mark / 64];
    auto const bit = std::uint64_t{1} << mark % 64;
    found += (word & bit) != 0 ? 1 : 0;
    word |= bit;
  }
  return found;
}

std::uint32_t repeats(partition::PartitionedKeys const& side, std::size_t partition, std::uint64_t rows) {
  auto const first = side.offsets[partition];
  return side.key_bits == 32 ? repeats(side.keys32().subspan(first, rows))
                             : repeats(side.keys64().subspan(first, rows));
}

}  // namespace

std::optional<Side> less_repeated_side(partition::PartitionedKeys const& left,
                                       partition::PartitionedKeys const& right) {
  GARUDA_EXPECTS(left.offsets.size() == right.offsets.size() && left.key_bits == right.key_bits);
  auto const rows_of = [](partition::PartitionedKeys const& side, std::size_t p) {
    return side.offsets[p + 1] - side.offsets[p];
  };
  std::size_t const partitions = left.num_partitions();
  auto const step = (partitions + kPartitions - 1) / kPartitions;
  std::uint32_t of_left = 0;
  std::uint32_t of_right = 0;
  for (std::size_t p = 0; p < partitions; p += step) {
    auto const rows = std::min({rows_of(left, p), rows_of(right, p), kKeysOfPartition});
    of_left += repeats(left, p, rows);
    of_right += repeats(right, p, rows);
  }
  auto const [less, more] = std::minmax({of_left, of_right});
  if (more - less <= kChance + (less + more) / 4) return std::nullopt;
  return of_left < of_right ? Side::left : Side::right;
}

}  // namespace garuda::plan
