// Row groups of Parquet files that may have rows which a query needs, by their statistics.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "garuda/row_test.hpp"
#include "io/arrow_bridge.hpp"

namespace garuda::io {

/// A column of a file that is not nested.
struct TestedColumn {
  int leaf = 0;
  std::shared_ptr<arrow::DataType> type;  ///< as the file's schema has it
};

/// Finds the column of a name; nullopt: there is none, or it is nested.
using FindTested = std::function<std::optional<TestedColumn>(std::string const& name)>;

/// Whether a row group may have a row that passes the test; true where its statistics do not say: there are none, they
/// are of values in another order, or the test compares with a value of another kind. Statistics of strings may be
/// shortened, as long as they enclose the values. Those of floats do not count NaN, so every range without an end may
/// have one. Throws as Parquet's lower layers do.
bool may_pass(RowTest const& test, parquet::RowGroupMetaData const& row_group, FindTested const& find);

}  // namespace garuda::io
