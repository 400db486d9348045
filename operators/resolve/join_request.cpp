#include "operators/resolve/join_request.hpp"

#include <algorithm>

#include "garuda/condition.hpp"

namespace garuda::resolve {

Result<std::vector<std::size_t>> columns_read(JoinRequest const& request, Side side) {
  auto const& schema = side == Side::left ? request.left.schema() : request.right.schema();
  auto columns = request.columns.key_columns(side);
  for (auto const& output : request.columns.output)
    if (output.side == side) columns.push_back(output.column);
  if (request.spec.where)
    for (auto const& name : columns_of(*request.spec.where, side)) {
      GARUDA_TRY_ASSIGN(auto const column, find_column(schema, name));
      columns.push_back(column);
    }
  std::ranges::sort(columns);
  auto const twice = std::ranges::unique(columns);
  columns.erase(twice.begin(), twice.end());
  return columns;
}

}  // namespace garuda::resolve
