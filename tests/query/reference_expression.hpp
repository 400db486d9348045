// Types of written expressions, found plainly: what docs/using/queries.md says, not how operators/query does it.
#pragma once

#include "expr/program.hpp"
#include "garuda/expression.hpp"
#include "garuda/types.hpp"

namespace garuda::reference {

/// The type of a column in the reference: dictionaries are their values, texts of every layout utf8.
DataType plain_type(DataType const& type);

/// The typed tree of an expression over columns of plain types, for the interpreter of rows. Throws std::runtime_error
/// for what a query does not take.
expr::Expression typed_expression(ScalarExpression const& written, Schema const& input);

/// The type that holds the values of both, or float64 where one of two numbers is a float; throws std::runtime_error
/// where there is none.
DataType wider_type(DataType const& a, DataType const& b);

}  // namespace garuda::reference
