// A condition of a join resolved against two schemas, and with two tables made words that kernels compare.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "core/buffer.hpp"
#include "expr/condition.hpp"
#include "garuda/condition.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "garuda/types.hpp"
#include "keys/order/order_words.hpp"

namespace garuda::expr {

/// Columns and constants that are compared with each other, directly or through third ones, as values of one type.
struct ConditionEncoding {
  DataType as;                    ///< CommonKeyType::compared of all of them
  bool compares_columns = false;  ///< else columns are compared with constants alone
  bool compares_order = false;    ///< else only whether values are equal
};

/// A column that is compared; one that has a place in two encodings stands there twice.
struct ConditionColumn {
  std::size_t column = 0;  ///< of its side's schema
  std::size_t encoding = 0;

  friend bool operator==(ConditionColumn const&, ConditionColumn const&) = default;
};

struct ConditionConstant {
  std::size_t encoding = 0;
  DataType type;                 ///< of the column that it is compared with, no dictionary
  std::vector<std::byte> bytes;  ///< of the value, as it lies in a column
};

struct ResolvedOperand {
  using Source = WordOperand::Source;

  Source source = Source::left;
  std::size_t index = 0;  ///< of ResolvedCondition::left, right or constants
};

struct ResolvedComparison {
  Comparator comparator = Comparator::equal;
  ResolvedOperand first;                  ///< a column; of the left side, if either is
  std::optional<ResolvedOperand> second;  ///< nullopt: the least word that there is, which decides it for all values
};

/// A condition without `not`, which has been moved into the comparators: what is not true is no match, whether it is
/// false or null.
struct ResolvedCondition {
  std::vector<ConditionEncoding> encodings;
  std::vector<ConditionColumn> left;
  std::vector<ConditionColumn> right;
  std::vector<ConditionConstant> constants;
  std::vector<ResolvedComparison> comparisons;
  std::vector<PairStep> steps;  ///< as PairCondition has them

  std::vector<ConditionColumn> const& columns(Side side) const noexcept { return side == Side::left ? left : right; }
};

/// The comparison that a comparison with a constant comes to where the constant stands at `place`: one with the value
/// that it is at or above, or, `is_decided`, with the least word, so that it holds for all values or for none.
struct PlacedComparator {
  Comparator comparator = Comparator::equal;
  bool is_decided = false;
};
PlacedComparator place_comparator(Comparator comparator, keys::Place place) noexcept;

/// Errors: usage (two constants are compared), invalid_input (unknown or ambiguous column, columns or a column and a
/// constant that cannot be compared, naming both, a condition without parts).
Result<ResolvedCondition> resolve_condition(Schema const& left, Schema const& right, Condition const& condition);

/// A condition, and the memory of those words that are no column of the tables.
struct EncodedCondition {
  PairCondition condition;
  std::vector<AlignedBuffer> memory;
  std::vector<std::shared_ptr<AlignedBuffer const>> shared_memory;

  std::uint64_t owned_bytes() const noexcept;
};

/// Encodes the columns and constants of `condition`, which was resolved against the schemas of both tables. Borrows the
/// tables. The first operand of each comparison is a column, of the left side if either is. Runs on the threads of the
/// calling task arena. Errors: those of keys::encode_order.
Result<EncodedCondition> encode_condition(ResolvedCondition const& condition, TableView left, TableView right,
                                          Control const& control);

}  // namespace garuda::expr
