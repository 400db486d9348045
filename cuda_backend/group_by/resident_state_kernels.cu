#include "cuda_backend/group_by/resident_state_kernels.hpp"

#include <algorithm>

#include <cub/block/block_scan.cuh>

#include "cuda_backend/group_by/group_values.cuh"
#include "cuda_backend/group_by/state_values.cuh"
#include "cuda_backend/hashing.cuh"
#include "cuda_backend/launch.cuh"
#include "cuda_backend/partition.hpp"

namespace garuda::cuda_backend {
namespace {

constexpr unsigned kBlock = 1024;  // threads of a block that works in shared memory
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ < 800 || __CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 890)
constexpr unsigned kBlocksEach = 1;  // a multiprocessor, as its threads allow
#else
constexpr unsigned kBlocksEach = 2;
#endif
constexpr std::uint32_t kNoSlot = 0xffff'ffffU;
constexpr std::uint32_t kSharedSteps = 64;  // of a probe before its row goes to the table in device memory
constexpr std::uint32_t kTableSteps = 4096;
constexpr std::uint32_t kMostSumWords = 4;  // of a sum in shared memory

/// A kernel is compiled for what is known of its pass's states: nothing, or that they are one sum of int32, which is
/// what most group-bys ask for and takes half the time so.
enum class Known : std::uint8_t { nothing, narrow_sum };

/// Calls visit(state) with the first of the pass's states, or with the others in turn.
template <Known kKnown, class Visit>
__device__ void visit_first(StatePass const& pass, Visit&& visit) {
  if constexpr (kKnown == Known::narrow_sum) {
    auto state = pass.states[0];
    state.function = StateFunction::sum;
    state.kind = GARUDA_CUDA_INT32;
    state.sum_words = 2;
    visit(state);
  } else if (pass.num_states > 0) {
    visit(pass.states[0]);
  }
}
template <Known kKnown, class Visit>
__device__ void visit_others(StatePass const& pass, Visit&& visit) {
  if constexpr (kKnown == Known::nothing)
    for (std::uint32_t s = 1; s < pass.num_states; ++s) visit(pass.states[s]);
}
template <Known kKnown, class Visit>
__device__ void visit_states(StatePass const& pass, Visit&& visit) {
  visit_first<kKnown>(pass, visit);
  visit_others<kKnown>(pass, visit);
}

/// A block's table: keys, then the states, each an array of slots and the one more slot.
template <class Key>
struct SharedStates {
  unsigned char* memory;
  std::uint32_t log2_slots;

  __device__ std::uint32_t slots() const { return 1U << log2_slots; }
  __device__ Key* keys() const { return reinterpret_cast<Key*>(memory); }
  template <class Word>
  __device__ Word* words(GroupState const& state) const {
    return reinterpret_cast<Word*>(memory + state.shared_offset);
  }

  /// The slot of a key; kNoSlot when it lies too far from its home.
  __device__ std::uint32_t find(Key key) const {
    constexpr auto kFree = static_cast<Key>(~Key{0});
    if (key == kFree) return slots();
    auto slot = static_cast<std::uint32_t>(mix(key) >> (8 * sizeof(Key) - log2_slots));
    for (std::uint32_t step = 0; step < kSharedSteps; ++step) {
      auto present = *static_cast<Key volatile*>(&keys()[slot]);
      if (present == kFree) present = compare_and_swap(&keys()[slot], kFree, key);
      if (present == kFree || present == key) return slot;
      slot = (slot + 1) & (slots() - 1);
    }
    return kNoSlot;
  }
  static __device__ std::uint32_t compare_and_swap(std::uint32_t* word, std::uint32_t old, std::uint32_t value) {
    return atomicCAS(word, old, value);
  }
  static __device__ std::uint64_t compare_and_swap(std::uint64_t* word, std::uint64_t old, std::uint64_t value) {
    return atomicCAS(reinterpret_cast<Word*>(word), static_cast<Word>(old), static_cast<Word>(value));
  }

