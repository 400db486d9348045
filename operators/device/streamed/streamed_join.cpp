#include "operators/device/streamed/streamed_join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "keys/codes/key_types.hpp"
#include "operators/compute/join/rows_join.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "operators/compute/primitives/late_gather.hpp"
#include "operators/device/range_download.hpp"
#include "operators/device/streamed/streamed_tables.hpp"
#include "operators/materialize/column_words.hpp"
#include "operators/materialize/gather.hpp"
#include "operators/vulkan/vulkan_devices.hpp"
#include "vk_runtime/memory/copy_team.hpp"

namespace garuda::device {
namespace {

/// Ranges begin at multiples of so many rows, which keeps columns of every width aligned for passes.
constexpr std::uint64_t kRangeGranule = 4;
/// A range that is cut because its rows do not fit is cut so that it fills about so much of the room.
constexpr double kRefill = 0.9;

/// The rows [first, first + count) of a side.
compute::DeviceRows range_of(compute::DeviceRows rows, std::uint64_t first, std::uint64_t count) {
  rows.rows = count;
  rows.keys.address += first * rows.keys.words * materialize::kWordBytes;
  for (auto& column : rows.payload) column.address += first * column.words * materialize::kWordBytes;
  return rows;
}

/// One side of the join, on its way up and there.
struct JoinedSide {
  compute::DeviceRows rows;
  std::optional<compute::NullFlags> key_nulls;
  std::optional<ColumnUpload> upload;
  std::optional<compute::NonNullRows> non_null;  ///< where keys may be null
  std::optional<compute::PartitionedSide> partitioned;

  /// The rows [first, first + count) that have a key; perhaps none.
  Result<compute::DeviceRows> with_keys(compute::ComputeContext& context, std::uint64_t first, std::uint64_t count) {
    auto range = range_of(rows, first, count);
    if (!non_null) return range;
    auto const nulls = key_nulls->words + first * materialize::kWordBytes;
    return non_null->copy(context, range, {nulls, key_nulls->bit});
  }
};

/// Columns that ranges are joined into.
struct ResultSet {
  std::unique_ptr<DeviceTableState> rows;
  std::uint32_t batches = 0;  ///< on their way to the host
};

/// A batch on its way to the host.
struct Arriving {
  RangeDownload range;
  std::size_t set = 0;
  std::uint64_t probe_first = 0;  ///< first probe row of the range that was joined
};

/// Columns of the result that do not come down: the host gathers them by row numbers that do. Borrows the tables of the
/// host and `arena`, on whose threads it gathers. Used by one thread.
class HostGathers {
 public:
  /// Errors: those of Gatherer::create.
  static Result<HostGathers> create(resolve::JoinRequest const& request, StreamedTables const& tables,
                                    oneapi::tbb::task_arena& arena);

  /// The schema of the join's result.
  Schema const& schema() const noexcept { return schema_; }
  /// Completes rows that came down, whose probe rows count from `probe_first`: one batch; several when 32-bit offsets
  /// of strings do not reach over all rows; none without rows. Errors: out_of_memory.
  Result<std::vector<Batch>> complete(Batch arrived, std::uint64_t probe_first) const;

 private:
  /// The parts of a batch: gathered columns of the left side, those of the right, and columns that came down.
  using Parts = std::array<Batch, 3>;
  static constexpr std::size_t kArrived = 2;
  struct Output {
    std::size_t part = kArrived;
    std::size_t column = 0;
  };

