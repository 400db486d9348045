#include "spill/group_by/block_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <future>
#include <iterator>
#include <system_error>
#include <utility>

#include "io/parquet/table_blocks.hpp"
#include "spill/group_by/partial_groups.hpp"
#include "spill/part_runs.hpp"

namespace garuda::spill {
namespace {

/// Fewer are not worth a query of their own; more leave the caches.
constexpr std::int64_t kBlockRows = 1 << 19;
/// Rows for each group of a block: merging a group costs as much as reading some tens of rows.
constexpr double kLeastRowsOfGroup = 64;

class GroupedBlocks final : public GroupByResult {
 public:
  GroupedBlocks(Engine& engine, io::TableBlocks blocks, FileGroupBy const& request)
      : engine_(engine), request_(request), runs_("group", request.options.control), blocks_(std::move(blocks)) {}

  /// Reads the first block alone: all go its way.
  Result<Plan> explain() {
    GARUDA_TRY(read());
    GARUDA_TRY(prepare());
    GARUDA_TRY_ASSIGN(auto const table, partial_->table_of(std::move(rows_)));
    GARUDA_TRY_ASSIGN(auto const plan, engine_.explain_group_by(table.view(), partial_->spec(), request_.options));
    runs_.started(plan);
    return described(runs_.plan());
  }

  Result<void> start() {
    GARUDA_TRY(read());
    GARUDA_TRY(prepare());
    while (!rows_.empty()) {
      auto ahead = read_ahead();
      GARUDA_TRY(group());
      run::PhaseTimer const timer(runs_.recorder(), "read");
      GARUDA_TRY_ASSIGN(rows_, ahead.get());
    }
    run::PhaseTimer const timer(runs_.recorder(), "merge states");
    GARUDA_TRY_ASSIGN(auto const merged, partial_->merge(engine_, groups_, options(), [](RunStats const&) {}));
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
  Result<void> read() {
    run::PhaseTimer const timer(runs_.recorder(), "read");
    GARUDA_TRY_ASSIGN(rows_, blocks_.next());
    return {};
  }

  /// The next block, read while the one before is grouped; where no thread can be had, when it is asked for. The future
  /// waits for it in any case.
  std::future<Result<io::ArrowBatches>> read_ahead() {
    auto const next = [this] { return blocks_.next(); };
    try {
      return std::async(std::launch::async, next);
    } catch (std::system_error const&) {
      return std::async(std::launch::deferred, next);
    }
  }

  /// What is wrong with the request shows, and the result has a schema, before rows are grouped.
  Result<void> prepare() {
    auto const schema = rows_.front()->schema();
    GARUDA_TRY_ASSIGN(partial_, PartialGroups::create(schema, request_.spec));
    GARUDA_TRY_ASSIGN(auto const nothing, io::to_table(schema, {}));
    GARUDA_TRY_ASSIGN(auto const result, engine_.group_by(nothing.view(), request_.spec, request_.options));
    schema_ = result->schema();
    return {};
  }

  Result<void> group() {
    GARUDA_TRY_ASSIGN(auto const table, partial_->table_of(std::exchange(rows_, {})));
    GARUDA_TRY_ASSIGN(auto groups, partial_->group(engine_, table, options(), runs_));
    std::ranges::move(groups, std::back_inserter(groups_));
    return {};
  }

  GroupByOptions options() const {
    auto options = request_.options;
    runs_.follow_first(options);
    return options;
  }

  Plan described(Plan plan) const {
    plan.details.emplace_back("blocks", fmt::format("{} of a file of {} rows, grouped as they are read, states merged",
                                                    blocks_.num_blocks(), blocks_.num_rows()));
    return plan;
  }

  Engine& engine_;
  FileGroupBy request_;
  PartRuns runs_;
  io::TableBlocks blocks_;
  std::optional<PartialGroups> partial_;
  io::ArrowBatches rows_;    // of a block
  io::ArrowBatches groups_;  // of all blocks
  Table table_;
  std::size_t next_ = 0;
  Schema schema_;
  Plan plan_;
};

}  // namespace

struct BlockedGroupBy::State {
  io::TableBlocks blocks;
  FileGroupBy request;
};

Result<std::optional<BlockedGroupBy>> BlockedGroupBy::open(FileGroupBy const& request) {
  GARUDA_EXPECTS(request.options.memory_limit_bytes == 0);
  // Tables that are whole on a device have values, not states.
  if (request.options.tuning.placement == Placement::device) return std::nullopt;
  GARUDA_TRY_ASSIGN(auto blocks, io::TableBlocks::open(request.table.files, request.table.options, kBlockRows));
  if (!blocks || blocks->num_blocks() < 2) return std::nullopt;
  // What is wrong with the request shows when the file is grouped.
  auto const partial = PartialGroups::create(blocks->schema(), request.spec);
  if (!partial || partial->unmergeable()) return std::nullopt;
  double groups = 1;
  for (auto const& key : request.spec.keys) {
    auto const values = blocks->estimated_values(key);
    if (!values) return std::nullopt;
    groups *= static_cast<double>(*values);
  }
  auto const states = groups * static_cast<double>(blocks->num_blocks());
  if (states * kLeastRowsOfGroup > static_cast<double>(blocks->num_rows())) return std::nullopt;
  return BlockedGroupBy(std::make_unique<State>(State{*std::move(blocks), request}));
}

BlockedGroupBy::BlockedGroupBy(std::unique_ptr<State> state) : state_(std::move(state)) {}
BlockedGroupBy::BlockedGroupBy(BlockedGroupBy&&) noexcept = default;
BlockedGroupBy& BlockedGroupBy::operator=(BlockedGroupBy&&) noexcept = default;
BlockedGroupBy::~BlockedGroupBy() = default;

Result<std::unique_ptr<GroupByResult>> BlockedGroupBy::group(Engine& engine) && {
  auto groups = std::make_unique<GroupedBlocks>(engine, std::move(state_->blocks), state_->request);
  GARUDA_TRY(groups->start());
  return groups;
}

Result<Plan> BlockedGroupBy::explain(Engine& engine) && {
  return GroupedBlocks(engine, std::move(state_->blocks), state_->request).explain();
}

}  // namespace garuda::spill