  /// Sums are kept as words of 32 bits, an array each: shared memory adds 32 bits at a time.
  __device__ void add_words(GroupState const& state, std::uint32_t slot, StateValue const& value) const {
    auto* word = words<std::uint32_t>(state) + slot;
    std::uint32_t carry = 0;
#pragma unroll
    for (std::uint32_t w = 0; w < kMostSumWords; ++w) {
      if (w == state.sum_words) return;
      auto const term = ((w < 2 ? value.low : value.high) >> (32 * (w % 2)) & 0xffff'ffffU) + carry;
      auto const added = static_cast<std::uint32_t>(term);
      carry = static_cast<std::uint32_t>(term >> 32);
      if (added != 0) carry += add_carrying(word, added);
      word += slots() + 1;
    }
  }
  static __device__ std::uint32_t add_carrying(std::uint32_t* word, std::uint32_t value) {
    auto const before = atomicAdd(word, value);
    return before + value < before ? 1U : 0U;
  }

  __device__ void add(GroupState const& state, std::uint32_t slot, StateValue const& value) const {
    switch (state.function) {
      case StateFunction::count:
        atomicAdd(words<std::uint32_t>(state) + slot, 1U);
        break;
      case StateFunction::sum:
        add_words(state, slot, value);
        break;
      case StateFunction::least:
        if (is_wide(state.kind)) {
          keep_least(words<std::uint64_t>(state) + slot, value.low);
        } else {
          atomicMin(words<std::uint32_t>(state) + slot, static_cast<std::uint32_t>(value.low));
        }
        break;
      case StateFunction::greatest:
        if (is_wide(state.kind)) {
          keep_greatest(words<std::uint64_t>(state) + slot, value.low);
        } else {
          atomicMax(words<std::uint32_t>(state) + slot, static_cast<std::uint32_t>(value.low));
        }
        break;
      case StateFunction::flags:
        if (value.low != 0) atomicOr(words<std::uint32_t>(state) + slot, static_cast<std::uint32_t>(value.low));
        break;
    }
  }

  __device__ StateValue value_at(GroupState const& state, std::uint32_t slot) const {
    auto const* const word = words<std::uint32_t>(state) + slot;
    if (state.function == StateFunction::sum) {
      // Signed by the top word: sums of a chunk leave it bits to spare.
      auto const stride = slots() + 1;
      auto const low = std::uint64_t{word[stride]} << 32 | word[0];
      if (state.sum_words == 2) return {low, low >> 63 != 0 ? ~std::uint64_t{0} : 0};
      auto const third = word[2 * stride];
      if (state.sum_words == kMostSumWords) return {low, std::uint64_t{word[3 * stride]} << 32 | third};
      return {low, static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(third)))};
    }
    bool const is_extreme = state.function == StateFunction::least || state.function == StateFunction::greatest;
    if (is_extreme && is_wide(state.kind)) return {words<std::uint64_t>(state)[slot], 0};
    return {word[0], 0};
  }

  __device__ void clear_keys() const {
    for (auto i = threadIdx.x; i < slots(); i += kBlock) keys()[i] = static_cast<Key>(~Key{0});
  }
  /// Counts, sums and flags 0, no extremes.
  __device__ void clear_states(StatePass const& pass) const {
    for (std::uint32_t s = 0; s < pass.num_states; ++s) {
      auto const& state = pass.states[s];
      auto const end = s + 1 < pass.num_states ? pass.states[s + 1].shared_offset : pass.shared_bytes;
      auto const value = state.function == StateFunction::least ? 0xffff'ffffU : 0U;
      for (auto i = threadIdx.x; i < (end - state.shared_offset) / 4; i += kBlock)
        words<std::uint32_t>(state)[i] = value;
    }
  }
};

__device__ void add_to_slot(GroupState const& state, std::uint32_t slot, StateValue const& value) {
  switch (state.function) {
    case StateFunction::count:
      add(state.table + slot, value.low);
      break;
    case StateFunction::sum: {
      if (state_words(state) == 1) {
        add(state.table + slot, value.low);
        break;
      }
      auto* const words = state.table + 2 * std::uint64_t{slot};
      auto const before = atomicAdd(reinterpret_cast<Word*>(words), static_cast<Word>(value.low));
      add(words + 1, value.high + (before + value.low < before ? 1 : 0));
      break;
    }
    case StateFunction::least:
      keep_least(state.table + slot, value.low);
      break;
    case StateFunction::greatest:
      keep_greatest(state.table + slot, value.low);
      break;
    case StateFunction::flags:
      if (value.low != 0) atomicOr(reinterpret_cast<Word*>(state.table + slot), static_cast<Word>(value.low));
      break;
  }
}

