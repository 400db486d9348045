#include "operators/resolve/join_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_set>

#include "expr/sides.hpp"
#include "garuda/condition.hpp"
#include "keys/codes/key_types.hpp"

namespace garuda::resolve {
namespace {

Result<std::vector<KeyPair>> find_keys(Schema const& left, Schema const& right, JoinSpec const& spec) {
  GARUDA_TRY(check_matching(spec));
  if (spec.on.size() > kMostKeys)
    return fail(ErrorCode::usage,
                fmt::format("a join takes at most {} pairs of key columns: {}", kMostKeys, spec.on.size()));
  std::vector<KeyPair> keys;
  for (auto const& [left_name, right_name] : spec.on) {
    KeyPair pair;
    GARUDA_TRY_ASSIGN(pair.left, find_on_side(left, {Side::left, left_name}));
    GARUDA_TRY_ASSIGN(pair.right, find_on_side(right, {Side::right, right_name}));
    for (auto const& other : keys)
      if (other.left == pair.left || other.right == pair.right)
        return fail(ErrorCode::usage,
                    fmt::format("a column is a key of a join once: {}",
                                other.left == pair.left ? "left." + left_name : "right." + right_name));
    GARUDA_TRY_ASSIGN(auto type, keys::common_key_type(left[pair.left], right[pair.right]));
    pair.type = std::move(type.result);
    auto const is_string = [](DataType const& of) { return is_variable_width(of) || is_view(of); };
    pair.has_strings = is_string(left[pair.left].type) && is_string(right[pair.right].type);
    keys.push_back(std::move(pair));
  }
  return keys;
}

/// Where unmatched rows of a side come beside pairs, the keys of both sides are one column each.
void set_default_output(Schema const& left, Schema const& right, ResolvedJoin& join) {
  auto const& parts = join.parts;
  for (std::size_t i = 0; i < left.size(); ++i) join.output.push_back({Side::left, i});
  if (!parts.pairs) return;
  for (std::size_t i = 0; i < right.size(); ++i)
    if (OutputColumn const column{Side::right, i}; !join.key_of(column)) join.output.push_back(column);
  join.shares_keys =
      !join.keys.empty() && (parts.left != contract::SideRows::none || parts.right != contract::SideRows::none);
}

Result<void> set_output(Schema const& left, Schema const& right, JoinSpec const& spec, ResolvedJoin& join) {
  if (spec.columns->empty()) return fail(ErrorCode::usage, "the list of result columns is empty");
  GARUDA_TRY(check_sides(spec));
  for (auto const& reference : *spec.columns) {
    GARUDA_TRY_ASSIGN(auto const column, find_on_side(reference.side == Side::left ? left : right, reference));
    join.output.push_back({reference.side, column});
  }
  return {};
}

std::vector<std::string> unique_names(Schema const& left, Schema const& right, ResolvedJoin const& join) {
  auto const& output = join.output;
  std::vector<std::string> names(output.size());
  std::unordered_set<std::string> taken;
  auto const free_name = [&](std::string name) {
    while (taken.contains(name)) name += "_right";
    return name;
  };
  // Left columns first, wherever they stand: a clash always renames the right one.
  for (auto const side : {Side::left, Side::right})
    for (std::size_t i = 0; i < output.size(); ++i) {
      if (output[i].side != side) continue;
      auto const& name = (side == Side::left ? left : right)[output[i].column].name;
      names[i] = side == Side::right ? free_name(name) : name;
      taken.insert(names[i]);
    }
  if (join.has_mark) names.push_back(free_name("mark"));
  return names;
}

}  // namespace

Result<std::vector<std::size_t>> resolve_build_keys(Schema const& schema, std::vector<std::string> const& names) {
  if (names.empty() || names.size() > kMostKeys)
    return fail(ErrorCode::usage, fmt::format("a build side has 1 to {} key columns: {}", kMostKeys, names.size()));
  std::vector<std::size_t> columns;
  for (auto const& name : names) {
    GARUDA_TRY_ASSIGN(auto const column, find_column(schema, name));
    if (std::ranges::find(columns, column) != columns.end())
      return fail(ErrorCode::usage, fmt::format("a column is a key of a build side once: {}", name));
    GARUDA_TRY(keys::common_key_type(schema[column], schema[column]));
    columns.push_back(column);
  }
  return columns;
}

Result<void> check_matching(JoinSpec const& spec) {
  if (!spec.on.empty() || spec.where || spec.allow_cross) return {};
  return fail(ErrorCode::usage,
              "a join without key columns (--on) and without a condition (--where) is every left row with every right "
              "one, which has to be allowed (--allow-cross)");
}

Result<void> check_sides(JoinSpec const& spec) {
  if (!spec.columns || contract::parts_of(spec.kind).pairs) return {};
  for (auto const& [side, name] : *spec.columns)
    if (side == Side::right)
      return fail(ErrorCode::usage, fmt::format("the result of a join of kind {} has left columns only: right.{}",
                                                to_string(spec.kind), name));
  return {};
}

Result<ResolvedJoin> resolve_join(Schema const& left, Schema const& right, JoinSpec const& spec) {
  ResolvedJoin resolved;
  GARUDA_TRY_ASSIGN(resolved.keys, find_keys(left, right, spec));
  resolved.parts = contract::parts_of(spec.kind);
  resolved.strings = spec.strings;
  resolved.has_mark = resolved.parts.left == contract::SideRows::all;
  if (spec.columns)
    GARUDA_TRY(set_output(left, right, spec, resolved));
  else
    set_default_output(left, right, resolved);
  resolved.names = unique_names(left, right, resolved);
  if (spec.where) {
    GARUDA_TRY_ASSIGN(resolved.condition, expr::resolve_condition(left, right, *spec.where));
  }
  return resolved;
}

Result<std::vector<std::size_t>> columns_read(JoinRequest const& request, Side side) {
  auto const& schema = side == Side::left ? request.left.schema() : request.right.schema();
  auto columns = request.columns.key_columns(side);
  for (auto const& output : request.columns.output)
    if (output.side == side) columns.push_back(output.column);
  if (request.spec.where)
    for (auto const& name : columns_of(*request.spec.where, side)) {
      GARUDA_TRY_ASSIGN(auto const column, find_column(schema, name));
      columns.push_back(column);
    }
  std::ranges::sort(columns);
  auto const twice = std::ranges::unique(columns);
  columns.erase(twice.begin(), twice.end());
  return columns;
}

}  // namespace garuda::resolve
