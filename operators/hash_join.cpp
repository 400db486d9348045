// The join as GARUDA §3 states it: encode the keys, radix-partition both sides, then build, count and probe partition
// by partition on the path that was planned. How a path does the latter is behind JoinKernel.
#include "operators/hash_join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "operators/gathered_join.hpp"
#include "operators/host_memory.hpp"
#include "operators/key_repeats.hpp"
#include "operators/key_statistics.hpp"
#include "operators/plain_column.hpp"
#include "operators/row_bytes.hpp"
#include "operators/sizing.hpp"
#include "partition/match_sample.hpp"

namespace garuda::operators {
namespace {

/// Most pairs that a kernel is asked for at once.
constexpr std::uint64_t kWindowRows = std::uint64_t{1} << 20;
/// Probe rows of a slice of the CPU path: what they found stays in a second-level cache until its pairs are written.
constexpr std::uint64_t kProbeSliceRows = std::uint64_t{1} << 16;
/// A batch gets room for a few more rows than expected, so that it seldom ends short of its task.
constexpr double kCapacitySlack = 1.05;

std::uint64_t key_range(partition::EncodedKeys const& keys) { return keys.num_rows == 0 ? 0 : keys.max - keys.min + 1; }

JoinShape shape_of(JoinRequest const& request, partition::EncodedJoinKeys const& keys, JoinOutput output,
                   std::uint32_t threads) {
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
  if (output != JoinOutput::count) shape.expected_matches = partition::expected_matches(keys.left, keys.right);
  auto const left = sample_keys(keys.left);
  auto const right = sample_keys(keys.right);
  shape.distinct_left = left.distinct;
  shape.distinct_right = right.distinct;
  shape.heaviest_left = left.heaviest_share;
  shape.heaviest_right = right.heaviest_share;
  shape.output = output_shape(request, output);
  shape.threads = threads;
  shape.free_host_bytes = free_host_bytes();
  return shape;
}

Error cancelled() { return Error(ErrorCode::cancelled, "the join was cancelled"); }

}  // namespace

std::vector<OutputShape> output_shape(JoinRequest const& request, JoinOutput output) {
  std::vector<OutputShape> shapes;
  if (output == JoinOutput::count) return shapes;
  for (auto const& column : request.columns.output) {
    auto const is_left = column.side == Side::left;
    auto const& table = is_left ? request.left : request.right;
    auto const is_key = column.column == (is_left ? request.columns.left_key : request.columns.right_key);
    auto const makes_batches = output == JoinOutput::batches;
    shapes.push_back({column.side, column.column, static_cast<double>(column_row_bytes(table, column.column)),
                      makes_batches && is_key, makes_batches && is_plain(table, column.column)});
  }
  return shapes;
}

Result<PlannedJoin> plan_keys(JoinRequest const& request, JoinOutput output, oneapi::tbb::task_arena& arena,
                              StatsSink& stats) {
  PlannedJoin planned;
  {
    PhaseTimer const timer(stats, "encode");
    GARUDA_TRY_ASSIGN(planned.keys, arena.execute([&] {
      return partition::encode_join_keys(request.left, request.columns.left_key, request.right,
                                         request.columns.right_key, request.options.control);
    }));
  }
  PhaseTimer const timer(stats, "partition");
  auto const shape = shape_of(request, planned.keys, output, static_cast<std::uint32_t>(arena.max_concurrency()));
  planned.expected_matches = shape.expected_matches;
  GARUDA_TRY_ASSIGN(planned.plan, plan_join(shape, machine_of(*request.devices, shape.threads), request.options));
  for (auto const c : planned.plan.carried)
    (shape.output[c].side == Side::left ? planned.left_carried : planned.right_carried)
        .push_back(shape.output[c].column);
  GARUDA_TRY_ASSIGN(planned.digit, arena.execute([&] {
    return partition::choose_digit(planned.keys.left, planned.keys.right, planned.plan.plan.radix_bits,
                                   request.options.control);
  }));
  planned.plan.plan.notes.insert(planned.plan.plan.notes.end(), request.notes.begin(), request.notes.end());
  auto const digit = planned.digit.digit;
  planned.plan.plan.radix_bits = digit.bits;
  planned.plan.plan.radix_shift = digit.shift;
  planned.plan.plan.mixed_digit = digit.mixed;
  return planned;
}

PartitionedJoin::PartitionedJoin(JoinRequest const& request, JoinOutput output)
    : left_table_(request.left),
      right_table_(request.right),
      columns_(request.columns),
      options_(request.options),
      output_(output),
      devices_(request.devices),
      start_(std::chrono::steady_clock::now()),
      arena_(arena_threads(request.options.threads)) {
  options_.control.abandoned = &abandoned_;
}

PartitionedJoin::~PartitionedJoin() { abandoned_ = true; }

Result<std::unique_ptr<PartitionedJoin>> PartitionedJoin::prepare(JoinRequest const& request, JoinOutput output,
                                                                  RivalCost const& rival) {
  std::unique_ptr<PartitionedJoin> join(new PartitionedJoin(request, output));
  GARUDA_TRY_ASSIGN(auto planned, plan_keys(request, output, join->arena_, join->recorder_));
  if (rival && rival(planned.expected_matches) < planned.plan.plan.estimated.estimated_ns) return nullptr;
  if (planned.plan.plan.path != Path::cpu && output == JoinOutput::batches) join->output_ = JoinOutput::pairs;
  auto const expected_matches = planned.expected_matches;
  GARUDA_TRY(join->partition_keys(std::move(planned)));
  join->cut_tasks(expected_matches);
  GARUDA_TRY(join->open_path());
  return join;
}

Result<void> PartitionedJoin::partition_keys(PlannedJoin planned) {
  plan_ = std::move(planned.plan);
  digit_ = planned.digit.digit;
  PartitionedTable left{left_table_, columns_.left_key, planned.keys.base, &left_, std::move(planned.left_carried)};
  PartitionedTable right{right_table_, columns_.right_key, planned.keys.base, &right_,
                         std::move(planned.right_carried)};
  {
    PhaseTimer timer(recorder_, "partition");
    GARUDA_TRY_ASSIGN(left_,
                      partition_side(std::move(planned.keys.left), std::move(planned.digit.left), left, Side::left));
    GARUDA_TRY_ASSIGN(
        right_, partition_side(std::move(planned.keys.right), std::move(planned.digit.right), right, Side::right));
    std::uint64_t bytes = 0;
    for (auto const* side : {&left_, &right_}) {
      bytes += static_cast<std::uint64_t>(side->owned_keys.size_bytes() + side->owned_row_ids.size_bytes());
      for (auto const& column : side->payload) bytes += static_cast<std::uint64_t>(column.size_bytes());
    }
    if (digit_.bits > 0) timer.count(2 * bytes, left_.num_rows() + right_.num_rows());
  }
  recorder_.max_counter("partitions", left_.num_partitions());
  recorder_.max_counter("columns_carried", left_.payload.size() + right_.payload.size());
  if (output_ != JoinOutput::batches) return {};
  GARUDA_TRY_ASSIGN(sources_, BatchSources::create(std::move(left), std::move(right), columns_));
  return {};
}

/// Columns are carried by rows that move: where none does, those of `side` are fetched by row.
Result<partition::PartitionedKeys> PartitionedJoin::partition_side(partition::EncodedKeys keys,
                                                                   partition::DigitCounts counts,
                                                                   PartitionedTable& side, Side which) {
  if (keys.num_rows == 0 || digit_.bits == 0) side.carried.clear();
  partition::PartitionOptions options;
  options.counts = std::move(counts);
  // A table of the CPU path narrows the range itself while it has the keys in its caches.
  options.ranges = plan_.plan.path != Path::cpu;
  options.row_ids =
      output_ == JoinOutput::pairs || (output_ == JoinOutput::batches && needs_row_ids(side, columns_, which));
  std::vector<partition::PayloadColumn> payload;
  for (auto const column : side.carried) payload.push_back(payload_column(side.table, column));
  options.payload = payload;
  return arena_.execute(
      [&] { return partition::radix_partition(std::move(keys), digit_, options_.control, std::move(options)); });
}

/// Slices of the CPU path share their build side, and a task is as many of them as fill a batch. A slice of another
/// path is a task of its own.
void PartitionedJoin::cut_tasks(double expected_matches) {
  auto const& plan = plan_.plan;
  if (plan.path != Path::cpu) {
    slices_ = cut_slices(left_.offsets, right_.offsets, plan.slice_rows);
    for (std::size_t s = 0; s <= slices_.size(); ++s) tasks_.push_back(s);
    return;
  }
  auto const probe_rows = std::min(plan.slice_rows, kProbeSliceRows);
  std::optional<Side> favoured;
  if (plan_.tuning.build == BuildSide::automatic) favoured = less_repeated_side(left_, right_);
  slices_ =
      cut_probe_slices(left_.offsets, right_.offsets, {plan.slice_rows, probe_rows}, plan_.tuning.build, favoured);
  auto const rows = std::max<std::uint64_t>(std::max(left_.num_rows(), right_.num_rows()), 1);
  // Where few rows match, more of them go into one batch.
  auto const matches_a_row = std::clamp(expected_matches / static_cast<double>(rows), 1.0 / 16, 1.0);
  auto const fair = rows / (std::uint64_t{plan.lanes} * kTasksPerLane);
  auto const filling = static_cast<std::uint64_t>(static_cast<double>(plan.chunk_rows) / matches_a_row);
  tasks_ = group_slices(slices_, std::clamp(fair, std::min(kSmallestTaskRows, filling), filling));
}

Result<void> PartitionedJoin::open_path() {
  BackendOptions backend;
  backend.tuning = plan_.tuning;
  backend.lanes = plan_.plan.lanes;
  backend.key_bits = plan_.plan.key_bits;
  backend.pairs_wanted = output_ != JoinOutput::count;
  backend.device_memory_limit_bytes = options_.device_memory_limit_bytes;
  backend.rates = plan_.rates;
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
  GARUDA_EXPECTS(output_ == JoinOutput::count && pair_lanes_ == nullptr);
  pair_lanes_ = start_lanes<LaneScheduler>([this](std::uint32_t lane, std::size_t task, LaneScheduler::Emit const&) {
    return join_task(lane, task, [](JoinKernel&, std::uint64_t count, SliceTask const&, std::uint64_t* rows) {
      *rows = count;
      return Result<void>{};
    });
  });
  GARUDA_TRY(pair_lanes_->next());
  return rows_counted_.load();
}

Result<std::optional<PairChunk>> PartitionedJoin::next_pairs() {
  GARUDA_EXPECTS(output_ == JoinOutput::pairs);
  if (pair_lanes_ == nullptr)
    pair_lanes_ =
        start_lanes<LaneScheduler>([this](std::uint32_t lane, std::size_t task, LaneScheduler::Emit const& emit) {
          return join_task(lane, task,
                           [&](JoinKernel& kernel, std::uint64_t count, SliceTask const& slice, std::uint64_t* rows) {
                             return emit_pairs(kernel, count, slice, rows, emit);
                           });
        });
  return pair_lanes_->next();
}

Result<std::optional<Batch>> PartitionedJoin::next_batch() {
  GARUDA_EXPECTS(output_ == JoinOutput::batches);
  if (batch_lanes_ == nullptr)
    batch_lanes_ =
        start_lanes<BatchScheduler>([this](std::uint32_t lane, std::size_t task, BatchScheduler::Emit const& emit) {
          return build_batches(lane, task, emit);
        });
  GARUDA_TRY_ASSIGN(auto chunk, batch_lanes_->next());
  if (!chunk) return std::nullopt;
  return std::move(chunk->batch);
}

/// Lanes of the CPU path share the threads: each has an arena of its own, so that they do not wait for one another's
/// loops.
template <class Scheduler, class Work>
std::unique_ptr<Scheduler> PartitionedJoin::start_lanes(Work work) {
  auto const lanes = plan_.plan.lanes;
  auto const threads = static_cast<std::uint32_t>(arena_.max_concurrency());
  for (std::uint32_t lane = 0; lane < lanes; ++lane)
    lane_arenas_.push_back(
        std::make_unique<oneapi::tbb::task_arena>(static_cast<int>(std::max<std::uint32_t>(threads / lanes, 1))));
  auto in_arena = [this, work = std::move(work)](std::uint32_t lane, std::size_t task,
                                                 typename Scheduler::Emit const& emit) {
    if (plan_.plan.path != Path::cpu) return work(lane, task, emit);
    return lane_arenas_[lane]->execute([&] { return work(lane, task, emit); });
  };
  auto const tasks = tasks_.empty() ? 0 : tasks_.size() - 1;
  return std::make_unique<Scheduler>(tasks, lanes, 2 * plan_.plan.chunk_rows, std::move(in_arena));
}

Result<void> PartitionedJoin::join_task(std::uint32_t lane, std::size_t task, Consume const& consume) {
  for (auto s = tasks_[task]; s < tasks_[task + 1]; ++s) {
    GARUDA_TRY(join_slice(lane, slices_[s], consume));
    recorder_.add_counter("slices", 1);
    report_progress();
  }
  return {};
}

/// A slice that turns out not to fit the device is halved until it does.
Result<void> PartitionedJoin::join_slice(std::uint32_t lane, SliceTask const& slice, Consume const& consume) {
  if (options_.control.is_cancelled()) return tl::unexpected<Error>(cancelled());
  std::uint64_t rows = 0;
  auto done = run_kernel(lane, slice, consume, &rows);
  rows_counted_ += rows;
  if (done || rows > 0 || !is_shortage(done.error())) return done;
  auto const halves = split_slice(slice);
  if (!halves) return done;
  recorder_.add_counter("slices_split", 1);
  for (auto const& half : *halves) GARUDA_TRY(join_slice(lane, half, consume));
  return {};
}

/// Build, count and probe of one slice. `*rows` stays 0 unless its pairs have begun to be handed over.
Result<void> PartitionedJoin::run_kernel(std::uint32_t lane, SliceTask const& slice, Consume const& consume,
                                         std::uint64_t* rows) {
  JoinSlice const keys{keys_of(left_, slice.partition, slice.left), keys_of(right_, slice.partition, slice.right),
                       partition::shared_low_bits(digit_), slice.build};
  GARUDA_TRY_ASSIGN(auto const kernel, backend_->begin(keys, lane));
  GARUDA_TRY_ASSIGN(auto const count, kernel->count());
  return consume(*kernel, count, slice, rows);
}

/// The result buffers are sized by the kernel's first window, so a shortage shows before any pair is handed over.
Result<void> PartitionedJoin::emit_pairs(JoinKernel& kernel, std::uint64_t count, SliceTask const& slice,
                                         std::uint64_t* rows, LaneScheduler::Emit const& emit) const {
  auto const window = std::min({kWindowRows, plan_.plan.chunk_rows, std::max<std::uint64_t>(count, 1)});
  std::vector<RowPair> pairs(window);
  for (std::uint64_t first = 0; first < count; first += window) {
    if (options_.control.is_cancelled()) return tl::unexpected<Error>(cancelled());
    auto const taken = std::min(window, count - first);
    GARUDA_TRY(kernel.pairs(first, std::span(pairs).first(taken)));
    PairChunk chunk;
    chunk.left.resize(taken);
    chunk.right.resize(taken);
    for (std::uint64_t i = 0; i < taken; ++i) {
      chunk.left[i] = static_cast<std::int64_t>(left_.row_id(slice.left.begin + pairs[i].left));
      chunk.right[i] = static_cast<std::int64_t>(right_.row_id(slice.right.begin + pairs[i].right));
    }
    *rows += taken;
    if (!emit(std::move(chunk))) return {};
  }
  return {};
}

/// Rows of the larger sides from `slice` to the end of its task.
std::uint64_t PartitionedJoin::task_rows_from(std::size_t task, SliceTask const& slice) const {
  std::uint64_t rows = 0;
  for (auto s = tasks_[task + 1]; s > tasks_[task]; --s) {
    auto const& other = slices_[s - 1];
    rows += std::max(other.left.size(), other.right.size());
    if (other == slice) break;
  }
  return rows;
}

/// One task's batches: rows are written as soon as their pairs are found, while what they need is cached.
class PartitionedJoin::BatchTask {
 public:
  BatchTask(PartitionedJoin& join, std::size_t task, BatchScheduler::Emit const& emit)
      : join_(join), task_(task), emit_(emit), builder_(*join.sources_), window_(kAppendedPairs) {}

