// A resolved condition and two tables → words that kernels compare.
#pragma once

#include <memory>
#include <vector>

#include "core/buffer.hpp"
#include "expr/condition.hpp"
#include "expr/condition_columns.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"

namespace garuda::expr {

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
