#include "operators/placement/streamed_join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "keys/codes/key_types.hpp"
#include "keys/join_keys.hpp"
#include "operators/compute/join/rows_join.hpp"
#include "operators/compute/primitives/compute_lane.hpp"
#include "operators/compute/primitives/non_null_rows.hpp"
#include "operators/device/device_table.hpp"
#include "operators/materialize/column_words.hpp"
#include "operators/placement/streamed_batches.hpp"
#include "operators/run/run_recorder.hpp"
#include "operators/vulkan/column_copies.hpp"
#include "operators/vulkan/upload_mode.hpp"
#include "operators/vulkan/vulkan_devices.hpp"
#include "vk_runtime/memory/copy_team.hpp"
#include "vk_runtime/memory/pinned_memory.hpp"

namespace garuda::placement {
namespace {

constexpr std::uint64_t kColumnAlignment = 4096;  // of a batch's columns: pages of their own
/// Ranges begin at multiples of so many rows, which keeps columns of every width aligned for passes.
constexpr std::uint64_t kRangeGranule = 4;
/// Of a range that is cut because its rows do not fit: aimed at filling so much of the room.
constexpr double kRefill = 0.9;

std::uint64_t align(std::uint64_t bytes) {
  return (bytes + kColumnAlignment - 1) / kColumnAlignment * kColumnAlignment;
}

/// Columns of one side on the device.
struct DeviceSide {
  std::vector<vk::Buffer> columns;

  std::vector<vk::Buffer const*> targets() const {
    std::vector<vk::Buffer const*> targets;
    for (auto const& column : columns) targets.push_back(&column);
    return targets;
  }

  compute::DeviceRows rows(StreamedSide const& side, std::uint64_t first, std::uint64_t rows) const {
    auto const column = [&](std::size_t i) {
      auto const words = side.columns[i].words;
      return compute::DeviceColumn{columns[i].address() + first * words * materialize::kWordBytes, words};
    };
    compute::DeviceRows result;
    result.rows = rows;
    result.keys = column(0);
    for (std::size_t i = 1; i < columns.size(); ++i) result.payload.push_back(column(i));
    result.number_rows = side.numbers_rows();
    return result;
  }
  /// Of a side whose keys may be null: says which are, from row `first` on.
  compute::NullFlags key_nulls(StreamedSide const& side, std::uint64_t first) const {
    return {columns[*side.key_nulls].address() + first * materialize::kWordBytes, 0};
  }
};

/// Columns that ranges are joined into.
struct ResultSet {
  vk::Buffer keys;
  std::vector<vk::Buffer> build;
  std::vector<vk::Buffer> probe;
  std::uint32_t batches = 0;  ///< on their way to the host

  bool is_free() const noexcept { return batches == 0; }
  /// `numbers_rows`: whether the side's row numbers are before its other columns.
  vk::Buffer const& column(StreamedWords const& words, bool numbers_rows) const {
    auto const& side = words.from_probe ? probe : build;
    if (!words.column) return side[0];
    if (*words.column == 0) return keys;
    return side[*words.column - (numbers_rows ? 0 : 1)];
  }
  compute::JoinedRows targets(std::uint64_t capacity) const {
    compute::JoinedRows rows;
    rows.capacity = capacity;
    rows.expected = capacity;
    rows.keys = keys.address();
    for (auto const& buffer : build) rows.build.push_back(buffer.address());
    for (auto const& buffer : probe) rows.probe.push_back(buffer.address());
    return rows;
  }
};

/// Host memory of a batch: one or the other.
struct BatchMemory {
  AlignedBuffer ordinary;
  vk::PinnedMemory pinned;
};

/// A batch on its way to the host.
struct Arriving {
  std::shared_ptr<vk::CopyGroup> group;
  ArrivedRows rows;
  std::uint64_t bytes = 0;
  std::size_t set = 0;
};

/// What was copied so far holds the keys' values.
Result<void> check_keys(StreamedSide const& side, device::ColumnUpload const& upload) {
  auto const row = upload.wide_row();
  if (!row) return {};
  return keys::key_beyond_64_bits(side.table.schema()[side.columns[0].sources[0]], *row);
}

class StreamedJoin final : public JoinResult {
 public:
  StreamedJoin(resolve::JoinRequest const& request, StreamedPlan plan)
      : control_(request.options.control),
        device_limit_(request.options.device_memory_limit_bytes),
        start_(std::chrono::steady_clock::now()),
        plan_(std::move(plan)) {
    rows_left_ = static_cast<std::uint64_t>(request.left.num_rows());
    rows_right_ = static_cast<std::uint64_t>(request.right.num_rows());
    range_rows_ = plan_.range_rows;
    capacity_ = plan_.capacity_rows;
  }

