#include "core/nested/nested_layout.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "core/arrow/arrow_format.hpp"
#include "core/type_rows.hpp"
#include "garuda/arrow_abi.h"

namespace garuda {
namespace {

struct LayoutRow {
  std::string_view format;  ///< those that end in a colon go on with parameters
  NestedLayout layout;
  std::int64_t num_buffers;
  std::int64_t num_children;  ///< -1: any number
};

constexpr std::array kLayouts{LayoutRow{"n", NestedLayout::null, 0, 0},
                              LayoutRow{"+l", NestedLayout::list, 2, 1},
                              LayoutRow{"+m", NestedLayout::list, 2, 1},
                              LayoutRow{"+L", NestedLayout::large_list, 2, 1},
                              LayoutRow{"+vl", NestedLayout::list_view, 3, 1},
                              LayoutRow{"+vL", NestedLayout::large_list_view, 3, 1},
                              LayoutRow{"+w:", NestedLayout::fixed_size_list, 1, 1},
                              LayoutRow{"+r", NestedLayout::run_end_encoded, 0, 2},
                              LayoutRow{"+s", NestedLayout::structure, 1, -1},
                              LayoutRow{"+ud:", NestedLayout::dense_union, 2, -1},
                              LayoutRow{"+us:", NestedLayout::sparse_union, 1, -1}};

/// nullptr: a leaf, or no format at all.
LayoutRow const* find_row(std::string_view format) noexcept {
  for (auto const& row : kLayouts)
    if (row.format.ends_with(':') ? format.starts_with(row.format) : format == row.format) return &row;
  return nullptr;
}

/// The numbers of `text`, separated by commas; nullopt: something else stands there.
std::optional<std::vector<std::int64_t>> parse_numbers(std::string_view text) {
  std::vector<std::int64_t> numbers;
  while (!text.empty()) {
    std::int64_t number = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) return std::nullopt;
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.empty() && text.front() != ',') return std::nullopt;
    text.remove_prefix(text.empty() ? 0 : 1);
  }
  return numbers;
}

tl::unexpected<Error> malformed(NestedType const& type) {
  return fail(ErrorCode::invalid_input, fmt::format("malformed Arrow format string: '{}'", type.format));
}

/// Parses the parameters behind the colon of a format.
Result<void> parse_parameters(NestedType const& type, std::string_view parameters, NestedNode& node) {
  auto const numbers = parse_numbers(parameters);
  if (!numbers) return malformed(type);
  if (node.layout == NestedLayout::fixed_size_list) {
    if (numbers->size() != 1 || numbers->front() < 0) return malformed(type);
    node.list_size = numbers->front();
    return {};
  }
  for (auto const id : *numbers) {
    if (id < 0 || id > 127) return malformed(type);
    node.type_ids.push_back(static_cast<std::int8_t>(id));
  }
  return node.type_ids.size() == type.children.size() ? Result<void>{} : malformed(type);
}

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

std::optional<std::int64_t> num_children_of(std::string_view format) noexcept {
  auto const* const row = find_row(format);
  if (row == nullptr) return 0;
  return row->num_children < 0 ? std::nullopt : std::optional(row->num_children);
}

Result<NestedNode> parse_node(NestedType const& type) {
  NestedNode node;
  if (auto const* const row = find_row(type.format)) {
    auto const expected = num_children_of(type.format);
    if (type.dictionary != nullptr || (expected && std::cmp_not_equal(*expected, type.children.size())))
      return malformed(type);
    node.layout = row->layout;
    node.num_buffers = row->num_buffers;
    node.num_children = static_cast<std::int64_t>(type.children.size());
    if (row->format.ends_with(':'))
      GARUDA_TRY(parse_parameters(type, std::string_view(type.format).substr(row->format.size()), node));
    return node;
  }
  GARUDA_TRY_ASSIGN(node.leaf, parse_format(type.format));
  if (!type.children.empty()) return malformed(type);
  node.num_buffers = is_variable_width(node.leaf) ? 3 : 2;
  if (type.dictionary == nullptr) return node;
  if (!is_integer(node.leaf.id))
    return fail(ErrorCode::invalid_input, fmt::format("dictionary indices are not integers: {}", to_string(node.leaf)));
  node.layout = NestedLayout::dictionary;
  return node;
}

}  // namespace garuda
