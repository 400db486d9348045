#include "operators/device/rows/read_columns.hpp"

#include <utility>

#include "operators/device/device_types.hpp"

namespace garuda::device {

std::vector<DataType> read_types_of(expr::Expression const& expression, std::size_t num_columns) {
  std::vector<DataType> types(num_columns, DataType{TypeId::boolean});
  auto const visit = [&](auto const& self, expr::Expression const& part) -> void {
    if (part.form == expr::Expression::Form::column) types[part.column] = part.type;
    for (auto const& argument : part.arguments) self(self, argument);
  };
  visit(visit, expression);
  return types;
}

Result<ReadColumns> read_columns(compute::ComputeContext& context, DeviceTableState const& table,
                                 std::vector<DataType> const& types) {
  ReadColumns read;
  for (std::size_t c = 0; c < types.size(); ++c) {
    auto& input = read.inputs.emplace_back(compute::ExpressionInput{types[c], table.words(c), table.nulls(c), {}});
    if (!is_stored_as_strings(types[c]) || table.columns[c].strings == nullptr) continue;
    GARUDA_TRY_ASSIGN(auto view, view_of(context, *table.columns[c].strings, *table.columns[c].strings));
    input.strings = view.view();
    read.strings.push_back(std::move(view));
  }
  return read;
}

}  // namespace garuda::device
