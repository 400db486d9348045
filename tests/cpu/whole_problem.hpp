// Tables of keys and integers for the CPU path's group-by of whole tables, and what has to come out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "operators/cpu/group_by/whole_group_by.hpp"

namespace garuda::cpu {

/// A column of one kind, its values as words.
struct Column {
  contract::StateRequest request;
  std::vector<std::uint32_t> words;
  std::vector<bool> valid;  ///< empty: no nulls
};

class Values final : public contract::TableValues {
 public:
  explicit Values(std::vector<Column> const& columns) : columns_(columns) {}

  Result<contract::SliceValues> read(std::size_t column, contract::SliceRows const& rows) const override {
    auto const& source = columns_[column];
    auto const width = contract::value_words(source.request.kind);
    contract::SliceValues slice;
    slice.input.kind = source.request.kind;
    slice.input.states = source.request.states;
    GARUDA_TRY_ASSIGN(slice.values, AlignedBuffer::allocate(static_cast<std::int64_t>(rows.count * width * 4)));
    for (std::uint64_t i = 0; i < rows.count * width; ++i)
      slice.values.as<std::uint32_t>()[i] = source.words[rows[i / width] * width + i % width];
    slice.input.values = {slice.values.as<std::uint32_t>(), rows.count * width};
    if (source.valid.empty()) return slice;
    auto const words = (rows.count + 31) / 32;
    GARUDA_TRY_ASSIGN(slice.validity, AlignedBuffer::allocate(static_cast<std::int64_t>(words * 4)));
    auto* const bits = slice.validity.as<std::uint32_t>();
    std::fill_n(bits, words, 0U);
    for (std::uint64_t i = 0; i < rows.count; ++i)
      bits[i / 32] |= static_cast<std::uint32_t>(source.valid[rows[i]]) << (i % 32);
    slice.input.validity = {bits, words};
    return slice;
  }

  std::vector<partition::PayloadColumn::Part> in_place(std::size_t column) const override {
    if (!columns_[column].valid.empty()) return {};
    return {{0, reinterpret_cast<std::byte const*>(columns_[column].words.data())}};
  }

  bool reads_row_ids(std::size_t) const override { return true; }

 private:
  std::vector<Column> const& columns_;
};

/// A table of one key and columns of integers, some of them floats.
struct Problem {
  std::vector<std::uint64_t> keys;
  bool narrow = true;
  std::vector<Column> columns;
  std::uint64_t block_rows = 64;
  /// Keys take three words: so many low bits of the key, the key, and its complement.
  std::optional<std::uint32_t> first_word_bits{};
};

/// Keys 5 + stride · n for n below `groups`, cut to 32 bits if `narrow`; a column of each kind of integers.
Problem random_problem(std::uint64_t rows, std::uint64_t groups, std::uint64_t stride, bool narrow, bool nulls,
                       std::uint32_t seed);

/// Keys of either width, and the table that refers to them.
struct Input {
  std::vector<std::uint32_t> narrow;
  std::vector<std::uint64_t> first_words;
  std::vector<std::uint64_t> last_words;
  Values values;
  contract::WholeTable table;

  Input(Problem const& problem, bool first_rows);
};

/// Four words of a group's sum.
std::vector<std::uint64_t> sum_of(contract::AggregateState const& state, contract::ValueKind kind, std::size_t group);

using Open = std::function<Result<std::unique_ptr<contract::WholeGroupBy>>(contract::WholeTable const&)>;

Open with(Grouping grouping);

/// Compares all groups with one value at a time; returns the keys in the order of the result.
std::vector<std::uint64_t> check(Problem const& problem, bool first_rows, Open const& open);

}  // namespace garuda::cpu
