// A group-by's columns: its keys, the aggregates with their columns, and the columns of the result; the resolved
// group-by that drivers take.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/table.hpp"
#include "operators/contract/device_set.hpp"
#include "operators/resolve/aggregates.hpp"

namespace garuda::resolve {

/// The form from which a state column's values are made.
enum class ValueForm : std::uint8_t {
  plain,      ///< the column's values
  listed,     ///< the same, all of which are kept
  row,        ///< the number of the row
  ranked,     ///< the second column's value as an ordered word, above the number of the row (arg_max: its complement)
  product,    ///< part of a product of the columns
  packed,     ///< several products of integers that are not negative, above each other in one word
  special,    ///< 1 where a factor is infinite or NaN, else 0
  evaluated,  ///< an expression that the kernels of the request's RowExpressions evaluate
};

/// Bits [first_bit, first_bit + bits) of column^powers[0] · second^powers[1], counted from 2^exponent, with the
/// product's sign. Rows where a factor is null or no finite number have 0.
struct ProductPart {
  std::array<std::uint8_t, 2> powers{1, 0};
  std::int32_t exponent = 0;
  std::uint32_t first_bit = 0;
  std::uint32_t bits = 0;

  std::int32_t first() const noexcept { return exponent + static_cast<std::int32_t>(first_bit); }

  friend bool operator==(ProductPart const&, ProductPart const&) = default;
};

/// column^powers[0] · second^powers[1] · 2^shift: a term of a packed word. No sum of a term reaches the next one.
struct PackedProduct {
  std::array<std::uint8_t, 2> powers{1, 0};
  std::uint32_t shift = 0;

  friend bool operator==(PackedProduct const&, PackedProduct const&) = default;
};

/// Partial states that kernels compute of one column, for all aggregates that need any of them.
struct StateColumn {
  std::optional<std::size_t> column;                     ///< position in the table; nullopt: the rows
  contract::ValueKind kind = contract::ValueKind::none;  ///< none: only counts are wanted
  contract::StateSet states = 0;
  keys::ColumnOrder const* order = nullptr;  ///< of bytes, once their values are read
  ValueForm form = ValueForm::plain;
  std::optional<std::size_t> second{};  ///< rows where it is null take no part
  ProductPart part{};                   ///< of `product`
  std::vector<PackedProduct> packed{};  ///< of `packed`: neither column has a null
  contract::ListBound list{};           ///< of `listed`
  std::size_t expression = 0;           ///< of `evaluated`: position among RowExpressions' values

  /// Whether the values lie in the table as kernels take them.
  bool is_of_table() const noexcept { return form == ValueForm::plain || form == ValueForm::listed; }
  /// Whether its values are made of factors that lie in the table.
  bool is_of_products() const noexcept { return form == ValueForm::product || form == ValueForm::packed; }
  /// Whether groups keep values.
  bool has_lists() const noexcept { return (states & contract::kListState) != 0; }
};

/// Exact sums of products: Σ over the parts p of part_bits · p, times 2^exponent.
struct ExactSum {
  struct Part {
    std::size_t state = 0;  ///< position among the state columns
    contract::ValueKind kind = contract::ValueKind::none;
    std::uint32_t first_bit = 0;  ///< of a packed word's sum
    std::uint32_t bits = 0;       ///< of it; 0: the sum is not packed
  };
  std::vector<Part> parts;
  std::uint32_t part_bits = 0;
  std::int32_t exponent = 0;
};

/// The sums of which var, covar and corr are made; with one column y is x. Only corr has xx and yy.
struct Moments {
  ExactSum x, y, xy, xx, yy;
  std::optional<std::size_t> special;  ///< state column whose greatest value is 1 where one is infinite or NaN
  std::int32_t scale = 0;              ///< of a product: digits after the point
};

struct ResolvedAggregate {
  AggregateRow const* row = nullptr;
  std::size_t state = 0;  ///< position of the first among the state columns
  DataType input;
  DataType result;
  std::string name;
  std::optional<std::size_t> column{};  ///< nullopt: the rows
  std::optional<std::size_t> second{};
  double quantile = 0.5;
  std::uint64_t most = 1;
  bool as_state = false;  ///< `result` is what exact_state.hpp writes
  Moments moments{};      ///< once the ranges of numbers are known (group_by/exact_products)
};

/// A GroupBySpec resolved against a table.
struct ResolvedGroupBy {
  std::vector<std::size_t> keys;
  std::vector<StateColumn> states;  ///< each column at most once
  std::vector<ResolvedAggregate> aggregates;
  StringForm strings = StringForm::utf8;  ///< of the result
  std::vector<std::string> key_names{};   ///< of keys in errors; none: those of the table's columns

  /// Has errors name the result's columns, keys before aggregates, as `names` does.
  void name_in_errors(std::span<std::string const> names);
};

/// Adds `wanted` to the state column of the same values, or as a new one, and returns its position.
std::size_t add_states(ResolvedGroupBy& resolved, StateColumn const& wanted);

/// Resolves names and types. Counts are added to the states of columns with nulls, to tell groups without values.
/// Aggregates of moments have no states yet.
/// Errors: invalid_input (unknown or ambiguous column, a type that the function does not take), usage (an aggregate
/// without a column that needs one, two result columns of one name, neither keys nor aggregates).
Result<ResolvedGroupBy> resolve_group_by(TableView table, GroupBySpec const& spec);

/// A group-by resolved against its table, and the devices that it may run on. The view and `devices` refer to objects
/// that outlive every result.
struct GroupByRequest {
  TableView table;
  GroupBySpec spec;
  ResolvedGroupBy columns;
  GroupByOptions options;
  contract::DeviceSet* devices = nullptr;
  std::vector<std::string> notes{};  ///< for the plan: what was decided before
  /// Evaluated for the rows, by the kernels of the path that the options name, which takes them in the order of the
  /// table; outlives the result. nullptr: all rows are grouped by the values of the table.
  contract::RowExpressions const* expressions = nullptr;
};

}  // namespace garuda::resolve
