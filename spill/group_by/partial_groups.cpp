#include "spill/group_by/partial_groups.hpp"

#include <arrow/util/bit_util.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

#include "core/type_rows.hpp"
#include "garuda/group_states.hpp"
#include "io/file_dictionaries.hpp"
#include "operators/resolve/group_by_columns.hpp"
#include "spill/memory_share.hpp"
#include "spill/spill_file.hpp"

namespace garuda::spill {
namespace {

using BatchPtr = std::shared_ptr<arrow::RecordBatch>;
using F = AggregateFunction;

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

/// Whether sums of such values, at most `most_rows` of them, stay within their result's type, so that they merge as
/// what they are: 64 bits, or 38 digits, which 2^64 values of 18 digits do not fill.
bool sums_fit(DataType const& values, std::uint64_t most_rows) {
  constexpr std::int32_t kMostDigits = 18;
  auto const& row = type_row(values.id);
  if (row.family == TypeFamily::integer)
    return row.width < 8 && std::bit_width(most_rows) + 8 * row.width <= std::numeric_limits<std::uint64_t>::digits;
  return row.family == TypeFamily::decimal && row.width <= 16 && values.precision <= kMostDigits;
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
  GARUDA_TRY(groups.resolve());
  for (auto const& name : groups.rows_->field_names()) groups.names_.insert(name);
  for (auto const& aggregate : groups.resolved_) groups.names_.insert(aggregate.name);
  groups.group_number_ = groups.free_name("group number");
  groups.partial_.keys = groups.merged_.keys = spec.keys;
  groups.partial_.ordered = groups.merged_.ordered = spec.ordered;
  for (std::size_t a = 0; a < spec.aggregates.size(); ++a) groups.take_apart(a, most_rows);
  if (spec.keys.empty() && groups.states_.empty())
    groups.add_state(groups.free_name("count"), {F::count, std::nullopt, std::nullopt},
                     Aggregate{F::sum, std::nullopt, std::nullopt}, {false, 0, false});
  bool const has_states = std::ranges::any_of(groups.states_, &StateColumn::has_states);
  if (has_states) {
    Aggregate numbers{F::min_n, groups.group_number_, groups.group_number_};
    numbers.most = std::numeric_limits<std::int32_t>::max();
    groups.merged_.aggregates.push_back(std::move(numbers));
  }
  return groups;
}

Result<void> PartialGroups::resolve() {
  GARUDA_TRY_ASSIGN(auto const table, io::to_table(rows_, {}));
  GARUDA_TRY_ASSIGN(auto resolved, resolve::resolve_group_by(table.view(), spec_));
  row_schema_ = table.schema();
  resolved_ = std::move(resolved.aggregates);
  return {};
}

/// A name that no other column has.
std::string PartialGroups::free_name(std::string name) {
  while (!names_.insert(name).second) name += '_';
  return name;
}

void PartialGroups::add_state(std::string const& name, Aggregate partial, std::optional<Aggregate> merged,
                              StateColumn column) {
  partial.name = name;
  partial_.aggregates.push_back(std::move(partial));
  if (merged) {
    merged->name = name;
    if (!merged->column) merged->column = name;
    merged_.aggregates.push_back(*std::move(merged));
  }
  states_.push_back(column);
}

/// Divides an aggregate into that of a block and that of the partial groups of blocks.
void PartialGroups::take_apart(std::size_t aggregate, std::uint64_t most_rows) {
  auto const& wanted = spec_.aggregates[aggregate];
  auto const& name = resolved_[aggregate].name;
  StateColumn const result{false, aggregate, true};
  switch (wanted.function) {
    case F::count:
      return add_state(name, wanted, Aggregate{F::sum, std::nullopt, std::nullopt}, result);
    case F::sum:
      if (!sums_fit(resolved_[aggregate].input, most_rows)) break;
      return add_state(name, wanted, Aggregate{F::sum, std::nullopt, std::nullopt}, result);
    case F::min:
    case F::max:
    case F::first:
    case F::last:
    case F::any:
    case F::bool_and:
    case F::bool_or:
      return add_state(name, wanted, Aggregate{wanted.function, std::nullopt, std::nullopt}, result);
    case F::arg_min:
    case F::arg_max: {
      // The value that decides goes along: that of rows where neither is null.
      auto const decides = mask(*wanted.second, *wanted.column);
      auto const extreme = wanted.function == F::arg_min ? F::min : F::max;
      auto partial = wanted;
      partial.second = decides;
      Aggregate merged{wanted.function, std::nullopt, std::nullopt};
      merged.second = free_name(name + " at");
      auto const extreme_name = *merged.second;
      add_state(name, std::move(partial), std::move(merged), result);
      return add_state(extreme_name, {extreme, decides, std::nullopt}, Aggregate{extreme, std::nullopt, std::nullopt},
                       {false, aggregate, false});
    }
    default:
      break;
  }
  if (!resolve::has_exact_state(*resolved_[aggregate].row)) {
    unmergeable_.push_back(aggregate);
    return;
  }
  auto partial = wanted;
  partial.as_state = true;
  add_state(name, std::move(partial), std::nullopt, {true, aggregate, true});
}

Aggregate PartialGroups::aggregate(std::size_t position) const {
  auto aggregate = spec_.aggregates[position];
  aggregate.name = resolved_[position].name;
  return aggregate;
}

/// Name of a column of `column`'s values with a null wherever `by` has one.
std::string PartialGroups::mask(std::string const& column, std::string const& by) {
  MaskedColumn masked{rows_->GetFieldIndex(column), rows_->GetFieldIndex(by),
                      free_name(fmt::format("{} where {} is", column, by))};
  masked_.push_back(masked);
  return masked.name;
}

Result<Table> PartialGroups::table_of(io::ArrowBatches rows) const {
  auto fields = rows_->fields();
  for (auto const& masked : masked_) fields.push_back(rows_->field(masked.position)->WithName(masked.name));
  auto const schema = arrow::schema(std::move(fields));
  for (auto& batch : rows) {
    auto columns = batch->columns();
    for (auto const& masked : masked_) {
      GARUDA_ARROW_TRY_ASSIGN(auto column, masked_array(*batch->column(masked.position), *batch->column(masked.by)),
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
  fields.push_back(arrow::field(group_number_, arrow::int64()));
  GARUDA_TRY_ASSIGN(auto const table, io::to_table(arrow::schema(std::move(fields)), {}));
  GARUDA_TRY_ASSIGN(auto const row_bytes, group_row_bytes(table.view(), merged_));
  // They are brought together in one batch first.
  return 2 * volume.bytes + volume.rows * row_bytes;
}

Result<io::ArrowBatches> PartialGroups::group(Engine& engine, Table const& rows, GroupByOptions const& options,
                                              PartRuns& runs) const {
  return group_table(engine, rows, partial_, options, runs);
}

Result<io::ArrowBatches> PartialGroups::merge(Engine& engine, io::ArrowBatches const& groups,
                                              GroupByOptions const& options,
                                              std::function<void(RunStats const&)> const& on_run) const {
  if (groups.empty()) return io::ArrowBatches{};
  GARUDA_ARROW_TRY_ASSIGN(auto const all, as_one(groups), ErrorCode::out_of_memory, kSentence);
  GARUDA_ARROW_TRY_ASSIGN(auto const rows, numbered(*all, group_number_, 0), ErrorCode::out_of_memory, kSentence);
  GARUDA_TRY_ASSIGN(auto const table, io::to_table(rows->schema(), {rows}));
  GARUDA_TRY_ASSIGN(auto const result, engine.group_by(table.view(), merged_, options));
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
  std::vector<int> positions;
  for (std::size_t s = 0; s < states_.size(); ++s)
    if (states_[s].has_states) positions.push_back(static_cast<int>(spec_.keys.size() + s));
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
  for (auto const& state : states_)
    columns.push_back(state.has_states ? states.column(next_states++) : merged.column(next++));
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
  for (auto const& state : states_)
    if (state.has_states) aggregates.push_back(aggregate(state.aggregate));
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
  GARUDA_EXPECTS(values.size() == unmergeable_.size());
  auto const keys = static_cast<int>(spec_.keys.size());
  io::ArrowBatches finished;
  std::shared_ptr<arrow::Schema> schema;
  for (auto const& batch : groups) {
    auto columns = batch->columns();
    columns.resize(static_cast<std::size_t>(keys));
    arrow::FieldVector fields(batch->schema()->fields().begin(), batch->schema()->fields().begin() + keys);
    auto const add = [&](std::size_t aggregate, std::shared_ptr<arrow::Array> column) {
      fields.push_back(arrow::field(resolved_[aggregate].name, column->type()));
      columns.push_back(std::move(column));
    };
    GARUDA_TRY_ASSIGN(auto const made, values_of(*batch));
    std::size_t kept = 0;
    int next_made = 0;
    for (std::size_t s = 0; s <= states_.size(); ++s) {
      auto const next = s < states_.size() ? states_[s].aggregate : resolved_.size();
      for (; kept < values.size() && unmergeable_[kept] < next; ++kept) add(unmergeable_[kept], values[kept]);
      if (s == states_.size() || !states_[s].is_result) continue;
      add(next, states_[s].has_states ? made->column(next_made++) : batch->column(keys + static_cast<int>(s)));
    }
    if (schema == nullptr) schema = arrow::schema(std::move(fields));
    finished.push_back(arrow::RecordBatch::Make(schema, batch->num_rows(), std::move(columns)));
  }
  GARUDA_EXPECTS(schema != nullptr);
  return io::to_table(schema, std::move(finished));
}

}  // namespace garuda::spill
