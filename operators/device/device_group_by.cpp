// Columns of fixed width, and keys of strings; the groups stay on the device.
#include "operators/device/device_group_by.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "operators/compute/group_by/column_group_by.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "operators/device/strings/string_numbers.hpp"
#include "operators/materialize/column_words.hpp"
#include "operators/resolve/exact_state.hpp"

namespace garuda::device {
namespace {

constexpr char const* kKeepPhase = "keep";

/// Keys of strings as words.
using StringKeyColumns = std::vector<StringKeyColumn>;

/// Requires: the schema was checked. Halves are keys, or counted.
compute::DeviceValues values_of(DeviceTableState const& table, std::size_t column) {
  bool const is_string = table.columns[column].strings != nullptr;
  return table.values(
      column, is_string ? compute::DeviceValueKind::uint32 : device_key_kind(table.schema[column].type).value());
}

/// The values of a key; a key of strings has numbers, which `made` keeps.
Result<compute::DeviceValues> key_values(compute::ComputeContext& context, DeviceTableState const& table,
                                         std::size_t column, Control const& control, StringKeyColumns& made) {
  auto values = values_of(table, column);
  auto const& from = table.columns[column];
  if (from.strings == nullptr || table.rows == 0) return values;
  GARUDA_TRY_ASSIGN(auto numbers, string_numbers(table, *from.strings, control));
  GARUDA_TRY_ASSIGN(auto keys, string_keys(context, table, column, *from.strings, std::move(numbers)));
  values.column.address = keys.keys.address();
  made.push_back(std::move(keys));
  return values;
}

/// Has `values` read the column, once.
compute::DeviceAggregate aggregate_of(DeviceTableState const& table, resolve::ResolvedGroupBy const& columns,
                                      resolve::ResolvedAggregate const& resolved, std::vector<std::size_t>& places,
                                      std::vector<compute::DeviceValues>& values) {
  compute::DeviceAggregate aggregate;
  aggregate.function = resolved.row->function;
  if (aggregate.function == AggregateFunction::bool_and) aggregate.function = AggregateFunction::min;
  if (aggregate.function == AggregateFunction::bool_or) aggregate.function = AggregateFunction::max;
  auto const column = columns.states[resolved.state].column;
  if (!column) return aggregate;
  auto const& type = table.schema[*column].type;
  bool const is_count = aggregate.function == AggregateFunction::count;
  // Without nulls every row counts, whatever its value.
  if (is_count && !table.columns[*column].nulls) return aggregate;
  aggregate.is_decimal = resolve::value_source(type).value_class == resolve::ValueClass::decimal;
  aggregate.scale = aggregate.is_decimal ? type.scale : 0;
  auto const found = std::ranges::find(places, *column);
  aggregate.column = static_cast<std::size_t>(found - places.begin());
  if (found != places.end()) return aggregate;
  if (is_count) {
    // Its nulls alone are read.
    values.push_back(table.values(*column, compute::DeviceValueKind::uint32));
    values.back().column = {};
  } else {
    values.push_back(values_of(table, *column));
  }
  places.push_back(*column);
  return aggregate;
}

compute::ColumnGroupBySpec spec_of(DeviceTableState const& table, resolve::ResolvedGroupBy const& columns, bool ordered,
                                   GroupByOptions const& options) {
  compute::ColumnGroupBySpec spec;
  spec.rows = table.rows;
  spec.expected_groups = options.expected_rows;
  spec.ordered = ordered;
  spec.method = options.tuning.method;
  // Counts last: columns whose values are read know their nulls, too.
  std::vector<std::size_t> places;
  spec.aggregates.resize(columns.aggregates.size());
  for (bool const counts : {false, true}) {
    for (std::size_t a = 0; a < columns.aggregates.size(); ++a) {
      auto const& resolved = columns.aggregates[a];
      if ((resolved.row->function == AggregateFunction::count) != counts) continue;
      spec.aggregates[a] = aggregate_of(table, columns, resolved, places, spec.values);
    }
  }
  return spec;
}

/// Names and types of the result's columns; which of them have nulls is known with their values.
void describe(DeviceTableState const& table, resolve::ResolvedGroupBy const& columns, DeviceTableState& result) {
  for (auto const key : columns.keys) result.schema.push_back(table.schema[key]);
  for (auto const& aggregate : columns.aggregates)
    result.schema.push_back({aggregate.name, aggregate.result, aggregate.row->is_nullable()});
}

/// The strings of which the keys of the groups are numbers, by key.
using KeyStrings = std::vector<std::shared_ptr<Strings const>>;

KeyStrings strings_of_keys(DeviceTableState const& table, resolve::ResolvedGroupBy const& columns) {
  KeyStrings strings;
  for (auto const key : columns.keys) strings.push_back(table.columns[key].strings);
  return strings;
}

/// Copies the groups [first, first + count) to columns of `result`, keys first.
Result<void> keep(compute::ComputeContext& context, std::span<compute::GroupedColumn const> columns,
                  KeyStrings const& strings, std::uint64_t first, std::uint64_t count, DeviceTableState& result) {
  std::uint64_t bytes = 0;
  for (auto const& column : columns)
    bytes += count * (column.words + (column.nulls != nullptr ? 1 : 0)) * materialize::kWordBytes;
  result.rows = count;
  result.arena = column_arena(*result.device.open.device, bytes);
  GARUDA_TRY(context.order_all(kKeepPhase));
  auto const copy = [&](vk::Buffer const& from, std::uint32_t words) -> Result<std::size_t> {
    GARUDA_TRY_ASSIGN(auto kept, take_column(result, words));
    if (count > 0) {
      GARUDA_TRY_ASSIGN(auto* const recorder, context.submissions().record(kKeepPhase));
      recorder->copy(from.view(first * words * materialize::kWordBytes, kept.buffer.bytes()), kept.buffer.view());
    }
    result.stored.push_back(std::move(kept));
    return result.stored.size() - 1;
  };
  for (auto const& column : columns) {
    DeviceTableState::Column placed;
    GARUDA_TRY_ASSIGN(placed.stored, copy(*column.values, column.words));
    if (column.nulls != nullptr) {
      GARUDA_TRY_ASSIGN(placed.nulls, copy(*column.nulls, 1));
    }
    if (result.columns.size() < strings.size()) placed.strings = strings[result.columns.size()];
    result.columns.push_back(std::move(placed));
  }
  GARUDA_TRY(context.order_all(kKeepPhase));
  return context.submissions().finish();
}

/// The groups of no rows: none, or without keys one, whose values are null and whose counts are 0.
Result<void> keep_empty(compute::ComputeContext& context, resolve::ResolvedGroupBy const& columns,
                        KeyStrings const& strings, DeviceTableState& result) {
  GARUDA_TRY_ASSIGN(auto const zeros,
                    context.device_buffer(materialize::kWordBytes * materialize::kWordBytes, "values of no rows"));
  GARUDA_TRY_ASSIGN(auto const ones, context.device_buffer(materialize::kWordBytes, "nulls of no rows"));
  GARUDA_TRY(context.fill(kKeepPhase, zeros, 0));
  GARUDA_TRY(context.fill(kKeepPhase, ones, 1));
  std::vector<compute::GroupedColumn> none;
  for (std::size_t c = 0; c < result.schema.size(); ++c) {
    bool const is_null = c >= columns.keys.size() && columns.aggregates[c - columns.keys.size()].row->is_nullable();
    none.push_back({&zeros, device_words(result.schema[c].type).value_or(1), is_null ? &ones : nullptr});
  }
  return keep(context, none, strings, 0, columns.keys.empty() ? 1 : 0, result);
}

/// The error for a sum that leaves its type, naming its group.
Result<void> fail_overflow(compute::ComputeContext& context, compute::ColumnGroupBy const& groups,
                           compute::DeviceSumOverflow const& overflow, resolve::ResolvedAggregate const& aggregate,
                           KeyStrings const& strings, DeviceTableState const& described) {
  auto one = std::make_unique<DeviceTableState>();
  one->device = described.device;
  auto const keys = groups.keys();
  one->schema.assign(described.schema.begin(), described.schema.begin() + static_cast<std::ptrdiff_t>(keys.size()));
  if (keys.empty()) return tl::unexpected<Error>(resolve::sum_overflow(aggregate, std::nullopt));
  GARUDA_TRY(keep(context, keys, strings, overflow.group, 1, *one));
  DeviceTable const table(std::move(one));
  GARUDA_TRY_ASSIGN(auto const row, table.download());
  return tl::unexpected<Error>(resolve::sum_overflow(aggregate, row.view()));
}

}  // namespace

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

Result<DeviceTable> group_device_table(DeviceTableState const& table, resolve::ResolvedGroupBy const& columns,
                                       bool ordered, GroupByOptions const& options, contract::StatsSink& stats) {
  if (table.rows > kMostGroupedRows)
    return fail(ErrorCode::limit_exceeded,
                fmt::format("a table grouped on a device has at most 2^30 rows: {}", table.rows));
  GARUDA_TRY(check_device_group_by(table.schema, columns));
  auto spec = spec_of(table, columns, ordered, options);
  auto result = std::make_unique<DeviceTableState>();
  result->device = table.device;
  describe(table, columns, *result);
  auto const strings = strings_of_keys(table, columns);
  GARUDA_TRY_ASSIGN(auto const lane, compute::ComputeLane::open(table.device.open, options.control, &stats,
                                                                options.device_memory_limit_bytes));
  auto& context = lane->context();
  if (table.rows == 0) {
    GARUDA_TRY(keep_empty(context, columns, strings, *result));
    return DeviceTable(std::move(result));
  }
  StringKeyColumns made;
  for (auto const key : columns.keys) {
    GARUDA_TRY_ASSIGN(auto values, key_values(context, table, key, options.control, made));
    spec.keys.push_back(values);
  }
  GARUDA_TRY_ASSIGN(auto group_by, compute::ColumnGroupBy::create(context, std::move(spec)));
  GARUDA_TRY(group_by.run(context));
  if (auto const over = group_by.overflow())
    GARUDA_TRY(fail_overflow(context, group_by, *over, columns.aggregates[over->aggregate], strings, *result));
  auto all = group_by.keys();
  auto const aggregates = group_by.aggregates();
  all.insert(all.end(), aggregates.begin(), aggregates.end());
  GARUDA_TRY(keep(context, all, strings, 0, group_by.num_groups(), *result));
  return DeviceTable(std::move(result));
}

}  // namespace garuda::device
