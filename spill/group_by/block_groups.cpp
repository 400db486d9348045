#include "spill/group_by/block_groups.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <future>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include "core/parallel_blocks.hpp"
#include "io/parquet/table_blocks.hpp"
#include "spill/group_by/partial_groups.hpp"
#include "spill/memory_share.hpp"
#include "spill/part_runs.hpp"

namespace garuda::spill {
namespace {

/// Fewer are not worth a query of their own; more leave the caches.
constexpr std::int64_t kBlockRows = 1 << 19;
/// Rows for each group of a block: merging a group costs as much as reading some tens of rows.
constexpr double kLeastRowsOfGroup = 64;
/// Parts of a memory limit: the blocks that are worked on, with what grouping them takes; the groups of all blocks,
/// with what merging them takes.
constexpr std::uint64_t kBlocksShare = 2;
constexpr std::uint64_t kGroupsShare = 2;

class GroupedBlocks final : public GroupByResult {
 public:
  GroupedBlocks(Engine& engine, io::TableBlocks blocks, FileGroupBy const& request)
      : engine_(engine), request_(request), runs_("group", request.options.control), blocks_(std::move(blocks)) {
    auto const threads =
        static_cast<std::size_t>(oneapi::tbb::task_arena(arena_threads(request.options.threads)).max_concurrency());
    threads_ = threads;
    share_work(blocks_.num_blocks());
  }

  /// Reads the first block alone: all go its way.
  Result<Plan> explain() {
    GARUDA_TRY_ASSIGN(auto rows, read(0));
    GARUDA_TRY(prepare(rows.front()->schema()));
    GARUDA_TRY_ASSIGN(auto const table, partial_->table_of(std::move(rows)));
    GARUDA_TRY_ASSIGN(auto const plan, engine_.explain_group_by(table.view(), partial_->spec(), request_.options));
    runs_.started(plan);
    return described(runs_.plan());
  }

  Result<void> start() {
    groups_.resize(blocks_.num_blocks());
    // Under a limit the first one says what a block weighs.
    if (is_limited()) {
      GARUDA_TRY(take_first());
      next_block_ = 1;
    }
    GARUDA_TRY(group_blocks());
    run::PhaseTimer const timer(runs_.recorder(), "merge states");
    io::ArrowBatches all;
    for (auto& groups : groups_) std::ranges::move(groups, std::back_inserter(all));
    auto options = request_.options;
    runs_.follow_first(options);
    if (is_limited()) options.memory_limit_bytes -= groups_weight_;
    GARUDA_TRY_ASSIGN(auto const merged, partial_->merge(engine_, all, options, [](RunStats const&) {}));
    GARUDA_TRY_ASSIGN(table_, partial_->finish(merged));
    for (std::size_t i = 0; i < schema_.size(); ++i) schema_[i].type = table_.schema()[i].type;
    plan_ = described(runs_.plan());
    return {};
  }

  Schema const& schema() const noexcept override { return schema_; }
  Plan const& plan() const noexcept override { return plan_; }

  RunStats stats() const override {
    auto stats = runs_.stats();
    stats.rows = blocks_.num_rows();
    stats.counters.emplace_back("state_blocks", blocks_.num_blocks());
    return stats;
  }

  Result<std::optional<Batch>> next() override {
    if (next_ == table_.batches().size()) return std::nullopt;
    Batch batch(table_.batches()[next_++]);
    runs_.add_rows_out(static_cast<std::uint64_t>(batch.num_rows));
    return batch;
  }

 private:
  /// Says on leaving that the first block is grouped, or never will be.
  class FirstBlock {
   public:
    explicit FirstBlock(std::promise<void>& done) : done_(done) {}
    FirstBlock(FirstBlock const&) = delete;
    FirstBlock& operator=(FirstBlock const&) = delete;
    ~FirstBlock() { done_.set_value(); }

   private:
    std::promise<void>& done_;
  };

  /// Among workers, `most` at most.
  void share_work(std::size_t most) {
    workers_ = std::min(threads_, most);
    threads_each_ = static_cast<std::uint32_t>((threads_ + workers_ - 1) / workers_);
  }

