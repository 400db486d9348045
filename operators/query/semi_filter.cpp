#include "operators/query/semi_filter.hpp"

#include <algorithm>
#include <numeric>
#include <variant>

namespace garuda::query {
namespace {

/// A row that is grouped costs a few times as much as one that is looked up.
constexpr std::int64_t kFewestRowsEach = 4;

std::int64_t most_scanned_rows(Bound const& query) {
  auto const* const scan = std::get_if<BoundScan>(&query.operation);
  auto rows = scan == nullptr ? 0 : scan->table.num_rows();
  for (auto const& input : query.inputs) rows = std::max(rows, most_scanned_rows(input));
  return rows;
}

Bound semi_join(Bound left, TableView built, std::vector<std::pair<std::size_t, std::size_t>> keys, bool nulls_equal) {
  BoundJoin join;
  join.kind = JoinKind::semi;
  join.keys = std::move(keys);
  join.nulls_equal = nulls_equal;
  join.left_columns.resize(left.schema.size());
  std::iota(join.left_columns.begin(), join.left_columns.end(), 0);
  Bound bound{std::move(join), {}, left.schema};
  bound.inputs.push_back(std::move(left));
  bound.inputs.push_back({BoundScan{built}, {}, built.schema()});
  return bound;
}

/// Puts the semi join, by the keys whose columns come from there, below a group-by. False: there is none.
bool push_down(Bound& query, TableView built, std::vector<std::pair<std::size_t, std::size_t>>& keys,
               bool nulls_equal) {
  if (std::holds_alternative<BoundFilter>(query.operation)) return push_down(query.inputs[0], built, keys, nulls_equal);
  if (auto const* const project = std::get_if<BoundProject>(&query.operation)) {
    auto const position = [&](auto const& key) { return std::get_if<std::size_t>(&project->columns[key.first]); };
    std::erase_if(keys, [&](auto const& key) { return position(key) == nullptr; });
    for (auto& key : keys) key.first = *position(key);
    return push_down(query.inputs[0], built, keys, nulls_equal);
  }
  auto const* const group_by = std::get_if<BoundGroupBy>(&query.operation);
  if (group_by == nullptr) return false;
  // Groups that agree with no row of the build side in some of the keys do not match it.
  std::erase_if(keys, [&](auto const& key) { return key.first >= group_by->num_keys; });
  auto& input = query.inputs[0];
  if (keys.empty() || most_scanned_rows(input) < kFewestRowsEach * built.num_rows()) return false;
  input = semi_join(std::move(input), built, std::move(keys), nulls_equal);
  return true;
}

}  // namespace

std::optional<Bound> with_semi_filter(Bound const& probe, TableView built,
                                      std::vector<std::pair<std::size_t, std::size_t>> keys, bool nulls_equal) {
  auto filtered = probe;
  if (!push_down(filtered, built, keys, nulls_equal)) return std::nullopt;
  return filtered;
}

}  // namespace garuda::query
