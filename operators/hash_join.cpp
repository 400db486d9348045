// The join as GARUDA §3 states it: encode the keys, radix-partition both sides, then build, count and probe partition
// by partition on the path that was planned. How a path does the latter is behind JoinKernel.
#include "operators/hash_join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "operators/gathered_join.hpp"
#include "operators/host_memory.hpp"
#include "operators/ordered_join.hpp"
#include "operators/sizing.hpp"

namespace garuda::operators {
namespace {

/// Most pairs that a kernel is asked for at once.
constexpr std::uint64_t kWindowRows = std::uint64_t{1} << 20;

std::uint64_t key_range(partition::EncodedKeys const& keys) { return keys.num_rows == 0 ? 0 : keys.max - keys.min + 1; }

JoinShape shape_of(JoinRequest const& request, partition::EncodedJoinKeys const& keys, std::uint32_t threads) {
  JoinShape shape;
  shape.rows_left = keys.left.num_rows;
  shape.rows_right = keys.right.num_rows;
  shape.key_bits = keys.left.key_bits;
  shape.key_range_left = key_range(keys.left);
  shape.key_range_right = key_range(keys.right);
  for (auto const* side : {&keys.left, &keys.right}) {
    shape.encoded_bytes += static_cast<std::uint64_t>(side->owned_words.size_bytes() + side->row_ids.size_bytes());
    shape.wide_row_ids = shape.wide_row_ids || side->table_rows > (std::uint64_t{1} << 32);
  }
  shape.output_row_bytes = output_row_bytes(request.left, request.right, request.columns);
  shape.threads = threads;
  shape.free_host_bytes = free_host_bytes();
  return shape;
}

Error cancelled() { return Error(ErrorCode::cancelled, "the join was cancelled"); }

}  // namespace

Result<PlannedJoin> plan_keys(JoinRequest const& request, oneapi::tbb::task_arena& arena, StatsSink& stats) {
  PlannedJoin planned;
  {
    PhaseTimer const timer(stats, "encode");
    GARUDA_TRY_ASSIGN(planned.keys, arena.execute([&] {
      return partition::encode_join_keys(request.left, request.columns.left_key, request.right,
                                         request.columns.right_key, request.options.control);
    }));
  }
  auto const shape = shape_of(request, planned.keys, static_cast<std::uint32_t>(arena.max_concurrency()));
  GARUDA_TRY_ASSIGN(planned.plan, plan_join(shape, facts_of(*request.devices), request.options));
  PhaseTimer const timer(stats, "partition");
  GARUDA_TRY_ASSIGN(planned.digit, arena.execute([&] {
    return partition::choose_digit(planned.keys.left, planned.keys.right, planned.plan.plan.radix_bits,
                                   request.options.control);
  }));
  auto const digit = planned.digit.digit;
  planned.plan.plan.radix_bits = digit.bits;
  planned.plan.plan.radix_shift = digit.shift;
  planned.plan.plan.mixed_digit = digit.mixed;
  return planned;
}

PartitionedJoin::PartitionedJoin(JoinRequest const& request)
    : left_table_(request.left),
      right_table_(request.right),
      options_(request.options),
      devices_(request.devices),
      start_(std::chrono::steady_clock::now()),
      arena_(arena_threads(request.options.threads)) {
  options_.control.abandoned = &abandoned_;
}

PartitionedJoin::~PartitionedJoin() { abandoned_ = true; }

Result<std::unique_ptr<PartitionedJoin>> PartitionedJoin::prepare(JoinRequest const& request) {
  std::unique_ptr<PartitionedJoin> join(new PartitionedJoin(request));
  GARUDA_TRY_ASSIGN(auto planned, plan_keys(request, join->arena_, join->recorder_));
  GARUDA_TRY(join->partition_keys(std::move(planned)));
  join->slices_ = cut_slices(join->left_.offsets, join->right_.offsets, join->plan_.plan.slice_rows);
  GARUDA_TRY(join->open_path());
  return join;
}

Result<void> PartitionedJoin::partition_keys(PlannedJoin planned) {
  plan_ = std::move(planned.plan);
  digit_ = planned.digit.digit;
  PhaseTimer timer(recorder_, "partition");
  GARUDA_TRY_ASSIGN(left_, partition_side(std::move(planned.keys.left), std::move(planned.digit.left)));
  GARUDA_TRY_ASSIGN(right_, partition_side(std::move(planned.keys.right), std::move(planned.digit.right)));
  auto const rows = left_.num_rows() + right_.num_rows();
  if (digit_.bits > 0) timer.count(2 * rows * (plan_.plan.key_bits / 8 + (left_.wide_row_ids ? 8 : 4)), rows);
  recorder_.max_counter("partitions", left_.num_partitions());
  return {};
}

Result<partition::PartitionedKeys> PartitionedJoin::partition_side(partition::EncodedKeys keys,
                                                                   partition::DigitCounts counts) {
  partition::PartitionOptions options;
  options.counts = std::move(counts);
  return arena_.execute(
      [&] { return partition::radix_partition(std::move(keys), digit_, options_.control, std::move(options)); });
}

Result<void> PartitionedJoin::open_path() {
  PhaseTimer const timer(recorder_, "open");
  BackendOptions backend;
  backend.tuning = plan_.tuning;
  backend.lanes = plan_.plan.lanes;
  backend.key_bits = plan_.plan.key_bits;
  backend.device_memory_limit_bytes = options_.device_memory_limit_bytes;
  backend.control = &options_.control;
  backend.stats = &recorder_;
  for (auto const& slice : slices_) {
    backend.max_left_rows = std::max(backend.max_left_rows, slice.left.size());
    backend.max_right_rows = std::max(backend.max_right_rows, slice.right.size());
  }
  auto const* path = find_join_path(plan_.plan.path);
  GARUDA_EXPECTS(path != nullptr);
  OpenDevice device;
  if (plan_.device) {
    GARUDA_TRY_ASSIGN(device, devices_->open(*plan_.device));
  }
  GARUDA_TRY_ASSIGN(backend_, path->open(device, backend));
  return {};
}

Result<std::uint64_t> PartitionedJoin::count() {
  GARUDA_EXPECTS(scheduler_ == nullptr);
  scheduler_ = start_lanes(true);
  GARUDA_TRY(scheduler_->next());
  return rows_counted_.load();
}

Result<std::optional<PairChunk>> PartitionedJoin::next_pairs() {
  if (scheduler_ == nullptr) scheduler_ = start_lanes(false);
  return scheduler_->next();
}

std::unique_ptr<LaneScheduler> PartitionedJoin::start_lanes(bool count_only) {
  auto work = [this, count_only](std::uint32_t lane, std::size_t task, Emit const& emit) -> Result<void> {
    std::uint64_t rows = 0;
    GARUDA_TRY(join_slice(lane, slices_[task], count_only ? nullptr : &emit, &rows));
    rows_counted_ += rows;
    recorder_.add_counter("slices", 1);
    report_progress();
    return {};
  };
  return std::make_unique<LaneScheduler>(slices_.size(), plan_.plan.lanes, 2 * plan_.plan.chunk_rows, std::move(work));
}

/// A slice that turns out not to fit the device is halved until it does.
Result<void> PartitionedJoin::join_slice(std::uint32_t lane, SliceTask const& slice, Emit const* emit,
                                         std::uint64_t* rows) {
  if (options_.control.is_cancelled()) return tl::unexpected<Error>(cancelled());
  std::uint64_t slice_rows = 0;
  auto done = run_kernel(lane, slice, emit, &slice_rows);
  *rows += slice_rows;
  if (done || slice_rows > 0 || !is_shortage(done.error())) return done;
  auto const halves = split_slice(slice);
  if (!halves) return done;
  recorder_.add_counter("slices_split", 1);
  for (auto const& half : *halves) GARUDA_TRY(join_slice(lane, half, emit, rows));
  return {};
}

/// Build, count and probe of one slice. `*rows` stays 0 unless its pairs have begun to be handed over.
Result<void> PartitionedJoin::run_kernel(std::uint32_t lane, SliceTask const& slice, Emit const* emit,
                                         std::uint64_t* rows) {
  JoinSlice const keys{keys_of(left_, slice.partition, slice.left), keys_of(right_, slice.partition, slice.right),
                       partition::shared_low_bits(digit_)};
  GARUDA_TRY_ASSIGN(auto const kernel, backend_->begin(keys, lane));
  GARUDA_TRY_ASSIGN(auto const count, kernel->count());
  if (emit == nullptr) {
    *rows = count;
    return {};
  }
  // The result buffers are sized by the kernel's first window, so a shortage shows before any pair is handed over.
  return emit_pairs(*kernel, count, slice, [&](PairChunk&& chunk) {
    *rows += chunk.size();
    return (*emit)(std::move(chunk));
  });
}

Result<void> PartitionedJoin::emit_pairs(JoinKernel& kernel, std::uint64_t count, SliceTask const& slice,
                                         Emit const& emit) {
  auto const window = std::min({kWindowRows, plan_.plan.chunk_rows, std::max<std::uint64_t>(count, 1)});
  std::vector<RowPair> pairs(window);
  for (std::uint64_t first = 0; first < count; first += window) {
    if (options_.control.is_cancelled()) return tl::unexpected<Error>(cancelled());
    auto const rows = std::min(window, count - first);
    GARUDA_TRY(kernel.pairs(first, std::span(pairs).first(rows)));
    PairChunk chunk;
    chunk.left.resize(rows);
    chunk.right.resize(rows);
    for (std::uint64_t i = 0; i < rows; ++i) {
      chunk.left[i] = static_cast<std::int64_t>(left_.row_id(slice.left.begin + pairs[i].left));
      chunk.right[i] = static_cast<std::int64_t>(right_.row_id(slice.right.begin + pairs[i].right));
    }
    if (!emit(std::move(chunk))) return {};
  }
  return {};
}

void PartitionedJoin::report_progress() {
  std::lock_guard const lock(progress_mutex_);
  ++slices_done_;
  if (options_.control.on_progress)
    options_.control.on_progress({"join", slices_done_, slices_.size(), rows_counted_.load()});
}

Plan PartitionedJoin::plan() const {
  auto plan = plan_.plan;
  for (auto& note : recorder_.notes()) plan.notes.push_back(std::move(note));
  return plan;
}

RunStats PartitionedJoin::stats(std::uint64_t rows_out) const {
  RunStats stats;
  stats.path = plan_.plan.path;
  stats.device = plan_.plan.device;
  stats.driver = plan_.plan.driver;
  stats.rows_left = static_cast<std::uint64_t>(left_table_.num_rows());
  stats.rows_right = static_cast<std::uint64_t>(right_table_.num_rows());
  stats.rows_out = rows_out;
  stats.total_ns = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start_).count());
  stats.phases = recorder_.phases();
  stats.counters = recorder_.counters();
  return stats;
}

Result<std::unique_ptr<JoinResult>> hash_join(JoinRequest request) {
  if (request.spec.ordered) return ordered_join(std::move(request));
  return gathered_join(request);
}

Result<Engine::Counted> hash_join_count(JoinRequest const& request) {
  GARUDA_TRY_ASSIGN(auto const join, PartitionedJoin::prepare(request));
  GARUDA_TRY_ASSIGN(auto const rows, join->count());
  return Engine::Counted{rows, join->plan(), join->stats(rows)};
}

Result<Plan> explain_hash_join(JoinRequest const& request) {
  RunRecorder recorder;
  oneapi::tbb::task_arena arena(arena_threads(request.options.threads));
  GARUDA_TRY_ASSIGN(auto planned, plan_keys(request, arena, recorder));
  return std::move(planned.plan.plan);
}

}  // namespace garuda::operators
