// Parts of expressions that read one dictionary column, evaluated once a dictionary value.
#pragma once

#include <cstdint>
#include <vector>

#include "expr/program.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"

namespace garuda::expr {

/// An expression whose parts over single dictionary columns are columns of their own.
struct DictionaryParts {
  Expression expression;     ///< Its column n + i, where the table has n columns, is parts[i].
  std::vector<Table> parts;  ///< One column each, as long as the table: its indices, with the results as dictionary.
};

/// Evaluates parts of `expression`, over the columns of `table`, that read one dictionary column alone and cannot fail,
/// for the values of its dictionaries. Parts stay as they are where the table has fewer than `rows_of_value` rows for
/// each value of the dictionaries, or where a value has a null result, or a null one has none. Blocks; runs on one
/// thread. `table` outlives the parts. Errors: those of compile. Throws: std::bad_alloc.
Result<DictionaryParts> evaluate_dictionaries(TableView const& table, Expression expression,
                                              std::int64_t rows_of_value);

}  // namespace garuda::expr
