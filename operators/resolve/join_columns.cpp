#include "operators/resolve/join_columns.hpp"

#include <fmt/format.h>

#include <string>
#include <unordered_set>

#include "keys/key_types.hpp"

namespace garuda::resolve {
namespace {

Result<std::size_t> find_on_side(Schema const& schema, std::string_view name, std::string_view side) {
  auto found = find_column(schema, name);
  if (found) return found;
  return tl::unexpected<Error>(Error(found.error().code(), fmt::format("{} table: {}", side, found.error().message())));
}

/// Where rows of a side come alone beside pairs, the keys of both sides are one column.
Result<void> set_default_output(Schema const& left, Schema const& right, ResolvedJoin& join) {
  auto const& parts = join.parts;
  bool const shares_key = parts.pairs && (parts.left != contract::Alone::none || parts.right != contract::Alone::none);
  for (std::size_t i = 0; i < left.size(); ++i) join.output.push_back({Side::left, i});
  if (!parts.pairs) return {};
  for (std::size_t i = 0; i < right.size(); ++i)
    if (i != join.right_key) join.output.push_back({Side::right, i});
  if (!shares_key) return {};
  GARUDA_TRY_ASSIGN(join.shared_key_type, keys::common_key_type(left[join.left_key], right[join.right_key]));
  return {};
}

Result<void> set_output(Schema const& left, Schema const& right, JoinSpec const& spec, ResolvedJoin& join) {
  if (spec.columns->empty()) return fail(ErrorCode::usage, "the list of result columns is empty");
  GARUDA_TRY(check_sides(spec));
  for (auto const& reference : *spec.columns) {
    auto const is_left = reference.side == Side::left;
    GARUDA_TRY_ASSIGN(auto const column,
                      find_on_side(is_left ? left : right, reference.name, is_left ? "left" : "right"));
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

Result<void> check_sides(JoinSpec const& spec) {
  if (!spec.columns || contract::parts_of(spec.kind).pairs) return {};
  for (auto const& [side, name] : *spec.columns)
    if (side == Side::right)
      return fail(ErrorCode::usage, fmt::format("the result of a join of kind {} has left columns only: right.{}",
                                                to_string(spec.kind), name));
  return {};
}

Result<ResolvedJoin> resolve_join(Schema const& left, Schema const& right, JoinSpec const& spec) {
  if (spec.on.size() != 1)
    return fail(ErrorCode::usage,
                fmt::format("a join takes exactly one pair of key columns in this version: {}", spec.on.size()));
  ResolvedJoin resolved;
  GARUDA_TRY_ASSIGN(resolved.left_key, find_on_side(left, spec.on[0].first, "left"));
  GARUDA_TRY_ASSIGN(resolved.right_key, find_on_side(right, spec.on[0].second, "right"));
  resolved.parts = contract::parts_of(spec.kind);
  resolved.has_mark = resolved.parts.left == contract::Alone::all;
  GARUDA_TRY(spec.columns ? set_output(left, right, spec, resolved) : set_default_output(left, right, resolved));
  resolved.names = unique_names(left, right, resolved);
  return resolved;
}

}  // namespace garuda::resolve
