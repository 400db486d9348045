// The plan of a query that does not run: where each operator would, and of joins and group-bys over tables how.
#pragma once

#include <vector>

#include "garuda/error.hpp"
#include "garuda/plan.hpp"
#include "operators/query/bind.hpp"
#include "operators/query/results/common_subtrees.hpp"
#include "operators/query/run/placements.hpp"
#include "operators/query/run/whole_operators.hpp"
#include "operators/run/query_run.hpp"

namespace garuda::query {

class QueryExplainer {
 public:
  /// Borrows all of its arguments. `has_rows`: the rows of all tables are there, and none is read when the query runs.
  QueryExplainer(CommonSubtrees const& common, Placements const& placements, WholeOperators& whole, run::QueryRun& run,
                 bool has_rows)
      : common_(common),
        placements_(placements),
        whole_(whole),
        run_(run),
        has_rows_(has_rows),
        is_shown_(common.size()) {}

  /// `is_result`: as Placements::manner_of has it. Tables are looked at as the planners of joins and group-bys do.
  Result<Plan> explain(Bound const& query, bool is_result = true);

 private:
  Result<Plan> node_of(Bound const& query, Manner manner);
  Result<Table> picked(Bound const& query);

  CommonSubtrees const& common_;
  Placements const& placements_;
  WholeOperators& whole_;
  run::QueryRun& run_;
  bool has_rows_;
  std::vector<bool> is_shown_;
};

}  // namespace garuda::query
