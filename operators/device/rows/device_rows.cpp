#include "operators/device/rows/device_rows.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "operators/compute/expressions/expression_pass.hpp"
#include "operators/compute/primitives/device_primitives.hpp"
#include "operators/compute/primitives/late_gather.hpp"
#include "operators/device/device_types.hpp"
#include "operators/device/rows/read_columns.hpp"
#include "operators/graphics/rows/drawn_rows.hpp"
#include "operators/materialize/column_words.hpp"

namespace garuda::device {
namespace {

constexpr char const* kFilterPhase = "filter";
constexpr char const* kProjectPhase = "project";
constexpr char const* kCopyPhase = "copy columns";

/// Whether a row may be null: nothing else than a null makes one, but for failures that are to.
bool may_be_null(expr::Expression const& expression, DeviceTableState const& table) {
  if (expression.form == expr::Expression::Form::column) return table.nulls(expression.column).has_value();
  if (expression.form == expr::Expression::Form::constant)
    return std::holds_alternative<std::monostate>(expression.value);
  if (expression.function == expr::Function::is_null || expression.function == expr::Function::is_true) return false;
  return expression.on_failure != expr::OnFailure::error ||
         std::ranges::any_of(expression.arguments, [&](auto const& part) { return may_be_null(part, table); });
}

/// Columns as tables store them, each once: what `kept` needs of a table, and where that lies in the result.
struct KeptColumns {
  std::vector<std::size_t> sources;  ///< among `stored` of the table
  std::vector<DeviceTableState::Column> columns;

  KeptColumns(DeviceTableState const& table, std::span<std::size_t const> kept) {
    for (auto const column : kept) {
      auto placed = table.columns[column];
      placed.stored = place(placed.stored);
      if (placed.nulls) placed.nulls = place(*placed.nulls);
      columns.push_back(std::move(placed));
    }
  }

 private:
  std::size_t place(std::size_t stored) {
    auto const found = std::ranges::find(sources, stored);
    auto const position = static_cast<std::size_t>(found - sources.begin());
    if (found == sources.end()) sources.push_back(stored);
    return position;
  }
};

/// A table of `rows` rows with room for the columns.
Result<std::unique_ptr<DeviceTableState>> room_for(DeviceTableState const& table, std::span<std::size_t const> kept,
                                                   KeptColumns const& columns, std::uint64_t rows) {
  auto result = std::make_unique<DeviceTableState>();
  result->device = table.device;
  result->rows = rows;
  for (auto const column : kept) result->schema.push_back(table.schema[column]);
  result->columns = columns.columns;
  std::uint64_t bytes = 0;
  for (auto const source : columns.sources) bytes += rows * table.stored[source].words * materialize::kWordBytes;
  result->arena = column_arena(*table.device.open.device, bytes);
  for (auto const source : columns.sources) {
    GARUDA_TRY_ASSIGN(auto stored, take_column(*result, table.stored[source].words));
    result->stored.push_back(std::move(stored));
  }
  return result;
}

Result<std::unique_ptr<compute::ComputeLane>> open_rows_lane(DeviceTableState const& table,
                                                             RowsOptions const& options) {
  return compute::ComputeLane::open(table.device.open, options.control, options.stats, options.memory_limit_bytes);
}

/// Fetches the rows that are listed in `gather`.
Result<void> fetch_rows(compute::ComputeContext& context, compute::LateGather& gather, DeviceTableState const& result) {
  GARUDA_TRY_ASSIGN(auto const state, compute::gathered_rows(context, kFilterPhase, result.rows));
  std::vector<VkDeviceAddress> targets;
  for (auto const& stored : result.stored) targets.push_back(stored.buffer.address());
  GARUDA_TRY(gather.record(context, state, targets, result.rows));
  GARUDA_TRY(context.order_all(kFilterPhase));
  return context.submissions().finish();
}

/// A column that a draw makes.
struct DrawnColumn {
  compute::ExpressionSteps steps;
  compute::DeviceColumn target;
  std::optional<graphics::NullBit> nulls;
};

/// Where the values of computed columns go.
struct ComputedColumns {
  compute::ExpressionSteps steps;  ///< of the columns that one compute pass makes
  std::vector<DrawnColumn> drawn;
  std::vector<std::size_t> nulls;  ///< among `stored`: words of null bits
  std::vector<DeviceTableState::Stored> stored;
  std::vector<DeviceTableState::Column> columns;  ///< their places count from the end of the table's `stored`
  std::vector<ReadColumns> read;                  ///< in place until the steps have run
};

/// A word of null bits holds those of so many columns.
constexpr std::uint32_t kNullBits = 32;

/// Takes memory for computed columns, and writes the steps that fill them.
Result<ComputedColumns> computed_columns(compute::ComputeContext& context, DeviceTableState& table,
                                         std::span<DeviceExpression const> columns, bool draws) {
  ComputedColumns made;
  std::optional<std::size_t> nulls;
  std::uint32_t bit = 0;
  auto const end_nulls = [&] {
    if (nulls && !draws) made.steps.add_nulls(made.stored[*nulls].buffer.address());
    nulls.reset();
    bit = 0;
  };
  for (auto const& column : columns) {
    auto const* const expression = std::get_if<expr::Expression>(&column);
    if (expression == nullptr) continue;
    DeviceTableState::Column placed;
    if (may_be_null(*expression, table)) {
      if (!nulls) {
        GARUDA_TRY_ASSIGN(auto words, take_column(table, 1));
        nulls = made.stored.size();
        made.nulls.push_back(*nulls);
        made.stored.push_back(std::move(words));
      }
      placed.nulls = nulls;
      placed.null_bit = bit++;
    }
    auto const types = read_types_of(*expression, table.columns.size());
    GARUDA_TRY_ASSIGN(auto const program, expr::compile(*expression, types, expr::Nulls::kept));
    GARUDA_TRY_ASSIGN(auto values, take_column(table, device_words(expression->type).value_or(1)));
    compute::DeviceColumn const target{values.buffer.address(), values.words};
    auto const null_bit = placed.nulls ? std::optional(placed.null_bit) : std::nullopt;
    GARUDA_TRY_ASSIGN(auto read, read_columns(context, table, types));
    auto& steps = draws ? made.drawn.emplace_back().steps : made.steps;
    GARUDA_TRY(steps.add_column(program, read.inputs, target, null_bit));
    if (draws) {
      made.drawn.back().target = target;
      if (null_bit) made.drawn.back().nulls = {made.stored[*nulls].buffer.address(), *null_bit};
    }
    made.read.push_back(std::move(read));
    placed.stored = made.stored.size();
    made.stored.push_back(std::move(values));
    made.columns.push_back(std::move(placed));
    if (bit == kNullBits) end_nulls();
  }
  end_nulls();
  return made;
}

/// Passes that evaluate expressions over the rows of a table, and stay in place until they have run.
class RowPasses {
 public:
  RowPasses(DeviceTableState const& table, RowsOptions const& options) : table_(table), draws_(options.draws) {}

