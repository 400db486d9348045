// The group-by as GARUDA §4 states it: encode the keys, radix-partition the rows by the most diverse of them, group and
// aggregate partition by partition on the path that was planned. How a path does the latter is behind GroupByKernel.
#include "operators/group_by/group_by.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/parallel_blocks.hpp"
#include "operators/contract/sizing.hpp"
#include "operators/device/device_group_by.hpp"
#include "operators/device/host_copies.hpp"
#include "operators/group_by/grouped_result.hpp"
#include "operators/group_by/product_columns.hpp"
#include "operators/plan/path_choice.hpp"

namespace garuda::group_by {
namespace {

/// Makes of the request that for a copy of the table on the host, where a device that it lives on cannot group it:
/// returns the copy, or nothing.
Result<std::optional<device::HostCopies>> bring_down(resolve::GroupByRequest& request) {
  auto const& schema = request.table.schema();
  if (request.table.resident() == nullptr || request.options.tuning.placement == Placement::device) return std::nullopt;
  auto const grouped_there = device::check_device_group_by(schema, request.columns);
  if (grouped_there) return std::nullopt;
  auto names = request.spec.keys;
  for (auto const& aggregate : request.spec.aggregates)
    for (auto const& name : {aggregate.column, aggregate.second})
      if (name) names.push_back(*name);
  std::vector<std::size_t> columns;
  for (auto const& name : names) {
    GARUDA_TRY_ASSIGN(auto const column, find_column(schema, name));
    columns.push_back(column);
  }
  device::HostCopies copies;
  GARUDA_TRY_ASSIGN(request.table, copies.add(request.table, std::move(columns), request.options.control));
  GARUDA_TRY_ASSIGN(request.columns, resolve::resolve_group_by(request.table, request.spec));
  request.notes.push_back(copies.note(grouped_there.error().message()));
  return copies;
}

}  // namespace

std::vector<GroupTask> cut_group_tasks(std::vector<std::uint64_t> const& offsets, std::uint64_t slice_rows) {
  GARUDA_EXPECTS(slice_rows > 0);
  std::vector<GroupTask> tasks;
  for (std::size_t p = 0; p + 1 < offsets.size(); ++p) {
    auto const whole = offsets[p + 1] - offsets[p] <= slice_rows;
    for (auto begin = offsets[p]; begin < offsets[p + 1]; begin += slice_rows)
      tasks.push_back({static_cast<std::uint32_t>(p), begin, std::min(begin + slice_rows, offsets[p + 1]), whole});
  }
  return tasks;
}

PartitionedGroupKeys PartitionedGroupKeys::without_keys(std::uint64_t num_rows) {
  PartitionedGroupKeys keys;
  keys.order_.offsets = {0, num_rows};
  keys.order_.ranges.resize(1);
  return keys;
}

Result<PartitionedGroupKeys> PartitionedGroupKeys::partition(keys::EncodedGroupKeys keys, partition::RadixDigit digit,
                                                             Control const& control) {
  PartitionedGroupKeys out;
  out.form_ = keys.is_packed ? Form::packed : Form::words;
  out.digit_ = digit;
  out.keys_ = std::move(keys);
  if (out.form_ == Form::packed) {
    partition::PartitionOptions options;
    options.ranges = true;
    GARUDA_TRY_ASSIGN(out.order_,
                      partition::radix_partition(std::move(out.keys_.packed), digit, control, std::move(options)));
    return out;
  }
  GARUDA_TRY_ASSIGN(out.order_, partition::radix_partition(keys::partition_words(out.keys_), digit, control));
  // Slices take the words themselves, only their order comes from the partitioning.
  out.order_.keys = nullptr;
  out.order_.owned_keys = {};
  return out;
}

Result<PartitionedGroupKeys::Slice> PartitionedGroupKeys::slice(GroupTask const& task, Control const& control) const {
  Slice slice;
  slice.keys.num_rows = task.size();
  if (form_ == Form::none) return slice;
  if (form_ == Form::packed) {
    contract::KeySpan span;
    if (order_.key_bits == 32)
      span.words = order_.keys32().subspan(task.begin, task.size());
    else
      span.words = order_.keys64().subspan(task.begin, task.size());
    span.min = order_.ranges[task.partition].min;
    span.max = order_.ranges[task.partition].max;
    slice.keys.keys = span;
    slice.keys.shared_low_bits = partition::shared_low_bits(digit_);
    return slice;
  }
  // Both halves of the first word, which is a hash of all where there are others.
  contract::KeyWords words{{}, 0, 2};
  auto const rows = this->rows(task);
  for (std::size_t w = 0; w < keys_.words.size(); ++w) {
    auto const from = keys_.word(w);
    std::array<std::uint32_t*, 2> halves{};
    for (auto& half : halves) {
      GARUDA_TRY_ASSIGN(auto buffer, AlignedBuffer::allocate(static_cast<std::int64_t>(task.size() * 4)));
      half = buffer.as<std::uint32_t>();
      words.words.emplace_back(half, task.size());
      slice.words.push_back(std::move(buffer));
    }
    auto const blocks = (task.size() + kBlockRows - 1) / kBlockRows;
    GARUDA_TRY(for_each_block(blocks, &control, [&](std::size_t block) {
      auto const end = std::min(task.size(), (block + 1) * kBlockRows);
      for (auto i = block * kBlockRows; i < end; ++i) {
        auto const word = from[rows.is_sequential() ? task.begin + i : rows[i]];
        halves[0][i] = static_cast<std::uint32_t>(word);
        halves[1][i] = static_cast<std::uint32_t>(word >> 32);
      }
    }));
  }
  slice.keys.keys = std::move(words);
  return slice;
}

PartitionedGroupBy::PartitionedGroupBy(resolve::GroupByRequest const& request, std::unique_ptr<run::QueryRun> run)
    : run_(std::move(run)),
      table_(request.table),
      columns_(request.columns),
      options_(request.options),
      devices_(request.devices),
      expressions_(request.expressions),
      wants_order_(request.spec.ordered) {
  options_.control.abandoned = &run_->abandoned;
}

PartitionedGroupBy::~PartitionedGroupBy() { run_->abandoned = true; }

Result<std::unique_ptr<PartitionedGroupBy>> PartitionedGroupBy::prepare(resolve::GroupByRequest const& request,
                                                                        PlannedGroupBy planned,
                                                                        std::unique_ptr<run::QueryRun> run) {
  GARUDA_EXPECTS(!planned.chosen.offer.takes_whole());
  std::unique_ptr<PartitionedGroupBy> groups(new PartitionedGroupBy(request, std::move(run)));
  groups->chosen_ = std::move(planned.chosen);
  groups->path_ = plan::find_path(groups->chosen_.plan.path);
  groups->values_ = std::move(planned.values);
  for (std::size_t c = 0; c < groups->values_.size(); ++c)
    groups->columns_.states[c].order = groups->values_[c].order();
  groups->encoded_ = std::move(planned.keys);
  if (groups->chosen_.offer.grouping != Grouping::slices) {
    groups->decoder_ = key_decoder(request, groups->encoded_);
    GARUDA_TRY(groups->open_whole());
  }
  if (groups->whole_ == nullptr) GARUDA_TRY(groups->open_slices(planned.digit));
  return groups;
}

Result<contract::SliceValues> PartitionedGroupBy::read(std::size_t column, contract::SliceRows const& rows) const {
  return values_[column].read(rows, options_.control);
}

/// Groups the whole table, unless the values are such that slices have to.
Result<void> PartitionedGroupBy::open_whole() {
  place_factors(values_, columns_.states);
  auto table = whole_table(table_, columns_.states, values_, encoded_);
  table.values = this;
  table.wants_first_rows = columns_.keys.empty() || wants_order_ || !decoder_;
  contract::WholeGroupByOptions const options{chosen_.offer.grouping, &options_.control, &run_->recorder};
  GARUDA_TRY_ASSIGN(whole_, run_->arena.execute([&] { return path_->group_by.open_whole(table, options); }));
  if (whole_ != nullptr) {
    num_tasks_ = whole_->num_parts();
    return {};
  }
  run_->recorder.note("floats too far apart for sums of 128 bits, infinite or NaN: grouped slice by slice");
  decoder_.reset();
  return {};
}

Result<void> PartitionedGroupBy::open_slices(partition::RadixDigit digit) {
  decoder_.reset();
  GARUDA_TRY(run_->arena.execute([&] { return keys::gather_words(encoded_, options_.control); }));
  GARUDA_TRY(partition_keys(digit));
  tasks_ = cut_group_tasks(keys_.offsets(), chosen_.plan.slice_rows);
  num_tasks_ = tasks_.size();
  return open_path();
}

Result<void> PartitionedGroupBy::partition_keys(partition::RadixDigit digit) {
  auto const rows = static_cast<std::uint64_t>(table_.num_rows());
  if (columns_.keys.empty()) {
    keys_ = PartitionedGroupKeys::without_keys(rows);
    return {};
  }
  run::PhaseTimer timer(run_->recorder, "partition");
  GARUDA_TRY_ASSIGN(keys_, run_->arena.execute([&] {
    return PartitionedGroupKeys::partition(std::move(encoded_), digit, options_.control);
  }));
  if (digit.bits > 0) timer.count(2 * rows * (std::max(chosen_.plan.key_bits, 32U) / 8 + 4), rows);
  run_->recorder.max_counter("partitions", keys_.offsets().size() - 1);
  return {};
}

Result<void> PartitionedGroupBy::open_path() {
  contract::GroupByBackendOptions backend;
  backend.tuning = chosen_.offer.tuning;
  backend.lanes = chosen_.plan.lanes;
  backend.expected_groups = chosen_.slice_groups;
  backend.key_bits = chosen_.plan.key_bits;
  backend.num_words = keys_.num_words();
  for (auto const& state : columns_.states)
    if (state.kind != contract::ValueKind::bytes)
      backend.max_value_words = std::max(backend.max_value_words, contract::value_words(state.kind));
  for (auto const& task : tasks_) backend.max_rows = std::max(backend.max_rows, task.size());
  backend.device_memory_limit_bytes = options_.device_memory_limit_bytes;
  backend.expressions = expressions_;
  backend.control = &options_.control;
  backend.stats = &run_->recorder;
  contract::OpenDevice* device = nullptr;
  if (chosen_.offer.device) {
    run::PhaseTimer const opening(run_->recorder, "open device");
    GARUDA_TRY_ASSIGN(device, devices_->open(*chosen_.offer.device));
  }
  GARUDA_TRY_ASSIGN(backend_, path_->group_by.open(device, backend));
  return {};
}

void PartitionedGroupBy::start_lanes() {
  if (whole_ != nullptr && write_ && std::ranges::none_of(columns_.states, &resolve::StateColumn::has_lists)) {
    auto const groups = std::max<std::uint64_t>(encoded_.estimated_groups / num_tasks_, 1);
    parts_at_once_ = std::clamp<std::size_t>(kBatchGroups / groups, 1, num_tasks_ / (4 * chosen_.plan.lanes) + 1);
    num_tasks_ = (num_tasks_ + parts_at_once_ - 1) / parts_at_once_;
  }
  auto const lanes = chosen_.plan.lanes;
  // In an arena of all threads lanes would wait for places that its workers hold.
  auto const working = static_cast<std::uint32_t>(std::clamp<std::size_t>(num_tasks_, 1, lanes));
  for (std::uint32_t lane = 0; lane < lanes; ++lane)
    lane_arenas_.push_back(
        std::make_unique<oneapi::tbb::task_arena>(static_cast<int>(std::max(run_->threads() / working, 1U))));
  auto work = [this](std::uint32_t lane, std::size_t task, Emit const& emit) {
    return whole_ != nullptr ? emit_parts(lane, task, emit) : group_slice(lane, tasks_[task], emit);
  };
  scheduler_ = std::make_unique<GroupScheduler>(num_tasks_, lanes, 2 * chosen_.plan.chunk_rows,
                                                static_cast<std::uint64_t>(table_.num_rows()), std::move(work));
}

/// The groups of several parts, so that batches are long enough to be worth their memory.
Result<void> PartitionedGroupBy::emit_parts(std::uint32_t lane, std::size_t task, Emit const& emit) {
  GroupChunk groups;
  for (auto part = task * parts_at_once_; part < std::min((task + 1) * parts_at_once_, whole_->num_parts()); ++part) {
    if (options_.control.is_cancelled()) return fail(ErrorCode::cancelled, "the group-by was cancelled");
    run::PhaseTimer const timer(run_->recorder, "group");
    GARUDA_TRY_ASSIGN(auto found, lane_arenas_[lane]->execute([&] { return whole_->part(part); }));
    auto next = chunk_of(std::move(found), static_cast<std::uint32_t>(part));
    if (groups.size() == 0) {
      groups = std::move(next);
      // Parts are about equally large; a few more, so that columns seldom grow.
      if (parts_at_once_ > 1) reserve_groups(groups.size() * (parts_at_once_ + 1), groups);
    } else {
      append_groups(columns_.states, std::move(next), groups);
    }
  }
  return hand_over(lane, std::move(groups), true, emit);
}

/// A slice that turns out not to fit the device is halved until it does; the halves' groups are merged.
Result<void> PartitionedGroupBy::group_slice(std::uint32_t lane, GroupTask const& task, Emit const& emit) {
  if (options_.control.is_cancelled()) return fail(ErrorCode::cancelled, "the group-by was cancelled");
  auto chunk = run_kernel(lane, task);
  if (chunk) {
    run_->recorder.add_counter("slices", 1);
    return hand_over(lane, std::move(*chunk), task.is_whole, emit);
  }
  if (!contract::is_shortage(chunk.error()) || task.size() < contract::kSmallestSplitRows)
    return propagate(std::move(chunk));
  run_->recorder.add_counter("slices_split", 1);
  auto const middle = task.begin + task.size() / 2;
  GARUDA_TRY(group_slice(lane, {task.partition, task.begin, middle, false}, emit));
  return group_slice(lane, {task.partition, middle, task.end, false}, emit);
}

/// Groups and aggregates one slice. The arena is entered only for as long as it works: lanes wait for the consumer when
/// they emit, and the consumer needs the arena too.
Result<GroupChunk> PartitionedGroupBy::run_kernel(std::uint32_t lane, GroupTask const& task) {
  auto const rows = keys_.rows(task);
  GARUDA_TRY_ASSIGN(auto slice, run_->arena.execute([&] { return keys_.slice(task, options_.control); }));
  if (expressions_ != nullptr) {
    GARUDA_EXPECTS(rows.is_sequential());
    slice.keys.first_row = rows.first_row();
  }
  GARUDA_TRY_ASSIGN(auto const kernel, backend_->begin(slice.keys, lane));
  GARUDA_TRY_ASSIGN(auto const num_groups, kernel->group());
  if (num_groups == 0) return GroupChunk{};
  GARUDA_TRY_ASSIGN(auto const heads, kernel->heads());

  GroupChunk chunk;
  chunk.partition = task.partition;
  if (!task.is_whole) chunk.keys = HeadKeys::of(slice.keys, heads);
  chunk.head_rows.reserve(num_groups);
  for (auto const head : heads) chunk.head_rows.push_back(rows[head]);
  for (std::size_t c = 0; c < values_.size(); ++c) {
    if (columns_.states[c].states == 0) {
      chunk.states.emplace_back();
      continue;
    }
    auto const& reader = values_[c];
    std::optional<contract::SliceValues> values;
    {
      run::PhaseTimer const timer(run_->recorder, "values");
      GARUDA_TRY_ASSIGN(values, run_->arena.execute([&] { return reader.read(rows, options_.control); }));
    }
    bool const is_on_host = values->input.order != nullptr || (values->input.states & contract::kListState) != 0;
    GARUDA_TRY_ASSIGN(auto state, is_on_host ? states_on_host(*kernel, values->input, rows.count, num_groups,
                                                              run_->recorder, options_.control)
                                             : kernel->aggregate(values->input));
    chunk.states.push_back(std::move(state));
  }
  return chunk;
}

/// Groups that nothing will be merged with are written by the lane that has them, where that is wanted.
Result<void> PartitionedGroupBy::hand_over(std::uint32_t lane, GroupChunk groups, bool is_complete, Emit const& emit) {
  report_progress(groups.size());
  if (groups.size() == 0) return {};
  if (!is_complete || !write_) {
    emit({std::move(groups), std::nullopt});
    return {};
  }
  for (std::uint64_t first = 0; first < groups.size();) {
    GARUDA_TRY_ASSIGN(auto batch, lane_arenas_[lane]->execute([&] { return write_(groups, first); }));
    first += static_cast<std::uint64_t>(batch.num_rows);
    GroupedPiece piece{{}, std::move(batch)};
    piece.groups.partition = groups.partition;
    if (!emit(std::move(piece))) break;
  }
  return {};
}

void PartitionedGroupBy::report_progress(std::uint64_t groups) {
  std::lock_guard const lock(progress_mutex_);
  ++tasks_done_;
  groups_found_ += groups;
  if (options_.control.on_progress)
    options_.control.on_progress({"group", std::min(tasks_done_, num_tasks_), num_tasks_, groups_found_});
}

Result<std::optional<GroupedPiece>> PartitionedGroupBy::next_partition() {
  if (num_tasks_ == 0) {
    if (!columns_.keys.empty() || std::exchange(empty_returned_, true)) return std::nullopt;
    return GroupedPiece{no_rows_group(columns_.states), std::nullopt};
  }
  if (scheduler_ == nullptr) start_lanes();
  auto piece = std::exchange(pending_, std::nullopt);
  while (!piece || !piece->batch) {
    GARUDA_TRY_ASSIGN(auto next, scheduler_->next());
    if (!next || (piece && next->groups.partition != piece->groups.partition)) {
      pending_ = std::move(next);
      break;
    }
    if (!piece) {
      piece = std::move(next);
      continue;
    }
    run::PhaseTimer const timer(run_->recorder, "merge", 0, next->size());
    GARUDA_TRY(merge_groups(columns_.states, std::move(next->groups), options_.control, piece->groups));
  }
  return piece;
}

RunStats PartitionedGroupBy::stats(std::uint64_t rows_out) const {
  auto stats = run_->stats(chosen_.plan);
  stats.rows = static_cast<std::uint64_t>(table_.num_rows());
  stats.rows_out = rows_out;
  return stats;
}

/// A table that turns out not to fit the device whole is grouped in slices.
Result<std::unique_ptr<GroupByResult>> group_by(resolve::GroupByRequest request) {
  GARUDA_TRY_ASSIGN(auto copies, bring_down(request));
  if (copies) {
    GARUDA_TRY_ASSIGN(auto grouped, group_by(std::move(request)));
    return device::result_of_copies(std::move(*copies), std::move(grouped));
  }
  auto run = std::make_unique<run::QueryRun>(request.options);
  GARUDA_TRY(cut_products(request, *run));
  GARUDA_TRY_ASSIGN(auto planned, plan_request(request, *run));
  auto const& [offer, plan, slice_groups] = planned.chosen;
  if (!offer.takes_whole()) {
    GARUDA_TRY_ASSIGN(auto groups, PartitionedGroupBy::prepare(request, std::move(planned), std::move(run)));
    return grouped_result(request, std::move(groups));
  }
  auto grouped = plan::find_path(plan.path)->group_by.group_whole(request, offer, plan);
  bool const goes_on = !grouped && device::take_slices(request, request.table, grouped.error());
  return goes_on ? group_by(std::move(request)) : std::move(grouped);
}

Result<Plan> explain_group_by(resolve::GroupByRequest request) {
  GARUDA_TRY_ASSIGN(auto const copies, bring_down(request));
  run::QueryRun run(request.options);
  GARUDA_TRY(cut_products(request, run));
  GARUDA_TRY_ASSIGN(auto planned, plan_request(request, run));
  return std::move(planned.chosen.plan);
}

}  // namespace garuda::group_by
