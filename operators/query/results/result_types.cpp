#include "operators/query/results/result_types.hpp"

#include <utility>

#include "core/type_rows.hpp"
#include "operators/query/bind.hpp"

namespace garuda::query {
namespace {

/// Whether a column stands for one of another type: codes of a dictionary for values, decimals of few bits for others.
bool stands_for(DataType const& type, DataType const& wanted) {
  if (type == wanted) return false;
  bool const are_decimals =
      type_row(type.id).family == TypeFamily::decimal && type_row(wanted.id).family == TypeFamily::decimal;
  return are_decimals || (type.id == TypeId::dictionary && wanted.id != TypeId::dictionary);
}

/// Whether both are strings, or both binary, in whatever layout.
bool are_strings(DataType const& a, DataType const& b) {
  auto const has_bytes = [](DataType const& type) { return is_variable_width(type) || is_view(type); };
  return has_bytes(a) && has_bytes(b) && is_text(a.id) == is_text(b.id);
}

}  // namespace

Result<Table> in_types_of(Schema const& wanted, Table table, pipeline::PipelineOptions options) {
  BoundProject columns;
  bool is_same = true;
  auto fields = table.schema();
  for (std::size_t c = 0; c < wanted.size(); ++c) {
    auto& field = fields[c];
    columns.columns.emplace_back(c);
    if (stands_for(field.type, wanted[c].type)) {
      GARUDA_TRY_ASSIGN(columns.columns.back(),
                        expr::cast(expr::column(c, field.type, wanted[c].name), wanted[c].type));
      // A mark of the form in which the column came would stay.
      field = wanted[c];
    } else if (field.type != wanted[c].type && are_strings(field.type, wanted[c].type)) {
      columns.columns.back() = expr::column(c, wanted[c].type, wanted[c].name);
      field.type = wanted[c].type;
    } else {
      continue;
    }
    field.name = column_name(c);
    is_same = false;
  }
  if (is_same) return table;
  pipeline::Pipeline copied(std::move(table), std::move(options));
  GARUDA_TRY(copied.project(columns.columns));
  GARUDA_TRY_ASSIGN(auto const made, copied.run(column_names(wanted.size()), std::nullopt));
  for (std::size_t c = 0; c < wanted.size(); ++c) {
    // Columns that stay as they are may have come in another form than the query has.
    if (std::holds_alternative<std::size_t>(columns.columns[c])) fields[c] = made.schema()[c];
  }
  return Table(std::move(fields), {made.batches().begin(), made.batches().end()});
}

}  // namespace garuda::query
