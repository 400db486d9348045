// Estimates of how many rows operators give, from samples of the tables that they read.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "operators/query/bind.hpp"

namespace garuda::query {

/// Rows that an operator gives, about.
struct Estimate {
  double rows = 0;
  /// Some of the rows, all of them equally likely; nullptr: none are known.
  std::shared_ptr<Table const> sample{};
  /// Distinct values of each column, about; 0: not known yet.
  std::vector<double> distinct{};
};

/// Rows of a table that stand for all: about 2,048 of them, from places that are spread over it.
Result<Estimate> sample_table(TableView table, std::span<std::size_t const> columns, Control const& control);

/// The rows of `input` behind a filter or a projection. Errors: those of the operator on the sample.
Result<Estimate> estimate_filter(BoundFilter const& filter, Estimate const& input, Control const& control);
Result<Estimate> estimate_project(BoundProject const& project, Estimate const& input, Control const& control);

/// Distinct values of a column: counted in the sample, by how often two of its rows are equal. Requires: a column that
/// can be a key. Errors: out_of_memory, cancelled.
Result<double> distinct_values(Estimate& estimate, std::size_t column, Control const& control);

}  // namespace garuda::query
