#include "spill/group_by/partial_groups.hpp"

#include <arrow/util/bit_util.h>
#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "garuda/group_states.hpp"
#include "io/file_dictionaries.hpp"
#include "operators/resolve/group_by_columns.hpp"
#include "spill/memory_share.hpp"
#include "spill/spill_file.hpp"

namespace garuda::spill {
namespace {

using BatchPtr = std::shared_ptr<arrow::RecordBatch>;
constexpr auto kSentence = "cannot merge the groups of parts of the table";

/// `values` with a null wherever `by` has one.
arrow::Result<std::shared_ptr<arrow::Array>> masked_array(arrow::Array const& values, arrow::Array const& by) {
  auto data = values.data()->Copy();
  if (by.null_count() == 0) return arrow::MakeArray(data);
  ARROW_ASSIGN_OR_RAISE(auto const bitmap, arrow::AllocateEmptyBitmap(data->offset + data->length, io::memory_pool()));
  for (std::int64_t i = 0; i < data->length; ++i)
    if (values.IsValid(i) && by.IsValid(i)) arrow::bit_util::SetBit(bitmap->mutable_data(), data->offset + i);
  data->buffers[0] = bitmap;
  data->null_count = arrow::kUnknownNullCount;
  return arrow::MakeArray(data);
}

/// The batches as one, of the dictionaries of all.
arrow::Result<BatchPtr> as_one(io::ArrowBatches const& batches) {
  if (batches.size() == 1) return batches.front();
  ARROW_ASSIGN_OR_RAISE(auto const unified, io::unify_dictionaries(batches));
  return arrow::ConcatenateRecordBatches(unified, io::memory_pool());
}

/// The rows of a result as batches that spill files take.
Result<io::ArrowBatches> read_all(GroupByResult& result) {
  io::ArrowBatches batches;
  while (true) {
    GARUDA_TRY_ASSIGN(auto batch, result.next());
    if (!batch) return batches;
    GARUDA_TRY_ASSIGN(auto const next, io::to_arrow_batch(result.schema(), *std::move(batch)));
    batches.push_back(storable(*next));
  }
}

/// The groups of `rows` as Arrow's batches.
Result<io::ArrowBatches> group_table(Engine& engine, Table const& rows, GroupBySpec const& spec,
                                     GroupByOptions const& options, PartRuns& runs) {
  GARUDA_TRY_ASSIGN(auto const result, engine.group_by(rows.view(), spec, options));
  runs.started(result->plan());
  GARUDA_TRY_ASSIGN(auto groups, read_all(*result));
  runs.ended(result->stats());
  return groups;
}

}  // namespace

Result<io::ArrowBatches> group_rows(Engine& engine, io::ArrowBatches rows, GroupBySpec const& spec,
                                    GroupByOptions const& options, PartRuns& runs) {
  auto const schema = rows.front()->schema();
  GARUDA_ARROW_TRY_ASSIGN(rows, io::unify_dictionaries(std::move(rows)), ErrorCode::invalid_input, kSentence);
  GARUDA_TRY_ASSIGN(auto const table, io::to_table(schema, std::move(rows)));
  return group_table(engine, table, spec, options, runs);
}

Result<PartialGroups> PartialGroups::create(std::shared_ptr<arrow::Schema> rows, GroupBySpec const& spec,
                                            std::uint64_t most_rows) {
  PartialGroups groups(std::move(rows), spec);
  GARUDA_TRY_ASSIGN(auto const none, io::to_table(groups.rows_, {}));
  groups.row_schema_ = none.schema();
  GARUDA_TRY_ASSIGN(groups.taken_, resolve::take_apart(groups.row_schema_, spec, most_rows));
  return groups;
}

Aggregate PartialGroups::aggregate(std::size_t position) const {
  auto aggregate = spec_.aggregates[position];
  aggregate.name = taken_.resolved[position].name;
  return aggregate;
}

Result<Table> PartialGroups::table_of(io::ArrowBatches rows) const {
  auto fields = rows_->fields();
  for (auto const& masked : taken_.masked)
    fields.push_back(rows_->field(static_cast<int>(masked.position))->WithName(masked.name));
  auto const schema = arrow::schema(std::move(fields));
  for (auto& batch : rows) {
    auto columns = batch->columns();
    for (auto const& masked : taken_.masked) {
      GARUDA_ARROW_TRY_ASSIGN(
          auto column,
          masked_array(*batch->column(static_cast<int>(masked.position)), *batch->column(static_cast<int>(masked.by))),
          ErrorCode::out_of_memory, kSentence);
      columns.push_back(std::move(column));
    }
    batch = arrow::RecordBatch::Make(schema, batch->num_rows(), std::move(columns));
  }
  GARUDA_ARROW_TRY_ASSIGN(rows, io::unify_dictionaries(std::move(rows)), ErrorCode::invalid_input, kSentence);
  return io::to_table(schema, std::move(rows));
}

Result<std::uint64_t> PartialGroups::merge_weight(io::ArrowBatches const& groups) const {
  if (groups.empty()) return 0;
  GARUDA_TRY_ASSIGN(auto const volume, volume_of_all(groups));
  auto fields = groups.front()->schema()->fields();
  fields.push_back(arrow::field(taken_.number, arrow::int64()));
  GARUDA_TRY_ASSIGN(auto const table, io::to_table(arrow::schema(std::move(fields)), {}));
  GARUDA_TRY_ASSIGN(auto const row_bytes, group_row_bytes(table.view(), taken_.merged));
  // They are brought together in one batch first.
  return 2 * volume.bytes + volume.rows * row_bytes;
}

Result<io::ArrowBatches> PartialGroups::group(Engine& engine, Table const& rows, GroupByOptions const& options,
                                              PartRuns& runs) const {
  return group_table(engine, rows, taken_.block, options, runs);
}

Result<io::ArrowBatches> PartialGroups::merge(Engine& engine, io::ArrowBatches const& groups,
                                              GroupByOptions const& options,
                                              std::function<void(RunStats const&)> const& on_run) const {
  if (groups.empty()) return io::ArrowBatches{};
  GARUDA_ARROW_TRY_ASSIGN(auto const all, as_one(groups), ErrorCode::out_of_memory, kSentence);
  GARUDA_ARROW_TRY_ASSIGN(auto const rows, numbered(*all, taken_.number, 0), ErrorCode::out_of_memory, kSentence);
  GARUDA_TRY_ASSIGN(auto const table, io::to_table(rows->schema(), {rows}));
  GARUDA_TRY_ASSIGN(auto const result, engine.group_by(table.view(), taken_.merged, options));
  GARUDA_TRY_ASSIGN(auto merged, read_all(*result));
  on_run(result->stats());
  GARUDA_TRY_ASSIGN(auto const states, merged_states(*all, merged, options.control));
  std::int64_t first = 0;
  for (auto& batch : merged) {
    auto const rows_of_batch = batch->num_rows();
    batch = rebuilt(*batch, *states->Slice(first, rows_of_batch), *all->schema());
    first += rows_of_batch;
  }
  return merged;
}

/// The exact states of `groups`, a column each; none where no aggregate has them.
Result<BatchPtr> PartialGroups::states_of(arrow::RecordBatch const& groups) const {
  auto const exact = taken_.exact_columns();
  std::vector<int> const positions(exact.begin(), exact.end());
  GARUDA_ARROW_TRY_ASSIGN(auto states, groups.SelectColumns(positions), ErrorCode::invalid_input, kSentence);
  return states;
}

/// The states of `groups` that became one, by the lists of their numbers that `merged` has in its last column.
Result<BatchPtr> PartialGroups::merged_states(arrow::RecordBatch const& groups, io::ArrowBatches const& merged,
                                              Control const& control) const {
  GARUDA_TRY_ASSIGN(auto const states, states_of(groups));
  if (states->num_columns() == 0) return states;
  std::vector<std::uint64_t> group_of(static_cast<std::size_t>(groups.num_rows()));
  std::uint64_t group = 0;
  for (auto const& batch : merged) {
    auto const& lists = static_cast<arrow::ListArray const&>(*batch->column(batch->num_columns() - 1));
    auto const& numbers = static_cast<arrow::Int64Array const&>(*lists.values());
    for (std::int64_t g = 0; g < lists.length(); ++g, ++group)
      for (auto i = lists.value_offset(g); i < lists.value_offset(g + 1); ++i)
        group_of[static_cast<std::size_t>(numbers.Value(i))] = group;
  }
  GARUDA_TRY_ASSIGN(auto const table, io::to_table(states->schema(), {states}));
  GARUDA_TRY_ASSIGN(auto const made, merge_states(table.view(), group_of, group, control));
  return io::to_arrow_batch(made.schema(), Batch(made.batches().front()));
}

/// Merged groups in the columns that partial groups have, of `schema`; `states` has those of their exact states.
BatchPtr PartialGroups::rebuilt(arrow::RecordBatch const& merged, arrow::RecordBatch const& states,
                                arrow::Schema const& schema) const {
  auto columns = merged.columns();
  columns.resize(spec_.keys.size());
  auto next = static_cast<int>(spec_.keys.size());
  int next_states = 0;
  for (auto const& state : taken_.states)
    columns.push_back(state.is_exact ? states.column(next_states++) : merged.column(next++));
  arrow::FieldVector fields;
  for (std::size_t c = 0; c < columns.size(); ++c)
    fields.push_back(arrow::field(schema.field(static_cast<int>(c))->name(), columns[c]->type()));
  return storable(*arrow::RecordBatch::Make(arrow::schema(std::move(fields)), merged.num_rows(), std::move(columns)));
}

/// The values of the aggregates that have exact states, a column each.
Result<BatchPtr> PartialGroups::values_of(arrow::RecordBatch const& groups) const {
  GARUDA_TRY_ASSIGN(auto const states, states_of(groups));
  if (states->num_columns() == 0) return states;
  std::vector<Aggregate> aggregates;
  for (auto const& state : taken_.states)
    if (state.is_exact) aggregates.push_back(aggregate(state.aggregate));
  std::optional<Table> keys;
  if (!spec_.keys.empty()) {
    std::vector<int> positions(spec_.keys.size());
    std::iota(positions.begin(), positions.end(), 0);
    GARUDA_ARROW_TRY_ASSIGN(auto const batch, groups.SelectColumns(positions), ErrorCode::invalid_input, kSentence);
    GARUDA_TRY_ASSIGN(keys, io::to_table(batch->schema(), {batch}));
  }
  GARUDA_TRY_ASSIGN(auto const table, io::to_table(states->schema(), {states}));
  auto const named = keys ? std::optional(keys->view()) : std::nullopt;
  GARUDA_TRY_ASSIGN(auto const values, resolve::values_of_states(table.view(), row_schema_, aggregates, named, {}));
  return io::to_arrow_batch(values.schema(), Batch(values.batches().front()));
}

Result<Table> PartialGroups::finish(io::ArrowBatches const& groups,
                                    std::vector<std::shared_ptr<arrow::Array>> const& values) const {
  GARUDA_EXPECTS(values.size() == taken_.unmergeable.size());
  auto const keys = static_cast<int>(spec_.keys.size());
  io::ArrowBatches finished;
  std::shared_ptr<arrow::Schema> schema;
  for (auto const& batch : groups) {
    auto columns = batch->columns();
    columns.resize(static_cast<std::size_t>(keys));
    arrow::FieldVector fields(batch->schema()->fields().begin(), batch->schema()->fields().begin() + keys);
    auto const add = [&](std::size_t aggregate, std::shared_ptr<arrow::Array> column) {
      fields.push_back(arrow::field(taken_.resolved[aggregate].name, column->type()));
      columns.push_back(std::move(column));
    };
    GARUDA_TRY_ASSIGN(auto const made, values_of(*batch));
    std::size_t kept = 0;
    int next_made = 0;
    for (std::size_t s = 0; s <= taken_.states.size(); ++s) {
      auto const next = s < taken_.states.size() ? taken_.states[s].aggregate : taken_.resolved.size();
      for (; kept < values.size() && taken_.unmergeable[kept] < next; ++kept)
        add(taken_.unmergeable[kept], values[kept]);
      if (s == taken_.states.size() || !taken_.states[s].is_result) continue;
      add(next, taken_.states[s].is_exact ? made->column(next_made++) : batch->column(keys + static_cast<int>(s)));
    }
    if (schema == nullptr) schema = arrow::schema(std::move(fields));
    finished.push_back(arrow::RecordBatch::Make(schema, batch->num_rows(), std::move(columns)));
  }
  GARUDA_EXPECTS(schema != nullptr);
  return io::to_table(schema, std::move(finished));
}

}  // namespace garuda::spill
