#include "operators/resolve/join_columns.hpp"

#include <fmt/format.h>

#include <string>
#include <unordered_set>

namespace garuda::resolve {
namespace {

Result<std::size_t> find_on_side(Schema const& schema, std::string_view name, std::string_view side) {
  auto found = find_column(schema, name);
  if (found) return found;
  return tl::unexpected<Error>(Error(found.error().code(), fmt::format("{} table: {}", side, found.error().message())));
}

std::vector<OutputColumn> default_output(Schema const& left, Schema const& right, std::size_t right_key) {
  std::vector<OutputColumn> output;
  for (std::size_t i = 0; i < left.size(); ++i) output.push_back({Side::left, i});
  for (std::size_t i = 0; i < right.size(); ++i)
    if (i != right_key) output.push_back({Side::right, i});
  return output;
}

std::vector<std::string> unique_names(Schema const& left, Schema const& right,
                                      std::vector<OutputColumn> const& output) {
  std::vector<std::string> names(output.size());
  std::unordered_set<std::string> taken;
  // Left columns first, wherever they stand: a clash always renames the right one.
  for (auto const side : {Side::left, Side::right})
    for (std::size_t i = 0; i < output.size(); ++i) {
      if (output[i].side != side) continue;
      auto name = (side == Side::left ? left : right)[output[i].column].name;
      if (side == Side::right)
        while (taken.contains(name)) name += "_right";
      taken.insert(name);
      names[i] = std::move(name);
    }
  return names;
}

}  // namespace

Result<ResolvedJoin> resolve_join(Schema const& left, Schema const& right, JoinSpec const& spec) {
  if (spec.on.size() != 1)
    return fail(ErrorCode::usage,
                fmt::format("a join takes exactly one pair of key columns in this version: {}", spec.on.size()));
  ResolvedJoin resolved;
  GARUDA_TRY_ASSIGN(resolved.left_key, find_on_side(left, spec.on[0].first, "left"));
  GARUDA_TRY_ASSIGN(resolved.right_key, find_on_side(right, spec.on[0].second, "right"));
  if (!spec.columns) {
    resolved.output = default_output(left, right, resolved.right_key);
  } else {
    if (spec.columns->empty()) return fail(ErrorCode::usage, "the list of result columns is empty");
    for (auto const& reference : *spec.columns) {
      auto const is_left = reference.side == Side::left;
      GARUDA_TRY_ASSIGN(auto const column,
                        find_on_side(is_left ? left : right, reference.name, is_left ? "left" : "right"));
      resolved.output.push_back({reference.side, column});
    }
  }
  resolved.names = unique_names(left, right, resolved.output);
  return resolved;
}

}  // namespace garuda::resolve
