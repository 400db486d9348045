#include "cli/files/inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "cli/interrupt.hpp"
#include "core/numbers/integer_types.hpp"
#include "core/type_rows.hpp"
#include "io/file_format.hpp"
#include "io/table_reader.hpp"
#include "operators/contract/join_kind.hpp"

namespace garuda::cli {
namespace {

/// Columns are read as their file stores them but where views are wanted, which refer to plain values.
template <class Request>
io::ReadOptions common_options(Request const& request) {
  io::ReadOptions options;
  options.as_stored = request.strings == StringForm::utf8;
  options.threads = request.options.threads;
  options.bytes_read = request.bytes_read;
  options.cancelled = &interrupted();
  return options;
}

/// Names of the columns that the join uses of one side; nullopt: all.
std::optional<std::vector<std::string>> used_columns(JoinRequest const& request, Side side) {
  auto const& spec = request.spec;
  bool const is_key_alone = request.count || (side == Side::right && !contract::parts_of(spec.kind).pairs);
  if (!is_key_alone && !spec.columns) return std::nullopt;
  std::vector<std::string> names;
  for (auto const& [left, right] : spec.on) names.push_back(side == Side::left ? left : right);
  if (spec.where)
    for (auto& name : columns_of(*spec.where, side)) names.push_back(std::move(name));
  if (is_key_alone) return names;
  for (auto const& column : *spec.columns) {
    if (column.side == side) names.push_back(column.name);
  }
  return names;
}

io::ReadOptions read_options(JoinRequest const& request, Side side) {
  auto options = common_options(request);
  options.columns = used_columns(request, side);
  // Keys and conditions give and compare the types that the files have.
  for (auto const& [left, right] : request.spec.on) options.plain_columns.push_back(side == Side::left ? left : right);
  if (request.spec.where)
    for (auto& name : columns_of(*request.spec.where, side)) options.plain_columns.push_back(std::move(name));
  return options;
}

io::FileField const* find_field(std::vector<io::FileField> const& fields, std::string const& name) {
  auto const found = std::find_if(fields.begin(), fields.end(), [&](auto const& field) { return field.name == name; });
  return found == fields.end() ? nullptr : &*found;
}

/// Operands that a join compares: keys, and those of its condition.
std::vector<std::pair<Operand, Operand>> compared_operands(JoinSpec const& spec) {
  std::vector<std::pair<Operand, Operand>> compared;
  for (auto const& [left, right] : spec.on) compared.emplace_back(left_column(left), right_column(right));
  if (spec.where)
    for (auto& comparison : comparisons_of(*spec.where))
      compared.emplace_back(std::move(comparison.first), std::move(comparison.second));
  return compared;
}

/// The type that a column without values takes from a constant that it is compared with.
DataType type_of(Constant const& constant) {
  switch (constant.form) {
    case Constant::Form::boolean:
      return {TypeId::boolean};
    case Constant::Form::text:
      return {TypeId::utf8};
    default:
      return {TypeId::int64};
  }
}

/// A compared column of a CSV file that holds no value takes the type of what it is compared with, so that a table
/// without rows joins like any other.
Result<void> type_empty_columns(JoinRequest const& request, io::ReadOptions& left, io::ReadOptions& right) {
  auto const is_csv = [](io::TableFiles const& table) {
    return io::format_of(table.files.front().path) == io::FileFormat::csv;
  };
  if (!is_csv(request.left) && !is_csv(request.right)) return {};
  GARUDA_TRY_ASSIGN(auto const left_fields, io::read_fields(request.left));
  GARUDA_TRY_ASSIGN(auto const right_fields, io::read_fields(request.right));
  auto const field_of = [&](ColumnRef const& column) {
    return find_field(column.side == Side::left ? left_fields : right_fields, column.name);
  };
  auto const type_compared = [&](Operand const& operand, Operand const& other) {
    auto const* const column = std::get_if<ColumnRef>(&operand);
    auto const* const field = column == nullptr ? nullptr : field_of(*column);
    if (field == nullptr || !field->without_values) return;
    DataType type{TypeId::int64};
    if (auto const* const constant = std::get_if<Constant>(&other)) {
      type = type_of(*constant);
    } else {
      auto const* const other_field = field_of(*std::get_if<ColumnRef>(&other));
      if (other_field == nullptr) return;
      if (other_field->field && !other_field->without_values) type = other_field->field->type;
    }
    auto& types = (column->side == Side::left ? left : right).types_without_values;
    bool const is_typed = std::ranges::any_of(types, [&](auto const& typed) { return typed.first == column->name; });
    if (!is_typed) types.emplace_back(column->name, std::move(type));
  };
  for (auto const& [first, second] : compared_operands(request.spec)) {
    type_compared(first, second);
    type_compared(second, first);
  }
  return {};
}

/// A file of which no column is used, but the number of rows.
Result<void> read_some_column(io::TableFiles const& path, io::ReadOptions& options) {
  if (!options.columns || !options.columns->empty()) return {};
  GARUDA_TRY_ASSIGN(auto const fields, io::read_fields(path));
  if (!fields.empty()) options.columns->push_back(fields.front().name);
  return {};
}

/// The columns and rows of both files that a request reads.
struct JoinFiles {
  io::ReadOptions left;
  io::ReadOptions right;
};

Result<JoinFiles> files_of(JoinRequest const& request) {
  JoinFiles files{read_options(request, Side::left), read_options(request, Side::right)};
  GARUDA_TRY(read_some_column(request.left, files.left));
  GARUDA_TRY(read_some_column(request.right, files.right));
  GARUDA_TRY(type_empty_columns(request, files.left, files.right));
  return files;
}

/// The least and the greatest value of a column, as a test of another one; nullopt: it has no such numbers.
std::optional<RowTest> range_of(TableView table, std::string const& column) {
  auto const position = find_column(table.schema(), column);
  if (!position) return std::nullopt;
  auto const& type = table.schema()[*position].type;
  bool const is_signed_integer = is_integer(type.id) && type_row(type.id).is_signed;
  if (!is_signed_integer && type.id != TypeId::date32) return std::nullopt;
  auto least = std::numeric_limits<std::int64_t>::max();
  auto greatest = std::numeric_limits<std::int64_t>::min();
  for (std::size_t b = 0; b < table.num_batches(); ++b) {
    auto const& array = table.batch(b).columns[*position];
    visit_integers(byte_width(type), true, [&]<class T>(T*) {
      auto const add = [&](std::int64_t i) {
        least = std::min<std::int64_t>(least, array.data<T>()[i]);
        greatest = std::max<std::int64_t>(greatest, array.data<T>()[i]);
      };
      if (array.validity == nullptr)
        for (std::int64_t i = 0; i < array.length; ++i) add(i);
      else
        for (std::int64_t i = 0; i < array.length; ++i)
          if (!array.is_null(i)) add(i);
    });
  }
  RowTest range{RowTest::Kind::column};
  if (least <= greatest) range.ranges.push_back({Literal{type, least}, Literal{type, greatest}});
  return range;
}

/// A test of the rows that the keys of a table leave of the other one, of side `side`, where its unmatched rows do not
/// come.
RowTest wanted_rows(JoinRequest const& request, TableView other, Side side) {
  if (contract::parts_of(request.spec.kind).gives_unmatched(side)) return {};
  for (auto const& [left, right] : request.spec.on) {
    auto range = range_of(other, side == Side::left ? right : left);
    if (!range) continue;
    range->column = side == Side::left ? left : right;
    range->or_null = request.spec.nulls_equal;
    return *std::move(range);
  }
  return {};
}

/// Errors as when the columns are read.
Result<void> check_columns(JoinRequest const& request, Side side) {
  auto const& table = side == Side::left ? request.left : request.right;
  GARUDA_TRY_ASSIGN(auto const fields, io::read_fields(table));
  Schema known;
  for (auto const& field : fields) known.push_back(Field{field.name, {}});
  for (auto const& column : *request.spec.columns) {
    if (column.side != side) continue;
    auto found = find_column(known, column.name);
    if (!found) return tl::unexpected(std::move(found).error().wrap("cannot read " + table.name));
  }
  return {};
}

/// The columns that `request` uses; when it only counts rows, one that garuda can read.
Result<std::vector<std::string>> used_columns(GroupByRequest const& request) {
  auto columns = request.spec.keys;
  for (auto const& aggregate : request.spec.aggregates)
    for (auto const& column : {aggregate.column, aggregate.second})
      if (column) columns.push_back(*column);
  if (!columns.empty()) return columns;
  GARUDA_TRY_ASSIGN(auto const fields, io::read_fields(request.table));
  for (auto const& field : fields)
    if (field.field) return std::vector{field.name};
  return fail(ErrorCode::invalid_input, fmt::format("{} has no column of a type that garuda has", request.table.name));
}

/// Whether an aggregate's type is its own, however wide its column is stored. Others may give the type that they get.
bool has_own_type(AggregateFunction function) {
  using enum AggregateFunction;
  switch (function) {
    case count:
    case sum:
    case mean:
    case var:
    case var_pop:
    case std_dev:
    case std_dev_pop:
    case covar:
    case covar_pop:
    case corr:
      return true;
    default:
      return false;
  }
}

Result<io::ReadOptions> read_options(GroupByRequest const& request) {
  auto options = common_options(request);
  GARUDA_TRY_ASSIGN(options.columns, used_columns(request));
  for (auto const& aggregate : request.spec.aggregates)
    for (auto const& column : {aggregate.column, aggregate.second})
      if (column && !has_own_type(aggregate.function)) options.plain_columns.push_back(*column);
  return options;
}

}  // namespace

Result<void> settle_counted_columns(JoinRequest& request) {
  if (!request.count || !request.spec.columns) return {};
  for (auto const side : {Side::left, Side::right}) GARUDA_TRY(check_columns(request, side));
  request.spec.columns.reset();
  return {};
}

Result<spill::FileJoin> limited_join(JoinRequest const& request) {
  GARUDA_TRY_ASSIGN(auto files, files_of(request));
  return spill::FileJoin{{request.left, std::move(files.left)},
                         {request.right, std::move(files.right)},
                         request.spec,
                         request.options,
                         request.temp_folder,
                         request.count};
}

Result<JoinInputs> read_inputs(JoinRequest const& request) {
  GARUDA_TRY_ASSIGN(auto files, files_of(request));
  JoinInputs inputs;
  if (request.left.bytes() <= request.right.bytes()) {
    GARUDA_TRY_ASSIGN(inputs.left, io::read_table(request.left, files.left));
    files.right.wanted = wanted_rows(request, inputs.left.view(), Side::right);
    GARUDA_TRY_ASSIGN(inputs.right, io::read_table(request.right, files.right));
  } else {
    GARUDA_TRY_ASSIGN(inputs.right, io::read_table(request.right, files.right));
    files.left.wanted = wanted_rows(request, inputs.right.view(), Side::left);
    GARUDA_TRY_ASSIGN(inputs.left, io::read_table(request.left, files.left));
  }
  return inputs;
}

Result<Table> read_input(GroupByRequest const& request) {
  GARUDA_TRY_ASSIGN(auto const options, read_options(request));
  return io::read_table(request.table, options);
}

Result<spill::FileGroupBy> group_by_of_file(GroupByRequest const& request) {
  GARUDA_TRY_ASSIGN(auto options, read_options(request));
  return spill::FileGroupBy{{request.table, std::move(options)}, request.spec, request.options, request.temp_folder};
}

}  // namespace garuda::cli
