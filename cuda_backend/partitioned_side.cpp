#include "cuda_backend/partitioned_side.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "cuda_backend/group_kernels.hpp"
#include "cuda_backend/scratch_primitives.hpp"

namespace garuda::cuda_backend {
namespace {

/// From so many rows on a single column goes by CUB's sort: on an H200, 2026-11-21, 2^27 rows with one column of 4
/// bytes took 3.88 ms by it and 4.07 ms by passes (both sides of a join), 2^24 rows 0.63 and 0.59 ms.
constexpr std::uint32_t kSortedRows = 1U << 26;

/// Memory of one pass.
struct Pass {
  PartitionPass pass;
  Buffer cursors;
  Buffer tiles;
  Buffer first_tiles;
};

bool is_wide(std::uint32_t key_bytes, std::span<GarudaCudaColumn const> columns) {
  return key_bytes == 8 || std::ranges::any_of(columns, [](auto const& column) { return column.bytes == 8; });
}

/// Tiles of the partitions that the pass before made, which began at `starts`.
Result<void> cut_tiles(Lane& lane, Launch const& launch, Buffer const& starts, Pass& own) {
  auto& pass = own.pass;
  auto const partitions = 1U << pass.bits_before;
  auto const rows = pass.shape.rows();
  auto const most = pass.rows / rows + partitions;
  auto const entries = partitions + 1;
  GARUDA_TRY_ASSIGN(auto const counts, lane.allocate(entries * 4ULL, "tiles of partitions"));
  GARUDA_TRY_ASSIGN(own.first_tiles, lane.allocate(entries * 8ULL, "first tiles of partitions"));
  GARUDA_TRY_ASSIGN(own.tiles, lane.allocate(std::uint64_t{most} * sizeof(Tile), "tiles"));
  auto const* const start_words = starts.as<std::uint32_t>();
  auto* const firsts = own.first_tiles.as<std::uint64_t>();
  GARUDA_CUDA_TRY(count_tiles(launch, start_words, partitions, rows, counts.as<std::uint32_t>()));
  GARUDA_TRY(sum_up(lane, counts.as<std::uint32_t>(), firsts, entries));
  GARUDA_CUDA_TRY(list_tiles(launch, start_words, firsts, partitions, rows, own.tiles.as<Tile>()));
  pass.tiles = {own.tiles.as<Tile>(), firsts + partitions, most};
  return {};
}

/// Where each partition begins, and the end of the last; the pass gets its cursors.
template <class Key>
Result<Buffer> find_starts(Lane& lane, Launch const& launch, Pass& own) {
  auto const entries = (std::uint64_t{1} << (own.pass.bits_before + own.pass.bits)) + 1;
  GARUDA_TRY_ASSIGN(own.cursors, lane.allocate(entries * 4, "rows of partitions"));
  GARUDA_TRY_ASSIGN(auto starts, lane.allocate(entries * 4, "partitions"));
  auto* const counts = own.cursors.template as<std::uint32_t>();
  GARUDA_CUDA_TRY(cudaMemsetAsync(counts, 0, own.cursors.bytes(), lane.stream()));
  GARUDA_CUDA_TRY(count_digits<Key>(launch, own.pass, counts));
  GARUDA_TRY(sum_up(lane, counts, starts.template as<std::uint32_t>(), static_cast<std::uint32_t>(entries)));
  GARUDA_CUDA_TRY(
      cudaMemcpyAsync(counts, starts.template as<void>(), starts.bytes(), cudaMemcpyDeviceToDevice, lane.stream()));
  own.pass.cursors = counts;
  return starts;
}

/// One pass from `keys` and `columns` into a side.
template <class Key>
Result<PartitionedSide> run_pass(Lane& lane, Launch const& launch, Pass& own, Key const* keys,
                                 std::span<GarudaCudaColumn const> columns) {
  PartitionedSide side;
  auto& pass = own.pass;
  pass.keys = keys;
  GARUDA_TRY_ASSIGN(side.starts, find_starts<Key>(lane, launch, own));
  GARUDA_TRY_ASSIGN(side.keys, lane.allocate(std::uint64_t{pass.rows} * sizeof(Key), "partitioned keys"));
  pass.keys_out = side.keys.template as<void>();
  for (auto const& column : columns) {
    GARUDA_TRY_ASSIGN(auto target, lane.allocate(std::uint64_t{pass.rows} * column.bytes, "partitioned column"));
    pass.columns[pass.num_columns++] = {reinterpret_cast<void const*>(column.address), target.template as<void>(),
                                        column.bytes};
    side.columns.push_back(std::move(target));
  }
  if (pass.rows > 0) GARUDA_CUDA_TRY(scatter<Key>(launch, pass));
  return side;
}

/// Sorts keys and one column, of keys alone the keys twice, by their low bits.
template <class Key, class Value>
Result<PartitionedSide> sort_side(Lane& lane, Launch const& launch, Key const* keys, std::uint32_t rows,
                                  Value const* values, PartitionShape const& shape) {
  PartitionedSide side;
  Buffer mixed;
  if (shape.mixed) {
    GARUDA_TRY_ASSIGN(mixed, lane.allocate(std::uint64_t{rows} * sizeof(Key), "mixed keys"));
    GARUDA_CUDA_TRY(mix_keys(launch, keys, rows, mixed.template as<Key>(), nullptr));
    keys = mixed.template as<Key>();
  }
  GARUDA_TRY_ASSIGN(side.keys, lane.allocate(std::uint64_t{rows} * sizeof(Key), "partitioned keys"));
  GARUDA_TRY_ASSIGN(auto sorted, lane.allocate(std::uint64_t{rows} * sizeof(Value), "partitioned column"));
  GARUDA_TRY(sort_rows(lane, keys, side.keys.template as<Key>(), values, sorted.template as<Value>(), rows,
                       static_cast<int>(shape.bits)));
  side.columns.push_back(std::move(sorted));
  GARUDA_TRY_ASSIGN(side.starts, lane.allocate(((std::uint64_t{1} << shape.bits) + 1) * 4, "partitions"));
  GARUDA_CUDA_TRY(find_starts_of_sorted(launch, side.keys.template as<Key>(), rows, shape.bits,
                                        side.starts.template as<std::uint32_t>()));
  return side;
}

template <class Key>
Result<PartitionedSide> sort_column(Lane& lane, Launch const& launch, Key const* keys, std::uint32_t rows,
                                    GarudaCudaColumn const& column, PartitionShape const& shape) {
  Buffer numbers;
  auto address = column.address;
  if (address == kRowNumbers.address) {
    GARUDA_TRY_ASSIGN(numbers, lane.allocate(std::uint64_t{rows} * 4, "row numbers"));
    GARUDA_CUDA_TRY(number_positions(launch, rows, numbers.as<std::uint32_t>()));
    address = reinterpret_cast<std::uint64_t>(numbers.as<void>());
  }
  if (column.bytes == 4)
    return sort_side(lane, launch, keys, rows, reinterpret_cast<std::uint32_t const*>(address), shape);
  return sort_side(lane, launch, keys, rows, reinterpret_cast<std::uint64_t const*>(address), shape);
}

template <class Key>
Result<PartitionedSide> partition_by_passes(Lane& lane, Launch const& launch, Key const* keys, std::uint32_t rows,
                                            std::span<GarudaCudaColumn const> columns, PartitionShape const& shape) {
  Pass first;
  first.pass.rows = rows;
  first.pass.bits = shape.bits <= kMostPassBits ? shape.bits : shape.bits / 2;
  first.pass.shift = shape.bits - first.pass.bits;
  first.pass.mixed = shape.mixed;
  first.pass.shape = suitable_tile(launch, rows, is_wide(sizeof(Key), columns));
  if (shape.tile_threads != 0 && !is_wide(sizeof(Key), columns))
    first.pass.shape = {shape.tile_threads, shape.tile_items};
  GARUDA_TRY_ASSIGN(auto side, run_pass(lane, launch, first, keys, columns));
  if (first.pass.bits == shape.bits) return side;
  Pass second;
  second.pass.rows = rows;
  second.pass.bits = first.pass.shift;
  second.pass.bits_before = first.pass.bits;
  second.pass.shape = first.pass.shape;
  GARUDA_TRY(cut_tiles(lane, launch, side.starts, second));
  std::vector<GarudaCudaColumn> moved;
  for (std::size_t c = 0; c < columns.size(); ++c)
    moved.push_back({reinterpret_cast<std::uint64_t>(side.columns[c].template as<void>()), columns[c].bytes});
  return run_pass(lane, launch, second, side.keys.template as<Key>(), moved);
}

}  // namespace

template <class Key>
Result<PartitionedSide> partition(Lane& lane, Launch const& launch, Key const* keys, std::uint32_t rows,
                                  std::span<GarudaCudaColumn const> columns, PartitionShape const& shape) {
  GARUDA_EXPECTS(columns.size() <= GARUDA_CUDA_MAX_COLUMNS && shape.bits <= kMostPartitionBits);
  bool const sorts = shape.by == PartitionBy::automatic ? rows >= kSortedRows : shape.by == PartitionBy::sort;
  if (columns.size() == 1 && sorts) return sort_column(lane, launch, keys, rows, columns.front(), shape);
  return partition_by_passes(lane, launch, keys, rows, columns, shape);
}

template <class Key>
Result<bool> needs_mixing(Lane& lane, Launch const& launch, Key const* keys, std::uint32_t rows, std::uint32_t bits) {
  constexpr std::uint32_t kUneven = 4;
  if (rows == 0) return false;
  GARUDA_TRY_ASSIGN(auto const bins, lane.allocate(512 * 4, "sampled digits"));
  GARUDA_CUDA_TRY(sample_digits(launch, keys, rows, bins.template as<std::uint32_t>()));
  std::uint32_t counts[512];
  GARUDA_TRY(lane.download(std::as_writable_bytes(std::span(counts)), bins.template as<void>()));
  auto const samples = std::min(rows, kSampledKeys);
  auto const is_uneven = [&](std::uint32_t first, std::uint32_t digit_bits) {
    if (digit_bits == 0) return false;
    auto const used = 1U << std::min(digit_bits, 8U);
    // A digit of fewer than eight bits counts its upper bits away.
    std::uint32_t folded[256] = {};
    for (std::uint32_t b = 0; b < 256; ++b) folded[b % used] += counts[first + b];
    return *std::max_element(folded, folded + used) > kUneven * (samples / used + 8);
  };
  return is_uneven(0, bits) || is_uneven(256, bits > 8 ? bits - 8 : 0);
}

#define GARUDA_PARTITION(Key)                                                                           \
  template Result<PartitionedSide> partition(Lane&, Launch const&, Key const*, std::uint32_t,           \
                                             std::span<GarudaCudaColumn const>, PartitionShape const&); \
  template Result<bool> needs_mixing(Lane&, Launch const&, Key const*, std::uint32_t, std::uint32_t)
GARUDA_PARTITION(std::uint32_t);
GARUDA_PARTITION(std::uint64_t);

}  // namespace garuda::cuda_backend
