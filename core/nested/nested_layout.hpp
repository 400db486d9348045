// How arrays of nested types lie in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/types.hpp"

namespace garuda {

/// A node of an ArrowSchema.
struct NestedType {
  std::string format;
  std::string name;
  std::string metadata;
  std::int64_t flags = 0;
  std::vector<NestedType> children;
  std::shared_ptr<NestedType const> dictionary;

  /// Compares whole trees, but for the root's name.
  friend bool operator==(NestedType const& a, NestedType const& b);
};

/// Lists, of 32-bit offsets, of values of type `value`.
DataType list_of(DataType const& value);

/// The type as Arrow spells it: `list<item: int32>`, `struct<a: utf8, b: list<item: int8>>`.
std::string to_string(NestedType const& type);

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