  bool is_limited() const noexcept { return request_.options.memory_limit_bytes != 0; }

  /// Groups all blocks, each read and grouped by one worker, so that what is decoded is in its caches and nobody waits
  /// for the slowest column of a block; by fewer workers where threads cannot be had.
  Result<void> group_blocks() {
    std::vector<std::future<Result<void>>> others;
    try {
      while (others.size() + 1 < workers_) others.push_back(std::async(std::launch::async, [this] { return work(); }));
    } catch (std::exception const&) {
      // Those that there are take all blocks.
    }
    auto done = work();
    for (auto& other : others)
      if (auto result = other.get(); done && !result) done = std::move(result);
    return done;
  }

  /// Takes one block after the other until none is left or one has failed.
  Result<void> work() {
    for (auto block = next_block_++; block < blocks_.num_blocks() && !failed_; block = next_block_++) {
      auto done = block == 0 ? take_first() : take(block);
      if (done) continue;
      failed_ = true;
      return done;
    }
    return {};
  }

  Result<void> take_first() {
    FirstBlock const leaving(first_done_);
    GARUDA_TRY_ASSIGN(auto rows, read(0));
    GARUDA_TRY(prepare(rows.front()->schema()));
    if (is_limited()) GARUDA_TRY(weigh(0, rows));
    GARUDA_TRY(group(0, std::move(rows)));
    is_opened_ = true;
    return {};
  }

  Result<void> take(std::size_t block) {
    GARUDA_TRY_ASSIGN(auto rows, read(block));
    first_is_done_.wait();
    if (!is_opened_) return {};  // whoever took the first block says why
    if (is_limited()) GARUDA_TRY(weigh(block, rows));
    if (!runs_.plan().on_device) return group(block, std::move(rows));
    // A device has all of its memory for one block.
    std::lock_guard const turn(device_);
    return group(block, std::move(rows));
  }

  Result<io::ArrowBatches> read(std::size_t block) {
    run::PhaseTimer const timer(runs_.recorder(), "read");
    return blocks_.read(block, block + 1, threads_each_);
  }

  /// Finds the errors of the request and the result's schema before rows are grouped.
  Result<void> prepare(std::shared_ptr<arrow::Schema> const& schema) {
    GARUDA_TRY_ASSIGN(partial_, PartialGroups::create(schema, request_.spec, blocks_.num_rows()));
    GARUDA_TRY_ASSIGN(auto const nothing, io::to_table(schema, {}));
    auto options = request_.options;
    options.memory_limit_bytes = 0;
    GARUDA_TRY_ASSIGN(auto const result, engine_.group_by(nothing.view(), request_.spec, options));
    schema_ = result->schema();
    if (!is_limited()) return {};
    share_.limit_bytes = request_.options.memory_limit_bytes;
    GARUDA_TRY_ASSIGN(share_.row_bytes, group_row_bytes(nothing.view(), request_.spec));
    return {};
  }

  Result<void> group(std::size_t block, io::ArrowBatches rows) {
    GARUDA_TRY_ASSIGN(auto const table, partial_->table_of(std::move(rows)));
    auto options = request_.options;
    runs_.follow_first(options);
    // The first one's plan holds for all, of all threads.
    if (block > 0 && !runs_.plan().on_device) options.threads = threads_each_;
    if (is_limited()) options.memory_limit_bytes = share_.limit_bytes / kBlocksShare / workers_;
    GARUDA_TRY_ASSIGN(groups_[block], partial_->group(engine_, table, options, runs_));
    return is_limited() ? weigh_groups(groups_[block]) : Result<void>();
  }

  /// Fails for a block that weighs more than its share of the limit; of the first one, that of a single worker, and as
  /// many are to work as the limit has shares for.
  Result<void> weigh(std::size_t block, io::ArrowBatches const& rows) {
    GARUDA_TRY_ASSIGN(auto const volume, volume_of_all(rows));
    auto const of_blocks = share_.limit_bytes / kBlocksShare;
    auto const weight = share_.weight(volume);
    if (block == 0) {
      // Others may have more rows.
      auto const most = static_cast<double>(weight) / static_cast<double>(volume.rows) *
                        static_cast<double>(blocks_.most_rows_of_block());
      auto const fitting = static_cast<std::size_t>(static_cast<double>(of_blocks) / most);
      share_work(std::clamp<std::size_t>(fitting, 1, workers_));
    }
    if (weight > of_blocks / workers_) return shortage("a block of rows");
    return {};
  }

