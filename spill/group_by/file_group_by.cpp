#include "spill/group_by/file_group_by.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/shortage.hpp"
#include "operators/contract/sizing.hpp"
#include "spill/group_by/block_groups.hpp"
#include "spill/group_by/group_parts.hpp"
#include "spill/part_runs.hpp"
#include "spill/sorted_runs.hpp"

namespace garuda::spill {
namespace {

/// The groups of all parts of a file, one after the other.
class SpilledGroupBy final : public GroupByResult {
 public:
  SpilledGroupBy(Engine& engine, FileGroupBy const& request)
      : engine_(engine), request_(request), runs_("group", request.options.control) {}

  Result<void> start() {
    GARUDA_TRY_ASSIGN(parts_, GroupParts::open(engine_, request_, runs_));
    Plan plan_of_nothing;
    {
      // Errors of the request show before the file is read, and there is a schema when no groups come.
      GARUDA_TRY_ASSIGN(auto const nothing, parts_->input().without_rows());
      auto options = request_.options;
      options.memory_limit_bytes = 0;
      GARUDA_TRY_ASSIGN(auto const result, engine_.group_by(nothing.view(), request_.spec, options));
      schema_ = result->schema();
      plan_of_nothing = result->plan();
    }
    GARUDA_TRY(parts_->read());
    GARUDA_TRY_ASSIGN(auto const any, start_next());
    if (!any) runs_.started(plan_of_nothing);
    plan_ = described_plan();
    return {};
  }

  Result<Plan> explain() {
    GARUDA_TRY_ASSIGN(parts_, GroupParts::open(engine_, request_, runs_));
    GARUDA_TRY(parts_->read());
    if (parts_->is_whole()) {
      GARUDA_TRY_ASSIGN(auto const part, parts_->next());
      return engine_.explain_group_by(part->table.view(), request_.spec, options_for(*part));
    }
    GARUDA_TRY_ASSIGN(auto plan, parts_->explain_block());
    auto const seen = parts_->blocks() == 0 ? std::string("an aggregate keeps all values of a group")
                                            : fmt::format("{} groups in the first rows", parts_->merged_groups());
    auto const* const how = parts_->merges_states() ? "rows grouped in blocks as they are read, their states merged"
                            : request_.spec.keys.empty() ? "rows to a temporary file"
                                                         : "rows to partitions by key, in temporary files";
    plan.details.emplace_back(
        "spilling", fmt::format("{}: {}; {} bytes for one part's group-by", seen, how, parts_->limit_bytes()));
    plan.notes.emplace_back("the table does not fit the memory limit");
    return plan;
  }

  Schema const& schema() const noexcept override { return schema_; }
  Plan const& plan() const noexcept override { return plan_; }

  RunStats stats() const override {
    auto stats = runs_.stats();
    stats.rows = parts_->rows();
    if (merges_blocks()) stats.counters.emplace_back("state_blocks", parts_->blocks());
    return stats;
  }

  Result<std::optional<Batch>> next() override {
    GARUDA_TRY_ASSIGN(auto batch, is_sorted() ? next_sorted() : next_of_parts());
    if (batch) runs_.add_rows_out(static_cast<std::uint64_t>(batch->num_rows));
    return batch;
  }

 private:
  bool merges_blocks() const noexcept { return parts_->blocks() > 0 && !parts_->keeps_values(); }

  /// How the rows of a part are grouped.
  GroupByOptions options_for(GroupPart const& part) const {
    auto options = request_.options;
    runs_.settle(options, parts_->limit_bytes(), part.data_bytes);
    if (parts_->is_whole()) options.control = request_.options.control;
    return options;
  }

  /// Whether the groups of parts have to be put in order.
  bool is_sorted() const noexcept { return !parts_->is_whole() && !parts_->input().row_column().empty(); }

  Plan described_plan() const {
    auto plan = runs_.plan();
    if (parts_->is_whole()) return plan;
    std::string how;
    if (merges_blocks())
      how = fmt::format("rows grouped in blocks as they are read, states of {} groups merged", parts_->merged_groups());
    if (!parts_->merges_states())
      how +=
          fmt::format("{}{}", how.empty() ? "" : "; these are too many to keep: ",
                      runs_.describe_partitions(request_.spec.keys.empty() ? "of the table" : "of the table by key"));
    plan.details.emplace_back("spilling",
                              fmt::format("{}; {} bytes for one part's group-by", how, parts_->limit_bytes()));
    plan.notes.push_back(fmt::format("the table was {}: {} rows do not fit the memory limit",
                                     parts_->merges_states() ? "grouped in blocks" : "spilled", parts_->rows()));
    if (is_sorted()) plan.details.emplace_back("order", "groups of each part in temporary files, which are merged");
    return plan;
  }

