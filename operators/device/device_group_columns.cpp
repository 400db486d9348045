#include "operators/device/device_group_columns.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "operators/device/device_table.hpp"

namespace garuda::device {

std::optional<compute::DeviceValueKind> device_value_kind(DataType const& type) {
  auto const source = resolve::value_source(type);
  if (type.id == TypeId::float16) return std::nullopt;
  switch (source.kind) {
    case contract::ValueKind::int32:
      return compute::DeviceValueKind::int32;
    case contract::ValueKind::int64:
      return compute::DeviceValueKind::int64;
    case contract::ValueKind::int128:
      return compute::DeviceValueKind::int128;
    case contract::ValueKind::float32:
      return compute::DeviceValueKind::float32;
    case contract::ValueKind::float64:
      return compute::DeviceValueKind::float64;
    case contract::ValueKind::uint64:
      return compute::DeviceValueKind::uint64;
    case contract::ValueKind::uint32:
    case contract::ValueKind::bytes:
    case contract::ValueKind::none:
      break;
  }
  auto const words = device_words(type);
  if (!words) return std::nullopt;
  return *words == 1   ? compute::DeviceValueKind::uint32
         : *words == 2 ? compute::DeviceValueKind::uint64
                       : compute::DeviceValueKind::bits;
}

std::optional<compute::DeviceValueKind> device_key_kind(DataType const& type) {
  return type.id == TypeId::float16 ? compute::DeviceValueKind::float16 : device_value_kind(type);
}

Result<void> check_device_group_by(Schema const& schema, resolve::ResolvedGroupBy const& columns) {
  auto const refuse = [&](std::size_t column, std::string_view what) {
    return fail(ErrorCode::invalid_input,
                fmt::format("{}: '{}' of type {}", what, schema[column].name, to_string(schema[column].type)));
  };
  for (auto const& aggregate : columns.aggregates)
    if (aggregate.row->making != resolve::Making::column || aggregate.as_state)
      return fail(ErrorCode::invalid_input,
                  fmt::format("not computed of tables that are whole on a device: {}", aggregate.name));
  for (auto const column : group_by_columns_used(columns))
    if (!stored_words(schema[column].type))
      return refuse(column, "a column cannot be kept on a device: its values have no fixed width there");
  for (auto const key : columns.keys)
    if (!is_stored_as_strings(schema[key].type) && !device_key_kind(schema[key].type))
      return refuse(key, "keys on a device are not compared as this type is");
  for (auto const& resolved : columns.aggregates) {
    auto const column = columns.states[resolved.state].column;
    if (!column || resolved.row->function == AggregateFunction::count) continue;
    auto const& type = schema[*column].type;
    if (resolved.row->finalise == nullptr)
      return refuse(*column, "least and greatest values on a device are of numbers, dates, times and booleans");
    if (!device_value_kind(type)) return refuse(*column, "values on a device are not aggregated as this type is");
    bool const is_mean = resolved.row->function == AggregateFunction::mean;
    if (is_mean && resolve::value_source(type).value_class == resolve::ValueClass::decimal && type.scale < 0)
      return refuse(*column, "means on a device are of decimals with a scale of 0 or more");
  }
  return {};
}

std::vector<std::size_t> group_by_columns_used(resolve::ResolvedGroupBy const& columns) {
  std::vector<std::size_t> used;
  auto const add = [&](std::size_t column) {
    if (std::ranges::find(used, column) == used.end()) used.push_back(column);
  };
  for (auto const key : columns.keys) add(key);
  for (auto const& state : columns.states)
    if (state.column) add(*state.column);
  return used;
}

}  // namespace garuda::device