  Result<void> weigh_groups(io::ArrowBatches const& groups) {
    GARUDA_TRY_ASSIGN(auto const weight, partial_->merge_weight(groups));
    if (groups_weight_.fetch_add(weight) + weight > share_.limit_bytes / kGroupsShare)
      return shortage("groups of blocks");
    return {};
  }

  Result<void> shortage(std::string_view what) const {
    return fail(ErrorCode::limit_exceeded,
                fmt::format("{} and what is made of them do not fit their share of the memory "
                            "limit, {} bytes",
                            what, share_.limit_bytes));
  }

  Plan described(Plan plan) const {
    auto const files = request_.table.files.files.size();
    auto const source = files == 1 ? std::string("a file") : fmt::format("{} files", files);
    plan.details.emplace_back("blocks", fmt::format("{} of {} of {} rows, grouped as they are read, states merged",
                                                    blocks_.num_blocks(), source, blocks_.num_rows()));
    return plan;
  }

  Engine& engine_;
  FileGroupBy request_;
  PartRuns runs_;
  io::TableBlocks blocks_;
  std::size_t threads_ = 1;
  std::size_t workers_ = 1;
  std::uint32_t threads_each_ = 1;
  MemoryShare share_;  // of a memory limit
  std::atomic<std::uint64_t> groups_weight_{0};
  std::optional<PartialGroups> partial_;
  std::vector<io::ArrowBatches> groups_;  // of each block
  std::atomic<std::size_t> next_block_{0};
  std::atomic<bool> failed_{false};
  std::promise<void> first_done_;
  std::shared_future<void> first_is_done_ = first_done_.get_future().share();
  bool is_opened_ = false;  // settled once the first block is done
  std::mutex device_;
  Table table_;
  std::size_t next_ = 0;
  Schema schema_;
  Plan plan_;
};

}  // namespace

Result<std::optional<BlockedGroupBy>> BlockedGroupBy::open(FileGroupBy const& request) {
  // Tables that are whole on a device have values, not states.
  if (request.options.tuning.placement == Placement::device) return std::nullopt;
  GARUDA_TRY_ASSIGN(auto blocks, io::TableBlocks::open(request.table.files, request.table.options, kBlockRows));
  if (!blocks || blocks->num_blocks() < 2) return std::nullopt;
  // Errors of the request show when the file is grouped.
  auto const partial = PartialGroups::create(blocks->schema(), request.spec, blocks->num_rows());
  if (!partial || !partial->unmergeable().empty()) return std::nullopt;
  double groups = 1;
  for (auto const& key : request.spec.keys) {
    auto const values = blocks->estimated_values(key);
    if (!values) return std::nullopt;
    groups *= static_cast<double>(*values);
  }
  if (auto const limit = request.options.memory_limit_bytes; limit != 0) {
    GARUDA_TRY_ASSIGN(auto const nothing, io::to_table(blocks->schema(), {}));
    GARUDA_TRY_ASSIGN(auto const row_bytes, group_row_bytes(nothing.view(), request.spec));
    if (MemoryShare{limit, row_bytes}.weight({blocks->most_rows_of_block(), 0}) > limit / kBlocksShare)
      return std::nullopt;
  }
  auto const states = groups * static_cast<double>(blocks->num_blocks());
  if (states * kLeastRowsOfGroup > static_cast<double>(blocks->num_rows())) return std::nullopt;
  return BlockedGroupBy(request, *std::move(blocks));
}

Result<std::unique_ptr<GroupByResult>> BlockedGroupBy::group(Engine& engine) && {
  auto groups = std::make_unique<GroupedBlocks>(engine, std::move(blocks_), request_);
  GARUDA_TRY(groups->start());
  return groups;
}

Result<Plan> BlockedGroupBy::explain(Engine& engine) && {
  return GroupedBlocks(engine, std::move(blocks_), request_).explain();
}

}  // namespace garuda::spill
