#include "operators/compute/group_by/resident_group_by.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "shaders/compute/group_by/group_states_layout.h"

namespace garuda::compute {
namespace {

constexpr char const* kAggregatePhase = "aggregate";
constexpr char const* kCollectPhase = "collect";

// Partitions are laid out by how their groups vary: the mean and six times its square root.
constexpr double kDeviations = 6;
// Most that a table in shared memory is filled, so that linear probing stays short.
constexpr double kMostFill = 0.62;
// Workgroups that keep every multiprocessor of a large GPU busy; more of them merge more tables.
constexpr std::uint64_t kManyWindows = 1024;
constexpr std::uint64_t kManyPartitions = 512;
constexpr std::uint64_t kLeastWindowRows = std::uint64_t{1} << 13;
// A multiprocessor of an H200 gives all its workgroups together no more shared memory than one may take, 48 KiB
// (2026-11): tables of half of it let two workgroups of 1024 be resident, for which the driver finds 32 registers an
// invocation instead of 47: 2^10 groups of 2^27 rows take 0.332 ms instead of 0.415. Where rows take two passes to be
// partitioned anyway, they take bits for tables of a third: 2^24 groups 1.021 ms instead of 1.264.
constexpr std::uint32_t kTablesAtOnce = 2;
constexpr std::uint32_t kSmallTablesAtOnce = 3;
// Size of workgroups with such small tables, of few rows each, and most rows of an invocation at a time.
constexpr std::uint32_t kSmallGroupSize = 512;
constexpr std::uint32_t kMostSmallItems = 5;
constexpr std::uint32_t kMostRadixBits = 24;
// Words of shared memory that copies of states may fill.
constexpr std::uint64_t kCopyWords = 4096;
// Rows that partitioning is not worth its passes for.
constexpr std::uint64_t kFewRows = std::uint64_t{1} << 18;
// Fewer rows take no time anywhere, but the shader of tables in shared memory takes a driver a second to compile
// (2026-11).
constexpr std::uint64_t kLeastRowsShared = std::uint64_t{1} << 13;
constexpr std::uint64_t kLeastTableSlots = std::uint64_t{1} << 14;
constexpr std::uint32_t kCollectItems = 8;
// Most bytes of tables, in larger shared memories, too: more would leave too few workgroups resident.
constexpr std::uint32_t kMostTableBytes = std::uint32_t{48} << 10;
// Rows of an invocation at a time are unrolled, which software drivers compile slowly and run no faster.
constexpr std::uint32_t kGroupByItems = 8;
constexpr std::uint32_t kGroupByItemsOnSoftware = 1;
constexpr std::uint64_t kMostGroupByWindow = std::uint64_t{1} << 19;
constexpr std::uint64_t kMostGroupByWindowOnSoftware = std::uint64_t{1} << 13;

/// Words of a state, and of a value of the result's column.
struct FunctionWords {
  std::uint32_t state = 1;
  std::uint32_t result = 1;
};

FunctionWords words_of(ResidentFunction function) noexcept {
  switch (function) {
    case ResidentFunction::none:
      return {0, 0};
    case ResidentFunction::count:
    case ResidentFunction::min_i64:
    case ResidentFunction::min_u64:
    case ResidentFunction::min_f64:
    case ResidentFunction::max_i64:
    case ResidentFunction::max_u64:
    case ResidentFunction::max_f64:
      return {1, 2};
    case ResidentFunction::min_i128:
    case ResidentFunction::max_i128:
      return {1, 4};
    case ResidentFunction::sum_i32:
    case ResidentFunction::sum_u32:
      return {2, 2};
    case ResidentFunction::total_i64:
    case ResidentFunction::total_u64:
    case ResidentFunction::fixed_f32:
    case ResidentFunction::fixed_f64:
      return {3, 3};
    case ResidentFunction::long_f32:
    case ResidentFunction::long_f64:
      return {4, 4};
    case ResidentFunction::total_i128:
      return {5, 5};
    default:
      return {1, 1};
  }
}

static_assert(kMostResidentAggregates == shaders::kMostAggregates);
static_assert(static_cast<std::uint32_t>(ResidentFunction::count) == shaders::kAggregateCount);
static_assert(static_cast<std::uint32_t>(ResidentFunction::sum_i32) == shaders::kAggregateSum32);
static_assert(static_cast<std::uint32_t>(ResidentFunction::max_u32) == shaders::kAggregateMaxU32);
static_assert(static_cast<std::uint32_t>(ResidentFunction::first_row) == shaders::kAggregateFirst);
static_assert(static_cast<std::uint32_t>(ResidentFunction::total_i128) == shaders::kAggregateTotal128);
static_assert(static_cast<std::uint32_t>(ResidentFunction::long_f64) == shaders::kAggregateLong64);
static_assert(static_cast<std::uint32_t>(ResidentFunction::flags_f64) == shaders::kAggregateFlags64);
static_assert(static_cast<std::uint32_t>(ResidentFunction::max_i128) == shaders::kAggregateMaxI128);

/// Groups of a partition that is larger than nearly all others.
double large_partition(std::uint64_t groups, std::uint32_t bits) noexcept {
  auto const mean = static_cast<double>(groups) / static_cast<double>(std::uint64_t{1} << bits);
  return bits == 0 ? mean : mean + kDeviations * std::sqrt(mean);
}

/// Slots of a table that takes one of `parts` parts of shared memory.
std::uint64_t most_slots(std::uint32_t state_words, std::uint32_t parts, ComputeTuning const& tuning) noexcept {
  // Besides the table: the slot behind the last, sums by subgroup, a few words.
  auto const besides = std::uint64_t{table_group_size(tuning) / tuning.subgroup_size} + 8;
  auto const words = std::min(tuning.shared_bytes, kMostTableBytes) / 4 / parts;
  return words > besides + 2 * (1 + state_words) ? (words - besides) / (1 + state_words) - 1 : 1;
}

/// Parts of shared memory from which a table has room for `groups` groups, the fewer the larger it is.
std::uint32_t parts_for(double groups, std::uint32_t most, std::uint32_t state_words,
                        ComputeTuning const& tuning) noexcept {
  auto parts = most;
  while (parts > 1 && groups > kMostFill * static_cast<double>(most_slots(state_words, parts, tuning))) --parts;
  return parts;
}

/// Workgroups of small tables have about as many invocations as their partition's rows keep busy.
void shape_workgroup(std::uint64_t partition_rows, bool is_small, ComputeTuning const& tuning,
                     ResidentGrouping& grouping) noexcept {
  grouping.group_size = table_group_size(tuning);
  grouping.items = tuning.is_software ? kGroupByItemsOnSoftware : kGroupByItems;
  if (!is_small) return;
  grouping.group_size = std::min(table_group_size(tuning), kSmallGroupSize);
  auto const most = std::min(grouping.items, kMostSmallItems);
  auto const rows = partition_rows + partition_rows / 10 + 1;
  auto const tiles = groups_for(rows, std::uint64_t{grouping.group_size} * most);
  grouping.items = static_cast<std::uint32_t>(groups_for(rows, tiles * grouping.group_size));
}

std::vector<vk::SpecConstant> constants_of(std::vector<ResidentAggregate> const& aggregates, std::uint32_t key_words) {
  std::vector<vk::SpecConstant> constants{{shaders::kSpecWords, key_words}};
  std::uint32_t nullable = 0;
  for (std::uint32_t a = 0; a < shaders::kMostAggregates; ++a) {
    auto const function = a < aggregates.size() ? aggregates[a].function : ResidentFunction::none;
    constants.push_back({shaders::kSpecAggregate + a, static_cast<std::uint32_t>(function)});
    if (a < aggregates.size() && aggregates[a].nulls) nullable |= 1U << a;
  }
  constants.push_back({shaders::kSpecNullable, nullable});
  return constants;
}

PassShape aggregate_shape(std::vector<ResidentAggregate> const& aggregates, std::uint32_t key_words,
                          ResidentGrouping const& grouping, ComputeTuning const& tuning) {
  bool const in_table = grouping.method == GroupMethod::hash;
  PassShape shape{in_table ? "compute/group_by/aggregate_table.comp" : "compute/group_by/aggregate_rows.comp",
                  grouping.group_size, grouping.items, sizeof(shaders::GroupRowsPush),
                  constants_of(aggregates, key_words)};
  if (in_table) return shape;
  shape.constants.push_back({shaders::kSpecSlots, grouping.slots});
  shape.constants.push_back({shaders::kSpecCopies, grouping.copies});
  shape.constants.push_back({shaders::kSpecFullApart, tuning.is_software ? 0U : 1U});
  shape.constants.push_back({shaders::kSpecPartitions, grouping.method == GroupMethod::partitioned ? 1U : 0U});
  return shape;
}

PassShape collect_shape(std::vector<ResidentAggregate> const& aggregates, std::uint32_t key_words) {
  return {"compute/group_by/collect_groups.comp", 0, kCollectItems, sizeof(shaders::GroupRowsPush),
          constants_of(aggregates, key_words)};
}

}  // namespace

std::uint32_t resident_result_words(ResidentFunction function) noexcept { return words_of(function).result; }

std::uint32_t resident_state_words(std::vector<ResidentAggregate> const& aggregates) noexcept {
  std::uint32_t words = 0;
  for (auto const& aggregate : aggregates) words += words_of(aggregate.function).state;
  return words;
}

ResidentGrouping choose_resident_grouping(std::uint64_t rows, std::uint64_t groups, std::uint32_t state_words,
                                          GroupMethod asked, ComputeTuning const& tuning) noexcept {
  ResidentGrouping grouping;
  auto const expected = std::clamp<std::uint64_t>(groups, 1, rows);
  auto const most = most_slots(state_words, 1, tuning);
  auto const room = kMostFill * static_cast<double>(most);
  grouping.groups = expected;
  grouping.method = asked;
  if (grouping.method == GroupMethod::automatic) {
    bool const few = static_cast<double>(expected) <= room && rows >= kLeastRowsShared;
    grouping.method = few && !tuning.is_software              ? GroupMethod::shared
                      : rows < kFewRows || tuning.is_software ? GroupMethod::hash
                                                              : GroupMethod::partitioned;
  }
  auto const pass_bits = partition_bits(tuning);
  auto least_window = kLeastWindowRows;
  if (grouping.method == GroupMethod::partitioned) {
    while (grouping.radix_bits < kMostRadixBits && large_partition(expected, grouping.radix_bits) > room)
      ++grouping.radix_bits;
    auto const passes = (grouping.radix_bits + pass_bits - 1) / pass_bits;
    auto const bits_of_passes = std::min(passes * pass_bits, kMostRadixBits);
    auto const small = kMostFill * static_cast<double>(most_slots(state_words, kSmallTablesAtOnce, tuning));
    while (passes > 1 && grouping.radix_bits < bits_of_passes && large_partition(expected, grouping.radix_bits) > small)
      ++grouping.radix_bits;
    // Fewer partitions than workgroups would be cut into windows, whose groups are merged.
    auto const whole = std::min<std::uint64_t>(kManyPartitions, rows / kLeastWindowRows + 1);
    auto const one_pass = std::min(pass_bits, static_cast<std::uint32_t>(std::bit_width(whole - 1)));
    grouping.radix_bits = std::max({grouping.radix_bits, one_pass, 1U});
    // Room for partitions of twice the rows, but not for one that keeps a single workgroup busy for long.
    least_window = std::max(least_window, std::min(2 * (rows >> grouping.radix_bits), rows / (kManyPartitions / 2)));
  }
  bool const is_small = grouping.method == GroupMethod::partitioned && grouping.radix_bits > pass_bits;
  shape_workgroup(rows >> grouping.radix_bits, is_small, tuning, grouping);
  auto const held = std::ceil(large_partition(expected, grouping.radix_bits));
  auto const parts = parts_for(held, is_small ? kSmallTablesAtOnce : kTablesAtOnce, state_words, tuning);
  grouping.slots = static_cast<std::uint32_t>(
      std::min(std::bit_ceil(std::max<std::uint64_t>(2 * static_cast<std::uint64_t>(held), 32)),
               most_slots(state_words, parts, tuning)));
  while (grouping.copies < tuning.subgroup_size &&
         2 * grouping.copies * state_words * (std::uint64_t{grouping.slots} + 1) <= kCopyWords &&
         (1 + 2 * grouping.copies * std::uint64_t{state_words}) * (grouping.slots + 1) <= most * (1 + state_words))
    grouping.copies *= 2;
  grouping.window_rows = std::min(std::max(rows / kManyWindows, least_window),
                                  tuning.is_software ? kMostGroupByWindowOnSoftware : kMostGroupByWindow);
  // Partitions in whole leave nothing in the table of the device; groups of others do.
  auto const merged =
      grouping.method == GroupMethod::partitioned && (rows >> grouping.radix_bits) <= grouping.window_rows
          ? expected >> std::min(grouping.radix_bits, 4U)
          : expected;
  grouping.table_slots = std::clamp(2 * merged, kLeastTableSlots, 2 * std::max(rows, kLeastTableSlots / 2));
  return grouping;
}

Result<ResidentGroupBy> ResidentGroupBy::create(ComputeContext& context, DeviceRows rows,
                                                std::vector<ResidentAggregate> aggregates,
                                                ResidentGrouping const& grouping) {
  GARUDA_EXPECTS(rows.rows > 0 && rows.rows <= std::uint64_t{1} << 30 && !rows.number_rows);
  GARUDA_EXPECTS(aggregates.size() <= kMostResidentAggregates);
  ResidentGroupBy group_by;
  group_by.aggregates_ = std::move(aggregates);
  group_by.grouping_ = grouping;
  bool const moves_rows = grouping.method == GroupMethod::partitioned;
  if (rows.keys.words == 0 && moves_rows)
    return fail(ErrorCode::usage, "rows without keys are not partitioned: method=partitioned");
  auto const wants_numbers = std::ranges::any_of(
      group_by.aggregates_, [](auto const& one) { return one.function == ResidentFunction::first_row; });
  rows.number_rows = moves_rows && wants_numbers;
  group_by.rows_ = rows;
  GARUDA_TRY_ASSIGN(group_by.state_, context.device_buffer(sizeof(shaders::GroupedState), "state of groups"));
  auto const values = shaders::kMostAggregates * sizeof(shaders::AggregateColumn);
  auto const addresses = (shaders::kMostAggregates + 1) * sizeof(std::uint64_t);
  GARUDA_TRY_ASSIGN(group_by.addresses_, context.device_buffer(values, "columns of values"));
  GARUDA_TRY_ASSIGN(group_by.targets_, context.device_buffer(addresses, "addresses of columns"));
  if (moves_rows) {
    GARUDA_TRY_ASSIGN(group_by.partitions_,
                      PartitionedSide::create(context, std::move(rows), group_by.grouping_.radix_bits));
  }
  GARUDA_TRY(group_by.take_table(context));
  // The number of groups is an estimate, so there is room for a few more.
  group_by.capacity_ = std::min(grouping.groups + grouping.groups / 8 + 1024, group_by.rows_.rows);
  GARUDA_TRY(group_by.take_targets(context));
  return group_by;
}

Result<void> ResidentGroupBy::take_table(ComputeContext& context) {
  auto const words = 1 + std::uint64_t{resident_state_words(aggregates_)};
  GARUDA_TRY_ASSIGN(table_, context.device_buffer((grouping_.table_slots + 1) * words * 4, "table of groups"));
  return {};
}

Result<void> ResidentGroupBy::take_targets(ComputeContext& context) {
  columns_out_.clear();
  auto const words = std::max(key_words(), 1U);
  GARUDA_TRY_ASSIGN(keys_out_, context.device_buffer(capacity_ * words * 4, "keys of groups"));
  for (auto const& aggregate : aggregates_) {
    GARUDA_TRY_ASSIGN(auto column, context.device_buffer(capacity_ * resident_result_words(aggregate.function) * 4,
                                                         "aggregate of groups"));
    columns_out_.push_back(std::move(column));
  }
  return {};
}

VkDeviceAddress ResidentGroupBy::payload(std::size_t column) const {
  std::size_t const numbers = rows_.number_rows ? 1 : 0;
  if (partitions_) return partitions_->payload(numbers + column).address();
  return rows_.payload.at(column).address;
}

VkDeviceAddress ResidentGroupBy::row_numbers() const {
  if (!rows_.number_rows) return 0;
  return partitions_->payload(0).address();
}

shaders::GroupRowsPush ResidentGroupBy::push() const {
  shaders::GroupRowsPush push{};
  push.keys = partitions_ ? partitions_->keys().address() : rows_.keys.address;
  push.values = addresses_.address();
  push.starts = partitions_ ? partitions_->starts().address() : 0;
  push.table = table_.address();
  push.targets = targets_.address();
  push.state = state_.address();
  push.num_rows = static_cast<std::uint32_t>(rows_.rows);
  push.num_partitions = partitions_ ? partitions_->num_partitions() : 0;
  push.window_rows = static_cast<std::uint32_t>(grouping_.window_rows);
  push.num_windows = static_cast<std::uint32_t>(groups_for(rows_.rows, grouping_.window_rows));
  push.table_slots = static_cast<std::uint32_t>(grouping_.table_slots);
  push.capacity = static_cast<std::uint32_t>(capacity_);
  return push;
}

/// Where the passes find values and put results.
Result<void> ResidentGroupBy::record_values(ComputeContext& context) {
  std::vector<shaders::AggregateColumn> values(shaders::kMostAggregates);
  std::vector<std::uint64_t> targets{keys_out_.address()};
  for (std::size_t a = 0; a < aggregates_.size(); ++a) {
    auto const& aggregate = aggregates_[a];
    targets.push_back(columns_out_[a].address());
    if (aggregate.function == ResidentFunction::first_row) values[a].values = row_numbers();
    bool const reads =
        aggregate.function != ResidentFunction::count && aggregate.function != ResidentFunction::first_row;
    if (reads) values[a].values = payload(aggregate.column);
    if (aggregate.nulls) values[a].nulls = payload(*aggregate.nulls);
    values[a].null_mask = aggregate.null_mask;
    values[a].lowest_bit = aggregate.lowest_bit;
    values[a].first_position = aggregate.first_position;
    values[a].last_position = aggregate.last_position;
  }
  GARUDA_TRY(context.update(kAggregatePhase, addresses_, std::as_bytes(std::span(values))));
  GARUDA_TRY(context.update(kAggregatePhase, targets_, std::as_bytes(std::span(targets))));
  return context.fill(kAggregatePhase, state_, 0);
}

Result<void> ResidentGroupBy::record_aggregates(ComputeContext& context) {
  GARUDA_TRY(record_values(context));
  GARUDA_TRY(context.fill(kAggregatePhase, table_, 0));
  auto const pushed = push();
  auto const& tuning = context.tuning();
  auto const shape = aggregate_shape(aggregates_, rows_.keys.words, grouping_, tuning);
  auto const groups = grouping_.method == GroupMethod::hash
                          ? groups_for(rows_.rows, std::uint64_t{grouping_.group_size} * grouping_.items)
                          : std::uint64_t{pushed.num_windows} + pushed.num_partitions;
  auto const columns = 1 + aggregates_.size();  // and the keys
  // Each workgroup clears and reads the slots of its table, few as its rows may be.
  auto const own_slots = grouping_.method == GroupMethod::hash ? 0 : groups * grouping_.slots;
  GARUDA_TRY(context.dispatch(kAggregatePhase, shape, pushed, groups, (rows_.rows + own_slots) * columns));
  auto const slots = grouping_.table_slots + 1;
  return context.dispatch(kCollectPhase, collect_shape(aggregates_, rows_.keys.words), pushed,
                          groups_for(slots, std::uint64_t{tuning.group_size} * kCollectItems), slots * columns);
}

Result<void> ResidentGroupBy::record(ComputeContext& context) {
  if (partitions_) GARUDA_TRY(partitions_->record(context));
  return record_aggregates(context);
}

// Tables grow eightfold until every row may be a group: then only keys whose hashes agree find no slot.
Result<void> ResidentGroupBy::grow(ComputeContext& context, std::uint64_t groups) {
  if (groups > capacity_) {
    capacity_ = std::min(groups, rows_.rows);
    return take_targets(context);
  }
  auto const most = 2 * std::max(rows_.rows, kLeastTableSlots / 2);
  if (grouping_.table_slots >= most) {
    return fail(ErrorCode::limit_exceeded,
                fmt::format("too many keys have the same hash, in a table of {} slots", grouping_.table_slots));
  }
  grouping_.table_slots = std::min(8 * grouping_.table_slots, most);
  GARUDA_TRY(take_table(context));
  // What the larger table finds is more than what the smaller one did.
  capacity_ = std::min(std::max(capacity_, 2 * groups), rows_.rows);
  return take_targets(context);
}

Result<ResidentGroups> ResidentGroupBy::finish(ComputeContext& context) {
  ResidentGroups result;
  while (true) {
    GARUDA_TRY_ASSIGN(auto const state, context.read_value<shaders::GroupedState>(kCollectPhase, state_));
    result.groups = state.groups;
    if (state.incomplete == 0) break;
    GARUDA_TRY(grow(context, state.groups));
    GARUDA_TRY(record_aggregates(context));
  }
  result.keys = &keys_out_;
  for (auto const& column : columns_out_) result.aggregates.push_back(&column);
  return result;
}

std::vector<vk::ComputePipelineSpec> resident_group_by_pipelines(ComputeTuning const& tuning) {
  using Set = std::vector<ResidentAggregate>;
  ResidentAggregate nullable{ResidentFunction::total_i64, 0};
  nullable.nulls = 1;
  struct Passes {
    Set set;
    std::vector<std::uint32_t> key_words{1, 2};
  };
  std::vector<Passes> const all{
      {{}},
      {{{ResidentFunction::sum_i32, 0}}},
      {{{ResidentFunction::count, 0},
        {ResidentFunction::sum_u32, 0},
        {ResidentFunction::min_i32, 0},
        {ResidentFunction::max_u32, 0}}},
      {{{ResidentFunction::total_i64, 0},
        {ResidentFunction::total_u64, 0},
        {ResidentFunction::min_u32, 0},
        {ResidentFunction::max_i32, 0}}},
      {{{ResidentFunction::long_f64, 0},
        {ResidentFunction::flags_f64, 0},
        {ResidentFunction::max_f64, 0},
        {ResidentFunction::first_row, 0}},
       {2}},
      {{{ResidentFunction::fixed_f32, 0}, {ResidentFunction::min_f32, 0}, {ResidentFunction::total_i128, 0}, nullable},
       {1}}};
  std::vector<vk::ComputePipelineSpec> specs;
  for (auto const& [set, widths] : all) {
    for (auto const key_words : widths) {
      for (auto const method : {GroupMethod::shared, GroupMethod::hash, GroupMethod::partitioned}) {
        auto const grouping =
            choose_resident_grouping(std::uint64_t{1} << 24, 1000, resident_state_words(set), method, tuning);
        specs.push_back(compute_pipeline(aggregate_shape(set, key_words, grouping, tuning), tuning));
      }
      specs.push_back(compute_pipeline(collect_shape(set, key_words), tuning));
    }
  }
  return specs;
}

}  // namespace garuda::compute
