#include "cuda_backend/group_by/groups.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "cuda_backend/group_by/group_values.cuh"
#include "cuda_backend/partition.hpp"
#include "cuda_backend/primitives.hpp"

namespace garuda::cuda_backend {
namespace {

/// A directly addressed table may be so many times as large as the slice, and at least kSmallDirect.
constexpr std::uint64_t kDirectShare = 4;
constexpr std::uint64_t kSmallDirect = std::uint64_t{1} << 16;
/// Slots a group that is expected, so that an estimate may be half of the truth.
constexpr std::uint64_t kSlotsPerGroup = 4;
constexpr std::uint64_t kFewestSlots = 1024;
/// Share of the L2 cache that one table may take.
constexpr std::uint64_t kCacheShare = 2;
/// Groups of a partition, where a pass makes as many: few enough that those of the rows that are looked up at a time
/// share the second-level cache.
constexpr std::uint64_t kPartitionGroups = 2048;
/// Most groups that are looked up in partitions; more are sorted.
constexpr std::uint64_t kMostPartitioned = std::uint64_t{1} << 27;
/// Slots are at most 2^26, twice the rows of the largest slice and a table's slots of the largest key range.
constexpr std::uint64_t kMostDirect = std::uint64_t{1} << 26;

/// A probe looks at the overflow flag every so many slots.
constexpr std::uint32_t kStepsBetweenLooks = 64;

template <class Key>
struct PackedKeys {
  Key const* keys;
  bool mixed;
  __device__ std::uint32_t hash(std::uint32_t row, std::uint32_t log2_slots) const {
    auto const hashed = mixed ? keys[row] : mix(keys[row]);
    return static_cast<std::uint32_t>(hashed >> (8 * sizeof(Key) - log2_slots));
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
Result<void> with_keys(GroupKeys const& keys, Use const& use) {
  if (keys.bits == 32) return use(PackedKeys<std::uint32_t>{static_cast<std::uint32_t const*>(keys.data), keys.mixed});
  if (keys.bits == 64) return use(PackedKeys<std::uint64_t>{static_cast<std::uint64_t const*>(keys.data), keys.mixed});
  return use(WordKeys{static_cast<std::uint32_t const*>(keys.data), keys.rows, keys.num_words});
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

/// The slot of a row is (key - min) >> shift.
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

/// flags: rows, 1 where the row at a position of `order` (null: the positions themselves) differs from the one behind
/// it. Their prefix sums number the runs.
template <class Keys>
__global__ void flag_ends_kernel(Keys keys, std::uint32_t rows, std::uint32_t const* order, std::uint32_t* flags) {
  for (auto i = global_thread(); i < rows; i += grid_threads()) {
    auto const p = static_cast<std::uint32_t>(i);
    auto const row_at = [&](std::uint32_t position) { return order == nullptr ? position : order[position]; };
    flags[i] = p + 1 < rows && !keys.are_equal(row_at(p), row_at(p + 1)) ? 1 : 0;
  }
}

/// From slots of positions to those of the rows order[position], and the lowest row of each slot. heads: kNoRow before.
__global__ void slots_of_rows_kernel(std::uint32_t const* position_slots, std::uint32_t const* order,
                                     std::uint32_t rows, std::uint32_t* slots, std::uint32_t* heads) {
  for (auto i = global_thread(); i < rows; i += grid_threads()) {
    auto const row = order[i];
    auto const slot = position_slots[i];
    slots[row] = slot;
    if (row < read_word(&heads[slot])) atomicMin(&heads[slot], row);
  }
}

}  // namespace

Groups::Groups(Lane& lane, GarudaCudaGroupSlice const& slice, Source source)
    : lane_(lane), slice_(slice), source_(source) {
  GARUDA_EXPECTS(source == Source::host || slice.num_words == 0);
  if (slice.num_words > 0) word_columns_.assign(slice.words, slice.words + slice.num_words);
  slice_.words = nullptr;
}

Result<std::uint64_t> Groups::find() {
  if (!has_keys()) {
    GARUDA_TRY_ASSIGN(heads_, lane_.allocate(4, "heads of groups"));
    GARUDA_CUDA_TRY(cudaMemsetAsync(heads_.as<void>(), 0, 4, lane_.stream()));
    num_groups_ = 1;
    return std::uint64_t{1};
  }
  GARUDA_TRY(upload_keys());
  GARUDA_TRY(find_slots());
  GARUDA_TRY(number());
  own_keys_.reset();
  table_heads_.reset();
  slots_.reset();
  return std::uint64_t{num_groups_};
}

Result<void> Groups::upload_keys() {
  if (source_ == Source::device) {
    keys_ = slice_.keys;
    return {};
  }
  auto const word_bytes = slice_.key_bits == 64 ? 8 : 4;
  auto const column_bytes = std::uint64_t{slice_.num_rows} * static_cast<unsigned>(word_bytes);
  auto const columns = std::max<std::uint32_t>(slice_.num_words, 1);
  GARUDA_TRY(lane_.step("upload", column_bytes * columns, slice_.num_rows));
  GARUDA_TRY_ASSIGN(own_keys_, lane_.allocate(column_bytes * columns, "keys"));
  keys_ = own_keys_.as<void>();
  for (std::uint32_t c = 0; c < columns; ++c) {
    void const* const source = slice_.num_words == 0 ? slice_.keys : word_columns_[c];
    GARUDA_TRY(lane_.upload(own_keys_.as<std::byte>() + c * column_bytes,
                            {static_cast<std::byte const*>(source), column_bytes}));
  }
  return {};
}

std::uint64_t Groups::direct_slots() const {
  if (slice_.key_bits == 0 || slice_.allow_direct == 0) return 0;
  auto const range = (slice_.max_key - slice_.min_key) >> slice_.shared_low_bits;
  auto const most =
      slice_.force_direct != 0 ? kMostDirect : std::max(std::uint64_t{slice_.num_rows} * kDirectShare, kSmallDirect);
  return range < most ? range + 1 : 0;
}

/// Without an expectation one table. Tables that the second-level cache does not hold are looked into partition by
/// partition; very many groups are brought together by sorting.
GarudaCudaGroupMethod Groups::chosen_method() const {
  if (slice_.method != GARUDA_CUDA_GROUP_AUTOMATIC) return static_cast<GarudaCudaGroupMethod>(slice_.method);
  auto const& traits = lane_.device().traits();
  auto const groups = std::min<std::uint64_t>(slice_.expected_groups, slice_.num_rows);
  if (direct_slots() > 0 || slice_.num_words > 0 || groups * kSlotsPerGroup * 4 <= traits.l2_bytes / kCacheShare)
    return GARUDA_CUDA_GROUP_HASH;
  return groups <= kMostPartitioned ? GARUDA_CUDA_GROUP_PARTITIONED : GARUDA_CUDA_GROUP_SORTED;
}

Result<void> Groups::find_slots() {
  GARUDA_TRY(lane_.step("group", own_keys_.bytes() + std::uint64_t{slice_.num_rows} * 8, slice_.num_rows));
  GARUDA_TRY_ASSIGN(slots_, lane_.allocate(std::uint64_t{slice_.num_rows} * 4, "slots of rows"));
  switch (chosen_method()) {
    case GARUDA_CUDA_GROUP_SORTED:
      if (slice_.num_words > 0) return sort_words();
      return sort_keys();
    case GARUDA_CUDA_GROUP_PARTITIONED:
      if (slice_.num_words > 0)
        return fail(ErrorCode::usage, "method=partitioned: keys of several words are grouped by hash or sorted");
      return partition_keys();
    default:
      break;
  }
  if (direct_slots() > 0) return address();
  if (slice_.force_direct != 0)
    return fail(ErrorCode::limit_exceeded, "address=direct: the keys of a slice lie too far apart for a table");
  GARUDA_TRY(hash_all({keys_, slice_.num_rows, slice_.key_bits, slice_.num_words}, slots_));
  lane_.add_counter("hash_slices", 1);
  return {};
}

/// Slots of keys in one table. Room for every row to be its own group at half load; less where fewer groups are
/// expected.
Result<void> Groups::hash_all(GroupKeys const& keys, Buffer const& slots) {
  auto const most = log2_at_least(2 * std::uint64_t{slice_.num_rows});
  auto const expected = slice_.expected_groups == 0
                            ? most
                            : log2_at_least(std::max(slice_.expected_groups * kSlotsPerGroup, kFewestSlots));
  GARUDA_TRY_ASSIGN(auto const fitted, hash(keys, slots, std::min(most, expected)));
  if (fitted) return {};
  lane_.add_counter("tables_outgrown", 1);
  GARUDA_TRY_ASSIGN(auto const fitted_all, hash(keys, slots, most));
  GARUDA_EXPECTS(fitted_all);
  return {};
}

/// Keys in partitions by the leading bits of their hash find their slots near each other.
Result<void> Groups::partition_keys() {
  auto const rows = slice_.num_rows;
  auto const groups = slice_.expected_groups == 0 ? rows : std::min<std::uint64_t>(slice_.expected_groups, rows);
  auto const bits = std::clamp(log2_at_least((groups + kPartitionGroups - 1) / kPartitionGroups), 1U, kMostPassBits);
  GARUDA_TRY_ASSIGN(auto const side,
                    partition(lane_, key_column(), rows, std::span(&kRowNumbers, 1), PartitionShape{bits, true, true}));
  GARUDA_TRY_ASSIGN(auto const slots, lane_.allocate(std::uint64_t{rows} * 4, "slots of positions"));
  GARUDA_TRY(hash_all({side.keys.as<void>(), rows, slice_.key_bits, 0, true}, slots));
  lane_.add_counter("partitioned_slices", 1);
  return take_slots(slots, side.columns[0]);
}

Result<void> Groups::sort_keys() {
  GARUDA_TRY_ASSIGN(auto const side, sort_by_key(lane_, key_column(), slice_.num_rows, kRowNumbers, slice_.key_bits));
  return take_runs({side.keys.as<void>(), slice_.num_rows, slice_.key_bits, 0}, side.columns[0], true);
}

/// Stable sorts by one word after the other.
Result<void> Groups::sort_words() {
  auto const rows = slice_.num_rows;
  GARUDA_TRY_ASSIGN(auto const words, lane_.allocate(std::uint64_t{rows} * 4, "words of keys"));
  Buffer order;
  for (std::uint32_t w = 0; w < slice_.num_words; ++w) {
    GarudaCudaColumn column{reinterpret_cast<std::uint64_t>(keys_) + w * std::uint64_t{rows} * 4, 4};
    if (w > 0) {
      GARUDA_TRY(gather(lane_, column, order.as<std::uint32_t>(), rows, words.as<void>()));
      column.address = words.address();
    }
    // Without an order so far: row numbers.
    GARUDA_TRY_ASSIGN(auto side, sort_by_key(lane_, column, rows, {order.address(), kRowNumbers.bytes}, 32));
    order = std::move(side.columns[0]);
  }
  return take_runs({keys_, rows, 0, slice_.num_words}, order, false);
}

Result<void> Groups::take_runs(GroupKeys const& keys, Buffer const& order, bool in_order) {
  auto const bytes = std::uint64_t{keys.rows} * 4;
  GARUDA_TRY_ASSIGN(auto const flags, lane_.allocate(bytes, "ends of runs"));
  GARUDA_TRY_ASSIGN(auto const runs, lane_.allocate(bytes, "numbers of runs"));
  auto* const flag_words = flags.as<std::uint32_t>();
  auto const* const positions = in_order ? nullptr : order.as<std::uint32_t>();
  GARUDA_TRY(with_keys(keys, [&]<class Keys>(Keys const& own) {
    return launch_over(lane_, keys.rows, flag_ends_kernel<Keys>, own, keys.rows, positions, flag_words);
  }));
  GARUDA_TRY(sum_up(lane_, flag_words, runs.as<std::uint32_t>(), keys.rows));
  GARUDA_TRY_ASSIGN(table_heads_, lane_.allocate(bytes, "group table"));
  lane_.add_counter("sorted_slices", 1);
  return take_slots(runs, order);
}

Result<void> Groups::take_slots(Buffer const& slots, Buffer const& order) {
  table_.heads = table_heads_.as<std::uint32_t>();
  GARUDA_CUDA_TRY(cudaMemsetAsync(table_.heads, 0xff, table_heads_.bytes(), lane_.stream()));
  return launch_over(lane_, slice_.num_rows, slots_of_rows_kernel, slots.as<std::uint32_t>(), order.as<std::uint32_t>(),
                     slice_.num_rows, slots_.as<std::uint32_t>(), table_.heads);
}

Result<void> Groups::address() {
  auto const slots = direct_slots();
  GARUDA_TRY_ASSIGN(table_heads_, lane_.allocate(slots * 4, "group table"));
  table_.heads = table_heads_.as<std::uint32_t>();
  GARUDA_CUDA_TRY(cudaMemsetAsync(table_.heads, 0xff, slots * 4, lane_.stream()));
  lane_.add_counter("direct_slices", 1);
  auto const start = [&]<class Key>(Key const* keys) {
    return launch_over(lane_, slice_.num_rows, address_rows_kernel<Key>, keys, slice_.num_rows, slice_.min_key,
                       slice_.shared_low_bits, table_.heads, slots_.as<std::uint32_t>());
  };
  return slice_.key_bits == 32 ? start(static_cast<std::uint32_t const*>(keys_))
                               : start(static_cast<std::uint64_t const*>(keys_));
}

/// False: the table was too small.
Result<bool> Groups::hash(GroupKeys const& keys, Buffer const& slots_out, std::uint32_t log2_slots) {
  auto const slots = std::uint64_t{1} << log2_slots;
  table_heads_.reset();
  // Two words behind the slots count what was inserted, and say that it was too much.
  GARUDA_TRY_ASSIGN(table_heads_, lane_.allocate((slots + 2) * 4, "group table"));
  table_.heads = table_heads_.as<std::uint32_t>();
  table_.log2_slots = log2_slots;
  table_.max_groups = static_cast<std::uint32_t>(slots / 2);
  table_.inserted = table_.heads + slots;
  table_.overflow = table_.inserted + 1;
  GARUDA_CUDA_TRY(cudaMemsetAsync(table_.heads, 0xff, slots * 4, lane_.stream()));
  GARUDA_CUDA_TRY(cudaMemsetAsync(table_.inserted, 0, 8, lane_.stream()));
  GARUDA_TRY(with_keys(keys, [&]<class Keys>(Keys const& own) {
    return launch_over(lane_, keys.rows, hash_rows_kernel<Keys>, own, keys.rows, table_, slots_out.as<std::uint32_t>());
  }));
  std::uint32_t overflow = 0;
  GARUDA_TRY(lane_.download(std::as_writable_bytes(std::span(&overflow, 1)), table_.overflow));
  return overflow == 0;
}

Result<void> Groups::number() {
  auto const rows = slice_.num_rows;
  GARUDA_TRY(lane_.step("number", std::uint64_t{rows} * 24, rows));
  GARUDA_TRY_ASSIGN(auto const flags, lane_.allocate((std::uint64_t{rows} + 1) * 4, "heads of rows"));
  GARUDA_TRY_ASSIGN(auto const numbers, lane_.allocate((std::uint64_t{rows} + 1) * 4, "numbers of groups"));
  GARUDA_TRY_ASSIGN(ids_, lane_.allocate(std::uint64_t{rows} * 4, "groups of rows"));
  auto* const flag_words = flags.as<std::uint32_t>();
  auto* const number_words = numbers.as<std::uint32_t>();
  auto const* const slots = slots_.as<std::uint32_t>();
  GARUDA_TRY(launch_over(lane_, rows + std::uint64_t{1}, flag_heads_kernel, table_.heads, slots, rows, flag_words));
  GARUDA_TRY(sum_up(lane_, flag_words, number_words, rows + 1));
  GARUDA_TRY(lane_.download(std::as_writable_bytes(std::span(&num_groups_, 1)), number_words + rows));
  GARUDA_TRY_ASSIGN(heads_, lane_.allocate(std::uint64_t{num_groups_} * 4, "heads of groups"));
  GARUDA_TRY(lane_.step("number", std::uint64_t{rows} * 12, rows));
  return launch_over(lane_, rows, number_rows_kernel, table_.heads, slots, number_words, rows, ids_.as<std::uint32_t>(),
                     heads_.as<std::uint32_t>());
}

Result<void> Groups::heads(std::span<std::uint32_t> out) {
  GARUDA_EXPECTS(out.size() == num_groups_);
  GARUDA_TRY(lane_.step("download", out.size_bytes(), out.size()));
  return lane_.download(std::as_writable_bytes(out), heads_.as<void>());
}

Result<void> Groups::ids(std::span<std::uint32_t> out) {
  GARUDA_EXPECTS(out.size() == slice_.num_rows);
  if (!has_keys()) {
    std::ranges::fill(out, 0);
    return {};
  }
  GARUDA_TRY(lane_.step("download", out.size_bytes(), out.size()));
  return lane_.download(std::as_writable_bytes(out), ids_.as<void>());
}

Result<GroupedValues> Groups::upload_values(GarudaCudaAggregate const& input, Buffer& values, Buffer& validity) {
  auto const kind = static_cast<GarudaCudaValueKind>(input.kind);
  GroupedValues grouped;
  grouped.ids = has_keys() ? ids_.as<std::uint32_t>() : nullptr;
  grouped.rows = slice_.num_rows;
  grouped.groups = num_groups_;
  grouped.kind = kind;
  if (source_ == Source::device) {
    grouped.values = input.values;
    return grouped;
  }
  auto const value_bytes = std::uint64_t{slice_.num_rows} * static_cast<unsigned>(words_of(kind)) * 4;
  auto const validity_bytes = input.validity == nullptr ? 0 : (std::uint64_t{slice_.num_rows} + 31) / 32 * 4;
  GARUDA_TRY(lane_.step("upload", value_bytes + validity_bytes, slice_.num_rows));
  if (value_bytes > 0) {
    GARUDA_TRY_ASSIGN(values, lane_.allocate(value_bytes, "values"));
    GARUDA_TRY(lane_.upload(values.as<void>(), {reinterpret_cast<std::byte const*>(input.values), value_bytes}));
  }
  if (validity_bytes > 0) {
    GARUDA_TRY_ASSIGN(validity, lane_.allocate(validity_bytes, "validity"));
    GARUDA_TRY(lane_.upload(validity.as<void>(), {reinterpret_cast<std::byte const*>(input.validity), validity_bytes}));
  }
  grouped.values = values.as<std::uint32_t>();
  grouped.validity = validity.as<std::uint32_t>();
  return grouped;
}

Result<std::uint64_t> Groups::aggregate(GarudaCudaAggregate const& input) {
  states_ = GroupStates{};
  Buffer values;
  Buffer validity;
  GARUDA_TRY_ASSIGN(auto const grouped, upload_values(input, values, validity));
  GARUDA_TRY(lane_.step("aggregate", values.bytes() + std::uint64_t{slice_.num_rows} * 4, slice_.num_rows));
  GARUDA_TRY_ASSIGN(states_, accumulate(lane_, grouped, input.states));
  // Values that the lane registered in place may go when this returns.
  GARUDA_TRY(lane_.wait());
  return states_.num_windows;
}

template <class Word>
Result<void> Groups::copy_out(Word* target, void const* source, std::uint64_t words) {
  if (target == nullptr || words == 0) return {};
  GARUDA_EXPECTS(source != nullptr);
  GARUDA_CUDA_TRY(cudaMemcpyAsync(target, source, words * sizeof(Word), cudaMemcpyDeviceToHost, lane_.stream()));
  return {};
}

Result<void> Groups::fetch(GarudaCudaStates const& states) {
  auto const groups = std::uint64_t{num_groups_};
  auto const& layout = states_.layout;
  GARUDA_TRY(lane_.step("download", groups * 8 * static_cast<unsigned>(layout.words), groups));
  bool const is_wide = states_.kind == GARUDA_CUDA_INT128;
  GARUDA_TRY(copy_out(states.counts, states_.accumulator(layout.count), groups));
  GARUDA_TRY(copy_out(states.sums, states_.sums.as<void>(), groups * (is_wide ? 4 : 2)));
  GARUDA_TRY(copy_out(states.minima, is_wide ? states_.minima.as<std::uint64_t>() : states_.accumulator(layout.min),
                      groups * (is_wide ? 2 : 1)));
  GARUDA_TRY(copy_out(states.maxima, is_wide ? states_.maxima.as<std::uint64_t>() : states_.accumulator(layout.max),
                      groups * (is_wide ? 2 : 1)));
  GARUDA_TRY(copy_out(states.flags, states_.flags.as<void>(), groups));
  GARUDA_TRY(copy_out(states.first_window, states_.first_windows.as<void>(), groups));
  GARUDA_TRY(copy_out(states.offsets, states_.offsets.as<void>(), groups + 1));
  GARUDA_TRY(copy_out(states.windows, states_.windows.as<void>(), 2 * states_.num_windows));
  return lane_.wait();
}

}  // namespace garuda::cuda_backend
