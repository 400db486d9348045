#include "cuda_backend/resident_states.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "cuda_backend/group_chunks.hpp"
#include "cuda_backend/group_results.hpp"
#include "cuda_backend/status.hpp"

namespace garuda::cuda {
namespace {

/// Slots of a block's table: at least so many, or partitioning pays no more.
constexpr std::uint32_t kFewestSharedBits = 9;
constexpr std::uint32_t kMostLog2Slots = 30;  // of the table of groups that several chunks have

bool is_float(std::uint32_t kind) { return kind == GARUDA_CUDA_FLOAT32 || kind == GARUDA_CUDA_FLOAT64; }
std::uint32_t bytes_of(std::uint32_t kind) {
  return kind == GARUDA_CUDA_INT64 || kind == GARUDA_CUDA_UINT64 || kind == GARUDA_CUDA_FLOAT64 ? 8 : 4;
}

/// Slots of the largest table of these states that leaves a multiprocessor two blocks.
std::uint32_t largest_shared_bits(StatePass pass, std::uint32_t key_bytes, std::uint64_t shared_bytes) {
  auto bits = kFewestSharedBits;
  while (2 * (lay_out_states(pass, key_bytes, bits + 1) + kSharedReserve) <= shared_bytes) ++bits;
  return bits;
}

}  // namespace

bool ResidentStates::computes(Lane const& lane, std::vector<GarudaCudaResidentAggregate> const& aggregates) {
  constexpr std::uint64_t kWidestSlot = 8;
  std::uint64_t slot_bytes = kWidestSlot;
  for (auto const& aggregate : aggregates) {
    bool const sums = aggregate.function == GARUDA_CUDA_FUNCTION_SUM || aggregate.function == GARUDA_CUDA_FUNCTION_MEAN;
    if (sums && is_float(aggregate.kind)) return false;
    slot_bytes += 2 * kWidestSlot;
  }
  return (slot_bytes << kFewestSharedBits) + kSharedReserve <= lane.device().traits().shared_bytes;
}

ResidentStates::ResidentStates(Lane& lane, GarudaCudaColumn const& key, std::uint32_t rows,
                               std::vector<GarudaCudaResidentAggregate> aggregates, std::uint64_t expected_groups)
    : lane_(lane),
      launch_{lane.stream(), lane.device().traits().multiprocessors},
      key_(key),
      rows_(rows),
      aggregates_(std::move(aggregates)),
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
  // A table half full for the groups of a partition; all of them while one pass makes partitions small enough.
  auto const largest = largest_shared_bits(pass_, key_.bytes, lane.device().traits().shared_bytes);
  auto const in_block = std::uint64_t{1} << (largest - 1);
  if (expected_groups > in_block)
    bits_ = std::clamp(log2_at_least((expected_groups + in_block - 1) / in_block), kMostPassBits, kMostPartitionBits);
  auto const wanted = log2_at_least(2 * ((expected_groups >> bits_) + 1));
  lay_out_states(pass_, key_.bytes, std::clamp(wanted, kFewestSharedBits, largest));
  log2_slots_ = group_table_bits(rows, bits_, expected_groups, group_chunk_rows(rows, launch_.multiprocessors));
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
    auto const words = state_words(state.function);
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

Result<void> ResidentStates::finish_one(GarudaCudaResidentAggregate const& aggregate, std::uint32_t groups,
                                        Buffer const& out, std::uint32_t* overflow) {
  auto const kind = static_cast<GarudaCudaValueKind>(aggregate.kind);
  auto* const words = out.as<std::uint64_t>();
  auto const state = [&](StateFunction function) {
    bool const counts = function == StateFunction::count;
    return out_[state_of(function, counts ? 0 : aggregate.kind, counts ? 0 : aggregate.values)].as<std::uint64_t>();
  };
  switch (aggregate.function) {
    case GARUDA_CUDA_FUNCTION_COUNT:
      GARUDA_CUDA_TRY(cudaMemcpyAsync(words, state(StateFunction::count), std::uint64_t{groups} * 8,
                                      cudaMemcpyDeviceToDevice, lane_.stream()));
      break;
    case GARUDA_CUDA_FUNCTION_MIN:
      GARUDA_CUDA_TRY(finish_extremes(launch_, state(StateFunction::least), kind, groups, words));
      break;
    case GARUDA_CUDA_FUNCTION_MAX:
      GARUDA_CUDA_TRY(finish_extremes(launch_, state(StateFunction::greatest), kind, groups, words));
      break;
    case GARUDA_CUDA_FUNCTION_MEAN:
      GARUDA_CUDA_TRY(
          finish_integer_means(launch_, state(StateFunction::sum), state(StateFunction::count), groups, words));
      break;
    default:
      GARUDA_CUDA_TRY(finish_sums(launch_, state(StateFunction::sum), kind, groups, words, overflow));
  }
  return {};
}

Result<void> ResidentStates::finish(std::uint64_t groups) {
  GARUDA_TRY(lane_.step("finish", 0, groups));
  GARUDA_TRY_ASSIGN(auto const overflow, lane_.allocate(4, "overflow"));
  GARUDA_CUDA_TRY(cudaMemsetAsync(overflow.as<void>(), 0, 4, lane_.stream()));
  for (auto const& aggregate : aggregates_) {
    GARUDA_TRY_ASSIGN(auto out, lane_.allocate(groups * 8, "column of groups"));
    GARUDA_TRY(finish_one(aggregate, static_cast<std::uint32_t>(groups), out, overflow.as<std::uint32_t>()));
    results_.push_back(std::move(out));
  }
  std::uint32_t overflowed = 0;
  GARUDA_TRY(lane_.download(std::as_writable_bytes(std::span(&overflowed, 1)), overflow.as<void>()));
  if (overflowed != 0) return fail(ErrorCode::limit_exceeded, "the sum of a group is beyond 64 bits");
  return {};
}

template <class Key>
Result<GarudaCudaResidentGroups> ResidentStates::run_typed() {
  GARUDA_TRY_ASSIGN(auto const rows, partition_rows<Key>());
  std::uint64_t groups = 0;
  while (true) {
    GARUDA_TRY_ASSIGN(auto const fits, aggregate<Key>(rows, groups));
    if (fits) break;
  }
  GARUDA_TRY(finish(groups));
  GarudaCudaResidentGroups found{};
  found.groups = groups;
  found.key = {reinterpret_cast<std::uint64_t>(keys_out_.as<void>()), key_.bytes};
  for (std::size_t a = 0; a < results_.size(); ++a)
    found.results[a] = reinterpret_cast<std::uint64_t>(results_[a].as<void>());
  return found;
}

Result<GarudaCudaResidentGroups> ResidentStates::run() {
  results_.clear();
  if (rows_ == 0) return GarudaCudaResidentGroups{};
  return key_.bytes == 4 ? run_typed<std::uint32_t>() : run_typed<std::uint64_t>();
}

}  // namespace garuda::cuda