  StreamedJoin(StreamedJoin const&) = delete;
  StreamedJoin& operator=(StreamedJoin const&) = delete;
  ~StreamedJoin() override {
    // Passes under way wait for semaphores of the teams, which go first. A failure is a lost device: nothing runs.
    if (lane_) static_cast<void>(lane_->context().lane().drain());
  }

  Result<void> start(resolve::JoinRequest const& request) {
    GARUDA_TRY_ASSIGN(batches_, StreamedBatches::create(request, plan_));
    {
      run::PhaseTimer const timer(recorder_, "open device");
      GARUDA_TRY_ASSIGN(open_, vulkan::open_vulkan(*request.devices, plan_.device));
    }
    {
      run::PhaseTimer const timer(recorder_, "open");
      GARUDA_TRY_ASSIGN(
          lane_, compute::ComputeLane::open(*open_.device, *open_.pipelines, control_, &recorder_, device_limit_));
      GARUDA_TRY(take_memory());
      GARUDA_TRY(open_teams());
    }
    start_uploads();
    GARUDA_TRY(await_upload("upload build", *uploads_.front(), plan_.build.rows * plan_.build.row_bytes()));
    uploads_.pop_front();
    GARUDA_TRY(check_keys(plan_.build, *build_upload_));
    return partition_build();
  }

  Schema const& schema() const noexcept override { return batches_->schema(); }
  Plan const& plan() const noexcept override { return plan_.plan; }

  Result<std::optional<Batch>> next() override {
    if (failed_) return std::nullopt;
    auto batch = take_batch();
    if (!batch) failed_ = true;
    return batch;
  }

  RunStats stats() const override {
    auto stats = recorder_.stats_since(start_);
    stats.path = Path::compute;
    stats.device = plan_.plan.device;
    stats.driver = plan_.plan.driver;
    stats.rows_left = rows_left_;
    stats.rows_right = rows_right_;
    stats.rows_out = rows_out_;
    return stats;
  }

 private:
  Result<void> take_memory();
  Result<void> take_side(StreamedSide const& side, DeviceSide& columns);
  Result<void> take_sets();
  Result<void> open_teams();
  Result<void> partition_build();
  Result<std::optional<compute::DeviceRows>> probe_range(std::uint64_t rows);
  void start_uploads();
  Result<void> await_upload(char const* phase, vk::CopyGroup& group, std::uint64_t bytes);
  Result<void> await_rows(std::uint64_t end);
  Result<std::optional<Batch>> take_batch();
  Result<void> join_range(std::size_t set);
  Result<void> make_room(std::uint64_t rows);
  /// `probe_first`: first probe row of the range.
  Result<void> start_download(std::size_t set, std::uint64_t rows, std::uint64_t probe_first);
  Result<BatchMemory> batch_memory(std::uint64_t bytes);
  Result<void> finish_front();
  std::optional<std::size_t> free_set() const;

