#include "operators/query/join_order.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "core/positions.hpp"
#include "operators/contract/join_kind.hpp"
#include "operators/query/bind_join.hpp"
#include "operators/query/estimate.hpp"

namespace garuda::query {
namespace {

/// Groups among so many rows, where nothing is known of their keys.
constexpr double kGroupShare = 0.2;

struct Planned {
  Bound query;
  Estimate estimate;
};

/// A column of one of the inputs of a chain of inner joins.
struct LeafColumn {
  std::size_t leaf = 0;
  std::size_t column = 0;

  friend bool operator==(LeafColumn const&, LeafColumn const&) = default;
};

struct Edge {
  LeafColumn first;
  LeafColumn second;
};

/// Inner joins as a graph: the inputs, and their columns that must be equal.
struct JoinGraph {
  std::vector<Planned> leaves;
  std::vector<Edge> edges;
};

bool has_join(Bound const& query) {
  return std::holds_alternative<BoundJoin>(query.operation) || std::ranges::any_of(query.inputs, has_join);
}

/// Whether the operator only picks columns of its input.
bool picks_columns(Bound const& query) {
  auto const* const project = std::get_if<BoundProject>(&query.operation);
  return project != nullptr && std::ranges::all_of(project->columns, [](ProjectedColumn const& column) {
           return std::holds_alternative<std::size_t>(column);
         });
}

bool is_inner(Bound const& query) {
  auto const* const join = std::get_if<BoundJoin>(&query.operation);
  return join != nullptr && join->kind == JoinKind::inner && !join->where && !join->pairs && !join->nulls_equal &&
         !join->keys.empty();
}

/// A part of the graph that is joined: its query, and which columns of leaves it has.
struct Joined {
  Planned planned;
  std::vector<LeafColumn> columns;

  std::optional<std::size_t> find(LeafColumn const& column) const {
    auto const found = std::ranges::find(columns, column);
    return found == columns.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - columns.begin()));
  }
};

class JoinPlanner {
 public:
  explicit JoinPlanner(Control const& control) : control_(control) {}

  Result<Planned> plan(Bound query) {
    if (is_inner(query) || (picks_columns(query) && is_inner(query.inputs[0]))) return plan_inner(std::move(query));
    if (auto const* const scan = std::get_if<BoundScan>(&query.operation)) {
      GARUDA_TRY_ASSIGN(auto estimate, sample_table(scan->table, first_positions(query.schema.size()), control_));
      return estimated(std::move(query), std::move(estimate));
    }
    if (picks_columns(query) && std::holds_alternative<BoundScan>(query.inputs[0].operation))
      return plan_picked(std::move(query));
    std::vector<Estimate> inputs;
    for (auto& input : query.inputs) {
      GARUDA_TRY_ASSIGN(auto planned, plan(std::move(input)));
      input = std::move(planned.query);
      inputs.push_back(std::move(planned.estimate));
    }
    GARUDA_TRY_ASSIGN(auto estimate, estimate_of(query, inputs));
    return estimated(std::move(query), std::move(estimate));
  }

 private:
  static Planned estimated(Bound query, Estimate estimate) {
    query.estimated_rows = estimate.rows;
    return {std::move(query), std::move(estimate)};
  }

  /// Columns of a scan, of which the others are not sampled.
  Result<Planned> plan_picked(Bound query) {
    std::vector<std::size_t> columns;
    for (auto const& column : std::get<BoundProject>(query.operation).columns)
      columns.push_back(std::get<std::size_t>(column));
    GARUDA_TRY_ASSIGN(auto estimate,
                      sample_table(std::get<BoundScan>(query.inputs[0].operation).table, columns, control_));
    return estimated(std::move(query), std::move(estimate));
  }

  Result<Estimate> estimate_of(Bound& query, std::vector<Estimate>& inputs) {
    auto& operation = query.operation;
    if (auto const* const filter = std::get_if<BoundFilter>(&operation))
      return estimate_filter(*filter, inputs[0], control_);
    if (auto const* const project = std::get_if<BoundProject>(&operation))
      return estimate_project(*project, inputs[0], control_);
    if (auto* const join = std::get_if<BoundJoin>(&operation)) return estimate_join(*join, query, inputs);
    Estimate estimate{0, nullptr, std::vector<double>(query.schema.size())};
    for (auto const& input : inputs) estimate.rows += input.rows;
    if (auto const* const group_by = std::get_if<BoundGroupBy>(&operation))
      estimate.rows = group_by->num_keys == 0 ? 1 : std::max(estimate.rows * kGroupShare, 1.0);
    auto const* const limit = std::get_if<BoundLimit>(&operation);
    if (limit != nullptr && limit->rows) estimate.rows = std::min(estimate.rows, static_cast<double>(*limit->rows));
    return estimate;
  }

