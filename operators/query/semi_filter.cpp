#include "operators/query/semi_filter.hpp"

#include <algorithm>
#include <variant>

#include "core/positions.hpp"

namespace garuda::query {
namespace {

/// A row that is grouped costs a few times as much as one that is looked up.
constexpr std::int64_t kFewestRowsEach = 4;

/// Columns of the probe side and of the build side that are equal.
using Keys = std::vector<std::pair<std::size_t, std::size_t>>;

std::int64_t most_scanned_rows(Bound const& query) {
  auto const* const scan = std::get_if<BoundScan>(&query.operation);
  auto rows = scan == nullptr ? 0 : scan->table.num_rows();
  for (auto const& input : query.inputs) rows = std::max(rows, most_scanned_rows(input));
  return rows;
}

Bound semi_join(Bound left, TableView built, Keys keys, bool nulls_equal) {
  BoundJoin join;
  join.kind = JoinKind::semi;
  join.keys = std::move(keys);
  join.nulls_equal = nulls_equal;
  join.left_columns = first_positions(left.schema.size());
  Bound bound{std::move(join), {}, left.schema};
  bound.inputs.push_back(std::move(left));
  bound.inputs.push_back({BoundScan{built}, {}, built.schema()});
  return bound;
}

/// The keys as the projection's input has them; those whose columns are computed are left out.
Keys keys_below(BoundProject const& project, Keys keys) {
  auto const position = [&](auto const& key) { return std::get_if<std::size_t>(&project.columns[key.first]); };
  std::erase_if(keys, [&](auto const& key) { return position(key) == nullptr; });
  for (auto& key : keys) key.first = *position(key);
  return keys;
}

/// The keys as the probe side of an inner join has them; those whose columns come from the build side are left out.
Keys keys_below(BoundJoin const& join, Keys keys) {
  bool const probes_left = join.build == Side::right;
  auto const first = probes_left ? 0 : join.left_columns.size();
  auto const& columns = probes_left ? join.left_columns : join.right_columns;
  std::erase_if(keys, [&](auto const& key) { return key.first < first || key.first - first >= columns.size(); });
  for (auto& key : keys) key.first = columns[key.first - first];
  return keys;
}

/// The rows with a match in the build side. Others are left out where the probe sides of inner joins begin, so that
/// these look none of them up. Build sides stay as they are, for others may share them.
Bound semi_join_below(Bound query, TableView built, Keys keys, bool nulls_equal) {
  auto const* const project = std::get_if<BoundProject>(&query.operation);
  auto const* const join = std::get_if<BoundJoin>(&query.operation);
  Keys below;
  if (project != nullptr) below = keys_below(*project, keys);
  if (join != nullptr && join->kind == JoinKind::inner) below = keys_below(*join, keys);
  if (below.empty()) return semi_join(std::move(query), built, std::move(keys), nulls_equal);
  auto& input = query.inputs[join != nullptr && join->build == Side::left ? 1 : 0];
  input = semi_join_below(std::move(input), built, std::move(below), nulls_equal);
  return query;
}

/// Puts the semi join, by the keys whose columns come from there, below a group-by. False: there is none.
bool push_down(Bound& query, TableView built, Keys& keys, bool nulls_equal) {
  if (std::holds_alternative<BoundFilter>(query.operation)) return push_down(query.inputs[0], built, keys, nulls_equal);
  if (auto const* const project = std::get_if<BoundProject>(&query.operation)) {
    keys = keys_below(*project, std::move(keys));
    return push_down(query.inputs[0], built, keys, nulls_equal);
  }
  auto const* const group_by = std::get_if<BoundGroupBy>(&query.operation);
  if (group_by == nullptr) return false;
  // Groups that agree with no row of the build side in some of the keys do not match it.
  std::erase_if(keys, [&](auto const& key) { return key.first >= group_by->num_keys; });
  auto& input = query.inputs[0];
  if (keys.empty() || most_scanned_rows(input) < kFewestRowsEach * built.num_rows()) return false;
  input = semi_join_below(std::move(input), built, std::move(keys), nulls_equal);
  return true;
}

}  // namespace

std::optional<Bound> with_semi_filter(Bound const& probe, TableView built, Keys keys, bool nulls_equal) {
  auto filtered = probe;
  if (!push_down(filtered, built, keys, nulls_equal)) return std::nullopt;
  return filtered;
}

}  // namespace garuda::query
