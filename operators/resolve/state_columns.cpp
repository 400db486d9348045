// States as columns of tables: include/garuda/group_states.hpp.
#include "garuda/group_states.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <utility>

#include "core/parallel_blocks.hpp"
#include "operators/materialize/value_text.hpp"
#include "operators/resolve/exact_state.hpp"
#include "operators/resolve/group_by_columns.hpp"

namespace garuda::resolve {
namespace {

/// Rows between looks at the control.
constexpr std::uint64_t kRowsOfALook = std::uint64_t{1} << 12;

using StateBytes = std::span<std::byte const>;

Result<void> look_at(Control const& control, std::uint64_t row) {
  if (row % kRowsOfALook == 0 && control.is_cancelled()) return fail(ErrorCode::cancelled, "cancelled by the caller");
  return {};
}

/// The bytes of every state of a column. Errors: invalid_input for nulls.
Result<std::vector<StateBytes>> states_of(TableView states, std::size_t column) {
  std::vector<StateBytes> found;
  found.reserve(static_cast<std::size_t>(states.num_rows()));
  for (std::size_t b = 0; b < states.num_batches(); ++b) {
    auto const& array = states.batch(b).columns[column];
    auto const* const offsets = static_cast<std::int64_t const*>(array.offsets) + array.offset;
    auto const* const bytes = static_cast<std::byte const*>(array.values);
    for (std::int64_t i = 0; i < array.length; ++i) {
      if (array.is_null(i)) return fail(ErrorCode::invalid_input, "a state of an aggregate is null");
      found.emplace_back(bytes + offsets[i], bytes + offsets[i + 1]);
    }
  }
  return found;
}

Result<void> check_columns(TableView states) {
  for (auto const& field : states.schema())
    if (field.type.id != TypeId::large_binary)
      return fail(ErrorCode::usage, fmt::format("states are columns of large_binary: '{}' is of type {}", field.name,
                                                to_string(field.type)));
  return {};
}

/// The memory that a column of states keeps alive.
struct StateMemory {
  std::vector<std::int64_t> offsets{0};
  std::vector<std::byte> bytes;
};

/// The rows of each group, in their order: of group g those at [offsets[g], offsets[g + 1]).
struct GroupedRows {
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint64_t> rows;

  GroupedRows(std::span<std::uint64_t const> groups, std::uint64_t num_groups)
      : offsets(num_groups + 1), rows(groups.size()) {
    for (auto const group : groups) ++offsets[group + 1];
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    auto next = offsets;
    for (std::uint64_t row = 0; row < groups.size(); ++row) rows[next[groups[row]]++] = row;
  }
};

/// The merged states of the groups [first, end). Errors: as merge_states.
Result<StateMemory> merged_groups(std::span<StateBytes const> of_rows, GroupedRows const& groups, std::size_t first,
                                  std::size_t end) {
  StateMemory memory;
  std::vector<StateBytes> of_group;
  for (auto g = first; g < end; ++g) {
    if (groups.offsets[g] == groups.offsets[g + 1]) return fail(ErrorCode::usage, "a group has no states");
    of_group.clear();
    for (auto i = groups.offsets[g]; i < groups.offsets[g + 1]; ++i) of_group.push_back(of_rows[groups.rows[i]]);
    GARUDA_TRY(append_merged(of_group, memory.bytes));
    memory.offsets.push_back(static_cast<std::int64_t>(memory.bytes.size()));
  }
  return memory;
}

/// Merges the states of one column, on the threads of the calling task arena.
Result<StateMemory> merged_column(TableView states, std::size_t column, GroupedRows const& groups,
                                  Control const& control) {
  constexpr std::size_t kGroupsAtOnce = 1 << 9;
  GARUDA_TRY_ASSIGN(auto const of_rows, states_of(states, column));
  auto const num_groups = groups.offsets.size() - 1;
  std::vector<Result<StateMemory>> parts((num_groups + kGroupsAtOnce - 1) / kGroupsAtOnce);
  GARUDA_TRY(for_each_block(parts.size(), &control, [&](std::size_t p) {
    auto const first = p * kGroupsAtOnce;
    parts[p] = merged_groups(of_rows, groups, first, std::min(first + kGroupsAtOnce, num_groups));
  }));
  StateMemory memory;
  memory.offsets.reserve(groups.offsets.size());
  for (auto& part : parts) {
    if (!part) return propagate(std::move(part));
    auto const base = memory.offsets.back();
    for (std::size_t g = 1; g < part->offsets.size(); ++g) memory.offsets.push_back(base + part->offsets[g]);
    memory.bytes.insert(memory.bytes.end(), part->bytes.begin(), part->bytes.end());
    part = StateMemory{};
  }
  return memory;
}

/// Values of one column and the bits of those that are not null.
struct ValueMemory {
  std::vector<std::byte> values;
  std::vector<std::uint8_t> validity;
  std::int64_t nulls = 0;
};

/// The error of a value beyond its type, which names the group that `keys`, of one batch, have in row `row`.
Error overflow_in(ResolvedAggregate const& aggregate, std::optional<TableView> const& keys, std::size_t row) {
  if (!keys) return sum_overflow(aggregate, std::nullopt);
  std::vector<ArrayView> cells;
  for (auto const& column : keys->batch(0).columns) cells.push_back(slice(column, static_cast<std::int64_t>(row), 1));
  BatchView const group{1, cells};
  return sum_overflow(aggregate, TableView(keys->schema(), std::span(&group, 1)));
}

Result<ValueMemory> value_column(TableView states, std::size_t column, StateValues values,
                                 std::optional<TableView> const& keys, Control const& control) {
  auto const rows = static_cast<std::size_t>(states.num_rows());
  ValueMemory memory;
  memory.values.resize(rows * static_cast<std::size_t>(byte_width(values.aggregate().result)));
  memory.validity.resize((rows + 7) / 8);
  GARUDA_TRY_ASSIGN(auto const of_rows, states_of(states, column));
  for (std::size_t row = 0; row < rows; ++row) {
    GARUDA_TRY(look_at(control, row));
    GARUDA_TRY_ASSIGN(auto const state, read_exact_state(of_rows[row]));
    auto const made = values.write(state, row, memory.values.data());
    if (made == StateValues::Made::overflow) return tl::unexpected(overflow_in(values.aggregate(), keys, row));
    if (made == StateValues::Made::value)
      memory.validity[row >> 3] |= static_cast<std::uint8_t>(1U << (row & 7));
    else
      ++memory.nulls;
  }
  return memory;
}

/// Runs `work`; what memory or states that do not belong together make it throw is an error.
template <class Work>
Result<Table> guarded(Work work) {
  try {
    return work();
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "not enough memory for the states of groups");
  } catch (LogicError const&) {
    return fail(ErrorCode::invalid_input, "states are beyond those that an aggregate of any table has");
  }
}

/// A table of one batch, whose columns are views of `memory`.
template <class Memory, class View>
Table table_of(Schema schema, std::int64_t rows, std::vector<Memory> memory, View view) {
  auto const kept = std::make_shared<std::vector<Memory>>(std::move(memory));
  Batch batch{rows, {}, kept};
  for (auto const& column : *kept) {
    auto array = view(column);
    array.length = rows;
    batch.columns.push_back(array);
  }
  std::vector<Batch> batches;
  batches.push_back(std::move(batch));
  return {std::move(schema), std::move(batches)};
}

}  // namespace

