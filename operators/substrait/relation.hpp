// A relation of a plan while it is read, and the functions that read it.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/query.hpp"
#include "garuda/substrait.hpp"
#include "operators/substrait/message.hpp"

namespace garuda::substrait {

/// A query, and which of its columns are the fields of the relation, in their order. Masks and mappings of a plan
/// change the fields only.
struct Relation {
  Query query;
  std::size_t width = 0;  ///< Columns of the query.
  std::vector<std::size_t> fields;
};

/// The query whose columns are the fields of a relation in their order; a relation without fields has some column.
Relation with_plain_columns(Relation relation);

/// A relation of one row without fields.
Relation one_row();

/// A function of the plan: its name without the types behind a colon, and the collection that it is of where that is
/// none whose functions queries have.
struct DeclaredFunction {
  std::string name;
  std::string unknown_collection{};
};

/// Tables and functions that the relations of a plan share.
struct PlanContext {
  FindTable const* find = nullptr;                        ///< Nullptr: there are none.
  std::map<std::string, ScannedTable> tables{};           ///< Those that were found.
  std::map<std::uint64_t, DeclaredFunction> functions{};  ///< By the anchors that the plan gives them.
  /// Whether projections without a mapping give their expressions alone, as those of DuckDB's extension do; Substrait
  /// has them behind the fields of the input.
  bool projects_alone = false;
  std::size_t depth = 0;  ///< Levels of relations and expressions that are being read.
};

/// Reads a message `Rel`. Errors: usage for what queries do not have, naming it; invalid_input for an unknown table or
/// column, a position beyond the columns, or bytes that are no message.
Result<Relation> read_relation(Message const& rel, PlanContext& context);

Result<Relation> read_join(Message const& join, PlanContext& context);
Result<Relation> read_aggregate(Message const& aggregate, PlanContext& context);

/// The name of a function of the plan, without the types behind a colon. Errors: invalid_input for an unknown anchor;
/// usage for a function of another collection than those of Substrait and DataFusion.
Result<std::string> function_name(PlanContext const& context, std::uint64_t anchor);

}  // namespace garuda::substrait