  Result<Estimate> estimate_join(BoundJoin& join, Bound const& query, std::vector<Estimate>& inputs) {
    auto& left = inputs[0];
    auto& right = inputs[1];
    join.build = left.rows < right.rows ? Side::left : Side::right;
    GARUDA_TRY_ASSIGN(auto const pairs, pairs_of(join.keys, left, right));
    auto const parts = contract::parts_of(join.kind);
    Estimate estimate{parts.pairs ? pairs : 0, nullptr, std::vector<double>(query.schema.size())};
    for (auto const side : {Side::left, Side::right}) {
      auto const rows = side == Side::left ? left.rows : right.rows;
      estimate.rows += contract::num_side_rows(parts.rows(side), rows, std::min(rows, pairs));
    }
    return estimate;
  }

  /// Pairs of rows with equal keys: one pair of rows in d is equal, where d is the number of distinct keys of the side
  /// that has more of them. Of several keys together that number is not known: it is at most that of the rows, and what
  /// is equal in all keys is so in each.
  Result<double> pairs_of(std::vector<std::pair<std::size_t, std::size_t>> const& keys, Estimate& left,
                          Estimate& right) {
    auto const all = left.rows * right.rows;
    auto pairs = all;
    double of_left = 1;
    double of_right = 1;
    for (auto const& [left_key, right_key] : keys) {
      GARUDA_TRY_ASSIGN(auto const left_values, distinct_values(left, left_key, control_));
      GARUDA_TRY_ASSIGN(auto const right_values, distinct_values(right, right_key, control_));
      of_left *= left_values;
      of_right *= right_values;
      pairs = std::min(pairs, all / std::max({left_values, right_values, 1.0}));
    }
    if (keys.size() == 1) return pairs;
    return std::min(pairs, all / std::max(std::min({of_left, left.rows, of_right, right.rows}), 1.0));
  }