Error sum_overflow(ResolvedAggregate const& aggregate, std::optional<TableView> keys) {
  std::string group = keys ? "" : "of all rows";
  for (std::size_t k = 0; keys && k < keys->num_columns(); ++k)
    group += fmt::format("{}{} = {}", k == 0 ? "" : ", ", keys->schema()[k].name, materialize::value_text(*keys, k, 0));
  return Error(ErrorCode::invalid_input,
               fmt::format("'{}' is beyond {} in the group {}", aggregate.name, to_string(aggregate.result), group));
}

Result<Table> values_of_states(TableView states, Schema const& rows, std::vector<Aggregate> const& aggregates,
                               std::optional<TableView> const& keys, Control const& control) {
  GARUDA_TRY(check_columns(states));
  if (aggregates.size() != states.num_columns())
    return fail(ErrorCode::usage, fmt::format("there must be an aggregate for each of {} columns: {}",
                                              states.num_columns(), aggregates.size()));
  GroupBySpec spec;
  spec.aggregates = aggregates;
  GARUDA_TRY_ASSIGN(auto const resolved, resolve_group_by(TableView(rows, {}), spec));
  return guarded([&]() -> Result<Table> {
    Schema schema;
    std::vector<ValueMemory> columns;
    for (std::size_t c = 0; c < aggregates.size(); ++c) {
      auto const& aggregate = resolved.aggregates[c];
      if (!has_exact_state(*aggregate.row) || aggregate.as_state)
        return fail(ErrorCode::usage, fmt::format("there is no exact state of {}", to_string(aggregates[c].function)));
      StateValues values(aggregate, aggregate.second ? rows[*aggregate.second].type : DataType{});
      GARUDA_TRY_ASSIGN(auto column, value_column(states, c, std::move(values), keys, control));
      columns.push_back(std::move(column));
      schema.push_back(Field{aggregate.name, aggregate.result, true});
    }
    return table_of(std::move(schema), states.num_rows(), std::move(columns), [](ValueMemory const& memory) {
      ArrayView array;
      array.null_count = memory.nulls;
      array.validity = memory.nulls == 0 ? nullptr : memory.validity.data();
      array.values = memory.values.data();
      return array;
    });
  });
}

}  // namespace garuda::resolve

namespace garuda {

Result<Table> merge_states(TableView states, std::span<std::uint64_t const> groups, std::uint64_t num_groups,
                           Control const& control) {
  GARUDA_TRY(resolve::check_columns(states));
  if (groups.size() != static_cast<std::size_t>(states.num_rows()))
    return fail(ErrorCode::usage,
                fmt::format("there must be a group for each of {} rows: {}", states.num_rows(), groups.size()));
  if (auto const most = std::ranges::max_element(groups); most != groups.end() && *most >= num_groups)
    return fail(ErrorCode::usage, fmt::format("groups must be below {}: {}", num_groups, *most));
  return resolve::guarded([&]() -> Result<Table> {
    resolve::GroupedRows const of_groups(groups, num_groups);
    std::vector<resolve::StateMemory> columns;
    for (std::size_t c = 0; c < states.num_columns(); ++c) {
      GARUDA_TRY_ASSIGN(auto column, resolve::merged_column(states, c, of_groups, control));
      columns.push_back(std::move(column));
    }
    return resolve::table_of(states.schema(), static_cast<std::int64_t>(num_groups), std::move(columns),
                             [](resolve::StateMemory const& memory) {
                               ArrayView array;
                               array.null_count = 0;
                               array.offsets = memory.offsets.data();
                               array.values = memory.bytes.data();
                               return array;
                             });
  });
}

Result<Table> values_of_states(TableView states, Schema const& rows, std::vector<Aggregate> const& aggregates,
                               Control const& control) {
  return resolve::values_of_states(states, rows, aggregates, std::nullopt, control);
}

}  // namespace garuda