  Control control_;
  std::uint64_t device_limit_;
  std::chrono::steady_clock::time_point start_;
  StreamedPlan plan_;
  std::optional<StreamedBatches> batches_;
  std::uint64_t rows_left_ = 0;
  std::uint64_t rows_right_ = 0;
  std::uint64_t range_rows_ = 0;  // falls where rows multiply
  std::uint64_t capacity_ = 0;    // of each set
  run::RunRecorder recorder_;
  vulkan::VulkanDevice open_;
  bool use_pinned_ = false;
  std::unique_ptr<compute::ComputeLane> lane_;
  std::unique_ptr<vk::MemoryArena> set_arena_;
  DeviceSide build_columns_;
  DeviceSide probe_columns_;
  std::optional<device::ColumnUpload> build_upload_;  // before the teams: what goes up is made by it
  std::optional<device::ColumnUpload> probe_upload_;
  std::optional<compute::NonNullRows> build_non_null_;  ///< where keys may be null
  std::optional<compute::NonNullRows> probe_non_null_;
  std::optional<compute::PartitionedSide> build_;
  std::optional<compute::PartitionedSide> probe_;
  std::optional<compute::RowsJoin> join_;
  std::array<ResultSet, kResultSets> sets_;
  std::uint32_t num_sets_ = kResultSets;
  std::uint64_t uploaded_rows_ = 0;  // of the probe side
  std::uint64_t joined_rows_ = 0;    // of the probe side
  std::uint64_t rows_out_ = 0;
  bool failed_ = false;
  std::deque<Batch> ready_;
  std::deque<Arriving> arriving_;
  std::deque<std::shared_ptr<vk::CopyGroup>> uploads_;
  std::unique_ptr<vk::CopyTeam> up_;  // last: their threads use what is above
  std::unique_ptr<vk::CopyTeam> down_;
};

Result<void> StreamedJoin::take_side(StreamedSide const& side, DeviceSide& columns) {
  auto& context = lane_->context();
  auto const use = vulkan::mode_of(plan_.tuning.upload) == vk::UploadMode::map ? vk::MemoryUse::device_mapped
                                                                               : vk::MemoryUse::device;
  for (auto const& column : side.columns) {
    GARUDA_TRY_ASSIGN(
        auto buffer, context.device_buffer(side.rows * column.words * materialize::kWordBytes, "streamed column", use));
    columns.columns.push_back(std::move(buffer));
  }
  return {};
}

/// Everything but what rows that multiply may take later, so that a shortage shows before any row.
Result<void> StreamedJoin::take_memory() {
  GARUDA_TRY_ASSIGN(plan_.tuning.upload, vulkan::upload_on(*open_.device, plan_.tuning.upload));
  auto& context = lane_->context();
  auto const& build = plan_.build;
  auto const& probe = plan_.probe;
  GARUDA_TRY(take_side(build, build_columns_));
  GARUDA_TRY(take_side(probe, probe_columns_));
  build_upload_.emplace(build.table, build.columns, build_columns_.targets());
  probe_upload_.emplace(probe.table, probe.columns, probe_columns_.targets());
  auto const bits = compute::join_radix_bits(build.rows, context.tuning());
  auto const range = std::min(range_rows_, probe.rows);
  auto const matchable = [&](compute::DeviceRows rows, StreamedSide const& side,
                             std::optional<compute::NonNullRows>& copies) -> Result<compute::DeviceRows> {
    if (!side.key_nulls) return rows;
    GARUDA_TRY_ASSIGN(copies, compute::NonNullRows::create(context, rows));
    return copies->shape();
  };
  GARUDA_TRY_ASSIGN(auto build_rows, matchable(build_columns_.rows(build, 0, build.rows), build, build_non_null_));
  GARUDA_TRY_ASSIGN(auto probe_rows, matchable(probe_columns_.rows(probe, 0, range), probe, probe_non_null_));
  GARUDA_TRY_ASSIGN(build_, compute::PartitionedSide::create(context, std::move(build_rows), bits));
  GARUDA_TRY_ASSIGN(probe_, compute::PartitionedSide::create(context, std::move(probe_rows), bits));
  GARUDA_TRY_ASSIGN(join_, compute::RowsJoin::create(context, bits, build.rows, range,
                                                     build_->num_payload() + probe_->num_payload()));
  set_arena_ = device::column_arena(*open_.device, capacity_ * plan_.result_row_bytes());
  return take_sets();
}

Result<void> StreamedJoin::take_sets() {
  auto const bytes = num_sets_ * capacity_ * plan_.result_row_bytes();
  if (bytes > lane_->context().bytes_left())
    return fail(ErrorCode::limit_exceeded,
                fmt::format("{} rows of the result do not fit the device memory that is left, {} bytes: {}", capacity_,
                            lane_->context().bytes_left(), bytes));
  auto const take = [&](std::uint32_t words) {
    vk::BufferSpec spec;
    spec.bytes = capacity_ * words * materialize::kWordBytes;
    spec.name = "joined column";
    return set_arena_->buffer(spec);
  };
  for (auto& set : sets_) set = {};
  set_arena_->reset();
  for (std::uint32_t s = 0; s < num_sets_; ++s) {
    auto& set = sets_[s];
    GARUDA_TRY_ASSIGN(set.keys, take(plan_.build.columns[0].words));
    for (auto const* side : {&plan_.build, &plan_.probe}) {
      auto& columns = side == &plan_.build ? set.build : set.probe;
      std::vector<std::uint32_t> widths(side->numbers_rows() ? 1 : 0, 1);
      for (std::size_t i = 1; i < side->columns.size(); ++i) widths.push_back(side->columns[i].words);
      for (auto const words : widths) {
        GARUDA_TRY_ASSIGN(auto column, take(words));
        columns.push_back(std::move(column));
      }
    }
  }
  return {};
}

Result<void> StreamedJoin::open_teams() {
  use_pinned_ = build_upload_->is_pinned(*open_.device) && probe_upload_->is_pinned(*open_.device);
  vulkan::ColumnCopies const copies{plan_.tuning.upload, plan_.copy_threads, vulkan::kManyBytes, use_pinned_,
                                    control_.cancelled};
  GARUDA_TRY_ASSIGN(up_, vulkan::open_copy_team(*open_.device, vk::CopyDirection::up, copies));
  GARUDA_TRY_ASSIGN(down_, vulkan::open_copy_team(*open_.device, vk::CopyDirection::down, copies));
  if (use_pinned_) recorder_.add_counter("pinned", 1);
  return {};
}

/// The build side first, then the probe side range by range.
void StreamedJoin::start_uploads() {
  uploads_.push_back(up_->start(build_upload_->copies(0, plan_.build.rows)));
  for (std::uint64_t first = 0; first < plan_.probe.rows; first += plan_.range_rows)
    uploads_.push_back(up_->start(probe_upload_->copies(first, std::min(plan_.range_rows, plan_.probe.rows - first))));
}

Result<void> StreamedJoin::partition_build() {
  auto& context = lane_->context();
  auto rows = build_columns_.rows(plan_.build, 0, plan_.build.rows);
  if (build_non_null_) {
    GARUDA_TRY_ASSIGN(rows, build_non_null_->copy(context, rows, build_columns_.key_nulls(plan_.build, 0)));
    if (rows.rows == 0) {
      joined_rows_ = plan_.probe.rows;  // nothing matches
      return {};
    }
  }
  GARUDA_TRY(build_->record(context, std::move(rows)));
  return lane_->submissions().submit();
}

/// The next rows of the probe side; nothing when all their keys are null.
Result<std::optional<compute::DeviceRows>> StreamedJoin::probe_range(std::uint64_t rows) {
  auto range = probe_columns_.rows(plan_.probe, joined_rows_, rows);
  if (!probe_non_null_) return std::optional(std::move(range));
  auto const nulls = probe_columns_.key_nulls(plan_.probe, joined_rows_);
  GARUDA_TRY_ASSIGN(auto copied, probe_non_null_->copy(lane_->context(), range, nulls));
  return copied.rows == 0 ? std::nullopt : std::optional(std::move(copied));
}

/// What is recorded next sees the uploaded rows.
Result<void> StreamedJoin::await_upload(char const* phase, vk::CopyGroup& group, std::uint64_t bytes) {
  GARUDA_TRY_ASSIGN(auto const tickets, up_->wait(group));
  for (auto const ticket : tickets) lane_->submissions().start_after(ticket);
  recorder_.add_phase(phase, vk::CopyTeam::elapsed_ns(group), bytes, 0);
  recorder_.add_counter(contract::kCopiedUp, vk::CopyTeam::copied_bytes(group));
  return {};
}

Result<void> StreamedJoin::await_rows(std::uint64_t end) {
  while (uploaded_rows_ < end) {
    auto const rows = std::min(plan_.range_rows, plan_.probe.rows - uploaded_rows_);
    GARUDA_TRY(await_upload("upload probe", *uploads_.front(), rows * plan_.probe.row_bytes()));
    uploads_.pop_front();
    uploaded_rows_ += rows;
  }
  return check_keys(plan_.probe, *probe_upload_);
}

std::optional<std::size_t> StreamedJoin::free_set() const {
  for (std::size_t s = 0; s < num_sets_; ++s)
    if (sets_[s].is_free()) return s;
  return std::nullopt;
}

Result<std::optional<Batch>> StreamedJoin::take_batch() {
  while (true) {
    if (control_.is_cancelled()) return fail(ErrorCode::cancelled, "the join was cancelled");
    // Ranges ahead of the rows that are read keep the device busy.
    auto const set = joined_rows_ < plan_.probe.rows ? free_set() : std::nullopt;
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

/// Joins the next range of the probe side, shortened until its rows fit.
Result<void> StreamedJoin::join_range(std::size_t set) {
  auto& context = lane_->context();
  while (true) {
    auto const rows = std::min(range_rows_, plan_.probe.rows - joined_rows_);
    GARUDA_TRY(await_rows(joined_rows_ + rows));
    GARUDA_TRY_ASSIGN(auto range, probe_range(rows));
    if (!range) {
      joined_rows_ += rows;
      return {};
    }
    GARUDA_TRY(probe_->record(context, std::move(*range)));
    GARUDA_TRY(join_->record(context, *build_, *probe_, sets_[set].targets(capacity_)));
    GARUDA_TRY_ASSIGN(auto const outcome, join_->finish(context));
    if (outcome.fits) {
      auto const first = std::exchange(joined_rows_, joined_rows_ + rows);
      recorder_.add_counter("ranges", 1);
      if (control_.on_progress) control_.on_progress({"join", joined_rows_, plan_.probe.rows, rows_out_});
      return start_download(set, outcome.rows, first);
    }
    recorder_.add_counter("ranges_split", 1);
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

/// Sets for so many rows each, of which there may be fewer then.
Result<void> StreamedJoin::make_room(std::uint64_t rows) {
  if (rows > compute::kMostJoinedRows)
    return fail(ErrorCode::limit_exceeded,
                fmt::format("{} probe rows have more matches than are joined at once: {}", kRangeGranule, rows));
  while (!arriving_.empty()) GARUDA_TRY(finish_front());
  capacity_ = rows;
  auto const set_bytes = rows * plan_.result_row_bytes();
  num_sets_ = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(lane_->context().bytes_left() / std::max<std::uint64_t>(set_bytes, 1), 1, kResultSets));
  return take_sets();
}

Result<BatchMemory> StreamedJoin::batch_memory(std::uint64_t bytes) {
  BatchMemory memory;
  if (use_pinned_) {
    auto pinned = open_.device->pinned().allocate(bytes);
    if (pinned) {
      memory.pinned = std::move(*pinned);
      return memory;
    }
    recorder_.add_counter("batches_not_pinned", 1);
  }
  GARUDA_TRY_ASSIGN(memory.ordinary, AlignedBuffer::allocate(static_cast<std::int64_t>(bytes)));
  return memory;
}

Result<void> StreamedJoin::start_download(std::size_t set, std::uint64_t rows, std::uint64_t probe_first) {
  for (std::uint64_t first = 0; first < rows; first += plan_.batch_rows) {
    auto const taken = std::min(plan_.batch_rows, rows - first);
    std::uint64_t bytes = 0;
    for (auto const& words : plan_.arriving) bytes += align(taken * words.words * materialize::kWordBytes);
    auto memory = std::make_shared<BatchMemory>();
    GARUDA_TRY_ASSIGN(*memory, batch_memory(std::max<std::uint64_t>(bytes, kColumnAlignment)));
    auto* target = memory->pinned.data() != nullptr ? memory->pinned.data() : memory->ordinary.data();
    Arriving arriving;
    arriving.set = set;
    arriving.rows.rows = taken;
    arriving.rows.probe_first = probe_first;
    std::vector<vk::HostCopy> copies;
    for (auto const& words : plan_.arriving) {
      auto const width = words.words * materialize::kWordBytes;
      bool const numbers = (words.from_probe ? plan_.probe : plan_.build).numbers_rows();
      copies.push_back({&sets_[set].column(words, numbers), first * width, target, taken * width});
      arriving.rows.words.push_back(target);
      arriving.bytes += taken * width;
      target += align(taken * width);
    }
    arriving.rows.owner = std::move(memory);
    arriving.group = down_->start(std::move(copies), lane_->submissions().last());
    arriving_.push_back(std::move(arriving));
    ++sets_[set].batches;
  }
  return {};
}

/// Waits for the oldest rows under way; their batches are ready then.
Result<void> StreamedJoin::finish_front() {
  auto& front = arriving_.front();
  GARUDA_TRY(down_->wait(*front.group));
  recorder_.add_phase("download", vk::CopyTeam::elapsed_ns(*front.group), front.bytes, front.rows.rows);
  recorder_.add_counter(contract::kCopiedDown, vk::CopyTeam::copied_bytes(*front.group));
  --sets_[front.set].batches;
  auto rows = std::move(front.rows);
  arriving_.pop_front();
  run::PhaseTimer const timer(recorder_, "assemble");
  GARUDA_TRY_ASSIGN(auto batches, batches_->assemble(std::move(rows)));
  for (auto& batch : batches) ready_.push_back(std::move(batch));
  return {};
}

}  // namespace

Result<std::unique_ptr<JoinResult>> streamed_join(resolve::JoinRequest const& request, StreamedPlan plan) {
  auto join = std::make_unique<StreamedJoin>(request, std::move(plan));
  GARUDA_TRY(join->start(request));
  return join;
}

}  // namespace garuda::placement