  /// Finds the rows that pass. `steps` end with flags. Errors: those of the passes.
  Result<compute::ExpressionState> find_flags(compute::ComputeContext& context, compute::ExpressionSteps const& steps,
                                              VkDeviceAddress flags) {
    if (!draws_) return evaluate(context, kFilterPhase, steps);
    GARUDA_TRY(start_drawing(context, graphics::RowForm::flags));
    GARUDA_TRY(drawn_->record_flags(context, graphics::kDrawPhase, steps, flags));
    return drawn_->read_state(context, graphics::kDrawPhase);
  }

  /// Fills computed columns. Errors: those of the passes.
  Result<compute::ExpressionState> fill(compute::ComputeContext& context, ComputedColumns const& computed) {
    if (!draws_) return evaluate(context, kProjectPhase, computed.steps);
    GARUDA_TRY(start_drawing(context, graphics::RowForm::values));
    for (auto const words : computed.nulls)
      GARUDA_TRY(context.fill(graphics::kDrawPhase, computed.stored[words].buffer, 0));
    for (auto const& column : computed.drawn)
      GARUDA_TRY(drawn_->record_column(context, graphics::kDrawPhase, column.steps, column.target, column.nulls));
    return drawn_->read_state(context, graphics::kDrawPhase);
  }

 private:
  Result<compute::ExpressionState> evaluate(compute::ComputeContext& context, char const* phase,
                                            compute::ExpressionSteps const& steps) {
    GARUDA_TRY_ASSIGN(pass_, compute::ExpressionPass::create(context, steps));
    GARUDA_TRY(pass_->record(context, phase, table_.rows));
    return pass_->read_state(context, phase);
  }

  Result<void> start_drawing(compute::ComputeContext& context, graphics::RowForm form) {
    GARUDA_TRY_ASSIGN(drawn_, graphics::DrawnRows::create(context, *table_.device.open.pipelines, form, {table_.rows}));
    return {};
  }

