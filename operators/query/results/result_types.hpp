// The types of the columns that a query gives.
#pragma once

#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "operators/pipeline/pipeline.hpp"

namespace garuda::query {

/// The columns of a result in the types that the query has: strings that breakers were given as views are copied, and
/// columns that came in a smaller form (codes of a dictionary, decimals of few bits) become what they stand for.
/// Requires: `wanted` has a field for each column. Errors: those of a pipeline.
Result<Table> in_types_of(Schema const& wanted, Table table, pipeline::PipelineOptions options);

}  // namespace garuda::query