  Result<void> consume(JoinKernel& kernel, std::uint64_t count, SliceTask const& slice, std::uint64_t* rows) {
    auto const probe = slice.build == Side::left ? Side::right : Side::left;
    auto const sole = kernel.sole_matches();
    for (std::uint64_t first = 0; first < count && !stopped_;) {
      if (join_.options_.control.is_cancelled()) return tl::unexpected<Error>(cancelled());
      if (builder_.size() > 0 && builder_.room() == 0) GARUDA_TRY(hand_over());
      if (builder_.size() == 0) GARUDA_TRY(builder_.start(capacity(count, first, slice)));
      auto const taken = std::min({kAppendedPairs, count - first, builder_.room()});
      PositionBases const bases{slice.left.begin, slice.right.begin};
      if (sole.empty()) {
        auto const pairs = std::span(window_).first(taken);
        GARUDA_TRY(kernel.pairs(first, pairs));
        PhaseClock const clock(gathering_);
        builder_.append(pairs, bases, probe);
      } else {
        PhaseClock const clock(gathering_);
        builder_.append_sole(sole.subspan(first, taken), first, bases, probe);
      }
      first += taken;
      *rows += taken;
      rows_ += taken;
    }
    return {};
  }

  /// Hands the last batch over.
  Result<void> finish() {
    GARUDA_TRY(hand_over());
    auto const ns = std::chrono::duration_cast<std::chrono::nanoseconds>(gathering_).count();
    join_.recorder_.add_phase("gather", static_cast<std::uint64_t>(ns), 0, rows_);
    return {};
  }

