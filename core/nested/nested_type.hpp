// Types of columns that ride along and are never looked at: a tree of the Arrow C interface's formats.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

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

}  // namespace garuda
