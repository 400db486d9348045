#include "operators/query/limited/limited_group_by.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "operators/contract/sizing.hpp"
#include "operators/group_by/group_by.hpp"
#include "operators/group_by/partial_groups.hpp"
#include "operators/pipeline/rows.hpp"
#include "operators/query/limited/hash_partitions.hpp"
#include "operators/resolve/group_by_columns.hpp"
#include "operators/resolve/row_memory.hpp"

namespace garuda::query {
namespace {

/// A block of so many rows that does not fit is an error.
constexpr std::uint64_t kFewestBlockRows = 1;

/// The group-by of one query, cut into runs that fit.
class GroupByRuns {
 public:
  explicit GroupByRuns(LimitedGroupBy const& request) : request_(request), options_(request.options) {
    options_.memory_limit_bytes = request.limit.operator_bytes;
  }

  Result<Table> group(TableView table, std::uint32_t level) {
    auto const rows = static_cast<std::uint64_t>(table.num_rows());
    GARUDA_TRY_ASSIGN(auto const most_rows, block_rows(table, request_.spec));
    // The words of a table's keys are made before it is known what grouping them takes.
    if (rows <= most_rows) {
      auto groups = group_once(table, request_.spec);
      if (groups || !contract::is_shortage(groups.error())) return groups;
      if (rows <= kFewestBlockRows) return groups;
    }
    GARUDA_TRY_ASSIGN(auto const partial, group_by::PartialGroups::create(table.schema(), request_.spec, rows));
    if (partial.can_merge()) {
      GARUDA_TRY_ASSIGN(auto groups, group_blocks(table, partial));
      if (groups) return merge(groups->view(), partial, level);
    }
    return group_partitions(table, level);
  }

  Plan take_plan() && { return plan_ ? *std::move(plan_) : Plan(); }

 private:
  /// Rows whose keys and states take an operator's memory where every second one is a group of its own.
  Result<std::uint64_t> block_rows(TableView table, GroupBySpec const& spec) const {
    constexpr std::uint64_t kFewestRows = 1024;
    GARUDA_TRY_ASSIGN(auto const row_bytes, resolve::group_row_bytes(table, spec));
    return std::max(2 * request_.limit.operator_bytes / row_bytes, kFewestRows);
  }

  Result<Table> group_once(TableView table, GroupBySpec const& spec) {
    GARUDA_TRY_ASSIGN(auto columns, resolve::resolve_group_by(table, spec));
    GARUDA_TRY_ASSIGN(auto result, group_by::group_by({table, spec, std::move(columns), options_, &request_.devices}));
    GARUDA_TRY_ASSIGN(auto groups, request_.limit.rows.collect(*result));
    if (!plan_) plan_ = result->plan();
    request_.run.recorder.absorb(result->stats());
    return groups;
  }

  /// The groups of all blocks, one behind the other; nullopt: blocks do not bring rows together, so that keys have to.
  Result<std::optional<Table>> group_blocks(TableView table, group_by::PartialGroups const& partial) {
    auto const rows = static_cast<std::uint64_t>(table.num_rows());
    GARUDA_TRY_ASSIGN(auto in_block, block_rows(table, partial.spec()));
    in_block = std::min(in_block, std::max<std::uint64_t>(rows / 2, kFewestBlockRows));
    std::vector<Table> groups;
    std::uint64_t num_groups = 0;
    for (std::uint64_t begin = 0; begin < rows;) {
      auto const block = pipeline::slice_rows(table, begin, in_block);
      auto grouped = group_once(block.view(), partial.spec());
      if (!grouped && contract::is_shortage(grouped.error()) && in_block > kFewestBlockRows) {
        in_block /= 2;
        continue;
      }
      if (!grouped) return tl::unexpected(std::move(grouped).error());
      begin += static_cast<std::uint64_t>(block.num_rows());
      num_groups += static_cast<std::uint64_t>(grouped->num_rows());
      groups.push_back(*std::move(grouped));
      if (!request_.spec.keys.empty() && num_groups > begin / 2) return std::nullopt;
    }
    request_.run.recorder.add_counter("grouped_blocks", groups.size());
    return pipeline::append_rows(groups);
  }

