// Kernels of the group-by of resident tables that computes several states of groups as rows are read: counts, sums,
// extremes.
#pragma once

#include <array>
#include <cstdint>

#include "cuda_backend/join/chunk_tasks.hpp"
#include "cuda_backend/lane.hpp"
#include "cuda_backend/plugin.h"

namespace garuda::cuda_backend {

/// A group keeps one of these states of a column. Flags say which special values there are among floats.
enum class StateFunction : std::uint8_t { count, sum, least, greatest, flags };

/// Most states of one group-by: a mean takes two.
inline constexpr std::uint32_t kMostStates = 2 * GARUDA_CUDA_MAX_AGGREGATES;

/// A state of all groups. Extremes are words as core/numbers/ordered_value.hpp orders them.
struct GroupState {
  StateFunction function = StateFunction::count;
  GarudaCudaValueKind kind = GARUDA_CUDA_NONE;  ///< not INT128
  void const* values = nullptr;                 ///< of the rows; of counts none
  std::uint32_t sum_words = 0;                  ///< of 32 bits that a block keeps of a sum: 2 to 4
  std::uint32_t first_bit = 0;                  ///< of sums of floats: what is bit 0 of the sum, as FloatRange::lowest;
                                                ///< groups with numbers add up the 64 bits from there on alone
  std::uint32_t shared_offset = 0;              ///< bytes from the start of a block's table
  std::uint64_t* table = nullptr;               ///< a slot of the table, and one more
  std::uint64_t* out = nullptr;                 ///< a group of the result
  // Groups with numbers use the members below. Their states lie in `table`, `stride` words from group to group.
  std::uint32_t stride = 0;
  std::uint32_t values_each = 1;                 ///< words of 64 bits from a row's value to the next one's: 1 or 2
  std::uint32_t const* validity = nullptr;       ///< a bit a row; null: every row has a value
  std::uint64_t const* high_extremes = nullptr;  ///< rows take part whose high word is their group's; `values` are low
};

/// Words of a group's state in device memory: of sums two, low word first, but of 32-bit integers, whose sums one
/// holds.
constexpr std::uint32_t state_words(GroupState const& state) {
  bool const is_narrow = state.kind == GARUDA_CUDA_INT32 || state.kind == GARUDA_CUDA_UINT32;
  return state.function == StateFunction::sum && !is_narrow ? 2 : 1;
}
/// Bytes of a slot's state in shared memory.
std::uint32_t shared_state_bytes(GroupState const& state);

/// The groups that several blocks add to: open addressing; a slot more for the key that marks free ones.
struct StateTable {
  void* keys = nullptr;               ///< all ones: free
  std::uint32_t* used = nullptr;      ///< whether the one more slot is
  std::uint32_t* overflow = nullptr;  ///< set when a key found no slot
  std::uint32_t log2_slots = 0;
};

/// Arguments of a pass of the group-by.
struct StatePass {
  void const* keys = nullptr;        ///< mixed when `mixed`
  ChunkTask const* tasks = nullptr;  ///< build rows: the chunk; probe_rows: tasks of its partition
  std::uint32_t num_tasks = 0;
  std::uint32_t log2_shared_slots = 0;
  std::uint32_t shared_bytes = 0;  ///< of a block's table
  bool mixed = false;
  std::uint32_t num_states = 0;
  std::array<GroupState, kMostStates> states{};
  StateTable table;
  void* keys_out = nullptr;
  std::uint64_t* cursor = nullptr;  ///< groups so far, 0 before; counts on beyond `capacity`
  std::uint64_t capacity = 0;
};

/// Sets every state's shared_offset; the bytes of a block's table with 2^log2_slots slots.
std::uint64_t lay_out_states(StatePass& pass, std::uint32_t key_bytes, std::uint32_t log2_slots);

/// Aggregates chunks in shared memory. Groups of a partition of one chunk are final and written; others are added to
/// the table, whose groups are written behind them. Errors: device_failure, out_of_memory.
Result<void> aggregate_states(Lane& lane, StatePass const& pass, std::uint32_t key_bytes);

/// Rows on the device whose groups have numbers.
struct NumberedRows {
  std::uint32_t const* ids = nullptr;
  std::uint32_t rows = 0;
  std::uint32_t groups = 1;
};
/// Adds all rows to the states' tables, which hold what no row makes; first in shared memory where groups are few.
/// Errors: device_failure, out_of_memory.
Result<void> aggregate_numbered(Lane& lane, StatePass pass, NumberedRows const& rows);

}  // namespace garuda::cuda_backend
