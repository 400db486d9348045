#include "operators/device/rows/group_programs.hpp"

#include <utility>

#include "vk_runtime/device/device.hpp"

namespace garuda::device {

bool draws_expressions(TableDevice const& device) { return graphics::draws_expressions(device.open.device->traits()); }

Result<std::unique_ptr<GroupPrograms>> GroupPrograms::create(DeviceTableState const& table,
                                                             std::optional<expr::Expression> const& filter,
                                                             std::span<expr::Expression const> values,
                                                             RowsOptions const& options) {
  auto made = std::make_unique<GroupPrograms>();
  GARUDA_TRY_ASSIGN(made->lane_, compute::ComputeLane::open(table.device.open, options.control, options.stats,
                                                            options.memory_limit_bytes));
  auto& context = made->lane_->context();
  // Rows keep results in the colours of points, so that no step has a target.
  if (filter) {
    auto const types = read_types_of(*filter, table.columns.size());
    GARUDA_TRY_ASSIGN(auto const program, expr::compile(*filter, types, expr::Nulls::false_));
    GARUDA_TRY_ASSIGN(auto read, read_columns(context, table, types));
    GARUDA_TRY(made->programs_.filter.emplace().add_flags(program, read.inputs, {}));
    made->read_.push_back(std::move(read));
  }
  for (auto const& value : values) {
    auto const types = read_types_of(value, table.columns.size());
    GARUDA_TRY_ASSIGN(auto const program, expr::compile(value, types, expr::Nulls::kept));
    GARUDA_TRY_ASSIGN(auto read, read_columns(context, table, types));
    GARUDA_TRY(made->programs_.values.emplace_back().add_column(program, read.inputs, {}, std::nullopt));
    made->read_.push_back(std::move(read));
  }
  // Views of strings, which other lanes read.
  GARUDA_TRY(made->lane_->submissions().finish());
  return made;
}

}  // namespace garuda::device