 private:
  using Duration = std::chrono::steady_clock::duration;

  /// Adds its lifetime to a sum.
  class PhaseClock {
   public:
    explicit PhaseClock(Duration& sum) : sum_(sum), start_(std::chrono::steady_clock::now()) {}
    PhaseClock(PhaseClock const&) = delete;
    PhaseClock& operator=(PhaseClock const&) = delete;
    ~PhaseClock() { sum_ += std::chrono::steady_clock::now() - start_; }

   private:
    Duration& sum_;
    std::chrono::steady_clock::time_point start_;
  };

  /// Rows of a new batch: as many as the rest of the task has, if it matches as this slice does.
  std::uint64_t capacity(std::uint64_t count, std::uint64_t first, SliceTask const& slice) const {
    auto const most = join_.plan_.plan.chunk_rows;
    auto const larger = static_cast<double>(std::max(slice.left.size(), slice.right.size()));
    auto const expected =
        kCapacitySlack * static_cast<double>(count) / larger * static_cast<double>(join_.task_rows_from(task_, slice));
    return std::max(std::min(count - first, most),
                    static_cast<std::uint64_t>(std::min(expected, static_cast<double>(most))));
  }

  Result<void> hand_over() {
    std::vector<Batch> batches;
    {
      PhaseClock const clock(gathering_);
      GARUDA_TRY_ASSIGN(batches, builder_.finish());
    }
    for (auto& batch : batches)
      if (!stopped_ && !emit_(BatchChunk{std::move(batch)})) stopped_ = true;
    return {};
  }

