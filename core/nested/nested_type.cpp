#include "core/nested/nested_type.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "core/arrow/arrow_format.hpp"
#include "garuda/arrow_abi.h"

namespace garuda {
namespace {

/// Names of formats with children, and of null; those that end in a colon go on with parameters.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kNames{{
    {"n", "null"},
    {"+l", "list"},
    {"+L", "large_list"},
    {"+vl", "list_view"},
    {"+vL", "large_list_view"},
    {"+w:", "fixed_size_list"},
    {"+m", "map"},
    {"+r", "run_end_encoded"},
    {"+s", "struct"},
    {"+ud:", "dense_union"},
    {"+us:", "sparse_union"},
    {"", "unknown"},
}};

bool are_fields_equal(NestedType const& a, NestedType const& b) { return a.name == b.name && a == b; }

/// A column of type `type` as a node.
NestedType node_of(DataType const& type, std::string name) {
  NestedType node;
  if (type.nested)
    node = *type.nested;
  else
    node.format = format_string(type);
  node.name = std::move(name);
  node.flags |= ARROW_FLAG_NULLABLE | (type.ordered ? ARROW_FLAG_DICTIONARY_ORDERED : 0);
  if (type.id == TypeId::dictionary) node.dictionary = std::make_shared<NestedType const>(node_of(*type.value, ""));
  return node;
}

}  // namespace

DataType list_of(DataType const& value) {
  NestedType list;
  list.format = "+l";
  list.children.push_back(node_of(value, "item"));
  return {.id = TypeId::nested, .nested = std::make_shared<NestedType const>(std::move(list))};
}

bool operator==(NestedType const& a, NestedType const& b) {
  if (a.format != b.format || a.metadata != b.metadata || a.flags != b.flags || a.children.size() != b.children.size())
    return false;
  for (std::size_t i = 0; i < a.children.size(); ++i)
    if (!are_fields_equal(a.children[i], b.children[i])) return false;
  return a.dictionary == b.dictionary || (a.dictionary && b.dictionary && *a.dictionary == *b.dictionary);
}

std::string to_string(NestedType const& type) {
  if (type.dictionary != nullptr) {
    auto const index = parse_format(type.format);
    return fmt::format("dictionary<{}, {}>", index ? to_string(*index) : type.format, to_string(*type.dictionary));
  }
  for (auto const& [format, name] : kNames) {
    bool const is_prefix = format.ends_with(':');
    if (is_prefix ? !type.format.starts_with(format) : type.format != format) continue;
    std::string children;
    for (auto const& child : type.children)
      children += fmt::format("{}{}: {}", children.empty() ? "" : ", ", child.name, to_string(child));
    return children.empty() ? std::string(name) : fmt::format("{}<{}>", name, children);
  }
  auto const plain = parse_format(type.format);
  return plain ? to_string(*plain) : type.format;
}

}  // namespace garuda