/// The slot of a key in device memory; kNoSlot, and overflow, when it found none.
template <class Key>
__device__ std::uint32_t find_in_table(StateTable const& table, Key key) {
  constexpr auto kFree = static_cast<Key>(~Key{0});
  auto* const keys = static_cast<Key*>(table.keys);
  auto const slots = 1U << table.log2_slots;
  if (key == kFree) {
    *table.used = 1;
    return slots;
  }
  auto slot = static_cast<std::uint32_t>(mix(key)) & (slots - 1);
  for (std::uint32_t step = 0; step <= kTableSteps && step < slots; ++step) {
    auto present = *static_cast<Key volatile*>(&keys[slot]);
    if (present == kFree) present = SharedStates<Key>::compare_and_swap(&keys[slot], kFree, key);
    if (present == kFree || present == key) return slot;
    slot = (slot + 1) & (slots - 1);
  }
  *table.overflow = 1;
  return kNoSlot;
}

template <class Key>
__device__ Key original(StatePass const& pass, Key key) {
  return pass.mixed ? unmix(key) : key;
}

__device__ void write_state(GroupState const& state, std::uint64_t group, StateValue const& value) {
  if (state_words(state) == 2) {
    state.out[2 * group] = value.low;
    state.out[2 * group + 1] = value.high;
  } else {
    state.out[group] = value.low;
  }
}

/// Enters the chunk's rows; whether all of the thread's found a slot of the block's table.
template <Known kKnown, class Key>
__device__ bool enter_rows(StatePass const& pass, SharedStates<Key> const& shared, ChunkTask const& task,
                           std::uint32_t& has_free_key) {
  bool fitted = true;
  auto const* const keys = static_cast<Key const*>(pass.keys);
  for (auto i = threadIdx.x; i < task.build_rows; i += kBlock) {
    auto const row = task.build_first + i;
    auto const key = keys[row];
    // On its way while the slot is looked for.
    StateValue first_value{};
    visit_first<kKnown>(pass, [&](GroupState const& state) { first_value = value_of_row(state, row); });
    auto const slot = shared.find(key);
    if (slot == shared.slots()) has_free_key = 1;
    if (slot != kNoSlot) {
      visit_first<kKnown>(pass, [&](GroupState const& state) { shared.add(state, slot, first_value); });
      visit_others<kKnown>(pass, [&](GroupState const& state) { shared.add(state, slot, value_of_row(state, row)); });
      continue;
    }
    fitted = false;
    auto const place = find_in_table(pass.table, key);
    if (place == kNoSlot) continue;
    visit_states<kKnown>(pass, [&](GroupState const& state) { add_to_slot(state, place, value_of_row(state, row)); });
  }
  return fitted;
}