  DeviceTableState const& table_;
  bool draws_;
  std::optional<compute::ExpressionPass> pass_;
  std::optional<graphics::DrawnRows> drawn_;
};

}  // namespace

Result<void> check_device_expression(expr::Expression const& expression, std::size_t num_columns) {
  auto const types = read_types_of(expression, num_columns);
  GARUDA_TRY_ASSIGN(auto const program, expr::compile(expression, types, expr::Nulls::kept));
  std::vector<compute::ExpressionInput> inputs;
  for (auto const& type : types) inputs.push_back({type, {}, std::nullopt, {}});
  compute::ExpressionSteps steps;
  return steps.add_column(program, inputs, {}, std::nullopt);
}

Result<std::optional<DeviceTable>> filter_device_table(DeviceTableState const& table, expr::Expression const& predicate,
                                                       std::span<std::size_t const> kept, RowsOptions const& options) {
  auto const types = read_types_of(predicate, table.columns.size());
  GARUDA_TRY_ASSIGN(auto const program, expr::compile(predicate, types, expr::Nulls::false_));
  KeptColumns const columns(table, kept);
  if (table.rows == 0) {
    GARUDA_TRY_ASSIGN(auto none, room_for(table, kept, columns, 0));
    return DeviceTable(std::move(none));
  }
  GARUDA_TRY_ASSIGN(auto const lane, open_rows_lane(table, options));
  auto& context = lane->context();
  GARUDA_TRY_ASSIGN(auto scan, compute::DeviceScan::create(context, table.rows));
  GARUDA_TRY_ASSIGN(auto const flags, context.device_buffer(table.rows * materialize::kWordBytes, "rows that pass"));
  compute::ExpressionSteps steps;
  GARUDA_TRY_ASSIGN(auto const read, read_columns(context, table, types));
  GARUDA_TRY(steps.add_flags(program, read.inputs, flags.address()));
  RowPasses passes(table, options);
  GARUDA_TRY_ASSIGN(auto const said, passes.find_flags(context, steps, flags.address()));
  if (said.has_failed || said.is_unsettled) return std::nullopt;

  std::vector<compute::DeviceColumn> sources;
  for (auto const source : columns.sources)
    sources.push_back({table.stored[source].buffer.address(), table.stored[source].words});
  bool const has_columns = !sources.empty();
  if (!has_columns) sources.push_back({flags.address(), 1});
  GARUDA_TRY_ASSIGN(auto gather, compute::LateGather::create(context, std::move(sources)));
  GARUDA_TRY(gather.take_rows(context, table.rows));
  GARUDA_TRY(compute::record_compact(context, kFilterPhase, scan, flags.address(), gather.rows(), table.rows));
  GARUDA_TRY_ASSIGN(auto const rows, scan.read_total(context, kFilterPhase));
  GARUDA_TRY_ASSIGN(auto result, room_for(table, kept, columns, rows));
  if (rows > 0 && has_columns) GARUDA_TRY(fetch_rows(context, gather, *result));
  return DeviceTable(std::move(result));
}

Result<std::optional<DeviceTable>> project_device_table(DeviceTable table, std::span<DeviceExpression const> columns,
                                                        Schema schema, RowsOptions const& options) {
  GARUDA_EXPECTS(columns.size() == schema.size());
  auto state = std::move(table).take_state();
  ComputedColumns computed;
  bool const computes =
      std::ranges::any_of(columns, [](auto const& column) { return std::holds_alternative<expr::Expression>(column); });
  if (computes) {
    GARUDA_TRY_ASSIGN(auto const lane, open_rows_lane(*state, options));
    auto& context = lane->context();
    GARUDA_TRY_ASSIGN(computed, computed_columns(context, *state, columns, options.draws));
    if (state->rows > 0) {
      RowPasses passes(*state, options);
      GARUDA_TRY_ASSIGN(auto const said, passes.fill(context, computed));
      GARUDA_TRY(context.order_all(kProjectPhase));
      GARUDA_TRY(lane->submissions().finish());
      if (said.has_failed || said.is_unsettled) return std::nullopt;
    }
    computed.read.clear();  // before the lane that its memory is of
  }
  std::vector<DeviceTableState::Column> placed;
  std::size_t next = 0;
  for (auto const& column : columns) {
    if (auto const* const position = std::get_if<std::size_t>(&column)) {
      placed.push_back(state->columns[*position]);
      continue;
    }
    auto own = computed.columns[next++];
    own.stored += state->stored.size();
    if (own.nulls) own.nulls = *own.nulls + state->stored.size();
    placed.push_back(std::move(own));
  }
  std::ranges::move(computed.stored, std::back_inserter(state->stored));
  state->columns = std::move(placed);
  state->schema = std::move(schema);
  return DeviceTable(std::move(state));
}

Result<DeviceTable> copy_columns(DeviceTableState const& table, std::span<std::size_t const> columns,
                                 RowsOptions const& options) {
  KeptColumns const kept(table, columns);
  GARUDA_TRY_ASSIGN(auto result, room_for(table, columns, kept, table.rows));
  GARUDA_TRY_ASSIGN(auto const lane, open_rows_lane(table, options));
  auto& context = lane->context();
  for (std::size_t i = 0; i < kept.sources.size() && table.rows > 0; ++i) {
    auto const& to = result->stored[i].buffer;
    GARUDA_TRY_ASSIGN(auto* const recorder, context.submissions().record(kCopyPhase));
    recorder->copy(table.stored[kept.sources[i]].buffer.view(0, to.bytes()), to.view());
  }
  GARUDA_TRY(context.order_all(kCopyPhase));
  GARUDA_TRY(context.submissions().finish());
  return DeviceTable(std::move(result));
}

}  // namespace garuda::device