  Result<std::optional<Batch>> next_of_parts() {
    while (has_part_) {
      if (result_ != nullptr) {
        auto batch = result_->next();
        if (!batch && takes_back(batch.error())) {
          GARUDA_TRY(start_next());
          // The parts of what was to be one have to be put in order.
          if (is_sorted() && !sorted_) return next_sorted();
          continue;
        }
        if (!batch || *batch) {
          ++batch_;
          return batch;
        }
        runs_.ended(result_->stats(), parts_->is_whole());
      } else if (batch_ < part_.table.batches().size()) {
        return Batch(part_.table.batches()[batch_++]);
      }
      GARUDA_TRY(start_next());
    }
    return std::nullopt;
  }

  /// A part that needs more memory than was reckoned, of which nothing has been given, is cut once more.
  bool takes_back(Error const& error) {
    if (!contract::is_shortage(error) || batch_ > 0) return false;
    parts_->refuse_last();
    return true;
  }

  /// Groups all parts first, each of which gives its groups in order.
  Result<std::optional<Batch>> next_sorted() {
    if (!sorted_) {
      OrderColumns columns;
      columns.first = static_cast<int>(schema_.size());
      sorted_.emplace(columns, parts_->limit_bytes(), parts_->folder(), request_.options.control, runs_.recorder());
      GARUDA_TRY(sorted_->take_all(part_schema_, [this] { return next_of_parts(); }));
    }
    return sorted_->next();
  }

  /// Starts on the next part; false after the last.
  Result<bool> start_next() {
    while (true) {
      // Before its table, which makes room for those that follow.
      result_.reset();
      part_ = GroupPart{};
      batch_ = 0;
      GARUDA_TRY_ASSIGN(auto part, parts_->next());
      has_part_ = part.has_value();
      if (!part) return false;
      part_ = *std::move(part);
      if (part_.is_grouped) {
        part_schema_ = part_.table.schema();
        break;
      }
      auto result = engine_.group_by(part_.table.view(), parts_->spec(), options_for(part_));
      if (!result && takes_back(result.error())) continue;
      if (!result) return propagate(std::move(result));
      result_ = *std::move(result);
      runs_.started(result_->plan());
      part_schema_ = result_->schema();
      break;
    }
    // Types of dictionaries are known now; behind them an ordered group-by has each group's first row.
    if (parts_->is_whole())
      schema_ = part_schema_;
    else
      for (std::size_t i = 0; i < schema_.size(); ++i) schema_[i].type = part_schema_[i].type;
    return true;
  }

  Engine& engine_;
  FileGroupBy request_;
  PartRuns runs_;
  std::unique_ptr<GroupParts> parts_;  // refers to the three above
  GroupPart part_;
  std::size_t batch_ = 0;                  // of a part that is grouped, the next one
  std::unique_ptr<GroupByResult> result_;  // of a part that is not
  bool has_part_ = false;
  Schema part_schema_;
  std::optional<OrderedBatches> sorted_;
  Schema schema_;
  Plan plan_;
};

}  // namespace

Result<std::unique_ptr<GroupByResult>> group_file(Engine& engine, FileGroupBy const& request) {
  /// Heap that an aggregate takes before rows are read, its column's part of a footer included.
  constexpr std::uint64_t kAggregateBytes = 16 << 10;
  auto const aggregates = request.spec.aggregates.size();
  if (!BufferCeiling::instance().has_room(aggregates * kAggregateBytes))
    return fail(ErrorCode::limit_exceeded, fmt::format("aggregates do not fit the memory limit: {}", aggregates));
  GARUDA_TRY_ASSIGN(auto blocks, BlockedGroupBy::open(request));
  if (blocks) {
    auto result = (*std::move(blocks)).group(engine);
    // The file says less of its rows than they take.
    if (result || !contract::is_shortage(result.error())) return result;
  }
  auto groups = std::make_unique<SpilledGroupBy>(engine, request);
  GARUDA_TRY(groups->start());
  return groups;
}

Result<Plan> explain_group_by_of_file(Engine& engine, FileGroupBy const& request) {
  GARUDA_TRY_ASSIGN(auto blocks, BlockedGroupBy::open(request));
  if (blocks) {
    auto plan = (*std::move(blocks)).explain(engine);
    if (plan || !contract::is_shortage(plan.error())) return plan;
  }
  return SpilledGroupBy(engine, request).explain();
}

}  // namespace garuda::spill
