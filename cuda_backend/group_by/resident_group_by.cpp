#include "cuda_backend/group_by/resident_group_by.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "cuda_backend/group_by/groups.hpp"
#include "cuda_backend/group_by/numbered_states.hpp"
#include "cuda_backend/group_by/value_kinds.hpp"
#include "cuda_backend/primitives.hpp"
#include "cuda_backend/status.hpp"

namespace garuda::cuda_backend {
namespace {

/// Slots of a block's table: at least so many, or partitioning pays no more.
constexpr std::uint32_t kFewestSharedBits = 9;
constexpr std::uint64_t kSharedReserve = 4096;  // bytes of shared memory that a block takes beside its table
constexpr std::uint32_t kMostLog2Slots = 30;    // of the table of groups that several chunks have
constexpr std::uint64_t kFewestSlots = 1U << 14;
constexpr std::uint32_t kChunksEach = 16;  // a multiprocessor
constexpr std::uint32_t kSmallestChunk = 8192;
constexpr std::uint32_t kChunkBits = 17;  // log2 of a chunk's rows, at most
constexpr std::uint32_t kWordBits = 32;
constexpr std::uint32_t kTotalBits = 128;  // of a sum in device memory, and the most that a block keeps
constexpr std::uint32_t kFewestSumWords = 2;

constexpr StateFunction kStateFunctions[]{StateFunction::count, StateFunction::sum, StateFunction::least,
                                          StateFunction::greatest};
constexpr std::uint32_t bit_of(StateFunction function) { return 1U << static_cast<unsigned>(function); }
static_assert(bit_of(StateFunction::count) == GARUDA_CUDA_COUNT && bit_of(StateFunction::sum) == GARUDA_CUDA_SUM &&
              bit_of(StateFunction::least) == GARUDA_CUDA_MIN && bit_of(StateFunction::greatest) == GARUDA_CUDA_MAX);

/// The states that an aggregate is made from: bits as GARUDA_CUDA_COUNT.
std::uint32_t states_of(std::uint32_t function) {
  switch (function) {
    case GARUDA_CUDA_FUNCTION_COUNT:
      return GARUDA_CUDA_COUNT;
    case GARUDA_CUDA_FUNCTION_SUM:
      return GARUDA_CUDA_SUM;
    case GARUDA_CUDA_FUNCTION_MIN:
      return GARUDA_CUDA_MIN;
    case GARUDA_CUDA_FUNCTION_MAX:
      return GARUDA_CUDA_MAX;
    default:
      return GARUDA_CUDA_SUM | GARUDA_CUDA_COUNT;
  }
}

GarudaCudaValueKind kind_of(GarudaCudaResidentAggregate const& aggregate) {
  return static_cast<GarudaCudaValueKind>(aggregate.kind);
}

std::uint32_t bytes_of(GarudaCudaValueKind kind) { return is_wide(kind) ? 8 : 4; }

bool is_float_sum(GroupState const& state) { return state.function == StateFunction::sum && is_float(state.kind); }

/// Whether a block's shared memory holds so many aggregates of a useful number of groups.
bool fits_block(Lane const& lane, std::uint64_t aggregates) {
  constexpr std::uint64_t kWidestKey = 8;
  constexpr std::uint64_t kWidestAggregate = 20;  // a mean: its sum and its count
  auto const slot_bytes = kWidestKey + aggregates * kWidestAggregate;
  return (slot_bytes << kFewestSharedBits) + kSharedReserve <= lane.device().traits().shared_bytes;
}

/// Slots of the largest table of these states that leaves a multiprocessor two blocks.
std::uint32_t largest_shared_bits(StatePass pass, std::uint32_t key_bytes, std::uint64_t shared_bytes) {
  auto bits = kFewestSharedBits;
  while (2 * (lay_out_states(pass, key_bytes, bits + 1) + kSharedReserve) <= shared_bytes) ++bits;
  return bits;
}

}  // namespace

Result<std::unique_ptr<ResidentGroupBy>> ResidentGroupBy::create(Lane& lane, GarudaCudaColumn const& key,
                                                                 std::uint64_t rows,
                                                                 std::vector<GarudaCudaResidentAggregate> aggregates,
                                                                 std::uint64_t expected_groups) {
  constexpr std::uint64_t kMostRows = std::uint64_t{1} << 30;
  auto const is_known = [](GarudaCudaResidentAggregate const& aggregate) {
    return aggregate.function <= GARUDA_CUDA_FUNCTION_MEAN && aggregate.kind <= GARUDA_CUDA_FLOAT64 &&
           aggregate.kind != GARUDA_CUDA_INT128 &&
           (aggregate.kind != GARUDA_CUDA_NONE || aggregate.function == GARUDA_CUDA_FUNCTION_COUNT);
  };
  if ((key.bytes != 4 && key.bytes != 8) || aggregates.size() > GARUDA_CUDA_MAX_AGGREGATES ||
      !std::ranges::all_of(aggregates, is_known))
    return fail(ErrorCode::usage, "resident group-bys take one key of 4 or 8 bytes and up to 8 aggregates of numbers");
  if (rows > kMostRows)
    return fail(ErrorCode::limit_exceeded, "resident group-bys take at most 2^30 rows: " + std::to_string(rows));
  return std::unique_ptr<ResidentGroupBy>(
      new ResidentGroupBy(lane, key, static_cast<std::uint32_t>(rows), std::move(aggregates), expected_groups));
}

ResidentGroupBy::ResidentGroupBy(Lane& lane, GarudaCudaColumn const& key, std::uint32_t rows,
                                 std::vector<GarudaCudaResidentAggregate> aggregates, std::uint64_t expected_groups)
    : lane_(lane),
      key_(key),
      rows_(rows),
      aggregates_(std::move(aggregates)),
      fits_block_(fits_block(lane, aggregates_.size())),
      expected_groups_(expected_groups),
      capacity_(std::min<std::uint64_t>(rows, expected_groups + expected_groups / 8 + 1024)),
      results_(lane) {
  for (auto const& aggregate : aggregates_)
    for (auto const function : kStateFunctions)
      if ((states_of(aggregate.function) & bit_of(function)) != 0) state_of(function, aggregate);
}

/// Bits of float sums, from what the columns have. False: a sum may need more than there are, or has no number.
Result<bool> ResidentGroupBy::fit_float_sums() {
  auto const states = std::span(pass_.states).first(pass_.num_states);
  if (std::ranges::none_of(states, is_float_sum)) return true;
  GARUDA_TRY(lane_.step("range", 0, rows_));
  std::vector<FloatRange> ranges(pass_.num_states);
  GARUDA_TRY_ASSIGN(auto const found, lane_.allocate(ranges.size() * sizeof(FloatRange), "ranges of floats"));
  GARUDA_TRY(lane_.upload(found.as<void>(), std::as_bytes(std::span(ranges))));
  for (std::uint32_t s = 0; s < pass_.num_states; ++s)
    if (is_float_sum(states[s]))
      GARUDA_TRY(find_range(lane_, states[s].values, states[s].kind, rows_, found.as<FloatRange>() + s));
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
void ResidentGroupBy::choose_shape() {
  auto const largest = largest_shared_bits(pass_, key_.bytes, lane_.device().traits().shared_bytes);
  auto const in_block = std::uint64_t{1} << (largest - 1);
  bits_ = 0;
  if (expected_groups_ > in_block)
    bits_ = std::clamp(log2_at_least((expected_groups_ + in_block - 1) / in_block), kMostPassBits, kMostPartitionBits);
  auto const wanted = log2_at_least(2 * ((expected_groups_ >> bits_) + 1));
  lay_out_states(pass_, key_.bytes, std::clamp(wanted, kFewestSharedBits, largest));
  log2_slots_ = std::max(log2_slots_, table_bits());
}

/// Rows of a chunk: few enough that all multiprocessors have several, so many that a chunk has many rows of a group,
/// and at most what sums in shared memory have bits for.
std::uint32_t ResidentGroupBy::chunk_rows() const {
  return std::clamp(rows_ / (lane_.device().traits().multiprocessors * kChunksEach), kSmallestChunk, 1U << kChunkBits);
}

/// log2 of the slots of the table of groups that several chunks have, at first; groups of a partition that is one chunk
/// never reach it.
std::uint32_t ResidentGroupBy::table_bits() const {
  auto const partition_rows = rows_ >> bits_;
  auto const in_table = partition_rows + partition_rows / 4 <= chunk_rows() ? expected_groups_ / 64 : expected_groups_;
  return log2_at_least(std::max(4 * in_table, kFewestSlots));
}

/// Without partitions all rows are one, whose starts are written into `partitioned`.
Result<TaskList> ResidentGroupBy::list_chunks_of(PartitionedSide& partitioned) {
  if (bits_ == 0) {
    GARUDA_TRY_ASSIGN(partitioned.starts, lane_.allocate(8, "partitions"));
    std::uint32_t const starts[]{0, rows_};
    GARUDA_TRY(lane_.upload(partitioned.starts.as<void>(), std::as_bytes(std::span(starts))));
  }
  TaskShape shape;
  shape.build_starts = partitioned.starts.as<std::uint32_t>();
  shape.partitions = 1U << bits_;
  shape.build_chunk = chunk_rows();
  return list_chunk_tasks(lane_, shape);
}

/// The number of the state that the aggregate takes, which is added when it is not there.
std::uint32_t ResidentGroupBy::state_of(StateFunction function, GarudaCudaResidentAggregate const& aggregate) {
  bool const counts = function == StateFunction::count;
  auto const kind = counts ? GARUDA_CUDA_NONE : kind_of(aggregate);
  auto const values = counts ? 0 : aggregate.values;
  auto* const address = reinterpret_cast<void const*>(values);
  for (std::uint32_t s = 0; s < pass_.num_states; ++s) {
    auto const& state = pass_.states[s];
    if (state.function == function && state.kind == kind && state.values == address) return s;
  }
  auto& state = pass_.states[pass_.num_states];
  state.function = function;
  state.kind = kind;
  state.values = address;
  // A block's sum of integers takes so many words, a chunk's rows and the sign included.
  if (function == StateFunction::sum) state.sum_words = bytes_of(kind) == 8 ? kFewestSumWords + 1 : kFewestSumWords;
  auto const is_known = std::ranges::any_of(columns_, [&](auto const& column) { return column.address == values; });
  if (!counts && !is_known) columns_.push_back({values, bytes_of(kind)});
  return pass_.num_states++;
}

Result<ResidentGroupBy::Rows> ResidentGroupBy::partition_rows() {
  Rows rows;
  rows.shape.bits = bits_;
  if (bits_ > 0) {
    GARUDA_TRY(lane_.step("sample", 0, kSampledKeys));
    GARUDA_TRY_ASSIGN(rows.shape.mixed, needs_mixing(lane_, key_, rows_, bits_));
    GARUDA_TRY(lane_.step("partition", 0, rows_));
    GARUDA_TRY_ASSIGN(rows.partitioned, partition(lane_, key_, rows_, columns_, rows.shape));
  }
  GARUDA_TRY_ASSIGN(rows.tasks, list_chunks_of(rows.partitioned));
  return rows;
}

/// Table and result, cleared where they are added to.
Result<void> ResidentGroupBy::take_room(StatePass& pass) {
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
Result<bool> ResidentGroupBy::aggregate(Rows const& rows, std::uint64_t& groups) {
  GARUDA_TRY(lane_.step("aggregate", 0, rows_));
  auto pass = pass_;
  GARUDA_TRY(take_room(pass));
  pass.keys = bits_ > 0 ? rows.partitioned.keys.as<void>() : reinterpret_cast<void const*>(key_.address);
  for (std::uint32_t s = 0; bits_ > 0 && s < pass.num_states; ++s) {
    auto& state = pass.states[s];
    auto const address = reinterpret_cast<std::uint64_t>(state.values);
    auto const column = std::ranges::find(columns_, address, &GarudaCudaColumn::address);
    if (column != columns_.end())
      state.values = rows.partitioned.columns[static_cast<std::size_t>(column - columns_.begin())].as<void>();
  }
  GARUDA_TRY_ASSIGN(auto const cursor, lane_.allocate(8, "cursor"));
  GARUDA_CUDA_TRY(cudaMemsetAsync(cursor.as<void>(), 0, 8, lane_.stream()));
  pass.tasks = rows.tasks.tasks.as<ChunkTask>();
  pass.num_tasks = rows.tasks.count;
  pass.mixed = rows.shape.mixed;
  pass.cursor = cursor.as<std::uint64_t>();
  GARUDA_TRY(aggregate_states(lane_, pass, key_.bytes));
  std::uint32_t overflow = 0;
  GARUDA_CUDA_TRY(cudaMemcpyAsync(&overflow, pass.table.overflow, 4, cudaMemcpyDeviceToHost, lane_.stream()));
  GARUDA_TRY(lane_.download(std::as_writable_bytes(std::span(&groups, 1)), cursor.as<void>()));
  if (overflow != 0) {
    if (log2_slots_ >= kMostLog2Slots) return fail(ErrorCode::limit_exceeded, "too many groups for a table");
    log2_slots_ = std::min(log2_slots_ + 3, kMostLog2Slots);
    return false;
  }
  if (groups <= capacity_) return true;
  capacity_ = groups;
  return false;
}

Result<void> ResidentGroupBy::finish(GarudaCudaResidentGroups& found) {
  GARUDA_TRY(lane_.step("finish", 0, found.groups));
  for (std::size_t a = 0; a < aggregates_.size(); ++a) {
    auto const& aggregate = aggregates_[a];
    ResultStates states;
    for (auto const function : kStateFunctions) {
      if ((states_of(aggregate.function) & bit_of(function)) == 0) continue;
      auto const which = state_of(function, aggregate);
      auto const& state = pass_.states[which];
      auto const* const words = out_[which].as<std::uint64_t>();
      if (function == StateFunction::count) {
        states.counts = words;
      } else if (function == StateFunction::sum) {
        states.sums = {words, state_words(state), static_cast<int>(state.first_bit) + unit_exponent(state.kind)};
      } else {
        states.extremes = words;
      }
    }
    GARUDA_TRY_ASSIGN(auto const* const column,
                      results_.finish(aggregate, states, static_cast<std::uint32_t>(found.groups)));
    found.results[a] = reinterpret_cast<std::uint64_t>(column);
  }
  return results_.wait();
}

/// Numbers the groups, and adds up the states of one aggregate after the other by number.
Result<GarudaCudaResidentGroups> ResidentGroupBy::run_by_numbers() {
  GARUDA_TRY_ASSIGN(auto const groups, Groups::find(lane_, {key_.address, expected_groups_, rows_, 8 * key_.bytes, 0}));
  GarudaCudaResidentGroups found{};
  found.groups = groups.size();
  GARUDA_TRY(lane_.step("keys", found.groups * 2 * key_.bytes, found.groups));
  GARUDA_TRY_ASSIGN(auto keys, lane_.allocate(found.groups * key_.bytes, "keys of groups"));
  GARUDA_TRY(gather(lane_, key_, groups.heads(), found.groups, keys.as<void>()));
  found.key = {keys.address(), key_.bytes};
  results_.keep(std::move(keys));
  for (std::size_t a = 0; a < aggregates_.size(); ++a) {
    auto const& aggregate = aggregates_[a];
    GARUDA_TRY_ASSIGN(auto states,
                      accumulate(lane_, groups, {aggregate.values, 0, aggregate.kind, states_of(aggregate.function)}));
    GARUDA_TRY(lane_.step("finish", 0, found.groups));
    GroupState sum;
    sum.function = StateFunction::sum;
    sum.kind = kind_of(aggregate);
    ResultStates from;
    from.counts = states.counts.as<std::uint64_t>();
    from.sums = {states.sums.as<std::uint64_t>(), state_words(sum), 0};
    from.windows = {states.flags.as<std::uint64_t>(), states.windows.as<std::uint64_t>(), states.first_window,
                    states.num_windows};
    from.extremes = (states.minima ? states.minima : states.maxima).as<std::uint64_t>();
    GARUDA_TRY_ASSIGN(auto const* const column, results_.finish(aggregate, from, groups.size()));
    found.results[a] = reinterpret_cast<std::uint64_t>(column);
    // A count or a sum of one word is the result itself.
    if (column == from.counts) results_.keep(std::move(states.counts));
    if (column == from.sums.words) results_.keep(std::move(states.sums));
  }
  GARUDA_TRY(results_.wait());
  return found;
}

Result<GarudaCudaResidentGroups> ResidentGroupBy::run() {
  results_.clear();
  if (rows_ == 0) return GarudaCudaResidentGroups{};
  if (!fits_block_) return run_by_numbers();
  GARUDA_TRY_ASSIGN(auto const fits, fit_float_sums());
  if (!fits) return run_by_numbers();
  choose_shape();
  GARUDA_TRY_ASSIGN(auto const rows, partition_rows());
  GarudaCudaResidentGroups found{};
  for (bool has_room = false; !has_room;) {
    GARUDA_TRY_ASSIGN(has_room, aggregate(rows, found.groups));
  }
  found.key = {keys_out_.address(), key_.bytes};
  GARUDA_TRY(finish(found));
  return found;
}

}  // namespace garuda::cuda_backend
