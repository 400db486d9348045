#include "cuda_backend/resident_states.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "cuda_backend/group_chunks.hpp"
#include "cuda_backend/group_results.hpp"
#include "cuda_backend/status.hpp"

namespace garuda::cuda_backend {
namespace {

/// Slots of a block's table: at least so many, or partitioning pays no more.
constexpr std::uint32_t kFewestSharedBits = 9;
constexpr std::uint32_t kMostLog2Slots = 30;  // of the table of groups that several chunks have

constexpr std::uint32_t kChunkBits = 17;  // log2 of a chunk's rows, at most
constexpr std::uint32_t kWordBits = 32;
constexpr std::uint32_t kTotalBits = 128;  // of a sum in device memory, and the most that a block keeps
constexpr std::uint32_t kFewestSumWords = 2;

bool is_float(std::uint32_t kind) { return kind == GARUDA_CUDA_FLOAT32 || kind == GARUDA_CUDA_FLOAT64; }
std::uint32_t bytes_of(std::uint32_t kind) {
  return kind == GARUDA_CUDA_INT64 || kind == GARUDA_CUDA_UINT64 || kind == GARUDA_CUDA_FLOAT64 ? 8 : 4;
}

bool is_float_sum(GroupState const& state) { return state.function == StateFunction::sum && is_float(state.kind); }

/// A sum that 64 bits may not hold.
bool has_checked_sum(GarudaCudaResidentAggregate const& aggregate) {
  return aggregate.function == GARUDA_CUDA_FUNCTION_SUM &&
         (aggregate.kind == GARUDA_CUDA_INT64 || aggregate.kind == GARUDA_CUDA_UINT64);
}

/// Slots of the largest table of these states that leaves a multiprocessor two blocks.
std::uint32_t largest_shared_bits(StatePass pass, std::uint32_t key_bytes, std::uint64_t shared_bytes) {
  auto bits = kFewestSharedBits;
  while (2 * (lay_out_states(pass, key_bytes, bits + 1) + kSharedReserve) <= shared_bytes) ++bits;
  return bits;
}

}  // namespace

bool ResidentStates::computes(Lane const& lane, std::vector<GarudaCudaResidentAggregate> const& aggregates) {
  constexpr std::uint64_t kWidestKey = 8;
  constexpr std::uint64_t kWidestAggregate = 20;  // a mean: its sum and its count
  auto const slot_bytes = kWidestKey + aggregates.size() * kWidestAggregate;
  return (slot_bytes << kFewestSharedBits) + kSharedReserve <= lane.device().traits().shared_bytes;
}

ResidentStates::ResidentStates(Lane& lane, GarudaCudaColumn const& key, std::uint32_t rows,
                               std::vector<GarudaCudaResidentAggregate> aggregates, std::uint64_t expected_groups)
    : lane_(lane),
      launch_{lane.stream(), lane.device().traits().multiprocessors},
      key_(key),
      rows_(rows),
      aggregates_(std::move(aggregates)),
      expected_groups_(expected_groups),
      capacity_(std::min<std::uint64_t>(rows, expected_groups + expected_groups / 8 + 1024)) {
  for (auto const& aggregate : aggregates_) {
    bool const is_mean = aggregate.function == GARUDA_CUDA_FUNCTION_MEAN;
    if (is_mean || aggregate.function == GARUDA_CUDA_FUNCTION_COUNT) state_of(StateFunction::count, 0, 0);
    if (is_mean || aggregate.function == GARUDA_CUDA_FUNCTION_SUM)
      state_of(StateFunction::sum, aggregate.kind, aggregate.values);
    if (aggregate.function == GARUDA_CUDA_FUNCTION_MIN)
      state_of(StateFunction::least, aggregate.kind, aggregate.values);
    if (aggregate.function == GARUDA_CUDA_FUNCTION_MAX)
      state_of(StateFunction::greatest, aggregate.kind, aggregate.values);
  }
}

/// Bits of float sums, from what the columns have. False: a sum may need more than there are, or has no number.
Result<bool> ResidentStates::fit_float_sums() {
  auto const states = std::span(pass_.states).first(pass_.num_states);
  if (std::ranges::none_of(states, is_float_sum)) return true;
  GARUDA_TRY(lane_.step("range", 0, rows_));
  std::vector<FloatRange> ranges(pass_.num_states);
  GARUDA_TRY_ASSIGN(auto const found, lane_.allocate(ranges.size() * sizeof(FloatRange), "ranges of floats"));
  GARUDA_TRY(lane_.upload(found.as<void>(), std::as_bytes(std::span(ranges))));
  for (std::uint32_t s = 0; s < pass_.num_states; ++s)
    if (is_float_sum(states[s]))
      GARUDA_CUDA_TRY(find_range(launch_, states[s].values, states[s].kind, rows_, found.as<FloatRange>() + s));
  GARUDA_TRY(lane_.download(std::as_writable_bytes(std::span(ranges)), found.as<void>()));
  for (std::uint32_t s = 0; s < pass_.num_states; ++s) {
    auto const& range = ranges[s];
    auto const bits = range.above == 0 ? 0 : range.above - range.lowest;
    if (range.flags != 0 || bits + std::max(log2_at_least(rows_), kChunkBits) + 1 > kTotalBits) return false;
    if (!is_float_sum(states[s])) continue;
    states[s].first_bit = range.above == 0 ? 0 : range.lowest;
    states[s].sum_words = std::max((bits + kChunkBits + kWordBits) / kWordBits, kFewestSumWords);
  }
  return true;
}

/// A table half full for the groups of a partition; all of them while one pass makes partitions small enough.
void ResidentStates::choose_shape() {
  auto const largest = largest_shared_bits(pass_, key_.bytes, lane_.device().traits().shared_bytes);
  auto const in_block = std::uint64_t{1} << (largest - 1);
  bits_ = 0;
  if (expected_groups_ > in_block)
    bits_ = std::clamp(log2_at_least((expected_groups_ + in_block - 1) / in_block), kMostPassBits, kMostPartitionBits);
  auto const wanted = log2_at_least(2 * ((expected_groups_ >> bits_) + 1));
  lay_out_states(pass_, key_.bytes, std::clamp(wanted, kFewestSharedBits, largest));
  log2_slots_ = std::max(
      log2_slots_, group_table_bits(rows_, bits_, expected_groups_, group_chunk_rows(rows_, launch_.multiprocessors)));
}

/// The number of the state, which is added when it is not there.
std::uint32_t ResidentStates::state_of(StateFunction function, std::uint32_t kind, std::uint64_t values) {
  auto* const address = reinterpret_cast<void const*>(values);
  for (std::uint32_t s = 0; s < pass_.num_states; ++s) {
    auto const& state = pass_.states[s];
    if (state.function == function && state.kind == kind && state.values == address) return s;
  }
  auto& state = pass_.states[pass_.num_states];
  state.function = function;
  state.kind = static_cast<GarudaCudaValueKind>(kind);
  state.values = address;
  // Of integers; what a block's sum takes, a chunk's rows and the sign included.
  if (function == StateFunction::sum) state.sum_words = bytes_of(kind) == 8 ? kFewestSumWords + 1 : kFewestSumWords;
  auto const is_known = std::ranges::any_of(columns_, [&](auto const& column) { return column.address == values; });
  if (function != StateFunction::count && !is_known) columns_.push_back({values, bytes_of(kind)});
  return pass_.num_states++;
}

template <class Key>
Result<ResidentStates::Rows> ResidentStates::partition_rows() {
  Rows rows;
  auto const* const keys = reinterpret_cast<Key const*>(key_.address);
  rows.shape.bits = bits_;
  if (bits_ > 0) {
    GARUDA_TRY(lane_.step("sample", 0, kSampledKeys));
    GARUDA_TRY_ASSIGN(rows.shape.mixed, needs_mixing(lane_, launch_, keys, rows_, bits_));
    GARUDA_TRY(lane_.step("partition", 0, rows_));
    GARUDA_TRY_ASSIGN(rows.partitioned, partition(lane_, launch_, keys, rows_, columns_, rows.shape));
  }
  GARUDA_TRY_ASSIGN(rows.tasks, list_group_chunks(lane_, launch_, rows_, bits_, rows.partitioned));
  return rows;
}

/// Table and result, cleared where they are added to.
Result<void> ResidentStates::take_room(StatePass& pass) {
  auto const slots = (std::uint64_t{1} << log2_slots_) + 1;
  auto const key_bytes = (slots * key_.bytes + 7) / 8 * 8;
  // Behind the keys: whether the last slot is used, and whether a key found none.
  table_keys_.reset();
  table_states_.clear();
  GARUDA_TRY_ASSIGN(table_keys_, lane_.allocate(key_bytes + 8, "group table"));
  pass.table.keys = table_keys_.as<void>();
  pass.table.used = reinterpret_cast<std::uint32_t*>(table_keys_.as<std::byte>() + key_bytes);
  pass.table.overflow = pass.table.used + 1;
  pass.table.log2_slots = log2_slots_;
  GARUDA_CUDA_TRY(cudaMemsetAsync(pass.table.keys, 0xff, key_bytes, lane_.stream()));
  GARUDA_CUDA_TRY(cudaMemsetAsync(pass.table.used, 0, 8, lane_.stream()));
  bool const is_new = room_ != capacity_;
  if (is_new) {
    room_ = 0;
    out_.clear();
    keys_out_.reset();
    GARUDA_TRY_ASSIGN(keys_out_, lane_.allocate(capacity_ * key_.bytes, "keys of groups"));
  }
  for (std::uint32_t s = 0; s < pass.num_states; ++s) {
    auto& state = pass.states[s];
    auto const words = state_words(state);
    GARUDA_TRY_ASSIGN(auto table, lane_.allocate(slots * words * 8, "states of groups"));
    state.table = table.as<std::uint64_t>();
    auto const value = state.function == StateFunction::least ? 0xff : 0;
    GARUDA_CUDA_TRY(cudaMemsetAsync(state.table, value, table.bytes(), lane_.stream()));
    table_states_.push_back(std::move(table));
    if (is_new) {
      GARUDA_TRY_ASSIGN(auto out, lane_.allocate(capacity_ * words * 8, "states of groups"));
      out_.push_back(std::move(out));
    }
    state.out = out_[s].as<std::uint64_t>();
  }
  room_ = capacity_;
  pass.keys_out = keys_out_.as<void>();
  pass.capacity = capacity_;
  return {};
}

/// False: the table or the room for groups was too small, and is made larger the next time.
template <class Key>
Result<bool> ResidentStates::aggregate(Rows const& rows, std::uint64_t& groups) {
  GARUDA_TRY(lane_.step("aggregate", 0, rows_));
  auto pass = pass_;
  GARUDA_TRY(take_room(pass));
  pass.keys = bits_ > 0 ? rows.partitioned.keys.template as<void>() : reinterpret_cast<void const*>(key_.address);
  for (std::uint32_t s = 0; bits_ > 0 && s < pass.num_states; ++s) {
    auto& state = pass.states[s];
    auto const address = reinterpret_cast<std::uint64_t>(state.values);
    auto const column = std::ranges::find(columns_, address, &GarudaCudaColumn::address);
    if (column != columns_.end())
      state.values = rows.partitioned.columns[static_cast<std::size_t>(column - columns_.begin())].template as<void>();
  }
  GARUDA_TRY_ASSIGN(auto const cursor, lane_.allocate(8, "cursor"));
  GARUDA_CUDA_TRY(cudaMemsetAsync(cursor.template as<void>(), 0, 8, lane_.stream()));
  pass.tasks = rows.tasks.tasks.template as<ChunkTask>();
  pass.num_tasks = rows.tasks.count;
  pass.mixed = rows.shape.mixed;
  pass.cursor = cursor.template as<std::uint64_t>();
  GARUDA_CUDA_TRY(aggregate_states<Key>(launch_, pass));
  GARUDA_CUDA_TRY(write_states<Key>(launch_, pass));
  std::uint32_t overflow = 0;
  GARUDA_CUDA_TRY(cudaMemcpyAsync(&overflow, pass.table.overflow, 4, cudaMemcpyDeviceToHost, lane_.stream()));
  GARUDA_TRY(lane_.download(std::as_writable_bytes(std::span(&groups, 1)), cursor.template as<void>()));
  if (overflow != 0) {
    if (log2_slots_ >= kMostLog2Slots) return fail(ErrorCode::limit_exceeded, "too many groups for a table");
    log2_slots_ = std::min(log2_slots_ + 3, kMostLog2Slots);
    return false;
  }
  if (groups <= capacity_) return true;
  capacity_ = groups;
  return false;
}

/// The column of an aggregate: a state as it is, or computed from states into memory of its own.
Result<std::uint64_t> ResidentStates::finish_one(GarudaCudaResidentAggregate const& aggregate, std::uint32_t groups,
                                                 std::uint32_t* overflow) {
  auto const kind = static_cast<GarudaCudaValueKind>(aggregate.kind);
  auto const words_of_state = [&](StateFunction function) {
    bool const counts = function == StateFunction::count;
    return out_[state_of(function, counts ? 0 : aggregate.kind, counts ? 0 : aggregate.values)].as<std::uint64_t>();
  };
  auto const function = aggregate.function;
  if (function == GARUDA_CUDA_FUNCTION_COUNT)
    return reinterpret_cast<std::uint64_t>(words_of_state(StateFunction::count));
  if (function == GARUDA_CUDA_FUNCTION_SUM && (kind == GARUDA_CUDA_INT32 || kind == GARUDA_CUDA_UINT32))
    return reinterpret_cast<std::uint64_t>(words_of_state(StateFunction::sum));
  GARUDA_TRY_ASSIGN(auto column, lane_.allocate(std::uint64_t{groups} * 8, "column of groups"));
  auto* const out = column.as<std::uint64_t>();
  results_.push_back(std::move(column));
  if (function == GARUDA_CUDA_FUNCTION_MIN || function == GARUDA_CUDA_FUNCTION_MAX) {
    bool const is_min = function == GARUDA_CUDA_FUNCTION_MIN;
    GARUDA_CUDA_TRY(finish_extremes(launch_, words_of_state(is_min ? StateFunction::least : StateFunction::greatest),
                                    kind, groups, out));
    return reinterpret_cast<std::uint64_t>(out);
  }
  auto const& state = pass_.states[state_of(StateFunction::sum, aggregate.kind, aggregate.values)];
  auto const* const sums = words_of_state(StateFunction::sum);
  if (has_checked_sum(aggregate)) {
    GARUDA_CUDA_TRY(finish_sums(launch_, sums, kind, groups, out, overflow));
  } else {
    auto const exponent = is_float(kind) ? static_cast<int>(state.first_bit) + unit_exponent(kind) : 0;
    bool const is_mean = function == GARUDA_CUDA_FUNCTION_MEAN;
    GARUDA_CUDA_TRY(finish_rounded(launch_, {sums, state_words(state)}, exponent,
                                   is_mean ? words_of_state(StateFunction::count) : nullptr, groups, out));
  }
  return reinterpret_cast<std::uint64_t>(out);
}

Result<void> ResidentStates::finish(GarudaCudaResidentGroups& found) {
  GARUDA_TRY(lane_.step("finish", 0, found.groups));
  bool const is_checked = std::ranges::any_of(aggregates_, has_checked_sum);
  Buffer overflow;
  if (is_checked) {
    GARUDA_TRY_ASSIGN(overflow, lane_.allocate(4, "overflow"));
    GARUDA_CUDA_TRY(cudaMemsetAsync(overflow.as<void>(), 0, 4, lane_.stream()));
  }
  for (std::size_t a = 0; a < aggregates_.size(); ++a) {
    GARUDA_TRY_ASSIGN(found.results[a], finish_one(aggregates_[a], static_cast<std::uint32_t>(found.groups),
                                                   overflow.as<std::uint32_t>()));
  }
  if (!is_checked) return lane_.wait();
  std::uint32_t overflowed = 0;
  GARUDA_TRY(lane_.download(std::as_writable_bytes(std::span(&overflowed, 1)), overflow.as<void>()));
  if (overflowed != 0) return fail(ErrorCode::limit_exceeded, "the sum of a group is beyond 64 bits");
  return {};
}

template <class Key>
Result<GarudaCudaResidentGroups> ResidentStates::run_typed() {
  GARUDA_TRY_ASSIGN(auto const rows, partition_rows<Key>());
  GarudaCudaResidentGroups found{};
  while (true) {
    std::uint64_t groups = 0;
    GARUDA_TRY_ASSIGN(auto const fits, aggregate<Key>(rows, groups));
    found.groups = groups;
    if (fits) break;
  }
  found.key = {reinterpret_cast<std::uint64_t>(keys_out_.as<void>()), key_.bytes};
  GARUDA_TRY(finish(found));
  return found;
}

Result<GarudaCudaResidentGroups> ResidentStates::run() {
  results_.clear();
  if (rows_ == 0) return GarudaCudaResidentGroups{};
  GARUDA_TRY_ASSIGN(auto const fits, fit_float_sums());
  if (!fits) {
    if (by_windows_ == nullptr)
      by_windows_ = std::make_unique<ResidentAggregates>(lane_, key_, rows_, aggregates_, expected_groups_);
    return by_windows_->run();
  }
  choose_shape();
  return key_.bytes == 4 ? run_typed<std::uint32_t>() : run_typed<std::uint64_t>();
}

}  // namespace garuda::cuda_backend
