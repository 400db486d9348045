#include "operators/placement/streamed_group_by.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <utility>

#include "operators/compute/primitives/compute_lane.hpp"
#include "operators/device/device_group_by.hpp"
#include "operators/device/device_group_columns.hpp"
#include "operators/device/device_table.hpp"
#include "operators/run/run_recorder.hpp"
#include "operators/vulkan/column_copies.hpp"
#include "operators/vulkan/upload_mode.hpp"
#include "vk_runtime/copy_team.hpp"
#include "vk_runtime/pinned_memory.hpp"

namespace garuda::placement {
namespace {

/// Batches on their way while the reader has the one before.
constexpr std::size_t kBatchesAhead = 2;

/// The columns of a table at `positions`, borrowed.
Table project(TableView table, std::vector<std::size_t> const& positions) {
  Schema schema;
  for (auto const position : positions) schema.push_back(table.schema()[position]);
  std::vector<Batch> batches;
  for (std::size_t b = 0; b < table.num_batches(); ++b) {
    auto const batch = table.batch(b);
    auto& own = batches.emplace_back();
    own.num_rows = batch.num_rows;
    for (auto const position : positions) own.columns.push_back(batch.columns[position]);
  }
  return Table(std::move(schema), std::move(batches));
}

class StreamedGroupBy final : public GroupByResult {
 public:
  StreamedGroupBy(resolve::GroupByRequest const& request, StreamedGroupPlan plan)
      : options_(request.options), start_(std::chrono::steady_clock::now()), plan_(std::move(plan)) {}

  Result<void> start(resolve::GroupByRequest const& request) {
    GARUDA_TRY_ASSIGN(device_.open, request.devices->open(plan_.device));
    device_.info = &request.devices->devices()[plan_.device];
    GARUDA_TRY_ASSIGN(plan_.tuning.upload, vulkan::upload_on(*device_.open.device, plan_.tuning.upload));
    auto const columns = project(request.table, device::group_by_columns_used(request.columns));
    GARUDA_TRY_ASSIGN(auto const resolved, resolve::resolve_group_by(columns.view(), request.spec));
    GARUDA_TRY_ASSIGN(auto const table, upload(columns));
    DeviceGroupByOptions grouping;
    grouping.control = options_.control;
    auto const limit = options_.device_memory_limit_bytes;
    if (limit != 0)
      grouping.device_memory_limit_bytes = std::max<std::uint64_t>(limit - std::min(limit, table.device_bytes()), 1);
    GARUDA_TRY_ASSIGN(auto grouped, device::group_device_table(table, resolved, request.spec.ordered, grouping));
    for (auto const& phase : grouped.stats.phases) recorder_.add_phase(phase.name, phase.ns, phase.bytes, phase.items);
    groups_.emplace(std::move(grouped.table));
    // Copies on another queue see what the passes wrote.
    GARUDA_TRY_ASSIGN(lane_, compute::ComputeLane::open(*device_.open.device, *device_.open.pipelines, "",
                                                        options_.control, nullptr));
    GARUDA_TRY(lane_->context().order_all(vulkan::phase::kDownload));
    GARUDA_TRY(lane_->submissions().submit());
    GARUDA_TRY_ASSIGN(down_, open_team(vk::CopyDirection::down, false));
    return start_downloads();
  }

  Schema const& schema() const noexcept override { return groups_->schema(); }
  Plan const& plan() const noexcept override { return plan_.plan; }

  Result<std::optional<Batch>> next() override {
    if (failed_ || arriving_.empty()) return std::nullopt;
    auto batch = take_batch();
    if (!batch) failed_ = true;
    return batch;
  }

  RunStats stats() const override {
    auto stats = recorder_.stats_since(start_);
    stats.path = Path::compute;
    stats.device = plan_.plan.device;
    stats.driver = plan_.plan.driver;
    stats.rows = plan_.rows;
    stats.rows_out = rows_out_;
    return stats;
  }

 private:
  /// A range of the groups on its way.
  struct Arriving {
    device::RangeDownload range;
    std::shared_ptr<vk::CopyGroup> group;
  };

  Result<std::unique_ptr<vk::CopyTeam>> open_team(vk::CopyDirection direction, bool use_pinned) const {
    return vulkan::open_copy_team(*device_.open.device, direction,
                                  {plan_.tuning.upload, plan_.copy_threads, use_pinned, options_.control.cancelled});
  }

  Result<DeviceTable> upload(Table const& columns) {
    auto const begin = std::chrono::steady_clock::now();
    bool const pinned = device::reads_in_place(columns.view(), *device_.open.device);
    if (pinned) recorder_.add_counter("pinned", 1);
    GARUDA_TRY_ASSIGN(auto up, open_team(vk::CopyDirection::up, pinned));
    device::TeamUpload team{std::move(up), vulkan::mode_of(plan_.tuning.upload)};
    GARUDA_TRY_ASSIGN(auto table, device::upload_table(columns.view(), device_, options_.control, std::move(team)));
    auto const elapsed = std::chrono::steady_clock::now() - begin;
    recorder_.add_phase("upload", static_cast<std::uint64_t>(std::chrono::nanoseconds(elapsed).count()),
                        table.device_bytes(), plan_.rows);
    return table;
  }

  /// Ranges ahead of the groups that are read.
  Result<void> start_downloads() {
    auto const& groups = groups_->state();
    while (started_ < groups.rows && arriving_.size() < kBatchesAhead) {
      auto const rows = std::min(plan_.batch_rows, groups.rows - started_);
      auto& arriving = arriving_.emplace_back();
      GARUDA_TRY_ASSIGN(arriving.range, device::RangeDownload::create(groups, started_, rows));
      arriving.group = down_->start(arriving.range.copies(), lane_->submissions().last());
      started_ += rows;
    }
    return {};
  }

  Result<std::optional<Batch>> take_batch() {
    if (options_.control.is_cancelled()) return fail(ErrorCode::cancelled, "the group-by was cancelled");
    auto& front = arriving_.front();
    GARUDA_TRY(down_->wait(*front.group));
    recorder_.add_phase("download", vk::CopyTeam::elapsed_ns(*front.group), front.range.bytes(), front.range.rows());
    GARUDA_TRY_ASSIGN(auto batch, front.range.finish());
    arriving_.pop_front();
    GARUDA_TRY(start_downloads());
    rows_out_ += static_cast<std::uint64_t>(batch.num_rows);
    if (options_.control.on_progress)
      options_.control.on_progress({"group-by", rows_out_, groups_->num_rows(), rows_out_});
    return std::optional(std::move(batch));
  }

  GroupByOptions options_;
  std::chrono::steady_clock::time_point start_;
  StreamedGroupPlan plan_;
  device::TableDevice device_;
  run::RunRecorder recorder_;
  std::optional<DeviceTable> groups_;
  std::unique_ptr<compute::ComputeLane> lane_;
  std::uint64_t started_ = 0;  // groups on their way or here
  std::uint64_t rows_out_ = 0;
  bool failed_ = false;
  std::deque<Arriving> arriving_;
  std::unique_ptr<vk::CopyTeam> down_;  // last: its threads use what is above
};

}  // namespace

Result<std::unique_ptr<GroupByResult>> streamed_group_by(resolve::GroupByRequest const& request,
                                                         StreamedGroupPlan plan) {
  auto group_by = std::make_unique<StreamedGroupBy>(request, std::move(plan));
  GARUDA_TRY(group_by->start(request));
  return group_by;
}

}  // namespace garuda::placement