  Result<Planned> plan_inner(Bound query) {
    auto schema = query.schema;
    JoinGraph graph;
    GARUDA_TRY_ASSIGN(auto const wanted, add_to(graph, std::move(query)));
    std::vector<Joined> parts;
    for (std::size_t leaf = 0; leaf < graph.leaves.size(); ++leaf) {
      Joined part{std::move(graph.leaves[leaf]), {}};
      for (std::size_t c = 0; c < part.planned.query.schema.size(); ++c) part.columns.push_back({leaf, c});
      parts.push_back(std::move(part));
    }
    while (parts.size() > 1) {
      GARUDA_TRY_ASSIGN(auto const pair, cheapest_pair(parts, graph.edges));
      auto joined = join_parts(std::move(parts[pair.first]), std::move(parts[pair.second]), graph.edges);
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(pair.second));
      GARUDA_TRY_ASSIGN(parts[pair.first], std::move(joined));
    }
    auto& whole = parts.front();
    // The query's own names are those of a result whose columns stand where they stood.
    if (whole.columns == wanted) {
      whole.planned.query.schema = std::move(schema);
      return std::move(whole.planned);
    }
    BoundProject columns;
    std::vector<double> distinct;
    for (auto const& column : wanted) {
      columns.columns.emplace_back(*whole.find(column));
      distinct.push_back(whole.planned.estimate.distinct[*whole.find(column)]);
    }
    Planned planned{with_input(std::move(columns), std::move(whole.planned.query), std::move(schema)),
                    std::move(whole.planned.estimate)};
    planned.estimate.distinct = std::move(distinct);
    return planned;
  }

  /// Adds the inputs of a chain of inner joins; returns where its columns come from.
  Result<std::vector<LeafColumn>> add_to(JoinGraph& graph, Bound query) {
    if (picks_columns(query) && (is_inner(query.inputs[0]) || picks_columns(query.inputs[0]))) {
      GARUDA_TRY_ASSIGN(auto const below, add_to(graph, std::move(query.inputs[0])));
      std::vector<LeafColumn> columns;
      for (auto const& column : std::get<BoundProject>(query.operation).columns)
        columns.push_back(below[std::get<std::size_t>(column)]);
      return columns;
    }
    if (!is_inner(query)) {
      std::vector<LeafColumn> columns;
      for (std::size_t c = 0; c < query.schema.size(); ++c) columns.push_back({graph.leaves.size(), c});
      auto const place = graph.leaves.size();
      graph.leaves.emplace_back();
      GARUDA_TRY_ASSIGN(graph.leaves[place], plan(std::move(query)));
      return columns;
    }
    auto const& join = std::get<BoundJoin>(query.operation);
    GARUDA_TRY_ASSIGN(auto const left, add_to(graph, std::move(query.inputs[0])));
    GARUDA_TRY_ASSIGN(auto const right, add_to(graph, std::move(query.inputs[1])));
    for (auto const& [left_key, right_key] : join.keys) graph.edges.push_back({left[left_key], right[right_key]});
    std::vector<LeafColumn> columns;
    for (auto const column : join.left_columns) columns.push_back(left[column]);
    for (auto const column : join.right_columns) columns.push_back(right[column]);
    return columns;
  }

  /// The keys of two parts, those of the first one in front.
  static std::vector<std::pair<std::size_t, std::size_t>> keys_of(Joined const& first, Joined const& second,
                                                                  std::vector<Edge> const& edges) {
    std::vector<std::pair<std::size_t, std::size_t>> keys;
    for (auto const& edge : edges)
      for (auto const& [a, b] : {std::pair(edge.first, edge.second), std::pair(edge.second, edge.first)}) {
        auto const of_first = first.find(a);
        auto const of_second = second.find(b);
        if (of_first && of_second) keys.emplace_back(*of_first, *of_second);
      }
    return keys;
  }

  /// The two parts, the one that stands before the other in front, whose join has the fewest rows; ties go to the
  /// smaller inputs.
  Result<std::pair<std::size_t, std::size_t>> cheapest_pair(std::vector<Joined>& parts,
                                                            std::vector<Edge> const& edges) {
    std::optional<std::pair<std::size_t, std::size_t>> best;
    auto least = std::pair(std::numeric_limits<double>::max(), std::numeric_limits<double>::max());
    for (std::size_t i = 0; i < parts.size(); ++i)
      for (std::size_t j = i + 1; j < parts.size(); ++j) {
        auto const keys = keys_of(parts[i], parts[j], edges);
        if (keys.empty()) continue;
        auto& left = parts[i].planned.estimate;
        auto& right = parts[j].planned.estimate;
        GARUDA_TRY_ASSIGN(auto const pairs, pairs_of(keys, left, right));
        auto const cost = std::pair(pairs, left.rows + right.rows);
        if (cost < least) {
          least = cost;
          best = {i, j};
        }
      }
    GARUDA_EXPECTS(best.has_value());  // the joins that were written connect all inputs
    return *best;
  }

  /// Counts the distinct values of columns that later joins compare: the result has no sample.
  Result<void> count_keys(Joined& part, std::vector<Edge> const& edges) {
    for (auto const& edge : edges)
      for (auto const& column : {edge.first, edge.second})
        if (auto const place = part.find(column)) GARUDA_TRY(distinct_values(part.planned.estimate, *place, control_));
    return {};
  }

  /// The part with more rows is the left input, whose rows probe the other one.
  Result<Joined> join_parts(Joined first, Joined second, std::vector<Edge> const& edges) {
    if (first.planned.estimate.rows < second.planned.estimate.rows) std::swap(first, second);
    GARUDA_TRY(count_keys(first, edges));
    GARUDA_TRY(count_keys(second, edges));
    auto& left = first.planned.estimate;
    auto& right = second.planned.estimate;
    auto const keys = keys_of(first, second, edges);
    GARUDA_TRY_ASSIGN(auto const pairs, pairs_of(keys, left, right));
    Joined joined{{{}, {pairs, nullptr, {}}}, std::move(first.columns)};
    joined.columns.insert(joined.columns.end(), second.columns.begin(), second.columns.end());
    auto& distinct = joined.planned.estimate.distinct;
    for (auto const* const side : {&left, &right})
      for (auto const values : side->distinct) distinct.push_back(std::min(values, std::max(pairs, 1.0)));
    for (auto const& [left_key, right_key] : keys) {
      auto& of_right = distinct[left.distinct.size() + right_key];
      distinct[left_key] = of_right = std::min(distinct[left_key], of_right);
    }
    joined.planned.query = inner_join(std::move(first.planned.query), std::move(second.planned.query), keys);
    joined.planned.query.estimated_rows = pairs;
    return joined;
  }

  static Bound inner_join(Bound left, Bound right, std::vector<std::pair<std::size_t, std::size_t>> const& keys) {
    BoundJoin join;
    join.left_columns = first_positions(left.schema.size());
    join.right_columns = first_positions(right.schema.size());
    auto schema = left.schema;
    schema.insert(schema.end(), right.schema.begin(), right.schema.end());
    AddedColumns lefts(left.schema);
    AddedColumns rights(right.schema);
    for (auto [left_key, right_key] : keys) {
      // A join takes a column as a key once.
      if (std::ranges::find(join.keys, left_key, [](auto const& key) { return key.first; }) != join.keys.end())
        left_key = lefts.add_copy(left_key);
      if (std::ranges::find(join.keys, right_key, [](auto const& key) { return key.second; }) != join.keys.end())
        right_key = rights.add_copy(right_key);
      join.keys.emplace_back(left_key, right_key);
    }
    Bound bound{std::move(join), {}, std::move(schema)};
    bound.inputs.push_back(std::move(lefts).behind(std::move(left)));
    bound.inputs.push_back(std::move(rights).behind(std::move(right)));
    return bound;
  }

  Control const& control_;
};

}  // namespace

Result<Bound> order_joins(Bound query, Control const& control) {
  return has_join(query) ? estimate_rows(std::move(query), control) : std::move(query);
}

Result<Bound> estimate_rows(Bound query, Control const& control) {
  return JoinPlanner(control).plan(std::move(query)).map([](Planned planned) { return std::move(planned.query); });
}

}  // namespace garuda::query
