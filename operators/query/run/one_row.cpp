#include "operators/query/run/one_row.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "expr/columns.hpp"
#include "expr/vector.hpp"

namespace garuda::query {
namespace {

/// Whether an operator gives one row, whatever its tables have.
bool is_one_row(Bound const& query) {
  if (auto const* const group_by = std::get_if<BoundGroupBy>(&query.operation)) return group_by->num_keys == 0;
  return std::holds_alternative<BoundProject>(query.operation) && is_one_row(query.inputs[0]);
}

bool are_constants(Schema const& schema) {
  return std::ranges::all_of(schema, [](Field const& field) {
    return field.type.id != TypeId::dictionary && expr::kind_of(field.type).has_value();
  });
}

Result<expr::Expression> constant_of(TableView row, std::size_t column) {
  GARUDA_TRY_ASSIGN(auto reader, expr::ColumnReader::create(row, column));
  auto const value = reader.read(0, 1);
  if (value.valid != nullptr && *value.valid == 0) return expr::constant(std::monostate{}, reader.type());
  if (value.kind == expr::Kind::boolean) return expr::constant(*value.as<std::uint8_t>() != 0, reader.type());
  return expr::with_kind(value.kind, [&]<class T>(T) {
    auto const& found = *value.as<T>();
    if constexpr (std::is_same_v<T, std::string_view>)
      return expr::constant(std::string(found), reader.type());
    else if constexpr (std::is_floating_point_v<T>)
      return expr::constant(static_cast<double>(found), reader.type());
    else if constexpr (std::is_same_v<T, Int128>)
      return expr::constant(found, reader.type());
    else if constexpr (std::is_signed_v<T>)
      return expr::constant(std::int64_t{found}, reader.type());
    else
      return expr::constant(std::uint64_t{found}, reader.type());
  });
}

}  // namespace

std::optional<Side> one_row_side(BoundJoin const& join, Bound const& query) {
  if (!join.keys.empty() || join.where || join.pairs) return std::nullopt;
  for (auto const side : {Side::right, Side::left}) {
    auto const& input = query.inputs[side == Side::left ? 0 : 1];
    // With one row to match, every row of the other side has a match.
    auto const keeps_others = side == Side::right ? JoinKind::left : JoinKind::right;
    if ((join.kind == JoinKind::inner || join.kind == keeps_others) && is_one_row(input) && are_constants(input.schema))
      return side;
  }
  return std::nullopt;
}

Result<BoundProject> with_row(BoundJoin const& join, Side side, TableView row) {
  BoundProject project;
  for (auto const of : {Side::left, Side::right})
    for (auto const column : of == Side::left ? join.left_columns : join.right_columns) {
      if (of != side) {
        project.columns.emplace_back(column);
        continue;
      }
      GARUDA_TRY_ASSIGN(auto constant, constant_of(row, column));
      project.columns.emplace_back(std::move(constant));
    }
  return project;
}

}  // namespace garuda::query
