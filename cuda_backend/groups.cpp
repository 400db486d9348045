#include "cuda_backend/groups.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "cuda_backend/partition_tables.hpp"
#include "cuda_backend/partitioned_side.hpp"
#include "cuda_backend/scratch_primitives.hpp"
#include "cuda_backend/status.hpp"

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
/// Groups that a partition's table in shared memory holds at half load.
constexpr std::uint64_t kPartitionKeys = kPartitionSlots / 2;
/// Slots are at most 2^26, twice the rows of the largest slice and a table's slots of the largest key range.
constexpr std::uint64_t kMostDirect = std::uint64_t{1} << 26;

std::uint32_t log2_at_least(std::uint64_t value) {
  return static_cast<std::uint32_t>(std::bit_width(std::max<std::uint64_t>(value, 2) - 1));
}

std::uint32_t value_words(GarudaCudaValueKind kind) {
  switch (kind) {
    case GARUDA_CUDA_NONE:
      return 0;
    case GARUDA_CUDA_INT32:
    case GARUDA_CUDA_UINT32:
    case GARUDA_CUDA_FLOAT32:
      return 1;
    case GARUDA_CUDA_INT128:
      return 4;
    default:
      return 2;
  }
}

bool is_float(GarudaCudaValueKind kind) { return kind == GARUDA_CUDA_FLOAT32 || kind == GARUDA_CUDA_FLOAT64; }

AccumulatorLayout layout_of(GarudaCudaValueKind kind, std::uint32_t states) {
  AccumulatorLayout layout;
  auto const take = [&](bool wanted, int words) {
    if (!wanted || words == 0) return -1;
    auto const first = layout.words;
    layout.words += words;
    return first;
  };
  layout.limbs = (states & GARUDA_CUDA_SUM) != 0 ? sum_limbs(kind) : 0;
  layout.count = take((states & GARUDA_CUDA_COUNT) != 0, 1);
  layout.sum = take(layout.limbs > 0, layout.limbs);
  layout.min = take((states & GARUDA_CUDA_MIN) != 0, 1);
  layout.max = take((states & GARUDA_CUDA_MAX) != 0, 1);
  return layout;
}

}  // namespace

Groups::Groups(Lane& lane, GarudaCudaGroupSlice const& slice, Source source)
    : lane_(lane), launch_{lane.stream(), lane.device().traits().multiprocessors}, slice_(slice), source_(source) {
  GARUDA_EXPECTS(source == Source::host || slice.num_words == 0);
  if (slice.num_words > 0) word_columns_.assign(slice.words, slice.words + slice.num_words);
  slice_.words = nullptr;
}

