// The group-by as GARUDA §4 states it: encode the keys, radix-partition the rows by the most diverse of them, group and
// aggregate partition by partition on the path that was planned. How a path does the latter is behind GroupByKernel.
#include "operators/group_by.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "operators/group_by_registry.hpp"
#include "operators/grouped_result.hpp"
#include "operators/host_memory.hpp"
#include "operators/sizing.hpp"
#include "operators/streamed_group_by.hpp"
#include "operators/streamed_group_plan.hpp"

namespace garuda::operators {
namespace {

/// What streaming takes, if a sample of the keys tells that it is cheaper than the others: nothing is encoded then.
std::optional<Candidate> streamed_unencoded(StreamedGroupPlan const& streamed, GroupByRequest const& request,
                                            SampledGroupBy const& sampled, oneapi::tbb::task_arena const& arena) {
  auto const threads = static_cast<std::uint32_t>(arena.max_concurrency());
  auto const shape = sampled_shape(request, sampled, threads);
  if (!shape) return std::nullopt;
  auto candidate = streamed.candidate(static_cast<double>(shape->estimated_groups), false);
  auto const machine = machine_of(*request.devices, threads);
  if (!is_cheaper_unencoded(candidate.estimated_ns, *shape, machine, request.options)) return std::nullopt;
  return candidate;
}

/// What streaming takes when keys were encoded before it is chosen.
Candidate streamed_encoded(StreamedGroupPlan const& streamed, PlannedGroupBy const& planned) {
  bool const encoded = !planned.keys.attributes.empty();
  return streamed.candidate(static_cast<double>(std::max<std::uint64_t>(planned.keys.estimated_groups, 1)), encoded);
}

std::vector<DataType> key_types(GroupByRequest const& request) {
  std::vector<DataType> types;
  for (auto const key : request.columns.keys) types.push_back(request.table.schema()[key].type);
  return types;
}

}  // namespace

PartitionedGroupBy::PartitionedGroupBy(GroupByRequest const& request)
    : table_(request.table),
      columns_(request.columns),
      options_(request.options),
      devices_(request.devices),
      wants_order_(request.spec.ordered),
      start_(std::chrono::steady_clock::now()),
      arena_(arena_threads(request.options.threads)) {
  options_.control.abandoned = &abandoned_;
}

PartitionedGroupBy::~PartitionedGroupBy() { abandoned_ = true; }

Result<PartitionedGroupBy::Prepared> PartitionedGroupBy::prepare(GroupByRequest const& request,
                                                                 StreamedGroupPlan const* rival) {
  std::unique_ptr<PartitionedGroupBy> run(new PartitionedGroupBy(request));
  GARUDA_TRY_ASSIGN(auto sampled, sample_groups(request, run->arena_, run->recorder_));
  if (rival != nullptr)
    if (auto cheaper = streamed_unencoded(*rival, request, sampled, run->arena_))
      return Prepared{nullptr, std::move(cheaper)};
  GARUDA_TRY_ASSIGN(auto planned, plan_groups(request, std::move(sampled), run->arena_, run->recorder_));
  if (rival != nullptr) {
    auto streamed = streamed_encoded(*rival, planned);
    if (streamed.estimated_ns < planned.plan.plan.estimated.estimated_ns) return Prepared{nullptr, std::move(streamed)};
  }
  run->plan_ = std::move(planned.plan);
  run->values_ = std::move(planned.values);
  run->encoded_ = std::move(planned.keys);
  run->grouping_ = run->plan_.grouping;
  if (run->grouping_ != Grouping::slices) {
    run->decoder_ = partition::KeyDecoder::create(run->encoded_, key_types(request));
    GARUDA_TRY(run->open_whole());
    if (run->whole_ != nullptr) return Prepared{std::move(run), std::nullopt};
  }
  GARUDA_TRY(run->open_slices(planned.digit));
  return Prepared{std::move(run), std::nullopt};
}

Result<SliceValues> PartitionedGroupBy::read(std::size_t column, SliceRows const& rows) const {
  return values_[column].read(rows, options_.control);
}

/// Groups the whole table, unless the values are such that slices have to.
Result<void> PartitionedGroupBy::open_whole() {
  auto table = whole_table(table_, columns_.states, values_, encoded_);
  table.values = this;
  table.wants_first_rows = columns_.keys.empty() || wants_order_ || !decoder_;
  WholeGroupByOptions const options{grouping_, &options_.control, &recorder_};
  GARUDA_TRY_ASSIGN(whole_, arena_.execute([&] { return open_cpu_whole_group_by(table, options); }));
  if (whole_ != nullptr) {
    num_tasks_ = whole_->num_parts();
    return {};
  }
  recorder_.note("floats too far apart for sums of 128 bits, infinite or NaN: grouped slice by slice");
  decoder_.reset();
  return {};
}

Result<void> PartitionedGroupBy::open_slices(partition::RadixDigit digit) {
  decoder_.reset();
  GARUDA_TRY(partition_keys(digit));
  tasks_ = cut_group_tasks(keys_.offsets(), plan_.plan.slice_rows);
  num_tasks_ = tasks_.size();
  return open_path();
}

Result<void> PartitionedGroupBy::partition_keys(partition::RadixDigit digit) {
  auto const rows = static_cast<std::uint64_t>(table_.num_rows());
  if (columns_.keys.empty()) {
    keys_ = PartitionedGroupKeys::without_keys(rows);
    return {};
  }
  PhaseTimer timer(recorder_, "partition");
  GARUDA_TRY_ASSIGN(keys_, arena_.execute([&] {
    return PartitionedGroupKeys::partition(std::move(encoded_), digit, options_.control);
  }));
  if (digit.bits > 0) timer.count(2 * rows * (std::max(plan_.plan.key_bits, 32U) / 8 + 4), rows);
  recorder_.max_counter("partitions", keys_.offsets().size() - 1);
  return {};
}

Result<void> PartitionedGroupBy::open_path() {
  GroupByBackendOptions backend;
  backend.tuning = plan_.tuning;
  backend.lanes = plan_.plan.lanes;
  backend.expected_groups = plan_.slice_groups;
  backend.key_bits = plan_.plan.key_bits;
  backend.num_words = keys_.num_words();
  for (auto const& state : columns_.states)
    backend.max_value_words = std::max(backend.max_value_words, value_words(state.kind));
  for (auto const& task : tasks_) backend.max_rows = std::max(backend.max_rows, task.size());
  backend.device_memory_limit_bytes = options_.device_memory_limit_bytes;
  backend.control = &options_.control;
  backend.stats = &recorder_;
  auto const* path = find_group_by_path(plan_.plan.path);
  GARUDA_EXPECTS(path != nullptr);
  OpenDevice device;
  if (plan_.device) {
    GARUDA_TRY_ASSIGN(device, devices_->open(*plan_.device));
  }
  GARUDA_TRY_ASSIGN(backend_, path->open(device, backend));
  return {};
}

void PartitionedGroupBy::start_lanes() {
  auto work = [this](std::uint32_t lane, std::size_t task, Emit const& emit) {
    return whole_ != nullptr ? emit_part(task, emit) : group_slice(lane, tasks_[task], emit);
  };
  scheduler_ =
      std::make_unique<GroupScheduler>(num_tasks_, plan_.plan.lanes, 2 * plan_.plan.chunk_rows, std::move(work));
}

Result<void> PartitionedGroupBy::emit_part(std::size_t part, Emit const& emit) {
  if (options_.control.is_cancelled()) return fail(ErrorCode::cancelled, "the group-by was cancelled");
  GARUDA_TRY_ASSIGN(auto groups, whole_->part(part));
  GroupChunk chunk;
  chunk.partition = static_cast<std::uint32_t>(part);
  chunk.head_rows = std::move(groups.first_rows);
  chunk.key_words = std::move(groups.keys);
  chunk.states = std::move(groups.states);
  report_progress(chunk.size());
  emit(std::move(chunk));
  return {};
}

/// A slice that turns out not to fit the device is halved until it does; the halves' groups are merged.
Result<void> PartitionedGroupBy::group_slice(std::uint32_t lane, GroupTask const& task, Emit const& emit) {
  if (options_.control.is_cancelled()) return fail(ErrorCode::cancelled, "the group-by was cancelled");
  auto chunk = run_kernel(lane, task);
  if (chunk) {
    recorder_.add_counter("slices", 1);
    report_progress(chunk->size());
    emit(std::move(*chunk));
    return {};
  }
  if (!is_shortage(chunk.error()) || task.size() < kSmallestSplitRows) return propagate(std::move(chunk));
  recorder_.add_counter("slices_split", 1);
  auto const middle = task.begin + task.size() / 2;
  GARUDA_TRY(group_slice(lane, {task.partition, task.begin, middle, false}, emit));
  return group_slice(lane, {task.partition, middle, task.end, false}, emit);
}

/// Groups and aggregates one slice. The arena is entered only for as long as it works: lanes wait for the consumer when
/// they emit, and the consumer needs the arena too.
Result<GroupChunk> PartitionedGroupBy::run_kernel(std::uint32_t lane, GroupTask const& task) {
  GARUDA_TRY_ASSIGN(auto const slice, arena_.execute([&] { return keys_.slice(task, options_.control); }));
  GARUDA_TRY_ASSIGN(auto const kernel, backend_->begin(slice.keys, lane));
  GARUDA_TRY_ASSIGN(auto const num_groups, kernel->group());
  std::vector<std::uint32_t> heads(num_groups);
  GARUDA_TRY(kernel->heads(heads));

  GroupChunk chunk;
  chunk.partition = task.partition;
  if (!task.is_whole) chunk.keys = HeadKeys::of(slice.keys, heads);
  auto const rows = keys_.rows(task);
  chunk.head_rows.reserve(num_groups);
  for (auto const head : heads) chunk.head_rows.push_back(rows[head]);
  for (auto const& reader : values_) {
    std::optional<SliceValues> values;
    {
      PhaseTimer const timer(recorder_, "values");
      GARUDA_TRY_ASSIGN(values, arena_.execute([&] { return reader.read(rows, options_.control); }));
    }
    GARUDA_TRY_ASSIGN(auto state, kernel->aggregate(values->input));
    chunk.states.push_back(std::move(state));
  }
  return chunk;
}

void PartitionedGroupBy::report_progress(std::uint64_t groups) {
  std::lock_guard const lock(progress_mutex_);
  ++tasks_done_;
  groups_found_ += groups;
  if (options_.control.on_progress)
    options_.control.on_progress({"group", std::min(tasks_done_, num_tasks_), num_tasks_, groups_found_});
}

GroupChunk PartitionedGroupBy::empty_table() const {
  GroupChunk chunk;
  chunk.head_rows.push_back(0);
  for (auto column : columns_.states) {
    column.states |= kCountState;  // 0 of them: the group has no values
    chunk.states.push_back(empty_state(column, 1));
  }
  return chunk;
}

Result<std::optional<GroupChunk>> PartitionedGroupBy::next_partition() {
  if (num_tasks_ == 0) {
    if (!columns_.keys.empty() || std::exchange(empty_returned_, true)) return std::nullopt;
    return empty_table();
  }
  if (scheduler_ == nullptr) start_lanes();
  auto groups = std::exchange(pending_, std::nullopt);
  while (true) {
    GARUDA_TRY_ASSIGN(auto next, scheduler_->next());
    if (!next || (groups && next->partition != groups->partition)) {
      pending_ = std::move(next);
      return groups;
    }
    if (!groups) {
      groups = std::move(next);
      continue;
    }
    PhaseTimer const timer(recorder_, "merge", 0, next->size());
    GARUDA_TRY(merge_groups(columns_.states, *next, options_.control, *groups));
  }
}

Plan PartitionedGroupBy::plan() const { return recorder_.with_notes(plan_.plan); }

RunStats PartitionedGroupBy::stats(std::uint64_t rows_out) const {
  auto stats = recorder_.stats_since(start_);
  stats.path = plan_.plan.path;
  stats.device = plan_.plan.device;
  stats.driver = plan_.plan.driver;
  stats.rows = static_cast<std::uint64_t>(table_.num_rows());
  stats.rows_out = rows_out;
  return stats;
}

namespace {

/// What placement=device cannot give.
Result<void> check_placement(GroupByRequest const& request) {
  if (request.options.tuning.placement != Placement::device) return {};
  if (request.options.path != Path::compute) return fail(ErrorCode::usage, "placement=device is of path compute");
  if (!may_stream(request.options))
    return fail(ErrorCode::usage,
                "placement=device takes no slices: address, keys, grouping, method, counting, spread, "
                "radix_bits and slice_rows are of others");
  return {};
}

}  // namespace

Result<std::unique_ptr<GroupByResult>> group_by(GroupByRequest const& request) {
  GARUDA_TRY(check_placement(request));
  StreamedGroupChoice choice;
  if (may_stream(request.options)) {
    GARUDA_TRY_ASSIGN(choice, plan_streamed_group_by(request));
  }
  // Path compute would move every row up as well, after the host has encoded and partitioned it.
  if (choice.plan && request.options.path == Path::compute) {
    auto streamed = streamed_group_by(request, std::move(*choice.plan));
    bool const is_asked = request.options.tuning.placement == Placement::device;
    if (streamed || is_asked || !is_shortage(streamed.error())) return streamed;
    choice.plan.reset();
    choice.refusal = streamed.error().message();
  }
  GARUDA_TRY_ASSIGN(auto prepared, PartitionedGroupBy::prepare(request, choice.plan ? &*choice.plan : nullptr));
  if (prepared.cheaper) {
    auto& plan = choice.plan->plan;
    plan.estimated = std::move(*prepared.cheaper);
    plan.candidates = {plan.estimated};
    auto streamed = streamed_group_by(request, std::move(*choice.plan));
    if (streamed || !is_shortage(streamed.error())) return streamed;
    GARUDA_TRY_ASSIGN(prepared, PartitionedGroupBy::prepare(request));
  }
  if (!choice.refusal.empty() && request.options.path == Path::compute)
    prepared.run->recorder().note(fmt::format("placement=slices: {}", choice.refusal));
  return grouped_result(request, std::move(prepared.run));
}

Result<Plan> explain_group_by(GroupByRequest const& request) {
  GARUDA_TRY(check_placement(request));
  StreamedGroupChoice choice;
  if (may_stream(request.options)) {
    GARUDA_TRY_ASSIGN(choice, plan_streamed_group_by(request));
    if (choice.plan && request.options.path == Path::compute) return std::move(choice.plan->plan);
  }
  RunRecorder recorder;
  oneapi::tbb::task_arena arena(arena_threads(request.options.threads));
  GARUDA_TRY_ASSIGN(auto sampled, sample_groups(request, arena, recorder));
  std::optional<Candidate> candidate;
  if (choice.plan) candidate = streamed_unencoded(*choice.plan, request, sampled, arena);
  bool const is_unencoded = candidate.has_value();
  GARUDA_TRY_ASSIGN(auto planned, plan_groups(request, std::move(sampled), arena, recorder));
  auto& plan = planned.plan.plan;
  if (!choice.refusal.empty() && request.options.path == Path::compute)
    plan.notes.push_back(fmt::format("placement=slices: {}", choice.refusal));
  if (!choice.plan) return std::move(plan);
  if (!candidate) candidate = streamed_encoded(*choice.plan, planned);
  plan.candidates.push_back(*candidate);
  if (!is_unencoded && candidate->estimated_ns >= plan.estimated.estimated_ns) return std::move(plan);
  auto& streamed = choice.plan->plan;
  streamed.estimated = std::move(*candidate);
  streamed.candidates = std::move(plan.candidates);
  return std::move(streamed);
}

}  // namespace garuda::operators
