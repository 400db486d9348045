// How arrays of nested types lie in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/nested/nested_type.hpp"
#include "garuda/error.hpp"

namespace garuda {

enum class NestedLayout : std::uint8_t {
  leaf,  ///< a type that parse_format knows
  dictionary,
  null,
  list,        ///< maps, too
  large_list,  ///< offsets of 64 bits
  list_view,
  large_list_view,
  fixed_size_list,
  run_end_encoded,
  structure,
  dense_union,
  sparse_union,
};

/// A node's layout, and what its format says beside it.
struct NestedNode {
  NestedLayout layout = NestedLayout::leaf;
  DataType leaf;                      ///< leaf, and the indices of a dictionary
  std::int64_t list_size = 0;         ///< fixed_size_list
  std::vector<std::int8_t> type_ids;  ///< unions: of each child
  std::int64_t num_buffers = 0;       ///< of leaves those of their type
  std::int64_t num_children = 0;

  bool has_validity() const noexcept {
    return layout != NestedLayout::null && layout != NestedLayout::run_end_encoded &&
           layout != NestedLayout::dense_union && layout != NestedLayout::sparse_union;
  }
  bool has_large_offsets() const noexcept {
    return layout == NestedLayout::large_list || layout == NestedLayout::large_list_view;
  }
  bool has_sizes() const noexcept {
    return layout == NestedLayout::list_view || layout == NestedLayout::large_list_view;
  }
  bool is_list() const noexcept { return layout >= NestedLayout::list && layout <= NestedLayout::large_list_view; }
};

/// How many children an array of that format has; nullopt: any number.
std::optional<std::int64_t> num_children_of(std::string_view format) noexcept;

/// Errors: invalid_input, for formats that Arrow does not define and for numbers of children that do not go with them.
Result<NestedNode> parse_node(NestedType const& type);

}  // namespace garuda