Result<std::uint64_t> Groups::find() {
  GARUDA_TRY(lane_.device().enter());
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
/// partition; groups that the partitions of one pass do not hold are brought together by sorting.
GarudaCudaGroupMethod Groups::chosen_method() const {
  if (slice_.method != GARUDA_CUDA_GROUP_AUTOMATIC) return static_cast<GarudaCudaGroupMethod>(slice_.method);
  auto const& traits = lane_.device().traits();
  auto const groups = std::min<std::uint64_t>(slice_.expected_groups, slice_.num_rows);
  if (direct_slots() > 0 || slice_.num_words > 0 || groups * kSlotsPerGroup * 4 <= traits.l2_bytes / kCacheShare)
    return GARUDA_CUDA_GROUP_HASH;
  return groups <= kPartitionKeys << kMostPartitionBits ? GARUDA_CUDA_GROUP_PARTITIONED : GARUDA_CUDA_GROUP_SORTED;
}

Result<void> Groups::find_slots() {
  GARUDA_TRY(lane_.step("group", own_keys_.bytes() + std::uint64_t{slice_.num_rows} * 8, slice_.num_rows));
  GARUDA_TRY_ASSIGN(slots_, lane_.allocate(std::uint64_t{slice_.num_rows} * 4, "slots of rows"));
  bool const is_wide = slice_.key_bits == 64;
  switch (chosen_method()) {
    case GARUDA_CUDA_GROUP_SORTED:
      if (slice_.num_words > 0) return sort_words();
      return is_wide ? sort_keys<std::uint64_t>() : sort_keys<std::uint32_t>();
    case GARUDA_CUDA_GROUP_PARTITIONED:
      if (slice_.num_words > 0)
        return fail(ErrorCode::usage, "method=partitioned: keys of several words are grouped by hash or sorted");
      return is_wide ? partition_keys<std::uint64_t>() : partition_keys<std::uint32_t>();
    default:
      break;
  }
  if (direct_slots() > 0) return address();
  if (slice_.force_direct != 0)
    return fail(ErrorCode::limit_exceeded, "address=direct: the keys of a slice lie too far apart for a table");
  return hash_all();
}

/// Room for every row to be its own group at half load; less where fewer groups are expected.
Result<void> Groups::hash_all() {
  auto const most = log2_at_least(2 * std::uint64_t{slice_.num_rows});
  auto const expected = slice_.expected_groups == 0
                            ? most
                            : log2_at_least(std::max(slice_.expected_groups * kSlotsPerGroup, kFewestSlots));
  GARUDA_TRY_ASSIGN(auto const fitted, hash(std::min(most, expected)));
  if (fitted) return {};
  lane_.add_counter("tables_outgrown", 1);
  GARUDA_TRY_ASSIGN(auto const fitted_all, hash(most));
  GARUDA_EXPECTS(fitted_all);
  return {};
}

template <class Key>
Result<void> Groups::partition_keys() {
  auto const rows = slice_.num_rows;
  auto const groups = slice_.expected_groups == 0 ? rows : std::min<std::uint64_t>(slice_.expected_groups, rows);
  auto const bits = std::clamp(log2_at_least((groups + kPartitionKeys - 1) / kPartitionKeys), 1U, kMostPartitionBits);
  GARUDA_TRY_ASSIGN(auto const side, partition(lane_, launch_, static_cast<Key const*>(keys_), rows,
                                               std::span(&kRowNumbers, 1), PartitionShape{bits, true}));
  GARUDA_TRY_ASSIGN(auto const order, lane_.allocate(std::uint64_t{rows} * 4, "rows by group"));
  GARUDA_TRY_ASSIGN(auto const runs, lane_.allocate(std::uint64_t{rows} * 4, "runs of rows"));
  GARUDA_TRY_ASSIGN(auto const tables, PartitionTableMemory::create<Key>(lane_, side.starts, bits, rows));
  GARUDA_CUDA_TRY(group_partition_rows(launch_, side.keys.template as<Key>(),
                                       side.columns[0].template as<std::uint32_t>(), tables.tables(),
                                       order.template as<std::uint32_t>(), runs.template as<std::uint32_t>()));
  GARUDA_TRY_ASSIGN(auto const has_overflown, tables.has_overflown());
  if (has_overflown) {
    lane_.add_counter("partitions_outgrown", 1);
    return hash_all();
  }
  lane_.add_counter("partitioned_slices", 1);
  GARUDA_TRY_ASSIGN(table_heads_, lane_.allocate(std::uint64_t{rows} * 4, "group table"));
  table_.heads = table_heads_.as<std::uint32_t>();
  GARUDA_CUDA_TRY(cudaMemsetAsync(table_.heads, 0xff, table_heads_.bytes(), lane_.stream()));
  GARUDA_CUDA_TRY(slots_of_runs(launch_, runs.template as<std::uint32_t>(), order.template as<std::uint32_t>(), rows,
                                slots_.as<std::uint32_t>(), table_.heads));
  return {};
}

template <class Key>
Result<void> Groups::sort_keys() {
  auto const rows = slice_.num_rows;
  GARUDA_TRY_ASSIGN(auto const positions, lane_.allocate(std::uint64_t{rows} * 4, "rows"));
  GARUDA_TRY_ASSIGN(auto const order, lane_.allocate(std::uint64_t{rows} * 4, "sorted rows"));
  GARUDA_TRY_ASSIGN(auto const sorted, lane_.allocate(std::uint64_t{rows} * sizeof(Key), "sorted keys"));
  GARUDA_CUDA_TRY(number_positions(launch_, rows, positions.template as<std::uint32_t>()));
  GARUDA_TRY(sort_rows(lane_, static_cast<Key const*>(keys_), sorted.template as<Key>(),
                       positions.template as<std::uint32_t>(), order.template as<std::uint32_t>(), rows));
  return take_runs({sorted.template as<void>(), rows, slice_.key_bits, 0}, order, true);
}

/// Stable sorts by one word after the other.
Result<void> Groups::sort_words() {
  auto const rows = slice_.num_rows;
  auto const bytes = std::uint64_t{rows} * 4;
  GARUDA_TRY_ASSIGN(auto order, lane_.allocate(bytes, "sorted rows"));
  GARUDA_TRY_ASSIGN(auto other, lane_.allocate(bytes, "rows"));
  GARUDA_TRY_ASSIGN(auto const words, lane_.allocate(bytes, "words of keys"));
  GARUDA_TRY_ASSIGN(auto const sorted, lane_.allocate(bytes, "sorted words of keys"));
  GARUDA_CUDA_TRY(number_positions(launch_, rows, order.as<std::uint32_t>()));
  for (std::uint32_t w = 0; w < slice_.num_words; ++w) {
    auto const* const column = static_cast<std::uint32_t const*>(keys_) + std::uint64_t{w} * rows;
    GARUDA_CUDA_TRY(gather(launch_, column, order.as<std::uint32_t>(), rows, words.as<std::uint32_t>()));
    GARUDA_TRY(sort_rows(lane_, words.as<std::uint32_t>(), sorted.as<std::uint32_t>(), order.as<std::uint32_t>(),
                         other.as<std::uint32_t>(), rows));
    std::swap(order, other);
  }
  return take_runs({keys_, rows, 0, slice_.num_words}, order, false);
}

Result<void> Groups::take_runs(GroupKeys const& keys, Buffer const& order, bool in_order) {
  auto const entries = std::uint64_t{keys.rows} + 1;
  lane_.add_counter("sorted_slices", 1);
  GARUDA_TRY_ASSIGN(auto const flags, lane_.allocate(entries * 4, "first rows of runs"));
  GARUDA_TRY_ASSIGN(auto const numbers, lane_.allocate(entries * 4, "numbers of runs"));
  auto* const flag_words = flags.as<std::uint32_t>();
  auto const* const rows = order.as<std::uint32_t>();
  GARUDA_CUDA_TRY(flag_runs(launch_, keys, in_order ? nullptr : rows, flag_words));
  GARUDA_TRY(sum_up(lane_, flag_words, numbers.as<std::uint32_t>(), keys.rows + 1));
  GARUDA_TRY_ASSIGN(table_heads_, lane_.allocate(std::uint64_t{keys.rows} * 4, "group table"));
  table_.heads = table_heads_.as<std::uint32_t>();
  GARUDA_CUDA_TRY(slots_of_flags(launch_, flag_words, numbers.as<std::uint32_t>(), rows, keys.rows,
                                 slots_.as<std::uint32_t>(), table_.heads));
  return {};
}

Result<void> Groups::address() {
  auto const slots = direct_slots();
  GARUDA_TRY_ASSIGN(table_heads_, lane_.allocate(slots * 4, "group table"));
  table_.heads = table_heads_.as<std::uint32_t>();
  GARUDA_CUDA_TRY(cudaMemsetAsync(table_.heads, 0xff, slots * 4, lane_.stream()));
  GroupKeys const keys{keys_, slice_.num_rows, slice_.key_bits, 0};
  lane_.add_counter("direct_slices", 1);
  GARUDA_CUDA_TRY(
      address_rows(launch_, keys, slice_.min_key, slice_.shared_low_bits, table_, slots_.as<std::uint32_t>()));
  return {};
}

/// False: the table was too small.
Result<bool> Groups::hash(std::uint32_t log2_slots) {
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
  GroupKeys const keys{keys_, slice_.num_rows, slice_.key_bits, slice_.num_words};
  GARUDA_CUDA_TRY(hash_rows(launch_, keys, table_, slots_.as<std::uint32_t>()));
  std::uint32_t overflow = 0;
  GARUDA_TRY(lane_.download(std::as_writable_bytes(std::span(&overflow, 1)), table_.overflow));
  if (overflow == 0) lane_.add_counter("hash_slices", 1);
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
  GARUDA_CUDA_TRY(flag_heads(launch_, table_, slots_.as<std::uint32_t>(), rows, flag_words));
  GARUDA_TRY(sum_up(lane_, flag_words, number_words, rows + 1));
  GARUDA_TRY(lane_.download(std::as_writable_bytes(std::span(&num_groups_, 1)), number_words + rows));
  GARUDA_TRY_ASSIGN(heads_, lane_.allocate(std::uint64_t{num_groups_} * 4, "heads of groups"));
  GARUDA_TRY(lane_.step("number", std::uint64_t{rows} * 12, rows));
  GARUDA_CUDA_TRY(number_rows(launch_, table_, slots_.as<std::uint32_t>(), number_words, rows, ids_.as<std::uint32_t>(),
                              heads_.as<std::uint32_t>()));
  return {};
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
  auto const value_bytes = std::uint64_t{slice_.num_rows} * value_words(kind) * 4;
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
  states_ = States{};
  states_.kind = static_cast<GarudaCudaValueKind>(input.kind);
  states_.layout = layout_of(states_.kind, input.states);
  Buffer values;
  Buffer validity;
  GARUDA_TRY_ASSIGN(auto const grouped, upload_values(input, values, validity));
  GARUDA_TRY(lane_.step("aggregate", values.bytes() + std::uint64_t{slice_.num_rows} * 4, slice_.num_rows));
  if (states_.layout.words > 0) GARUDA_TRY(accumulate_words(grouped, states_));
  if ((input.states & GARUDA_CUDA_SUM) != 0 && is_float(states_.kind)) GARUDA_TRY(sum_floats(grouped, states_));
  // Values that the lane registered in place may go when this returns.
  GARUDA_TRY(lane_.wait());
  return states_.num_windows;
}

Result<void> Groups::accumulate_words(GroupedValues const& values, States& states) {
  auto const& layout = states.layout;
  auto const word_bytes = std::uint64_t{num_groups_} * 8;
  GARUDA_TRY_ASSIGN(states.accumulators,
                    lane_.allocate(word_bytes * static_cast<unsigned>(layout.words), "accumulators"));
  auto* const accumulators = states.accumulators.as<std::uint64_t>();
  GARUDA_CUDA_TRY(cudaMemsetAsync(accumulators, 0, states.accumulators.bytes(), lane_.stream()));
  if (layout.min >= 0) {
    auto* const minima = accumulators + std::uint64_t{num_groups_} * static_cast<unsigned>(layout.min);
    GARUDA_CUDA_TRY(cudaMemsetAsync(minima, 0xff, word_bytes, lane_.stream()));
  }
  GARUDA_CUDA_TRY(accumulate(launch_, values, layout, accumulators));
  if (layout.sum >= 0) {
    auto const sum_words = states.kind == GARUDA_CUDA_INT128 ? 4U : 2U;
    GARUDA_TRY_ASSIGN(states.sums, lane_.allocate(word_bytes * sum_words, "sums"));
    auto const* const limbs = accumulators + std::uint64_t{num_groups_} * static_cast<unsigned>(layout.sum);
    GARUDA_CUDA_TRY(combine_limbs(launch_, limbs, states.kind, num_groups_, states.sums.as<std::uint64_t>()));
  }
  if (states.kind != GARUDA_CUDA_INT128) return {};
  if (layout.min >= 0) {
    GARUDA_TRY_ASSIGN(states.minima, wide_extremes(values, states, true));
  }
  if (layout.max >= 0) {
    GARUDA_TRY_ASSIGN(states.maxima, wide_extremes(values, states, false));
  }
  return {};
}

Result<Buffer> Groups::wide_extremes(GroupedValues const& values, States const& states, bool is_min) {
  auto const word_bytes = std::uint64_t{num_groups_} * 8;
  auto const which = static_cast<unsigned>(is_min ? states.layout.min : states.layout.max);
  auto const* const high = states.accumulators.as<std::uint64_t>() + std::uint64_t{num_groups_} * which;
  GARUDA_TRY_ASSIGN(auto const low, lane_.allocate(word_bytes, "low words of extremes"));
  GARUDA_CUDA_TRY(cudaMemsetAsync(low.as<void>(), is_min ? 0xff : 0, word_bytes, lane_.stream()));
  auto* const low_words = low.as<std::uint64_t>();
  GARUDA_CUDA_TRY(is_min ? accumulate_low_words(launch_, values, high, low_words, nullptr, nullptr)
                         : accumulate_low_words(launch_, values, nullptr, nullptr, high, low_words));
  GARUDA_TRY_ASSIGN(auto extremes, lane_.allocate(2 * word_bytes, "extremes"));
  GARUDA_CUDA_TRY(combine_extremes(launch_, high, low_words, num_groups_, extremes.as<std::uint64_t>()));
  return extremes;
}

Result<void> Groups::sum_floats(GroupedValues const& values, States& states) {
  auto const groups = std::uint64_t{num_groups_};
  GARUDA_TRY_ASSIGN(auto const span_words, lane_.allocate(3 * groups * 4, "spans of floats"));
  auto* const words = span_words.as<std::uint32_t>();
  FloatSpans const spans{words, words + groups, words + 2 * groups};
  GARUDA_CUDA_TRY(cudaMemsetAsync(words, 0, 3 * groups * 4, lane_.stream()));
  GARUDA_CUDA_TRY(cudaMemsetAsync(spans.lowest, 0xff, groups * 4, lane_.stream()));
  GARUDA_CUDA_TRY(find_spans(launch_, values, spans));
  GARUDA_TRY_ASSIGN(auto const counts, lane_.allocate((groups + 1) * 4, "windows of groups"));
  GARUDA_TRY_ASSIGN(states.flags, lane_.allocate(groups, "flags"));
  GARUDA_TRY_ASSIGN(states.first_windows, lane_.allocate(groups, "first windows"));
  GARUDA_TRY_ASSIGN(states.offsets, lane_.allocate((groups + 1) * 8, "offsets of windows"));
  GARUDA_CUDA_TRY(count_windows(launch_, spans, num_groups_, counts.as<std::uint32_t>(),
                                states.first_windows.as<std::uint8_t>(), states.flags.as<std::uint8_t>()));
  auto* const offsets = states.offsets.as<std::uint64_t>();
  GARUDA_TRY(sum_up(lane_, counts.as<std::uint32_t>(), offsets, num_groups_ + 1));
  GARUDA_TRY(lane_.download(std::as_writable_bytes(std::span(&states.num_windows, 1)), offsets + groups));
  if (states.num_windows == 0) return {};
  GARUDA_TRY(lane_.step("aggregate", 0, slice_.num_rows));
  GARUDA_TRY_ASSIGN(states.windows, lane_.allocate(states.num_windows * 16, "windows"));
  auto* const windows = states.windows.as<std::uint64_t>();
  GARUDA_CUDA_TRY(cudaMemsetAsync(windows, 0, states.num_windows * 16, lane_.stream()));
  GARUDA_CUDA_TRY(accumulate_windows(launch_, values, spans, offsets, states.num_windows, windows));
  GARUDA_CUDA_TRY(combine_windows(launch_, windows, states.num_windows));
  return {};
}

std::uint64_t const* Groups::accumulator(int which) const noexcept {
  if (which < 0) return nullptr;
  return states_.accumulators.as<std::uint64_t>() + std::uint64_t{num_groups_} * static_cast<unsigned>(which);
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
  GARUDA_TRY(copy_out(states.counts, accumulator(layout.count), groups));
  GARUDA_TRY(copy_out(states.sums, states_.sums.as<void>(), groups * (is_wide ? 4 : 2)));
  GARUDA_TRY(copy_out(states.minima, is_wide ? states_.minima.as<void>() : accumulator(layout.min),
                      groups * (is_wide ? 2 : 1)));
  GARUDA_TRY(copy_out(states.maxima, is_wide ? states_.maxima.as<void>() : accumulator(layout.max),
                      groups * (is_wide ? 2 : 1)));
  GARUDA_TRY(copy_out(states.flags, states_.flags.as<void>(), groups));
  GARUDA_TRY(copy_out(states.first_window, states_.first_windows.as<void>(), groups));
  GARUDA_TRY(copy_out(states.offsets, states_.offsets.as<void>(), groups + 1));
  GARUDA_TRY(copy_out(states.windows, states_.windows.as<void>(), 2 * states_.num_windows));
  return lane_.wait();
}

}  // namespace garuda::cuda_backend
