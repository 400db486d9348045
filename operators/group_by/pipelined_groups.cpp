#include "operators/group_by/pipelined_groups.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "core/positions.hpp"
#include "core/shortage.hpp"
#include "operators/group_by/grouped_result.hpp"
#include "operators/group_by/value_reader.hpp"
#include "operators/materialize/gather.hpp"
#include "operators/plan/path_choice.hpp"

namespace garuda::group_by {
namespace {

/// Fewer rows a group, on average, are brought together faster by a look at all of them.
constexpr std::uint64_t kFewestRowsPerGroup = 8;
/// So few groups pay however few rows a sample has of each.
constexpr std::uint64_t kFewGroups = 16;

/// Whether a group's state is made of its rows one by one.
bool grows(resolve::StateColumn const& state) noexcept {
  return state.form == resolve::ValueForm::plain && state.kind != contract::ValueKind::bytes;
}

bool grows(resolve::ResolvedAggregate const& aggregate) noexcept {
  return aggregate.row->making == resolve::Making::column && aggregate.row->finalise != nullptr && !aggregate.as_state;
}

/// A batch without the bitmaps of columns that have no null.
std::vector<ArrayView> known_nulls(BatchView const& batch) {
  std::vector<ArrayView> columns(batch.columns.begin(), batch.columns.end());
  for (auto& column : columns)
    if (column.validity != nullptr && count_nulls(column) == 0) column.validity = nullptr;
  return columns;
}

}  // namespace

bool only_sums(GroupBySpec const& spec, std::string_view column) {
  using enum AggregateFunction;
  if (std::ranges::find(spec.keys, column) != spec.keys.end()) return false;
  return std::ranges::all_of(spec.aggregates, [&](Aggregate const& aggregate) {
    auto const function = aggregate.function;
    bool const sums = function == sum || function == mean || function == count;
    return aggregate.second != column && (aggregate.column != column || (sums && !aggregate.as_state));
  });
}

contract::PathRow const& path_of_growing_groups() {
  for (auto const* path : plan::paths())
    if (path->group_by.open_growing != nullptr) return *path;
  throw LogicError("no path keeps groups while rows come");
}

Result<std::unique_ptr<PipelinedGroups>> PipelinedGroups::create(Rows const& rows, GroupBySpec spec,
                                                                 std::span<std::string const> shown, std::size_t lanes,
                                                                 Control const& control) {
  if (spec.keys.size() > keys::StableWords::kMostColumns) return nullptr;
  return or_out_of_memory("the groups of a pipeline", [&]() -> Result<std::unique_ptr<PipelinedGroups>> {
    std::unique_ptr<PipelinedGroups> made(new PipelinedGroups(rows.schema, std::move(spec), control));
    auto meant = rows.schema;
    for (auto const column : rows.integers) meant[column].type = {TypeId::float64};
    Table const none(std::move(meant), {});
    GARUDA_TRY_ASSIGN(made->columns_, resolve::resolve_group_by(none.view(), made->spec_));
    auto& columns = made->columns_;
    columns.name_in_errors(shown);
    auto const types = made->key_types();
    auto const has_words = [&](std::size_t key) {
      return keys::StableWords::can_write(rows.schema[key].type, rows.have_one_dictionary[key]);
    };
    if (!std::ranges::all_of(columns.keys, has_words) ||
        !std::ranges::all_of(columns.states, [](auto const& state) { return grows(state); }) ||
        !std::ranges::all_of(columns.aggregates, [](auto const& aggregate) { return grows(aggregate); }))
      return nullptr;
    std::vector<contract::StateRequest> requests;
    for (auto& state : columns.states) {
      // Which rows have nulls is not known before they come.
      if (state.column) state.states |= contract::kCountState;
      requests.push_back({state.kind, state.states, state.column.has_value()});
      auto& read = made->read_.emplace_back(state);
      bool const of_integers = state.kind != contract::ValueKind::none &&
                               std::ranges::find(rows.integers, state.column) != rows.integers.end();
      if (!of_integers) continue;
      requests.back().of_integers = true;
      read.kind = contract::ValueKind::int64;
    }
    GARUDA_TRY_ASSIGN(made->groups_, path_of_growing_groups().group_by.open_growing(requests, lanes));
    made->lanes_.resize(lanes);
    for (auto& lane : made->lanes_)
      if (!types.empty()) lane.words.emplace(types);
    return made;
  });
}

std::vector<DataType> PipelinedGroups::key_types() const {
  std::vector<DataType> types;
  for (auto const key : columns_.keys) types.push_back(schema_[key].type);
  return types;
}

bool PipelinedGroups::wants_samples() const noexcept {
  return !columns_.keys.empty() || std::ranges::any_of(read_, [](auto const& state) {
    return contract::is_float(state.kind) && (state.states & contract::kSumState) != 0;
  });
}

Result<PipelinedGroups::Values> PipelinedGroups::read_values(TableView rows) const {
  Values values;
  for (auto state : read_) {
    bool const is_narrow = state.kind == contract::ValueKind::int128 && state.column &&
                           rows.schema()[*state.column].type.id == TypeId::decimal64;
    if (is_narrow) state.kind = contract::ValueKind::int64;
    GARUDA_TRY_ASSIGN(auto const reader, ValueReader::create(rows, state, control_));
    GARUDA_TRY_ASSIGN(auto read, reader.read({0, static_cast<std::uint64_t>(rows.num_rows())}, control_));
    values.inputs.push_back(read.input);
    values.memory.push_back(std::move(read));
  }
  return values;
}

Result<bool> PipelinedGroups::start(std::span<TableView const> samples) {
  for (auto const& sample : samples) {
    GARUDA_TRY_ASSIGN(auto const values, read_values(sample));
    groups_->sample(values.inputs, static_cast<std::uint64_t>(sample.num_rows()));
  }
  return groups_->start();
}

Result<bool> PipelinedGroups::pays(std::span<TableView const> samples, std::uint64_t num_rows) {
  if (columns_.keys.empty()) return true;
  keys::StableWords words(key_types());
  one_word_columns_ = ~std::uint64_t{0};
  std::uint64_t rows = 0;
  std::uint64_t places = 0;     // that have rows
  std::uint64_t of_places = 0;  // keys of each place, added up
  std::unordered_set<std::uint64_t> all;
  for (auto const& sample : samples) {
    GARUDA_TRY(words.write(sample, columns_.keys));
    one_word_columns_ &= keys::StableWords::one_word_columns_of(sample, columns_.keys);
    auto const count = static_cast<std::uint64_t>(sample.num_rows());
    std::unordered_set<std::uint64_t> found(words.words()[0], words.words()[0] + count);
    rows += count;
    places += count > 0 ? 1 : 0;
    of_places += found.size();
    all.merge(found);
  }
  for (auto& lane : lanes_) lane.words.emplace(key_types(), one_word_columns_);
  bool const come_again = all.size() <= of_places / 4 * 3 && all.size() <= num_rows / kFewestRowsPerGroup;
  // Where each place has keys of its own, so have all those that were not looked at.
  bool const are_few = all.size() <= std::min(rows / 2, kFewGroups) && (places == 1 || all.size() < of_places);
  return come_again || are_few || all.size() <= rows / kFewestRowsPerGroup;
}

Result<void> PipelinedGroups::add(std::size_t lane, std::uint64_t first, TableView given) {
  auto const& batch = given.batch(0);
  auto const columns = known_nulls(batch);
  BatchView const view{batch.num_rows, columns, batch.owner};
  TableView const rows(given.schema(), std::span(&view, 1));
  auto const count = static_cast<std::uint64_t>(batch.num_rows);
  GARUDA_TRY_ASSIGN(auto const values, read_values(rows));
  contract::KeyedRows keyed{first, count, {}, values.inputs};
  auto& own = lanes_[lane];
  if (own.words) {
    GARUDA_TRY(own.words->write(rows, columns_.keys));
    keyed.words = own.words->words();
  }
  std::vector<std::int64_t> heads;
  GARUDA_TRY(groups_->add(lane, keyed, heads));
  if (columns_.keys.empty()) {
    own.heads.push_back({static_cast<std::int64_t>(heads.size()), {}, {}});
    return {};
  }
  if (heads.empty()) return {};
  // Strings are copied: what they would refer to lives no longer than the batch.
  GARUDA_TRY_ASSIGN(auto const gatherer, Gatherer::create(rows, columns_.keys, StringForm::utf8));
  for (std::size_t taken = 0; taken < heads.size();) {
    GARUDA_TRY_ASSIGN(auto gathered, gatherer.gather(std::span<std::int64_t const>(heads).subspan(taken)));
    taken += static_cast<std::size_t>(gathered.rows_taken);
    own.heads.push_back(std::move(gathered.batch));
  }
  return {};
}

/// The keys that groups begin with, lane by lane.
Result<Table> PipelinedGroups::heads_of_lanes() {
  Table const none(schema_, {});
  Schema keys;
  if (!columns_.keys.empty()) {
    GARUDA_TRY_ASSIGN(auto const gatherer, Gatherer::create(none.view(), columns_.keys, StringForm::utf8));
    keys = gatherer.schema();
  }
  std::vector<Batch> batches;
  for (auto& lane : lanes_) std::ranges::move(lane.heads, std::back_inserter(batches));
  return Table(std::move(keys), std::move(batches));
}

/// Where the keys are among the columns of heads.
Result<std::optional<contract::MergedGroups>> PipelinedGroups::merge(TableView heads) {
  if (columns_.keys.empty()) return groups_->merge({});
  std::vector<DataType> types;
  for (auto const& field : heads.schema()) types.push_back(field.type);
  keys::StableWords words(types, one_word_columns_);
  GARUDA_TRY(words.write(heads, first_positions(columns_.keys.size())));
  return groups_->merge(words.words());
}

Result<std::vector<Batch>> PipelinedGroups::write(TableView heads, GroupChunk const& groups, Schema& schema) const {
  // No result is a value of a row: readers of rows alone will do.
  std::vector<ValueReader> readers;
  for (std::size_t c = 0; c < columns_.states.size(); ++c) {
    GARUDA_TRY_ASSIGN(auto reader, ValueReader::create(heads, {}, control_));
    readers.push_back(std::move(reader));
  }
  auto columns = columns_;
  columns.keys = first_positions(columns_.keys.size());
  GARUDA_TRY_ASSIGN(auto const writer, GroupWriter::create(heads, columns, nullptr));
  schema = writer.schema();
  std::vector<Batch> batches;
  for (std::uint64_t first = 0; first < groups.size();) {
    resolve::GroupRange const range{first, groups.size() - first, nullptr};
    GARUDA_TRY_ASSIGN(auto batch, writer.write(groups, range, readers, control_));
    first += static_cast<std::uint64_t>(batch.num_rows);
    batches.push_back(std::move(batch));
  }
  return batches;
}

Result<std::optional<Table>> PipelinedGroups::finish() {
  return or_out_of_memory("the groups of a pipeline", [&]() -> Result<std::optional<Table>> {
    GARUDA_TRY_ASSIGN(auto const heads, heads_of_lanes());
    GroupChunk groups;
    if (heads.num_rows() == 0 && columns_.keys.empty()) {
      groups = no_rows_group(columns_.states);
    } else {
      GARUDA_TRY_ASSIGN(auto merged, merge(heads.view()));
      if (!merged) return std::nullopt;
      groups.states = std::move(merged->states);
      groups.head_rows.assign(merged->heads.begin(), merged->heads.end());
    }
    Schema schema;
    GARUDA_TRY_ASSIGN(auto batches, write(heads.view(), groups, schema));
    return Table(std::move(schema), std::move(batches));
  });
}

}  // namespace garuda::group_by