  std::array<std::optional<Gatherer>, 2> gatherers_;  // by side
  std::array<std::size_t, 2> numbers_{};              // likewise: the column in which its row numbers come down
  Side probe_ = Side::left;
  std::vector<Output> output_;
  Schema schema_;
  oneapi::tbb::task_arena* arena_ = nullptr;
};

Result<HostGathers> HostGathers::create(resolve::JoinRequest const& request, StreamedTables const& tables,
                                        oneapi::tbb::task_arena& arena) {
  HostGathers gathers;
  gathers.probe_ = tables.probe();
  gathers.arena_ = &arena;
  for (auto const side : kSides) {
    auto const& own = tables.of(side);
    if (!own.numbers_rows()) continue;
    GARUDA_TRY_ASSIGN(gathers.gatherers_[side_index(side)],
                      Gatherer::create(own.host, own.gathered, request.columns.strings));
  }
  std::size_t arrived = 0;
  for (std::size_t i = 0; i < request.columns.output.size(); ++i) {
    auto const& [side, column] = request.columns.output[i];
    auto const& own = tables.of(side);
    auto const found = std::ranges::find(own.gathered, column);
    bool const arrives = found == own.gathered.end();
    auto const position = arrives ? arrived++ : static_cast<std::size_t>(found - own.gathered.begin());
    gathers.output_.push_back({arrives ? kArrived : side_index(side), position});
    gathers.schema_.push_back(arrives ? own.host.schema()[column]
                                      : gathers.gatherers_[side_index(side)]->schema()[position]);
    gathers.schema_.back().name = request.columns.names[i];
  }
  for (auto const side : kSides)
    if (tables.of(side).numbers_rows()) gathers.numbers_[side_index(side)] = arrived++;
  return gathers;
}

Result<std::vector<Batch>> HostGathers::complete(Batch arrived, std::uint64_t probe_first) const {
  if (arrived.num_rows == 0) return std::vector<Batch>();
  if (!gatherers_[0] && !gatherers_[1]) return std::vector{std::move(arrived)};
  auto const rows = static_cast<std::size_t>(arrived.num_rows);
  auto const numbers_of = [&](std::size_t side) {
    // Nobody else has them.
    auto const* const values = arrived.columns[numbers_[side]].values;
    return std::span(static_cast<std::uint32_t*>(const_cast<void*>(values)), rows);
  };
  if (auto const probe = side_index(probe_); gatherers_[probe])
    for (auto& number : numbers_of(probe)) number += static_cast<std::uint32_t>(probe_first);
  std::vector<Batch> batches;
  for (std::size_t first = 0; first < rows;) {
    // Arrays of batches are exported and outlive each other in any order.
    auto const parts = std::make_shared<Parts>();
    (*parts)[kArrived] = arrived;
    auto& batch = batches.emplace_back(Batch{static_cast<std::int64_t>(rows - first), {}, parts});
    for (auto const side : {0U, 1U}) {
      if (!gatherers_[side]) continue;
      std::span<std::uint32_t const> const wanted = numbers_of(side).subspan(first);
      GARUDA_TRY_ASSIGN(auto gathered, arena_->execute([&] { return gatherers_[side]->gather(wanted); }));
      batch.num_rows = std::min(batch.num_rows, gathered.rows_taken);
      (*parts)[side] = std::move(gathered.batch);
    }
    for (auto const& [part, column] : output_)
      batch.columns.push_back(slice((*parts)[part].columns[column],
                                    part == kArrived ? static_cast<std::int64_t>(first) : 0, batch.num_rows));
    first += static_cast<std::size_t>(batch.num_rows);
  }
  return batches;
}

class StreamedJoin final : public JoinResult {
 public:
  StreamedJoin(resolve::JoinRequest const& request, contract::JoinOffer const& offer, Plan plan,
               std::unique_ptr<run::QueryRun> run)
      : control_(request.options.control),
        plan_(std::move(plan)),
        upload_(offer.tuning.upload),
        copy_threads_(offer.lanes),
        upload_rows_(offer.slice_rows),
        batch_rows_(offer.chunk_rows),
        range_rows_(offer.slice_rows),
        capacity_(offer.slice_rows),
        run_(std::move(run)) {}
  StreamedJoin(StreamedJoin const&) = delete;
  StreamedJoin& operator=(StreamedJoin const&) = delete;
  ~StreamedJoin() override {
    // Passes under way wait for semaphores of the teams, which go first. A failure is a lost device: nothing runs.
    if (lane_) static_cast<void>(lane_->context().lane().drain());
  }

  Result<void> start(resolve::JoinRequest const& request, TableDevice const& device);

  Schema const& schema() const noexcept override { return gathers_->schema(); }
  Plan const& plan() const noexcept override { return plan_; }
  Result<std::optional<Batch>> next() override {
    if (failed_) return std::nullopt;
    auto batch = take_batch();
    if (!batch) failed_ = true;
    return batch;
  }
  RunStats stats() const override {
    auto stats = run_->stats(plan_);
    stats.rows_left = tables_->of(Side::left).rows();
    stats.rows_right = tables_->of(Side::right).rows();
    stats.rows_out = rows_out_;
    return stats;
  }

 private:
  Result<void> take_memory();
  Result<void> take_sets();
  Result<void> open_teams(vk::Device& device);
  void start_uploads();
  Result<void> partition_build();
  Result<void> await_upload(char const* phase, Side side, std::uint64_t rows);
  Result<void> await_rows(std::uint64_t end);
  Result<std::optional<Batch>> take_batch();
  Result<void> join_range(std::size_t set);
  Result<void> make_room(std::uint64_t rows);
  Result<void> start_download(std::size_t set, std::uint64_t rows, std::uint64_t probe_first);
  Result<void> finish_front();
  std::optional<std::size_t> free_set() const;
  compute::JoinedRows targets(ResultSet const& set) const;
  JoinedSide& of(Side side) noexcept { return joined_[side_index(side)]; }
  std::uint64_t probe_rows() const { return tables_->of(tables_->probe()).rows(); }

