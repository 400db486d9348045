#include "cuda_backend/group_values.cuh"

namespace garuda::cuda_backend {
namespace {

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

/// A head only ever changes from one row of a key to a lower one of the same key, so any value read will do.
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

template <class Key>
__global__ void address_rows_kernel(Key const* keys, std::uint32_t rows, std::uint64_t min, std::uint32_t shift,
                                    std::uint32_t* heads, std::uint32_t* slots) {
  for (auto i = global_thread(); i < rows; i += grid_threads()) {
    auto const row = static_cast<std::uint32_t>(i);
    auto const slot = static_cast<std::uint32_t>((keys[row] - min) >> shift);
    if (row < read_word(&heads[slot])) atomicMin(&heads[slot], row);
    slots[row] = slot;
  }
}

__global__ void flag_heads_kernel(std::uint32_t const* table_heads, std::uint32_t const* slots, std::uint32_t rows,
                                  std::uint32_t* flags) {
  for (auto i = global_thread(); i <= rows; i += grid_threads())
    flags[i] = i < rows && table_heads[slots[i]] == i ? 1 : 0;
}

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

cudaError_t hash_rows(Launch const& launch, GroupKeys const& keys, GroupTable const& table, std::uint32_t* slots) {
  if (keys.bits == 32) {
    PackedKeys<std::uint32_t> const packed{static_cast<std::uint32_t const*>(keys.data)};
    GARUDA_LAUNCH(hash_rows_kernel, keys.rows)(packed, keys.rows, table, slots);
  } else if (keys.bits == 64) {
    PackedKeys<std::uint64_t> const packed{static_cast<std::uint64_t const*>(keys.data)};
    GARUDA_LAUNCH(hash_rows_kernel, keys.rows)(packed, keys.rows, table, slots);
  } else {
    WordKeys const words{static_cast<std::uint32_t const*>(keys.data), keys.rows, keys.num_words};
    GARUDA_LAUNCH(hash_rows_kernel, keys.rows)(words, keys.rows, table, slots);
  }
  return cudaGetLastError();
}

cudaError_t address_rows(Launch const& launch, GroupKeys const& keys, std::uint64_t min, std::uint32_t shift,
                         GroupTable const& table, std::uint32_t* slots) {
  if (keys.bits == 32) {
    GARUDA_LAUNCH(address_rows_kernel, keys.rows)
    (static_cast<std::uint32_t const*>(keys.data), keys.rows, min, shift, table.heads, slots);
  } else {
    GARUDA_LAUNCH(address_rows_kernel, keys.rows)
    (static_cast<std::uint64_t const*>(keys.data), keys.rows, min, shift, table.heads, slots);
  }
  return cudaGetLastError();
}

cudaError_t flag_heads(Launch const& launch, GroupTable const& table, std::uint32_t const* slots, std::uint32_t rows,
                       std::uint32_t* flags) {
  GARUDA_LAUNCH(flag_heads_kernel, rows + 1ULL)(table.heads, slots, rows, flags);
  return cudaGetLastError();
}

cudaError_t number_rows(Launch const& launch, GroupTable const& table, std::uint32_t const* slots,
                        std::uint32_t const* numbers, std::uint32_t rows, std::uint32_t* ids, std::uint32_t* heads) {
  GARUDA_LAUNCH(number_rows_kernel, rows)(table.heads, slots, numbers, rows, ids, heads);
  return cudaGetLastError();
}

}  // namespace garuda::cuda_backend
