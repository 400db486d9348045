#include "operators/query/results/common_subtrees.hpp"

#include <algorithm>
#include <type_traits>
#include <variant>

namespace garuda::query {
namespace {

using expr::Expression;

bool equal(Expression const& a, Expression const& b) {
  return a.form == b.form && a.type == b.type && a.column == b.column && a.value == b.value &&
         a.function == b.function && a.comparator == b.comparator && a.field == b.field &&
         a.on_failure == b.on_failure && std::ranges::equal(a.arguments, b.arguments, equal);
}

bool equal_columns(ProjectedColumn const& a, ProjectedColumn const& b) {
  auto const* const first = std::get_if<Expression>(&a);
  auto const* const second = std::get_if<Expression>(&b);
  if (first != nullptr && second != nullptr) return equal(*first, *second);
  return first == second && std::get<std::size_t>(a) == std::get<std::size_t>(b);
}

bool equal_order(SortColumn const& a, SortColumn const& b) {
  return a.column == b.column && a.descending == b.descending && a.nulls_first == b.nulls_first;
}

/// Tables are told apart by where they are.
bool equal(BoundScan const& a, BoundScan const& b) {
  return &a.table.schema() == &b.table.schema() && a.table.num_rows() == b.table.num_rows();
}
bool equal(BoundFilter const& a, BoundFilter const& b) { return equal(a.predicate, b.predicate); }
bool equal(BoundProject const& a, BoundProject const& b) {
  return std::ranges::equal(a.columns, b.columns, equal_columns);
}
bool equal(BoundJoin const& a, BoundJoin const& b) {
  bool const have_pairs = a.pairs && b.pairs;
  return a.kind == b.kind && a.keys == b.keys && a.where == b.where && a.nulls_equal == b.nulls_equal &&
         a.left_columns == b.left_columns && a.right_columns == b.right_columns && a.build == b.build &&
         (have_pairs ? equal(*a.pairs, *b.pairs) : a.pairs.has_value() == b.pairs.has_value());
}
bool equal(BoundGroupBy const& a, BoundGroupBy const& b) {
  return a.num_keys == b.num_keys && a.aggregates == b.aggregates;
}
bool equal(BoundSort const& a, BoundSort const& b) {
  return a.rows == b.rows && std::ranges::equal(a.columns, b.columns, equal_order);
}
bool equal(BoundNumber const& a, BoundNumber const& b) {
  return a.num_partition == b.num_partition && a.num_keys == b.num_keys &&
         std::ranges::equal(a.columns, b.columns, equal_order);
}
bool equal(BoundLimit const& a, BoundLimit const& b) { return a.offset == b.offset && a.rows == b.rows; }
bool equal(BoundUnion const& /*a*/, BoundUnion const& /*b*/) { return true; }

/// Whether the operator's rows are a table before others read them.
bool ends_pipeline(Bound const& query) {
  auto const& operation = query.operation;
  return std::holds_alternative<BoundGroupBy>(operation) || std::holds_alternative<BoundSort>(operation) ||
         std::holds_alternative<BoundNumber>(operation) || std::holds_alternative<BoundLimit>(operation) ||
         std::holds_alternative<BoundUnion>(operation);
}

}  // namespace

bool is_table(Bound const& query) {
  if (std::holds_alternative<BoundScan>(query.operation)) return true;
  auto const* const project = std::get_if<BoundProject>(&query.operation);
  return project != nullptr && project->only_picks() && is_table(query.inputs[0]);
}

bool are_equal(Bound const& a, Bound const& b) {
  if (a.operation.index() != b.operation.index() || a.inputs.size() != b.inputs.size()) return false;
  bool const is_same = std::visit(
      [&]<class Operation>(Operation const& operation) { return equal(operation, std::get<Operation>(b.operation)); },
      a.operation);
  return is_same && std::ranges::equal(a.inputs, b.inputs, are_equal);
}

CommonSubtrees::CommonSubtrees(Bound const& query) {
  add(query, false);
  std::erase_if(subtrees_, [](Subtree const& subtree) { return subtree.uses < 2; });
}

void CommonSubtrees::add(Bound const& query, bool is_kept) {
  if ((is_kept || ends_pipeline(query)) && !is_table(query)) {
    auto const known =
        std::ranges::find_if(subtrees_, [&](Subtree const& subtree) { return are_equal(*subtree.query, query); });
    if (known != subtrees_.end()) {
      ++known->uses;
      return;
    }
    subtrees_.push_back({&query, 1});
  }
  auto const* const join = std::get_if<BoundJoin>(&query.operation);
  for (std::size_t i = 0; i < query.inputs.size(); ++i)
    add(query.inputs[i], join != nullptr && (join->build == Side::left) == (i == 0));
}

std::optional<std::size_t> CommonSubtrees::find(Bound const& query) const {
  for (std::size_t s = 0; s < subtrees_.size(); ++s)
    if (are_equal(*subtrees_[s].query, query)) return s;
  return std::nullopt;
}

bool CommonSubtrees::feeds(Bound const& query) const {
  if (subtrees_.empty()) return false;
  if (find(query)) return true;
  bool const goes_on =
      std::holds_alternative<BoundFilter>(query.operation) || std::holds_alternative<BoundProject>(query.operation);
  return goes_on && feeds(query.inputs[0]);
}

}  // namespace garuda::query
