#include "cuda_backend/partition.hpp"

#include <algorithm>
#include <utility>

#include "cuda_backend/launch.cuh"
#include "cuda_backend/partition_kernels.cuh"
#include "cuda_backend/primitives.hpp"

namespace garuda::cuda_backend {
namespace {

/// Where each of 2^bits partitions begins among keys that are sorted by their low bits; one more entry for the end.
template <class Key>
__global__ void find_starts_kernel(Key const* keys, std::uint32_t rows, std::uint32_t bits, std::uint32_t* starts) {
  auto const mask = (Key{1} << bits) - 1;
  for (auto p = global_thread(); p <= std::uint64_t{1} << bits; p += grid_threads()) {
    std::uint32_t low = 0;
    std::uint32_t high = rows;
    while (low < high) {
      auto const middle = low + (high - low) / 2;
      if ((keys[middle] & mask) < p) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    starts[p] = low;
  }
}

template <class Key>
__global__ void mix_keys_kernel(Key const* keys, std::uint32_t rows, Key* mixed) {
  for (auto i = global_thread(); i < rows; i += grid_threads()) mixed[i] = mix(keys[i]);
}

__global__ void number_rows_kernel(std::uint32_t* numbers, std::uint32_t rows) {
  for (auto i = global_thread(); i < rows; i += grid_threads()) numbers[i] = static_cast<std::uint32_t>(i);
}

Result<Buffer> number_rows(Lane& lane, std::uint32_t rows) {
  GARUDA_TRY_ASSIGN(auto numbers, lane.allocate(std::uint64_t{rows} * 4, "row numbers"));
  GARUDA_TRY(launch_over(lane, rows, number_rows_kernel, numbers.as<std::uint32_t>(), rows));
  return numbers;
}

template <class Key, unsigned kItems, bool kWide>
Result<void> launch_scatter(Lane& lane, PartitionPass const& pass) {
  static_assert(1U << kMostPassBits <= kThreads);
  constexpr auto kTile = kThreads * kItems;
  constexpr auto kBytes = kTile * (kWide ? 8 : 4);
  auto const blocks = pass.tiles.tiles != nullptr ? pass.tiles.most : pass.rows / kTile + (pass.rows % kTile != 0);
  return launch(lane, {blocks, kThreads, kBytes}, scatter_kernel<Key, kItems, kWide>, pass);
}

/// Moves keys, mixed where the pass mixes, and columns. Rows of a partition come in any order, the same in all columns.
template <class Key>
Result<void> scatter(Lane& lane, PartitionPass const& pass) {
  bool is_wide = sizeof(Key) == 8;
  for (std::uint32_t c = 0; c < pass.num_columns; ++c) is_wide = is_wide || pass.columns[c].bytes == 8;
  if constexpr (sizeof(Key) == 4)
    if (!is_wide)
      return pass.tile_items == kManyItems ? launch_scatter<Key, kManyItems, false>(lane, pass)
                                           : launch_scatter<Key, kFewItems, false>(lane, pass);
  return launch_scatter<Key, kFewItems, true>(lane, pass);
}

/// From so many rows on a single column goes by CUB's sort: on an H200, 2026-11-21, 2^27 rows with one column of 4
/// bytes took 3.88 ms by it and 4.07 ms by passes (both sides of a join), 2^24 rows 0.63 and 0.59 ms.
constexpr std::uint32_t kSortedRows = 1U << 26;

/// Memory of one pass.
struct Pass {
  PartitionPass pass;
  Buffer cursors;
  TaskList tiles;
};

/// Rows of a thread of a tile: as asked, or as suits so many rows; few where there are values of 8 bytes.
std::uint32_t tile_items(Lane const& lane, std::uint32_t rows, std::uint32_t key_bytes,
                         std::span<GarudaCudaColumn const> columns, std::uint32_t asked) {
  constexpr std::uint64_t kTilesEach = 4;  // a multiprocessor
  if (key_bytes == 8 || std::ranges::any_of(columns, [](auto const& column) { return column.bytes == 8; }))
    return kFewItems;
  if (asked != 0) return asked;
  auto const suits = rows >= std::uint64_t{kThreads} * kManyItems * lane.device().traits().multiprocessors * kTilesEach;
  return suits ? kManyItems : kFewItems;
}

/// Tiles of the partitions that the pass before made, which began at `starts`.
Result<void> cut_tiles(Lane& lane, Buffer const& starts, Pass& own) {
  auto& pass = own.pass;
  TaskShape shape;
  shape.build_starts = starts.as<std::uint32_t>();
  shape.partitions = 1U << pass.bits_before;
  shape.build_chunk = kThreads * pass.tile_items;
  GARUDA_TRY_ASSIGN(own.tiles, list_chunks(lane, shape, pass.rows));
  pass.tiles = {own.tiles.tasks.as<ChunkTask>(), own.tiles.firsts.as<std::uint64_t>() + shape.partitions,
                own.tiles.count};
  return {};
}

/// Where each partition begins, and the end of the last; the pass gets its cursors.
Result<Buffer> find_starts(Lane& lane, Pass& own, std::uint32_t key_bytes) {
  auto const entries = (std::uint64_t{1} << (own.pass.bits_before + own.pass.bits)) + 1;
  GARUDA_TRY_ASSIGN(own.cursors, lane.allocate(entries * 4, "rows of partitions"));
  GARUDA_TRY_ASSIGN(auto starts, lane.allocate(entries * 4, "partitions"));
  auto* const counts = own.cursors.as<std::uint32_t>();
  GARUDA_CUDA_TRY(cudaMemsetAsync(counts, 0, own.cursors.bytes(), lane.stream()));
  auto const stretches = static_cast<std::uint32_t>(own.pass.rows / kCountTile) + 1;
  auto const most = lane.device().traits().multiprocessors * kCountBlocks;
  auto const blocks = own.pass.tiles.tiles != nullptr ? own.pass.tiles.most : std::min(stretches, most);
  GARUDA_TRY(with_key(key_bytes, [&]<class Key>(Key) {
    return launch(lane, {blocks, kThreads}, count_digits_kernel<Key>, own.pass, counts);
  }));
  GARUDA_TRY(sum_up(lane, counts, starts.as<std::uint32_t>(), static_cast<std::uint32_t>(entries)));
  GARUDA_CUDA_TRY(cudaMemcpyAsync(counts, starts.as<void>(), starts.bytes(), cudaMemcpyDeviceToDevice, lane.stream()));
  own.pass.cursors = counts;
  return starts;
}

/// One pass from `keys` and `columns` into a side.
Result<PartitionedSide> run_pass(Lane& lane, Pass& own, GarudaCudaColumn const& keys,
                                 std::span<GarudaCudaColumn const> columns) {
  PartitionedSide side;
  auto& pass = own.pass;
  pass.keys = reinterpret_cast<void const*>(keys.address);
  GARUDA_TRY_ASSIGN(side.starts, find_starts(lane, own, keys.bytes));
  GARUDA_TRY_ASSIGN(side.keys, lane.allocate(std::uint64_t{pass.rows} * keys.bytes, "partitioned keys"));
  pass.keys_out = side.keys.as<void>();
  for (auto const& column : columns) {
    GARUDA_TRY_ASSIGN(auto target, lane.allocate(std::uint64_t{pass.rows} * column.bytes, "partitioned column"));
    pass.columns[pass.num_columns++] = {reinterpret_cast<void const*>(column.address), target.as<void>(), column.bytes};
    side.columns.push_back(std::move(target));
  }
  if (pass.rows > 0) GARUDA_TRY(with_key(keys.bytes, [&]<class Key>(Key) { return scatter<Key>(lane, pass); }));
  return side;
}

Result<PartitionedSide> partition_by_passes(Lane& lane, GarudaCudaColumn const& keys, std::uint32_t rows,
                                            std::span<GarudaCudaColumn const> columns, PartitionShape const& shape) {
  Pass first;
  first.pass.rows = rows;
  first.pass.bits = shape.bits <= kMostPassBits ? shape.bits : shape.bits / 2;
  first.pass.shift = shape.bits - first.pass.bits;
  first.pass.mixed = shape.mixed;
  first.pass.tile_items = tile_items(lane, rows, keys.bytes, columns, shape.tile_items);
  GARUDA_TRY_ASSIGN(auto side, run_pass(lane, first, keys, columns));
  if (first.pass.bits == shape.bits) return side;
  Pass second;
  second.pass.rows = rows;
  second.pass.bits = shape.bits - first.pass.bits;
  second.pass.bits_before = first.pass.bits;
  second.pass.tile_items = first.pass.tile_items;
  GARUDA_TRY(cut_tiles(lane, side.starts, second));
  std::vector<GarudaCudaColumn> moved;
  for (std::size_t c = 0; c < columns.size(); ++c) moved.push_back({side.columns[c].address(), columns[c].bytes});
  return run_pass(lane, second, {side.keys.address(), keys.bytes}, moved);
}

Result<Buffer> mix_keys(Lane& lane, GarudaCudaColumn const& keys, std::uint32_t rows) {
  GARUDA_TRY_ASSIGN(auto mixed, lane.allocate(std::uint64_t{rows} * keys.bytes, "mixed keys"));
  GARUDA_TRY(with_key(keys.bytes, [&]<class Key>(Key) {
    return launch_over(lane, rows, mix_keys_kernel<Key>, reinterpret_cast<Key const*>(keys.address), rows,
                       mixed.as<Key>());
  }));
  return mixed;
}

/// Keys and one column, kRowNumbers or another, sorted, stable, by the low `bits` bits of the keys; without starts.
Result<PartitionedSide> sort_by_key(Lane& lane, GarudaCudaColumn const& keys, std::uint32_t rows,
                                    GarudaCudaColumn const& column, std::uint32_t bits) {
  Buffer numbers;
  auto values = column.address;
  if (values == kRowNumbers.address) {
    GARUDA_TRY_ASSIGN(numbers, number_rows(lane, rows));
    values = numbers.address();
  }
  PartitionedSide side;
  GARUDA_TRY_ASSIGN(side.keys, lane.allocate(std::uint64_t{rows} * keys.bytes, "sorted keys"));
  GARUDA_TRY_ASSIGN(auto sorted, lane.allocate(std::uint64_t{rows} * column.bytes, "sorted column"));
  GARUDA_TRY(with_key(keys.bytes, [&]<class Key>(Key) {
    return with_key(column.bytes, [&]<class Value>(Value) {
      return sort_rows(lane, reinterpret_cast<Key const*>(keys.address), side.keys.as<Key>(),
                       reinterpret_cast<Value const*>(values), sorted.as<Value>(), rows, bits);
    });
  }));
  side.columns.push_back(std::move(sorted));
  return side;
}

}  // namespace

Result<PartitionedSide> partition(Lane& lane, GarudaCudaColumn const& keys, std::uint32_t rows,
                                  std::span<GarudaCudaColumn const> columns, PartitionShape const& shape) {
  GARUDA_EXPECTS(columns.size() <= GARUDA_CUDA_MAX_COLUMNS && shape.bits <= kMostPartitionBits);
  bool const sorts = shape.by == PartitionBy::automatic ? rows >= kSortedRows : shape.by == PartitionBy::sort;
  if (columns.size() != 1 || !sorts) return partition_by_passes(lane, keys, rows, columns, shape);
  Buffer mixed;
  auto sorted_by = keys;
  if (shape.mixed) {
    GARUDA_TRY_ASSIGN(mixed, mix_keys(lane, keys, rows));
    sorted_by.address = mixed.address();
  }
  GARUDA_TRY_ASSIGN(auto side, sort_by_key(lane, sorted_by, rows, columns.front(), shape.bits));
  auto const entries = (std::uint64_t{1} << shape.bits) + 1;
  GARUDA_TRY_ASSIGN(side.starts, lane.allocate(entries * 4, "partitions"));
  GARUDA_TRY(with_key(keys.bytes, [&]<class Key>(Key) {
    return launch_over(lane, entries, find_starts_kernel<Key>, side.keys.as<Key>(), rows, shape.bits,
                       side.starts.as<std::uint32_t>());
  }));
  return side;
}

Result<bool> needs_mixing(Lane& lane, GarudaCudaColumn const& keys, std::uint32_t rows, std::uint32_t bits) {
  constexpr std::uint32_t kUneven = 4;
  if (rows == 0) return false;
  GARUDA_TRY_ASSIGN(auto const bins, lane.allocate(512 * 4, "sampled digits"));
  GARUDA_TRY(with_key(keys.bytes, [&]<class Key>(Key) {
    return launch(lane, {1, 1024}, sample_digits_kernel<Key>, reinterpret_cast<Key const*>(keys.address), rows,
                  bins.as<std::uint32_t>());
  }));
  std::uint32_t counts[512];
  GARUDA_TRY(lane.download(std::as_writable_bytes(std::span(counts)), bins.as<void>()));
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

}  // namespace garuda::cuda_backend