  /// Merges the groups of blocks, at once or partition by partition.
  Result<Table> merge(TableView groups, group_by::PartialGroups const& partial, std::uint32_t level) {
    bool const can_split = !request_.spec.keys.empty() && level < kMostSplitLevels;
    GARUDA_TRY_ASSIGN(auto const weight, partial.merge_weight(groups));
    if (weight <= request_.limit.operator_bytes || !can_split) {
      auto merged = partial.merge(groups, options_, request_.devices);
      if (merged) {
        GARUDA_TRY_ASSIGN(auto finished, partial.finish(merged->view(), options_.control));
        return kept(std::move(finished));
      }
      if (!contract::is_shortage(merged.error()) || !can_split) return tl::unexpected(std::move(merged).error());
    }
    GARUDA_TRY_ASSIGN(auto const parts, partitions(groups, weight, level, StringForm::utf8));
    std::vector<Table> tables;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      if (parts.num_rows(p) == 0) continue;
      GARUDA_TRY_ASSIGN(auto table, merge(parts.table(p).view(), partial, level + 1));
      tables.push_back(std::move(table));
    }
    return pipeline::append_rows(tables);
  }

  Result<Table> group_partitions(TableView table, std::uint32_t level) {
    if (request_.spec.keys.empty() || level == kMostSplitLevels)
      return fail(ErrorCode::limit_exceeded,
                  fmt::format("a group-by of a query needs all values of a group at once, and {} rows with {} bytes do "
                              "not fit the memory that its limit leaves to an operator: {}",
                              table.num_rows(), materialize::bytes_of_rows(table), request_.limit.operator_bytes));
    GARUDA_TRY_ASSIGN(auto const row_bytes, resolve::group_row_bytes(table, request_.spec));
    auto const weight = static_cast<std::uint64_t>(table.num_rows()) * row_bytes;
    GARUDA_TRY_ASSIGN(auto const parts, partitions(table, weight, level, StringForm::view));
    std::vector<Table> tables;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      if (parts.num_rows(p) == 0) continue;
      GARUDA_TRY_ASSIGN(auto groups, group(parts.table(p).view(), level + 1));
      tables.push_back(std::move(groups));
    }
    return pipeline::append_rows(tables);
  }

  /// `weight`: memory that grouping all rows takes.
  Result<RowParts> partitions(TableView table, std::uint64_t weight, std::uint32_t level, StringForm strings) {
    std::vector<HashedKey> keys;
    for (auto const& name : request_.spec.keys) {
      GARUDA_TRY_ASSIGN(auto const column, find_column(table.schema(), name));
      keys.push_back(hashed_key(table, column));
    }
    auto const bits = split_bits(weight, request_.limit);
    return request_.run.arena.execute(
        [&] { return hash_partitions(table, keys, level, bits, strings, request_.limit, options_.control); });
  }

  Result<Table> kept(Table table) {
    std::vector<Batch> batches;
    for (auto const& batch : table.batches()) {
      GARUDA_TRY_ASSIGN(auto in_place, request_.limit.rows.keep(table.schema(), batch));
      batches.push_back(std::move(in_place));
    }
    return Table(table.schema(), std::move(batches));
  }

  LimitedGroupBy const& request_;
  GroupByOptions options_;
  std::optional<Plan> plan_;  ///< of the first run that made groups
};

}  // namespace

Result<LimitedGroups> group_within_limit(TableView table, LimitedGroupBy const& request) {
  GroupByRuns runs(request);
  GARUDA_TRY_ASSIGN(auto groups, runs.group(table, 0));
  return LimitedGroups{std::move(groups), std::move(runs).take_plan()};
}

}  // namespace garuda::query
