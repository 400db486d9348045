// Tables of a query that are read when it runs.
#pragma once

#include <memory>

#include "garuda/error.hpp"
#include "garuda/query.hpp"
#include "garuda/run.hpp"

namespace garuda::query {

/// Whether some scan of a query reads its rows when the query runs.
bool has_sources(Query const& query);

/// A query whose scans have their rows.
struct ReadQuery {
  Query query;
  std::shared_ptr<void const> rows;  ///< Results of the query must not outlive them.
};

/// Reads the rows of a query's sources, each once, those that any of its scans needs. Errors: those of bind and of the
/// sources.
Result<ReadQuery> read_sources(Query const& query, QueryOptions const& options);

/// A result that keeps `rows` while it or one of its batches lives.
std::unique_ptr<QueryResult> keeping(std::shared_ptr<void const> rows, std::unique_ptr<QueryResult> result);

}  // namespace garuda::query