  Control control_;
  Plan plan_;
  Upload upload_;
  std::uint32_t copy_threads_;
  std::uint64_t upload_rows_;  // of the ranges that the probe side goes up in
  std::uint64_t batch_rows_;
  std::uint64_t range_rows_;  // that are joined at once: falls where rows multiply
  std::uint64_t capacity_;    // of each set
  std::unique_ptr<run::QueryRun> run_;
  vk::Device* device_ = nullptr;
  bool use_pinned_ = false;
  std::optional<HostGathers> gathers_;
  std::optional<StreamedTables> tables_;
  std::unique_ptr<compute::ComputeLane> lane_;
  std::unique_ptr<vk::MemoryArena> set_arena_;
  std::array<JoinedSide, 2> joined_;  // before the teams: what goes up is made by it
  std::optional<compute::RowsJoin> join_;
  std::array<ResultSet, kResultSets> sets_;
  std::uint32_t num_sets_ = kResultSets;
  std::uint64_t uploaded_rows_ = 0;  // of the probe side
  std::uint64_t joined_rows_ = 0;    // likewise
  std::uint64_t rows_out_ = 0;
  bool failed_ = false;
  std::deque<Batch> ready_;
  std::deque<Arriving> arriving_;
  std::deque<std::shared_ptr<vk::CopyGroup>> uploads_;
  std::unique_ptr<vk::CopyTeam> up_;  // last: their threads use what is above
  std::unique_ptr<vk::CopyTeam> down_;
};

Result<void> StreamedJoin::start(resolve::JoinRequest const& request, TableDevice const& device) {
  device_ = device.open.device;
  {
    run::PhaseTimer const timer(run_->recorder, "open");
    GARUDA_TRY_ASSIGN(upload_, vulkan::upload_on(*device_, upload_));
    GARUDA_TRY_ASSIGN(tables_, StreamedTables::create(request, device, upload_));
    GARUDA_TRY_ASSIGN(gathers_, HostGathers::create(request, *tables_, run_->arena));
    GARUDA_TRY_ASSIGN(lane_, compute::ComputeLane::open(device.open, control_, &run_->recorder,
                                                        limit_beside(request.options, tables_->device_bytes())));
    GARUDA_TRY(take_memory());
    GARUDA_TRY(open_teams(*device_));
  }
  start_uploads();
  auto const build = tables_->build();
  GARUDA_TRY(await_upload("upload build", build, tables_->of(build).rows()));
  return partition_build();
}

/// Everything but what rows that multiply may take later, so that a shortage shows before any row.
Result<void> StreamedJoin::take_memory() {
  auto& context = lane_->context();
  auto const build = tables_->build();
  auto const bits = compute::join_radix_bits(tables_->of(build).rows(), context.tuning());
  auto const range = std::min(range_rows_, probe_rows());
  for (auto const side : {build, other_side(build)}) {
    auto const& table = tables_->of(side);
    auto& own = of(side);
    own.rows = tables_->rows(side);
    own.key_nulls = tables_->sides().of(side).key_nulls();
    std::vector<vk::Buffer const*> targets;
    for (auto const& stored : table.table.state().stored) targets.push_back(&stored.buffer);
    own.upload.emplace(table.host, table.columns, std::move(targets));
    auto joined = range_of(own.rows, 0, side == build ? table.rows() : range);
    if (own.key_nulls) {
      GARUDA_TRY_ASSIGN(own.non_null, compute::NonNullRows::create(context, joined));
      joined = own.non_null->shape();
    }
    GARUDA_TRY_ASSIGN(own.partitioned, compute::PartitionedSide::create(context, std::move(joined), bits));
  }
  auto const payload = joined_[0].partitioned->num_payload() + joined_[1].partitioned->num_payload();
  GARUDA_TRY_ASSIGN(join_, compute::RowsJoin::create(context, bits, tables_->of(build).rows(), range, payload));
  set_arena_ = column_arena(*device_, capacity_ * tables_->result_row_bytes());
  return take_sets();
}

Result<void> StreamedJoin::take_sets() {
  auto const bytes = num_sets_ * capacity_ * tables_->result_row_bytes();
  if (bytes > lane_->context().bytes_left())
    return fail(ErrorCode::limit_exceeded,
                fmt::format("{} rows of the result do not fit the device memory that is left, {} bytes: {}", capacity_,
                            lane_->context().bytes_left(), bytes));
  for (auto& set : sets_) set = {};
  set_arena_->reset();
  for (std::uint32_t s = 0; s < num_sets_; ++s) {
    sets_[s].rows = tables_->result();
    for (auto& stored : sets_[s].rows->stored) {
      vk::BufferSpec spec;
      spec.bytes = capacity_ * stored.words * materialize::kWordBytes;
      spec.name = "joined column";
      GARUDA_TRY_ASSIGN(stored.buffer, set_arena_->buffer(spec));
    }
  }
  return {};
}

Result<void> StreamedJoin::open_teams(vk::Device& device) {
  use_pinned_ = std::ranges::all_of(joined_, [&](JoinedSide const& side) { return side.upload->is_pinned(device); });
  vulkan::ColumnCopies const copies{upload_, copy_threads_, vulkan::kManyBytes, use_pinned_, control_.cancelled};
  GARUDA_TRY_ASSIGN(up_, vulkan::open_copy_team(device, vk::CopyDirection::up, copies));
  GARUDA_TRY_ASSIGN(down_, vulkan::open_copy_team(device, vk::CopyDirection::down, copies));
  if (use_pinned_) run_->recorder.add_counter("pinned", 1);
  return {};
}

/// The build side first, then the probe side range by range.
void StreamedJoin::start_uploads() {
  auto const build = tables_->build();
  uploads_.push_back(up_->start(of(build).upload->copies(0, tables_->of(build).rows())));
  auto const& probe = *of(other_side(build)).upload;
  for (std::uint64_t first = 0; first < probe_rows(); first += upload_rows_)
    uploads_.push_back(up_->start(probe.copies(first, std::min(upload_rows_, probe_rows() - first))));
}

Result<void> StreamedJoin::partition_build() {
  auto& build = of(tables_->build());
  GARUDA_TRY_ASSIGN(auto rows, build.with_keys(lane_->context(), 0, build.rows.rows));
  if (rows.rows == 0) {
    joined_rows_ = probe_rows();  // nothing matches
    return {};
  }
  GARUDA_TRY(build.partitioned->record(lane_->context(), std::move(rows)));
  return lane_->submissions().submit();
}

/// Waits for the next `rows` rows of a side; what is recorded then sees them. Errors: invalid_input for a key that the
/// words of keys do not hold.
Result<void> StreamedJoin::await_upload(char const* phase, Side side, std::uint64_t rows) {
  auto& group = *uploads_.front();
  GARUDA_TRY_ASSIGN(auto const tickets, up_->wait(group));
  for (auto const ticket : tickets) lane_->submissions().start_after(ticket);
  auto const& table = tables_->of(side);
  run_->recorder.add_phase(phase, vk::CopyTeam::elapsed_ns(group), rows * row_bytes(table.columns), 0);
  run_->recorder.add_counter(contract::kCopiedUp, vk::CopyTeam::copied_bytes(group));
  uploads_.pop_front();
  auto const wide_row = of(side).upload->wide_row();
  return wide_row ? keys::key_beyond_64_bits(table.table.schema()[0], *wide_row) : Result<void>();
}

Result<void> StreamedJoin::await_rows(std::uint64_t end) {
  while (uploaded_rows_ < end) {
    auto const rows = std::min(upload_rows_, probe_rows() - uploaded_rows_);
    GARUDA_TRY(await_upload("upload probe", tables_->probe(), rows));
    uploaded_rows_ += rows;
  }
  return {};
}

std::optional<std::size_t> StreamedJoin::free_set() const {
  for (std::size_t s = 0; s < num_sets_; ++s)
    if (sets_[s].batches == 0) return s;
  return std::nullopt;
}

Result<std::optional<Batch>> StreamedJoin::take_batch() {
  while (true) {
    if (control_.is_cancelled()) return fail(ErrorCode::cancelled, "the join was cancelled");
    // Ranges ahead of the rows that are read keep the device busy.
    auto const set = joined_rows_ < probe_rows() ? free_set() : std::nullopt;
    if (set) {
      GARUDA_TRY(join_range(*set));
      continue;
    }
    if (ready_.empty() && arriving_.empty()) return std::nullopt;
    if (ready_.empty()) {
      GARUDA_TRY(finish_front());
      continue;
    }
    auto batch = std::move(ready_.front());
    ready_.pop_front();
    rows_out_ += static_cast<std::uint64_t>(batch.num_rows);
    return batch;
  }
}

compute::JoinedRows StreamedJoin::targets(ResultSet const& set) const {
  auto const& stored = set.rows->stored;
  compute::JoinedRows rows;
  rows.capacity = rows.expected = capacity_;
  rows.keys = stored[0].buffer.address();
  for (auto const side : kSides)
    for (auto const s : tables_->stored_of(side))
      (side == tables_->build() ? rows.build : rows.probe).push_back(stored[s].buffer.address());
  return rows;
}

/// Joins the next range of the probe side, shortened until its rows fit.
Result<void> StreamedJoin::join_range(std::size_t set) {
  auto& context = lane_->context();
  auto& probe = of(tables_->probe());
  while (true) {
    auto const rows = std::min(range_rows_, probe_rows() - joined_rows_);
    GARUDA_TRY(await_rows(joined_rows_ + rows));
    GARUDA_TRY_ASSIGN(auto range, probe.with_keys(context, joined_rows_, rows));
    if (range.rows == 0) {
      joined_rows_ += rows;
      return {};
    }
    GARUDA_TRY(probe.partitioned->record(context, std::move(range)));
    GARUDA_TRY(join_->record(context, *of(tables_->build()).partitioned, *probe.partitioned, targets(sets_[set])));
    GARUDA_TRY_ASSIGN(auto const outcome, join_->finish(context));
    if (outcome.fits) {
      auto const first = std::exchange(joined_rows_, joined_rows_ + rows);
      run_->recorder.add_counter("ranges", 1);
      if (control_.on_progress) control_.on_progress({"join", joined_rows_, probe_rows(), rows_out_});
      return start_download(set, outcome.rows, first);
    }
    run_->recorder.add_counter("ranges_split", 1);
    if (rows <= kRangeGranule) {
      GARUDA_TRY(make_room(outcome.rows));
      set = 0;
      continue;
    }
    auto const share = static_cast<double>(capacity_) / static_cast<double>(outcome.rows) * kRefill;
    auto const shorter = static_cast<std::uint64_t>(static_cast<double>(rows) * share) / kRangeGranule * kRangeGranule;
    range_rows_ = std::max(shorter, kRangeGranule);
  }
}

/// Takes sets for so many rows each, of which there may be fewer then.
Result<void> StreamedJoin::make_room(std::uint64_t rows) {
  if (rows > compute::kMostJoinedRows)
    return fail(ErrorCode::limit_exceeded,
                fmt::format("{} probe rows have more matches than are joined at once: {}", kRangeGranule, rows));
  while (!arriving_.empty()) GARUDA_TRY(finish_front());
  capacity_ = rows;
  auto const set_bytes = rows * tables_->result_row_bytes();
  num_sets_ = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(lane_->context().bytes_left() / std::max<std::uint64_t>(set_bytes, 1), 1, kResultSets));
  return take_sets();
}

Result<void> StreamedJoin::start_download(std::size_t set, std::uint64_t rows, std::uint64_t probe_first) {
  auto const& joined = *sets_[set].rows;
  for (std::uint64_t first = 0; first < rows; first += batch_rows_) {
    GARUDA_TRY_ASSIGN(
        auto range, RangeDownload::create(joined, {all_columns(joined), first, std::min(batch_rows_, rows - first)}, {},
                                          use_pinned_ ? device_ : nullptr));
    if (use_pinned_ && !range.is_pinned()) run_->recorder.add_counter("batches_not_pinned", 1);
    range.start(*down_, lane_->submissions().last());
    arriving_.push_back({std::move(range), set, probe_first});
    ++sets_[set].batches;
  }
  return {};
}

/// Waits for the oldest rows under way; their batches are ready then.
Result<void> StreamedJoin::finish_front() {
  auto& front = arriving_.front();
  GARUDA_TRY(front.range.await(*down_, run_->recorder));
  --sets_[front.set].batches;
  run::PhaseTimer const timer(run_->recorder, "assemble");
  GARUDA_TRY_ASSIGN(auto arrived, front.range.finish());
  GARUDA_TRY_ASSIGN(auto batches, gathers_->complete(std::move(arrived), front.probe_first));
  arriving_.pop_front();
  for (auto& batch : batches) ready_.push_back(std::move(batch));
  return {};
}

}  // namespace

Result<std::unique_ptr<JoinResult>> streamed_join(resolve::JoinRequest const& request, TableDevice const& device,
                                                  contract::JoinOffer const& offer, Plan plan,
                                                  std::unique_ptr<run::QueryRun> run) {
  auto join = std::make_unique<StreamedJoin>(request, offer, std::move(plan), std::move(run));
  GARUDA_TRY(join->start(request, device));
  return join;
}

}  // namespace garuda::device