  PartitionedJoin& join_;
  std::size_t task_;
  BatchScheduler::Emit const& emit_;
  BatchBuilder builder_;
  std::vector<RowPair> window_;
  bool stopped_ = false;
  Duration gathering_{};
  std::uint64_t rows_ = 0;
};

Result<void> PartitionedJoin::build_batches(std::uint32_t lane, std::size_t task, BatchScheduler::Emit const& emit) {
  BatchTask batches(*this, task, emit);
  GARUDA_TRY(
      join_task(lane, task, [&](JoinKernel& kernel, std::uint64_t count, SliceTask const& slice, std::uint64_t* rows) {
        return batches.consume(kernel, count, slice, rows);
      }));
  return batches.finish();
}

void PartitionedJoin::report_progress() {
  std::lock_guard const lock(progress_mutex_);
  ++slices_done_;
  if (options_.control.on_progress)
    options_.control.on_progress({"join", slices_done_, slices_.size(), rows_counted_.load()});
}

Plan PartitionedJoin::plan() const { return recorder_.with_notes(plan_.plan); }

RunStats PartitionedJoin::stats(std::uint64_t rows_out) const {
  auto stats = recorder_.stats_since(start_);
  stats.path = plan_.plan.path;
  stats.device = plan_.plan.device;
  stats.driver = plan_.plan.driver;
  stats.rows_left = static_cast<std::uint64_t>(left_table_.num_rows());
  stats.rows_right = static_cast<std::uint64_t>(right_table_.num_rows());
  stats.rows_out = rows_out;
  return stats;
}

}  // namespace garuda::operators
