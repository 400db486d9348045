// The oracle of the joins: slow and obvious, sharing no code with the product beside the structs that describe a table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "garuda/join.hpp"
#include "garuda/table.hpp"

namespace garuda::reference {

/// Keys of one side as words, row by row. valid[row] is false for a null key; an empty `valid` means no nulls.
struct Keys {
  std::vector<std::uint64_t> words;
  std::vector<bool> valid;

  bool is_valid(std::size_t row) const { return valid.empty() || valid[row]; }
};

struct RowPair64 {
  std::uint64_t left = 0;
  std::uint64_t right = 0;

  friend auto operator<=>(RowPair64 const&, RowPair64 const&) = default;
};

/// All pairs of rows with equal keys that are not null, sorted.
std::vector<RowPair64> reference_join(Keys const& left, Keys const& right);

/// Their number, exactly, without enumerating them.
std::uint64_t reference_count(Keys const& left, Keys const& right);

/// For each row of `side`: whether the other side has its key.
std::vector<bool> reference_mark(Keys const& left, Keys const& right, Side side);

/// A cell as text, so that results of any type compare by ==: integers, dates, times and decimals (unscaled) in
/// decimal, floats as their bits in hexadecimal, booleans as true and false, strings and binary as their bytes,
/// dictionary columns as the value referred to. nullopt: null.
using Cell = std::optional<std::string>;

/// A table row by row.
struct TextTable {
  std::vector<std::string> names;
  std::vector<std::vector<Cell>> rows;

  friend bool operator==(TextTable const&, TextTable const&) = default;
};

/// Reads a table row by row. Throws std::runtime_error for types that have no text form here (intervals).
TextTable read_table(TableView table);

/// The rows in lexicographic order: two tables are equal as multisets of rows when they are equal sorted.
TextTable sorted(TextTable table);

/// A key as text that is the same for equal keys of whatever type: numbers by their value, times in seconds, zeros and
/// NaNs as one each, dictionaries as their values. `cell`: as read_table has it.
Cell key_text(DataType const& type, Cell const& cell);

/// The join that `spec` describes, its rows sorted by (left row, right row), right rows without a match last, as
/// `ordered` asks for. Column names: those of the left columns, then of the right ones, a right column whose name is
/// taken gets `_right` until it is free; `mark` likewise. Throws std::runtime_error for a column that does not exist.
/// `normal_keys`: keys that are one column of both sides are their key_text.
TextTable reference_join_table(TableView left, TableView right, JoinSpec const& spec, bool normal_keys = false);

}  // namespace garuda::reference