/// A block a chunk.
template <class Key, Known kKnown>
__global__ void __launch_bounds__(kBlock, kBlocksEach) aggregate_states_kernel(StatePass pass) {
  using Scan = cub::BlockScan<std::uint32_t, kBlock, cub::BLOCK_SCAN_WARP_SCANS>;
  extern __shared__ __align__(16) unsigned char shared_memory[];
  __shared__ typename Scan::TempStorage scan_memory;
  __shared__ std::uint64_t first_out;
  __shared__ std::uint32_t has_free_key;
  SharedStates<Key> const shared{shared_memory, pass.log2_shared_slots};
  auto const task = pass.tasks[blockIdx.x];
  if (threadIdx.x == 0) has_free_key = 0;
  shared.clear_keys();
  shared.clear_states(pass);
  __syncthreads();
  bool const fitted = enter_rows<kKnown>(pass, shared, task, has_free_key);
  bool const all_fitted = __syncthreads_and(fitted ? 1 : 0) != 0;
  auto const slots = shared.slots();
  auto const is_used = [&](std::uint32_t slot) {
    return slot < slots ? shared.keys()[slot] != static_cast<Key>(~Key{0}) : has_free_key != 0;
  };
  auto const key_of = [&](std::uint32_t slot) {
    return slot < slots ? shared.keys()[slot] : static_cast<Key>(~Key{0});
  };
  if (task.probe_rows != 1 || !all_fitted) {
    for (auto slot = threadIdx.x; slot <= slots; slot += kBlock) {
      if (!is_used(slot)) continue;
      auto const place = find_in_table(pass.table, key_of(slot));
      if (place == kNoSlot) continue;
      visit_states<kKnown>(pass,
                           [&](GroupState const& state) { add_to_slot(state, place, shared.value_at(state, slot)); });
    }
    return;
  }
  std::uint32_t groups = 0;
  for (auto slot = threadIdx.x; slot <= slots; slot += kBlock) groups += is_used(slot) ? 1 : 0;
  std::uint32_t position = 0;
  std::uint32_t total = 0;
  Scan(scan_memory).ExclusiveSum(groups, position, total);
  if (threadIdx.x == 0) first_out = atomicAdd(reinterpret_cast<Word*>(pass.cursor), static_cast<Word>(total));
  __syncthreads();
  auto out = first_out + position;
  for (auto slot = threadIdx.x; slot <= slots; slot += kBlock) {
    if (!is_used(slot)) continue;
    if (out < pass.capacity) {
      static_cast<Key*>(pass.keys_out)[out] = original(pass, key_of(slot));
      visit_states<kKnown>(pass,
                           [&](GroupState const& state) { write_state(state, out, shared.value_at(state, slot)); });
    }
    ++out;
  }
}

