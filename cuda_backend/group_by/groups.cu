#include "cuda_backend/group_by/groups.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "cuda_backend/group_by/group_values.cuh"
#include "cuda_backend/partition.hpp"
#include "cuda_backend/primitives.hpp"

namespace garuda::cuda_backend {
namespace {

/// Slots a group that is expected, so that an estimate may be half of the truth.
constexpr std::uint64_t kSlotsPerGroup = 4;
constexpr std::uint64_t kFewestSlots = 1024;

/// A probe looks at the overflow flag every so many slots.
constexpr std::uint32_t kStepsBetweenLooks = 64;

template <class Key>
struct PackedKeys {
  Key const* keys;
  __device__ std::uint32_t hash(std::uint32_t row, std::uint32_t log2_slots) const {
    return static_cast<std::uint32_t>(mix(keys[row]) >> (8 * sizeof(Key) - log2_slots));
  }
  __device__ bool are_equal(std::uint32_t a, std::uint32_t b) const { return keys[a] == keys[b]; }
};

struct WordKeys {
  std::uint32_t const* words;
  std::uint32_t rows;
  std::uint32_t num_words;
  __device__ std::uint32_t hash(std::uint32_t row, std::uint32_t log2_slots) const {
    constexpr std::uint64_t kOdd = 0x9e37'79b9'7f4a'7c15U;
    std::uint64_t hashed = 0;
    for (std::uint32_t w = 0; w < num_words; ++w)
      hashed = mix(hashed ^ (words[std::uint64_t{w} * rows + row] + kOdd * (w + 1)));
    return static_cast<std::uint32_t>(hashed >> (64 - log2_slots));
  }
  __device__ bool are_equal(std::uint32_t a, std::uint32_t b) const {
    for (std::uint32_t w = 0; w < num_words; ++w)
      if (words[std::uint64_t{w} * rows + a] != words[std::uint64_t{w} * rows + b]) return false;
    return true;
  }
};

/// Calls `use` with the keys as what they are.
template <class Use>
Result<void> with_keys(GarudaCudaGroupKeys const& keys, Use const& use) {
  auto* const words = reinterpret_cast<void const*>(keys.address);
  if (keys.key_bits == 32) return use(PackedKeys<std::uint32_t>{static_cast<std::uint32_t const*>(words)});
  if (keys.key_bits == 64) return use(PackedKeys<std::uint64_t>{static_cast<std::uint64_t const*>(words)});
  return use(WordKeys{static_cast<std::uint32_t const*>(words), keys.rows, keys.num_words});
}

/// Finds the slot of each row. A head only ever changes from one row of a key to a lower one of the same key, so any
/// value read will do.
template <class Keys>
__global__ void hash_rows_kernel(Keys keys, std::uint32_t rows, GroupTable table, std::uint32_t* slots) {
  auto const slot_mask = (1U << table.log2_slots) - 1;
  for (auto i = global_thread(); i < rows; i += grid_threads()) {
    auto const row = static_cast<std::uint32_t>(i);
    auto slot = keys.hash(row, table.log2_slots);
    for (std::uint32_t step = 0;; ++step) {
      if (step % kStepsBetweenLooks == kStepsBetweenLooks - 1 && (read_word(table.overflow) != 0 || step > slot_mask)) {
        *table.overflow = 1;
        return;
      }
      auto head = read_word(&table.heads[slot]);
      if (head == kNoRow) {
        head = atomicCAS(&table.heads[slot], kNoRow, row);
        if (head == kNoRow) {
          if (atomicAdd(table.inserted, 1U) >= table.max_groups) *table.overflow = 1;
          break;
        }
      }
      if (keys.are_equal(head, row)) {
        if (row < head) atomicMin(&table.heads[slot], row);
        break;
      }
      slot = (slot + 1) & slot_mask;
    }
    slots[row] = slot;
  }
}

/// flags: rows + 1, 1 for the head of a group; the last is 0.
__global__ void flag_heads_kernel(std::uint32_t const* table_heads, std::uint32_t const* slots, std::uint32_t rows,
                                  std::uint32_t* flags) {
  for (auto i = global_thread(); i <= rows; i += grid_threads())
    flags[i] = i < rows && table_heads[slots[i]] == i ? 1 : 0;
}

/// numbers: prefix sums of the flags. Writes the group of each row, and each group's head.
__global__ void number_rows_kernel(std::uint32_t const* table_heads, std::uint32_t const* slots,
                                   std::uint32_t const* numbers, std::uint32_t rows, std::uint32_t* ids,
                                   std::uint32_t* heads) {
  for (auto i = global_thread(); i < rows; i += grid_threads()) {
    auto const head = table_heads[slots[i]];
    ids[i] = numbers[head];
    if (head == i) heads[numbers[i]] = head;
  }
}

}  // namespace

Result<Groups> Groups::find(Lane& lane, GarudaCudaGroupKeys const& keys) {
  Groups groups(keys);
  if (keys.key_bits == 0 && keys.num_words == 0) {
    GARUDA_TRY(groups.take_one(lane));
  } else {
    GARUDA_TRY(groups.hash_all(lane));
    GARUDA_TRY(groups.number(lane));
    groups.table_heads_.reset();
    groups.slots_.reset();
  }
  GARUDA_TRY(lane.wait());
  return groups;
}

/// Makes one group of all rows, whose head is row 0, where there are no keys.
Result<void> Groups::take_one(Lane& lane) {
  GARUDA_TRY_ASSIGN(heads_, lane.allocate(4, "heads of groups"));
  GARUDA_TRY_ASSIGN(ids_, lane.allocate(std::uint64_t{keys_.rows} * 4, "groups of rows"));
  GARUDA_CUDA_TRY(cudaMemsetAsync(heads_.as<void>(), 0, heads_.bytes(), lane.stream()));
  GARUDA_CUDA_TRY(cudaMemsetAsync(ids_.as<void>(), 0, ids_.bytes(), lane.stream()));
  return {};
}

/// Slots of the rows in one table. Room for every row to be its own group at half load; less where fewer groups are
/// expected.
Result<void> Groups::hash_all(Lane& lane) {
  GARUDA_TRY(lane.step("group", std::uint64_t{keys_.rows} * 8, keys_.rows));
  GARUDA_TRY_ASSIGN(slots_, lane.allocate(std::uint64_t{keys_.rows} * 4, "slots of rows"));
  auto const most = log2_at_least(2 * std::uint64_t{keys_.rows});
  auto const expected = keys_.expected_groups == 0
                            ? most
                            : log2_at_least(std::max(keys_.expected_groups * kSlotsPerGroup, kFewestSlots));
  GARUDA_TRY_ASSIGN(auto const fitted, hash(lane, std::min(most, expected)));
  if (fitted) return {};
  lane.add_counter("tables_outgrown", 1);
  GARUDA_TRY_ASSIGN(auto const fitted_all, hash(lane, most));
  GARUDA_EXPECTS(fitted_all);
  return {};
}

/// False: the table was too small.
Result<bool> Groups::hash(Lane& lane, std::uint32_t log2_slots) {
  auto const slots = std::uint64_t{1} << log2_slots;
  table_heads_.reset();
  // Two words behind the slots count what was inserted, and say that it was too much.
  GARUDA_TRY_ASSIGN(table_heads_, lane.allocate((slots + 2) * 4, "group table"));
  table_.heads = table_heads_.as<std::uint32_t>();
  table_.log2_slots = log2_slots;
  table_.max_groups = static_cast<std::uint32_t>(slots / 2);
  table_.inserted = table_.heads + slots;
  table_.overflow = table_.inserted + 1;
  GARUDA_CUDA_TRY(cudaMemsetAsync(table_.heads, 0xff, slots * 4, lane.stream()));
  GARUDA_CUDA_TRY(cudaMemsetAsync(table_.inserted, 0, 8, lane.stream()));
  GARUDA_TRY(with_keys(keys_, [&]<class Keys>(Keys const& keys) {
    return launch_over(lane, keys_.rows, hash_rows_kernel<Keys>, keys, keys_.rows, table_, slots_.as<std::uint32_t>());
  }));
  std::uint32_t overflow = 0;
  GARUDA_TRY(lane.download(std::as_writable_bytes(std::span(&overflow, 1)), table_.overflow));
  return overflow == 0;
}

Result<void> Groups::number(Lane& lane) {
  auto const rows = keys_.rows;
  GARUDA_TRY(lane.step("number", std::uint64_t{rows} * 24, rows));
  GARUDA_TRY_ASSIGN(auto const flags, lane.allocate((std::uint64_t{rows} + 1) * 4, "heads of rows"));
  GARUDA_TRY_ASSIGN(auto const numbers, lane.allocate((std::uint64_t{rows} + 1) * 4, "numbers of groups"));
  GARUDA_TRY_ASSIGN(ids_, lane.allocate(std::uint64_t{rows} * 4, "groups of rows"));
  auto* const flag_words = flags.as<std::uint32_t>();
  auto* const number_words = numbers.as<std::uint32_t>();
  auto const* const slots = slots_.as<std::uint32_t>();
  GARUDA_TRY(launch_over(lane, rows + std::uint64_t{1}, flag_heads_kernel, table_.heads, slots, rows, flag_words));
  GARUDA_TRY(sum_up(lane, flag_words, number_words, rows + 1));
  GARUDA_TRY(lane.download(std::as_writable_bytes(std::span(&num_groups_, 1)), number_words + rows));
  GARUDA_TRY_ASSIGN(heads_, lane.allocate(std::uint64_t{num_groups_} * 4, "heads of groups"));
  GARUDA_TRY(lane.step("number", std::uint64_t{rows} * 12, rows));
  return launch_over(lane, rows, number_rows_kernel, table_.heads, slots, number_words, rows, ids_.as<std::uint32_t>(),
                     heads_.as<std::uint32_t>());
}

}  // namespace garuda::cuda_backend
