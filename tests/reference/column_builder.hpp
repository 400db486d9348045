// Small Arrow columns and tables for tests, from lists of values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "garuda/table.hpp"

namespace garuda::reference {

/// A decimal of 16 bytes as Arrow stores it.
struct Decimal128 {
  std::uint64_t low = 0;
  std::int64_t high = 0;
};

/// An array with the buffers that it refers to.
struct Column {
  DataType type;
  ArrayView array;
  std::shared_ptr<void const> owner;
};

/// Builds a column from the bytes of its values, each `type`'s width; `bytes` holds something for null rows too.
/// `valid`: empty for a column without a validity bitmap. `offset` extra rows lie before the first, as in a slice.
Column make_column(DataType type, std::vector<std::byte> const& bytes, std::vector<bool> const& valid,
                   std::int64_t offset);

/// Builds a fixed-width column of `T`s. A null's slot holds the greatest byte throughout, so that reading it shows.
template <class T>
Column make_column(DataType type, std::vector<std::optional<T>> const& values, std::int64_t offset = 0) {
  std::vector<std::byte> bytes(values.size() * sizeof(T), std::byte{0xFF});
  std::vector<bool> valid;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i]) {
      std::memcpy(bytes.data() + i * sizeof(T), &*values[i], sizeof(T));
    } else {
      valid.resize(values.size(), true);
      valid[i] = false;
    }
  }
  return make_column(std::move(type), bytes, valid, offset);
}

template <class T>
Column make_column(DataType type, std::vector<T> const& values, std::int64_t offset = 0) {
  return make_column(std::move(type), std::vector<std::optional<T>>(values.begin(), values.end()), offset);
}

/// Builds a column of strings or binary, of whatever layout.
Column make_strings(std::vector<std::optional<std::string>> const& values, TypeId id = TypeId::utf8);

/// Builds a boolean column.
Column make_booleans(std::vector<std::optional<bool>> const& values);

/// Builds a dictionary column of int32 indices into `dictionary`.
Column make_dictionary(std::vector<std::optional<std::int32_t>> const& indices, Column const& dictionary);

/// Owns the columns given: one batch. Requires columns of one length.
Batch make_batch(std::vector<Column> const& columns);

/// A table of one column, a batch for each of `columns`.
Table make_table(std::string name, std::vector<Column> const& columns);

}  // namespace garuda::reference