/// Writes the groups of the table behind the others.
template <class Key>
__global__ void write_states_kernel(StatePass pass) {
  constexpr auto kFree = static_cast<Key>(~Key{0});
  auto const* const keys = static_cast<Key const*>(pass.table.keys);
  auto const slots = std::uint64_t{1} << pass.table.log2_slots;
  auto const lane = threadIdx.x % 32;
  for (auto base = global_thread() - lane; base <= slots; base += grid_threads()) {
    auto const slot = base + lane;
    bool const used = slot < slots ? keys[slot] != kFree : slot == slots && *pass.table.used != 0;
    auto const lanes = __ballot_sync(0xffff'ffffU, used);
    if (lanes == 0) continue;
    std::uint64_t first = 0;
    if (lane == 0) first = atomicAdd(reinterpret_cast<Word*>(pass.cursor), static_cast<Word>(__popc(lanes)));
    first = __shfl_sync(0xffff'ffffU, first, 0);
    auto const out = first + static_cast<unsigned>(__popc(lanes & ((1U << lane) - 1)));
    if (!used || out >= pass.capacity) continue;
    static_cast<Key*>(pass.keys_out)[out] = original(pass, slot < slots ? keys[slot] : kFree);
    for (std::uint32_t s = 0; s < pass.num_states; ++s) {
      auto const& state = pass.states[s];
      auto const* const words = state.table + slot * state_words(state);
      write_state(state, out, {words[0], state_words(state) == 2 ? words[1] : 0});
    }
  }
}

/// Adds to the states of a group with a number.
__device__ void add_to_group(GroupState state, std::uint32_t group, StateValue const& value) {
  if (state.function == StateFunction::sum && (value.low | value.high) == 0) return;
  state.table += std::uint64_t{group} * state.stride;
  add_to_slot(state, 0, value);
}

/// A thread a row. With shared memory a block adds up its rows there, a slot a group, before it adds to the tables.
template <bool kIsShared>
__global__ void __launch_bounds__(kBlock, kBlocksEach) aggregate_numbered_kernel(StatePass pass, NumberedRows rows) {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  SharedStates<std::uint32_t> const shared{shared_memory, pass.log2_shared_slots};
  if constexpr (kIsShared) {
    shared.clear_states(pass);
    __syncthreads();
  }
  for (auto i = global_thread(); i < rows.rows; i += grid_threads()) {
    auto const row = static_cast<std::uint32_t>(i);
    auto const group = rows.ids[row];
    for (std::uint32_t s = 0; s < pass.num_states; ++s) {
      auto const& state = pass.states[s];
      if (!takes_part(state, row, group)) continue;
      auto const value = numbered_value(state, row);
      if constexpr (kIsShared) {
        shared.add(state, group, value);
      } else {
        add_to_group(state, group, value);
      }
    }
  }
  if constexpr (kIsShared) {
    __syncthreads();
    for (auto group = threadIdx.x; group < rows.groups; group += kBlock)
      for (std::uint32_t s = 0; s < pass.num_states; ++s)
        add_to_group(pass.states[s], group, shared.value_at(pass.states[s], group));
  }
}

/// Blocks a multiprocessor of the kernel above.
constexpr std::uint64_t kNumberedBlocksEach = 4;
/// Most rows of a block: what its sums in shared memory have bits for.
constexpr std::uint64_t kMostBlockRows = std::uint64_t{1} << 17;
constexpr std::uint64_t kBlockReserve = 1024;  // bytes of shared memory that the driver takes of a block's share

}  // namespace

std::uint32_t shared_state_bytes(GroupState const& state) {
  if (state.function == StateFunction::count || state.function == StateFunction::flags) return 4;
  if (state.function == StateFunction::sum) return 4 * state.sum_words;
  return is_wide(state.kind) ? 8 : 4;
}

std::uint64_t lay_out_states(StatePass& pass, std::uint32_t key_bytes, std::uint32_t log2_slots) {
  auto const slots = (std::uint64_t{1} << log2_slots) + 1;
  auto const aligned = [](std::uint64_t bytes) { return (bytes + 7) / 8 * 8; };
  auto bytes = aligned(slots * key_bytes);
  for (std::uint32_t s = 0; s < pass.num_states; ++s) {
    pass.states[s].shared_offset = static_cast<std::uint32_t>(bytes);
    bytes += aligned(slots * shared_state_bytes(pass.states[s]));
  }
  pass.log2_shared_slots = log2_slots;
  pass.shared_bytes = static_cast<std::uint32_t>(bytes);
  return bytes;
}

Result<void> aggregate_numbered(Lane& lane, StatePass pass, NumberedRows const& rows) {
  auto const& traits = lane.device().traits();
  auto const needed = (std::uint64_t{rows.rows} + kBlock - 1) / kBlock;
  auto const blocks = std::min(needed, std::max(traits.multiprocessors * kNumberedBlocksEach,
                                                std::uint64_t{rows.rows} / kMostBlockRows + 1));
  // Blocks that add up as many states as they have rows save nothing.
  bool const pays = rows.groups * blocks <= rows.rows;
  auto const bytes = pays ? lay_out_states(pass, 0, log2_at_least(rows.groups)) : 0;
  if (!pays || 2 * (bytes + kBlockReserve) > traits.shared_bytes)
    return launch(lane, {blocks, kBlock}, aggregate_numbered_kernel<false>, pass, rows);
  return launch(lane, {blocks, kBlock, bytes}, aggregate_numbered_kernel<true>, pass, rows);
}

Result<void> aggregate_states(Lane& lane, StatePass const& pass, std::uint32_t key_bytes) {
  bool const is_narrow_sum =
      pass.num_states == 1 && pass.states[0].function == StateFunction::sum && pass.states[0].kind == GARUDA_CUDA_INT32;
  return with_key(key_bytes, [&]<class Key>(Key) -> Result<void> {
    auto* const kernel =
        is_narrow_sum ? aggregate_states_kernel<Key, Known::narrow_sum> : aggregate_states_kernel<Key, Known::nothing>;
    GARUDA_TRY(launch(lane, {pass.num_tasks, kBlock, pass.shared_bytes}, kernel, pass));
    return launch_over(lane, (1ULL << pass.table.log2_slots) + 1, write_states_kernel<Key>, pass);
  });
}

}  // namespace garuda::cuda_backend
