#include "operators/group_by/partial_groups.hpp"

#include <memory>
#include <numeric>
#include <utility>

#include "core/positions.hpp"
#include "garuda/arrow_abi.h"
#include "garuda/group_states.hpp"
#include "operators/group_by/group_by.hpp"
#include "operators/materialize/numbered_rows.hpp"
#include "operators/materialize/spill_space.hpp"
#include "operators/resolve/exact_state.hpp"
#include "operators/resolve/row_memory.hpp"

namespace garuda::group_by {
namespace {

/// Chosen columns of batches [begin, end). Shares them.
Table select(TableView table, std::vector<std::size_t> const& positions, std::size_t begin, std::size_t end) {
  Schema schema;
  for (auto const position : positions) schema.push_back(table.schema()[position]);
  std::vector<Batch> batches;
  for (auto b = begin; b < end; ++b) {
    auto const& from = table.batch(b);
    auto& batch = batches.emplace_back(Batch{from.num_rows, {}, from.owner});
    for (auto const position : positions) batch.columns.push_back(from.columns[position]);
  }
  return {std::move(schema), std::move(batches)};
}

/// Rows of columns that other batches have, and what keeps these.
struct JoinedOwners {
  std::shared_ptr<void const> first;
  std::shared_ptr<void const> second;
};

/// The group of each partial group, by the lists of numbers in the last column of merged ones.
std::vector<std::uint64_t> group_of_each(TableView merged, std::uint64_t num_groups) {
  std::vector<std::uint64_t> group_of(num_groups);
  std::uint64_t group = 0;
  for (std::size_t b = 0; b < merged.num_batches(); ++b) {
    auto const& lists = merged.batch(b).columns.back();
    auto const& array = *static_cast<ArrowArray const*>(lists.values);
    auto const* const offsets = static_cast<std::int32_t const*>(array.buffers[1]) + lists.offset;
    auto const& items = *array.children[0];
    auto const* const numbers = static_cast<std::int64_t const*>(items.buffers[1]) + items.offset;
    for (std::int64_t g = 0; g < lists.length; ++g, ++group)
      for (auto i = offsets[g]; i < offsets[g + 1]; ++i) group_of[static_cast<std::size_t>(numbers[i])] = group;
  }
  return group_of;
}

}  // namespace

Result<PartialGroups> PartialGroups::create(Schema const& rows, GroupBySpec spec, std::uint64_t most_rows) {
  PartialGroups groups;
  GARUDA_TRY_ASSIGN(groups.taken_, resolve::take_apart(rows, spec, most_rows));
  groups.rows_ = rows;
  groups.spec_ = std::move(spec);
  return groups;
}

/// The states of `groups` that became one, by the lists of their numbers that `merged` has in its last column.
Result<Table> PartialGroups::merged_states(TableView groups, TableView merged, Control const& control) const {
  auto const states = select(groups, taken_.exact_columns(), 0, groups.num_batches());
  auto const group_of = group_of_each(merged, static_cast<std::uint64_t>(groups.num_rows()));
  return merge_states(states.view(), group_of, static_cast<std::uint64_t>(merged.num_rows()), control);
}

Result<std::uint64_t> PartialGroups::merge_weight(TableView groups) const {
  auto schema = groups.schema();
  schema.push_back({taken_.number, {TypeId::int64}, false});
  Table const none(std::move(schema), {});
  GARUDA_TRY_ASSIGN(auto const row_bytes, resolve::group_row_bytes(none.view(), taken_.merged));
  // The merged groups are there beside those that they are made of.
  return materialize::bytes_of_rows(groups) + static_cast<std::uint64_t>(groups.num_rows()) * row_bytes;
}

Result<Table> PartialGroups::merge(TableView groups, GroupByOptions const& options,
                                   contract::DeviceSet& devices) const {
  auto const numbers = std::make_shared<std::vector<std::int64_t>>(static_cast<std::size_t>(groups.num_rows()));
  std::iota(numbers->begin(), numbers->end(), std::int64_t{0});
  auto const numbered = materialize::with_numbers(groups, taken_.number, numbers);
  GARUDA_TRY_ASSIGN(auto columns, resolve::resolve_group_by(numbered.view(), taken_.merged));
  GARUDA_TRY_ASSIGN(auto result, group_by({numbered.view(), taken_.merged, std::move(columns), options, &devices}));
  GARUDA_TRY_ASSIGN(auto const merged, collect(*result));
  auto const positions = taken_.exact_columns();
  std::optional<Table> states;
  if (!positions.empty()) {
    GARUDA_TRY_ASSIGN(states, merged_states(groups, merged.view(), options.control));
  }
  auto const num_keys = spec_.keys.size();
  Schema schema;
  std::vector<Batch> batches;
  std::int64_t first = 0;
  for (auto const& from : merged.batches()) {
    Batch batch{
        from.num_rows, {from.columns.begin(), from.columns.begin() + static_cast<std::ptrdiff_t>(num_keys)}, {}};
    for (std::size_t s = 0, kept = num_keys, exact = 0; s < taken_.states.size(); ++s)
      batch.columns.push_back(taken_.states[s].is_exact
                                  ? slice(states->batches().front().columns[exact++], first, from.num_rows)
                                  : from.columns[kept++]);
    batch.owner = std::make_shared<JoinedOwners const>(
        JoinedOwners{from.owner, states ? states->batches().front().owner : nullptr});
    batches.push_back(std::move(batch));
    first += from.num_rows;
  }
  for (std::size_t k = 0; k < num_keys; ++k) schema.push_back(merged.schema()[k]);
  for (std::size_t s = 0, kept = num_keys, exact = 0; s < taken_.states.size(); ++s) {
    schema.push_back(taken_.states[s].is_exact ? states->schema()[exact++] : merged.schema()[kept++]);
    schema.back().name = taken_.resolved[taken_.states[s].aggregate].name;
  }
  return Table(std::move(schema), std::move(batches));
}

/// The values of the exact states in batch `b`, a column each.
Result<Table> PartialGroups::values_of(TableView groups, std::size_t b, Control const& control) const {
  std::vector<Aggregate> aggregates;
  for (auto const& state : taken_.states)
    if (state.is_exact) {
      aggregates.push_back(spec_.aggregates[state.aggregate]);
      aggregates.back().name = taken_.resolved[state.aggregate].name;
    }
  auto const of_keys = first_positions(spec_.keys.size());
  auto const states = select(groups, taken_.exact_columns(), b, b + 1);
  auto const keys = select(groups, of_keys, b, b + 1);
  auto const named = of_keys.empty() ? std::nullopt : std::optional(keys.view());
  return resolve::values_of_states(states.view(), rows_, aggregates, named, control);
}

Result<Table> PartialGroups::finish(TableView groups, Control const& control) const {
  auto const num_keys = spec_.keys.size();
  bool const has_states = !taken_.exact_columns().empty();
  auto schema = groups.schema();
  std::vector<Batch> batches;
  for (std::size_t b = 0; b < groups.num_batches(); ++b) {
    auto const& from = groups.batch(b);
    Batch batch{from.num_rows, {from.columns.begin(), from.columns.end()}, from.owner};
    if (has_states) {
      GARUDA_TRY_ASSIGN(auto const values, values_of(groups, b, control));
      auto const& made = values.batches().front();
      for (std::size_t s = 0, exact = 0; s < taken_.states.size(); ++s) {
        if (!taken_.states[s].is_exact) continue;
        schema[num_keys + s] = values.schema()[exact];
        batch.columns[num_keys + s] = made.columns[exact++];
      }
      batch.owner = std::make_shared<JoinedOwners const>(JoinedOwners{from.owner, made.owner});
    }
    batches.push_back(std::move(batch));
  }
  return Table(std::move(schema), std::move(batches));
}

}  // namespace garuda::group_by
