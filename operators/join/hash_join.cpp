// The join as GARUDA §3 states it: encode the keys, radix-partition both sides, then build, count and probe partition
// by partition on the path that was planned. How a path does the latter is behind JoinKernel; what becomes of the
// matches is behind MatchSink.
#include "operators/join/hash_join.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "operators/contract/offers/costs.hpp"
#include "operators/contract/sizing.hpp"
#include "operators/materialize/column_bytes.hpp"
#include "operators/plan/join_planner.hpp"
#include "operators/plan/path_choice.hpp"

namespace garuda::join {
namespace {

/// All rows of a table, in place: no words, and position i is row i.
partition::PartitionedKeys rows_in_place(std::uint64_t rows) {
  partition::PartitionedKeys placed;
  placed.offsets = {0, rows};
  placed.ranges.resize(1);
  return placed;
}

/// Whether the words of a side are moved rather than fetched by row: there are some, without nulls, whose bits do not
/// move, and pairs enough, of `rows` rows of the side.
bool are_words_moved(std::span<expr::OrderWords const> columns, double pairs, std::uint64_t rows) {
  return !columns.empty() && contract::moves_words(pairs, static_cast<double>(rows)) &&
         std::ranges::all_of(columns, [](expr::OrderWords const& column) { return column.valid.empty(); });
}

/// The words as columns to be partitioned. Borrows them.
std::vector<partition::PayloadColumn> words_as_payload(std::span<expr::OrderWords const> columns) {
  std::vector<partition::PayloadColumn> payload;
  for (auto const& column : columns)
    std::visit(
        [&]<class Word>(std::span<Word const> words) {
          payload.push_back({sizeof(Word), {{0, reinterpret_cast<std::byte const*>(words.data())}}});
        },
        column.words);
  return payload;
}

/// Makes `columns` those of the payload of `keys` from `first` on, which outlives them.
void take_moved_words(partition::PartitionedKeys const& keys, std::size_t first, std::span<expr::OrderWords> columns) {
  for (std::size_t c = 0; c < columns.size(); ++c)
    std::visit(
        [&]<class Word>(std::span<Word const>& words) {
          words = std::span(keys.payload.at(first + c).as<Word const>(), keys.num_rows());
        },
        columns[c].words);
}

/// Cuts partitions as the path that `plan` chose is fed: where slices share their build side, a task is as many of them
/// as fill a batch; else each slice is a task of its own. `expected_matches`: of the whole join, about.
SlicedJoin cut_tasks(partition::PartitionedKeys const& left, partition::PartitionedKeys const& right, Plan const& plan,
                     contract::JoinFeeding const& feeding, BuildSide build, double expected_matches) {
  SlicedJoin join;
  if (feeding.probe_slice_rows == 0) {
    join.slices = run::cut_slices(left.offsets, right.offsets, plan.slice_rows);
    for (std::size_t s = 0; s <= join.slices.size(); ++s) join.firsts.push_back(s);
    return join;
  }
  auto const probe_rows = std::min(plan.slice_rows, feeding.probe_slice_rows);
  std::optional<Side> favoured;
  if (build == BuildSide::automatic) favoured = plan::less_repeated_side(left, right);
  join.slices = run::cut_probe_slices(left.offsets, right.offsets, {plan.slice_rows, probe_rows}, build, favoured);
  auto const rows = std::max<std::uint64_t>(std::max(left.num_rows(), right.num_rows()), 1);
  // Where few rows match, more of them go into one batch.
  auto const matches_a_row = std::clamp(expected_matches / static_cast<double>(rows), 1.0 / 16, 1.0);
  auto const fair = rows / (std::uint64_t{plan.lanes} * contract::kTasksPerLane);
  auto const filling = static_cast<std::uint64_t>(static_cast<double>(plan.chunk_rows) / matches_a_row);
  join.firsts =
      run::group_slices(join.slices, std::clamp(fair, std::min(contract::kSmallestTaskRows, filling), filling));
  return join;
}

}  // namespace

bool is_marked(contract::JoinParts const& parts, JoinOutput output, Side side) noexcept {
  auto const rows = parts.rows(side);
  return rows != contract::SideRows::none && (rows != contract::SideRows::all || output != JoinOutput::count);
}

Result<void> PlacedSides::place(PlannedJoin planned, PlacedTables const& tables) {
  digit_ = planned.digit.digit;
  bool const has_keys = planned.condition == nullptr;
  // Where rows match by a condition alone it was encoded to plan the join.
  if (has_keys && tables.columns.condition) {
    run::PhaseTimer const timer(tables.run.recorder, "encode");
    GARUDA_TRY_ASSIGN(condition_, tables.run.arena.execute([&] {
      return expr::encode_condition(*tables.columns.condition, tables.left, tables.right, tables.control);
    }));
  }
  auto const source = [&](Side which) {
    PartitionedTable side;
    side.table = tables.of(which);
    side.keys = &of(which).keys;
    side.carried = std::move(which == Side::left ? planned.left_carried : planned.right_carried);
    side.key_base = planned.keys.base.value_or(0);
    if (planned.keys.base) side.key_column = tables.columns.keys.front().of(which);
    return side;
  };
  auto left = source(Side::left);
  auto right = source(Side::right);
  if (has_keys) {
    run::PhaseTimer timer(tables.run.recorder, "partition");
    auto const pairs = planned.expected_matches;
    GARUDA_TRY(
        partition_side(std::move(planned.keys.left), std::move(planned.digit.left), pairs, tables, left, Side::left));
    if (tables.build != nullptr)
      right_.keys = tables.build->partitioned.borrowed();
    else
      GARUDA_TRY(partition_side(std::move(planned.keys.right), std::move(planned.digit.right), pairs, tables, right,
                                Side::right));
    if (digit_.bits > 0)
      timer.count(2 * (left_.keys.owned_bytes() + right_.keys.owned_bytes()),
                  left_.keys.num_rows() + right_.keys.num_rows());
  } else {
    for (auto const side : {Side::left, Side::right}) of(side).keys = rows_in_place(tables.rows(side));
  }
  if (tables.output != JoinOutput::rows) return {};
  GARUDA_TRY_ASSIGN(sources_, BatchSources::create(std::move(left), std::move(right), tables.columns));
  return {};
}

/// Columns are carried by rows that move: where none does, those of `side` are fetched by row.
Result<void> PlacedSides::partition_side(keys::EncodedKeys keys, partition::DigitCounts counts, double expected_matches,
                                         PlacedTables const& tables, PartitionedTable& side, Side which) {
  auto& placed = of(which);
  bool const moves = keys.num_rows > 0 && digit_.bits > 0;
  if (!moves) side.carried.clear();
  bool const marks_rows = tables.output != JoinOutput::count && is_marked(tables.columns.parts, tables.output, which);
  if (marks_rows) placed.in_place = keys_in_place(keys, digit_);
  auto& tested = words(which);
  placed.words_moved = moves && are_words_moved(tested, expected_matches, keys.num_rows);
  bool const tests_rows = !tested.empty() && !placed.words_moved;
  partition::PartitionOptions options;
  options.counts = std::move(counts);
  options.ranges = tables.wants_ranges;
  options.row_ids = tables.output == JoinOutput::pairs || tests_rows ||
                    (marks_rows && placed.in_place.words == nullptr) ||
                    (tables.output == JoinOutput::rows && needs_row_ids(side, tables.columns, which));
  std::vector<partition::PayloadColumn> payload;
  for (auto const& [column, bytes] : side.carried)
    payload.push_back(materialize::carried_column(side.table, column, bytes));
  if (placed.words_moved)
    for (auto& column : words_as_payload(tested)) payload.push_back(std::move(column));
  options.payload = payload;
  GARUDA_TRY_ASSIGN(placed.keys, tables.run.arena.execute([&] {
    return partition::radix_partition(std::move(keys), digit_, tables.control, std::move(options));
  }));
  if (placed.words_moved) take_moved_words(placed.keys, side.carried.size(), tested);
  return {};
}

PartitionedJoin::PartitionedJoin(resolve::JoinRequest const& request, std::unique_ptr<run::QueryRun> run)
    : run_(std::move(run)),
      left_table_(request.left),
      right_table_(request.right),
      columns_(request.columns),
      options_(request.options),
      devices_(request.devices),
      build_(request.build) {
  options_.control.abandoned = &run_->abandoned;
}

PartitionedJoin::~PartitionedJoin() { run_->abandoned = true; }

Result<std::unique_ptr<PartitionedJoin>> PartitionedJoin::prepare(resolve::JoinRequest const& request,
                                                                  PlannedJoin planned,
                                                                  std::unique_ptr<run::QueryRun> run) {
  GARUDA_EXPECTS(!planned.chosen.offer.takes_whole());
  std::unique_ptr<PartitionedJoin> join(new PartitionedJoin(request, std::move(run)));
  join->chosen_ = std::move(planned.chosen);
  join->path_ = plan::find_path(join->chosen_.plan.path);
  join->non_equi_ = planned.condition;
  join->output_ = planned.output;
  if (planned.output == JoinOutput::rows && !join->feeding().makes_batches) join->output_ = JoinOutput::pairs;
  auto const expected_matches = planned.expected_matches;
  GARUDA_TRY(join->place_sides(std::move(planned)));
  join->sliced_ = cut_tasks(join->left(), join->right(), join->chosen_.plan, join->feeding(),
                            join->chosen_.offer.tuning.build, expected_matches);
  GARUDA_TRY(join->open_path(expected_matches));
  return join;
}

Result<std::unique_ptr<PartitionedJoin>> PartitionedJoin::prepare(resolve::JoinRequest const& request,
                                                                  JoinOutput output) {
  auto run = std::make_unique<run::QueryRun>(request.options);
  GARUDA_TRY_ASSIGN(auto planned, plan_request(request, output, *run));
  return prepare(request, std::move(planned), std::move(run));
}

Result<void> PartitionedJoin::place_sides(PlannedJoin planned) {
  GARUDA_TRY(sides_.place(std::move(planned), {left_table_, right_table_, columns_, output_, feeding().wants_ranges,
                                               build_.get(), options_.control, *run_}));
  auto& recorder = run_->recorder;
  recorder.max_counter("partitions", left().num_partitions());
  recorder.max_counter("columns_carried", left().payload.size() + right().payload.size());
  if (is_marked(columns_.parts, output_, Side::left)) marks_.left.emplace(left().num_rows());
  if (is_marked(columns_.parts, output_, Side::right)) marks_.right.emplace(right().num_rows());
  return {};
}

TestedJoin PartitionedJoin::tested_join() {
  // Pairs of lanes that make rows stay in a cache; those of a device come in larger windows.
  constexpr std::uint64_t kLanePairs = std::uint64_t{1} << 14;
  constexpr std::uint64_t kDevicePairs = std::uint64_t{1} << 20;
  constexpr std::uint64_t kFewestPairs = 1'024;
  constexpr std::uint64_t kMostKeptPairs = std::uint64_t{1} << 22;  // 32 MiB a lane
  auto const window =
      std::clamp(chosen_.plan.chunk_rows, kFewestPairs, feeding().makes_batches ? kLanePairs : kDevicePairs);
  // An eighth of a limit for all lanes.
  auto const limit = options_.memory_limit_bytes / (8 * sizeof(contract::RowPair) * chosen_.plan.lanes);
  return {sides_.condition(),
          sides_.tested(Side::left),
          sides_.tested(Side::right),
          marks_.left.has_value(),
          marks_.right.has_value(),
          wants_pairs(),
          options_.memory_limit_bytes == 0 ? kMostKeptPairs : std::min(limit, kMostKeptPairs),
          window,
          options_.control,
          run_->recorder};
}

Result<void> PartitionedJoin::open_path(double expected_matches) {
  if (columns_.condition && non_equi_ == nullptr) tested_.emplace(tested_join());
  contract::BackendOptions backend;
  backend.tuning = chosen_.offer.tuning;
  backend.lanes = chosen_.plan.lanes;
  backend.key_bits = chosen_.plan.key_bits;
  // Whoever only counts, or only marks, looks up once, unless a condition is tested on the pairs.
  backend.keeps_matches = tested_ || (output_ == JoinOutput::count ? marks_.any() : output_ != JoinOutput::marks);
  backend.pairs_wanted = tested_ || wants_pairs();
  backend.pairs_of_row =
      expected_matches / static_cast<double>(std::max<std::uint64_t>({left().num_rows(), right().num_rows(), 1}));
  backend.device_memory_limit_bytes = options_.device_memory_limit_bytes;
  backend.rates = chosen_.rates;
  if (build_ != nullptr) backend.kept = &build_->tables;
  backend.control = &options_.control;
  backend.stats = &run_->recorder;
  for (auto const& slice : sliced_.slices) {
    backend.max_left_rows = std::max(backend.max_left_rows, slice.left.size());
    backend.max_right_rows = std::max(backend.max_right_rows, slice.right.size());
  }
  contract::OpenDevice* device = nullptr;
  if (chosen_.offer.device) {
    run::PhaseTimer const opening(run_->recorder, "open device");
    GARUDA_TRY_ASSIGN(device, devices_->open(*chosen_.offer.device));
  }
  if (non_equi_ != nullptr) {
    GARUDA_TRY_ASSIGN(condition_backend_, path_->condition_join.open(device, backend, *non_equi_));
  } else {
    GARUDA_TRY_ASSIGN(backend_, path_->join.open(device, backend));
  }
  return {};
}

SinkContext PartitionedJoin::sink_context() const {
  return {left(), right(), chosen_.plan.chunk_rows, options_.control, run_->recorder};
}

Result<std::uint64_t> PartitionedJoin::count() {
  GARUDA_EXPECTS(output_ == JoinOutput::count && pair_lanes_ == nullptr);
  auto const& parts = columns_.parts;
  if (parts.pairs || marks_.any()) {
    pair_lanes_ = start_lanes<run::LaneScheduler>([&](std::size_t, run::LaneScheduler::Emit const&) {
      return mark_sink(marks_, parts.pairs ? count_sink() : nullptr);
    });
    GARUDA_TRY(pair_lanes_->next());
  }
  auto rows = rows_counted_.load();
  for (auto const side : {Side::left, Side::right})
    rows += contract::num_side_rows(parts.rows(side), table_rows(side), marks_.of(side) ? marks_.of(side)->count() : 0);
  return rows;
}

Result<UnmatchedRows> PartitionedJoin::unmatched_rows(Side side) {
  GARUDA_EXPECTS(output_ != JoinOutput::count && marks_.of(side));
  if (output_ == JoinOutput::marks) {
    pair_lanes_ = start_lanes<run::LaneScheduler>(
        [this](std::size_t, run::LaneScheduler::Emit const&) { return mark_sink(marks_, nullptr); });
    GARUDA_TRY(pair_lanes_->next());
  }
  run::PhaseTimer const timer(run_->recorder, "mark");
  return run_->arena.execute([&]() -> Result<UnmatchedRows> {
    GARUDA_TRY_ASSIGN(auto matched, marks_by_row(*std::move(marks_.of(side)), sides_.keys(side), sides_.in_place(side),
                                                 table_rows(side), options_.control));
    return UnmatchedRows(columns_.parts.rows(side), std::move(matched), table_rows(side));
  });
}

Result<std::optional<run::PairChunk>> PartitionedJoin::next_pairs() {
  GARUDA_EXPECTS(output_ == JoinOutput::pairs);
  if (pair_lanes_ == nullptr)
    pair_lanes_ = start_lanes<run::LaneScheduler>([this](std::size_t, run::LaneScheduler::Emit const& emit) {
      return mark_sink(marks_, pair_sink(sink_context(), emit));
    });
  return pair_lanes_->next();
}

Result<std::optional<Batch>> PartitionedJoin::next_batch() {
  GARUDA_EXPECTS(output_ == JoinOutput::rows);
  if (batch_lanes_ == nullptr)
    batch_lanes_ = start_lanes<run::BatchScheduler>([this](std::size_t task, run::BatchScheduler::Emit const& emit) {
      return mark_sink(marks_, batch_sink(sink_context(), sides_.sources(), sliced_.task(task), emit));
    });
  GARUDA_TRY_ASSIGN(auto chunk, batch_lanes_->next());
  if (!chunk) return std::nullopt;
  return std::move(chunk->batch);
}

/// Lanes whose kernels fork share the threads: each has an arena of its own, so that they do not wait for one another's
/// loops.
template <class Scheduler, class SinkOf>
std::unique_ptr<Scheduler> PartitionedJoin::start_lanes(SinkOf sink_of) {
  auto const lanes = chosen_.plan.lanes;
  if (feeding().forks)
    for (std::uint32_t lane = 0; lane < lanes; ++lane)
      lane_arenas_.push_back(
          std::make_unique<oneapi::tbb::task_arena>(static_cast<int>(std::max(run_->threads() / lanes, 1U))));
  auto work = [this, sink_of = std::move(sink_of)](std::uint32_t lane, std::size_t task,
                                                   typename Scheduler::Emit const& emit) {
    auto const sink = sink_of(task, emit);
    if (lane_arenas_.empty()) return join_task(lane, task, *sink);
    return lane_arenas_[lane]->execute([&] { return join_task(lane, task, *sink); });
  };
  constexpr std::uint64_t kMany = std::uint64_t{1} << 31;  // products of no more stay within 64 bits
  auto const left_rows = std::min(table_rows(Side::left), kMany);
  auto const right_rows = std::min(table_rows(Side::right), kMany);
  auto const waiting = contract::waiting_chunks(options_.memory_limit_bytes, lanes) * chosen_.plan.chunk_rows;
  return std::make_unique<Scheduler>(sliced_.num_tasks(), lanes, waiting,
                                     left_rows * right_rows + left_rows + right_rows, std::move(work));
}

Result<void> PartitionedJoin::join_task(std::uint32_t lane, std::size_t task, MatchSink& sink) {
  for (auto const& slice : sliced_.task(task)) {
    GARUDA_TRY(join_slice(lane, slice, sink));
    run_->recorder.add_counter("slices", 1);
    report_progress();
  }
  return sink.finish();
}

/// A slice that turns out not to fit the device is halved until it does.
Result<void> PartitionedJoin::join_slice(std::uint32_t lane, run::SliceTask const& slice, MatchSink& sink) {
  if (options_.control.is_cancelled()) return fail(ErrorCode::cancelled, "the join was cancelled");
  std::uint64_t rows = 0;
  auto done = run_kernel(lane, slice, sink, &rows);
  rows_counted_ += rows;
  if (done || rows > 0 || !contract::is_shortage(done.error())) return done;
  auto const halves = run::split_slice(slice);
  if (!halves) return done;
  run_->recorder.add_counter("slices_split", 1);
  for (auto const& half : *halves) GARUDA_TRY(join_slice(lane, half, sink));
  return {};
}

Result<std::unique_ptr<contract::JoinKernel>> PartitionedJoin::begin(std::uint32_t lane, run::SliceTask const& slice) {
  if (non_equi_ != nullptr)
    return condition_backend_->begin(
        {{slice.left.begin, slice.left.size()}, {slice.right.begin, slice.right.size()}, slice.build}, lane);
  contract::JoinSlice const keys{run::keys_of(left(), slice.partition, slice.left),
                                 run::keys_of(right(), slice.partition, slice.right),
                                 partition::shared_low_bits(sides_.digit()), slice.build};
  return backend_->begin(keys, lane);
}

/// Build of one slice; count, probe and marks are up to the sink. `*rows` stays 0 unless its rows have begun to be
/// handed over.
Result<void> PartitionedJoin::run_kernel(std::uint32_t lane, run::SliceTask const& slice, MatchSink& sink,
                                         std::uint64_t* rows) {
  GARUDA_TRY_ASSIGN(auto kernel, begin(lane, slice));
  if (tested_) kernel = std::make_unique<ConditionKernel>(std::move(kernel), slice, *tested_);
  return sink.take(*kernel, slice, rows);
}

void PartitionedJoin::report_progress() {
  std::lock_guard const lock(progress_mutex_);
  ++slices_done_;
  if (options_.control.on_progress)
    options_.control.on_progress({"join", slices_done_, sliced_.slices.size(), rows_counted_.load()});
}

RunStats PartitionedJoin::stats(std::uint64_t rows_out) const {
  auto stats = run_->stats(chosen_.plan);
  stats.rows_left = table_rows(Side::left);
  stats.rows_right = table_rows(Side::right);
  stats.rows_out = rows_out;
  return stats;
}

}  // namespace garuda::join
