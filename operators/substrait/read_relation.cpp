#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/positions.hpp"
#include "core/type_rows.hpp"
#include "operators/substrait/depth.hpp"
#include "operators/substrait/field_numbers.hpp"
#include "operators/substrait/read_expression.hpp"
#include "operators/substrait/read_type.hpp"
#include "operators/substrait/relation.hpp"

namespace garuda::substrait {
namespace {

/// A relation of a query whose columns are its fields.
Relation plain(Query query, std::size_t width) { return {std::move(query), width, first_positions(width)}; }

Result<Relation> read_input(Message const& of, auto field, PlanContext& context) {
  GARUDA_TRY_ASSIGN(auto const rel, of.message(field));
  return read_relation(rel, context);
}

Result<void> refuse_enhancement(Message const& extended, auto field) {
  GARUDA_TRY_ASSIGN(auto const extension, extended.message(field));
  if (extension.has(AdvancedExtensionField::enhancement))
    return fail(ErrorCode::usage, "the plan has an enhancement of another producer, which changes what it means");
  return {};
}

/// Gives the relation the fields that its mapping names.
Result<Relation> emitted(Relation relation, Message const& body) {
  GARUDA_TRY(refuse_enhancement(body, AnyRelField::advanced_extension));
  GARUDA_TRY_ASSIGN(auto const common, body.message(AnyRelField::common));
  GARUDA_TRY(refuse_enhancement(common, CommonField::advanced_extension));
  if (!common.has(CommonField::emit)) return relation;
  GARUDA_TRY_ASSIGN(auto const emit, common.message(CommonField::emit));
  GARUDA_TRY_ASSIGN(auto const mapping, emit.integers(EmitField::output_mapping));
  std::vector<std::size_t> fields;
  for (auto const position : mapping) {
    if (position >= relation.fields.size())
      return fail(ErrorCode::invalid_input, fmt::format("a mapping of the plan refers to one of {} fields by its "
                                                        "position: {}",
                                                        relation.fields.size(), position));
    fields.push_back(relation.fields[position]);
  }
  relation.fields = std::move(fields);
  return relation;
}

// --- reads --------------------------------------------------------------------------------------------------------

Result<std::string> table_name(Message const& named_table) {
  GARUDA_TRY_ASSIGN(auto const names, named_table.all_bytes(NamedTableField::names));
  std::string whole;
  for (auto const name : names) whole += fmt::format("{}{}", whole.empty() ? "" : ".", name);
  return whole;
}

Result<ScannedTable> find_table(std::string const& name, PlanContext& context) {
  if (auto const known = context.tables.find(name); known != context.tables.end()) return known->second;
  if (context.find == nullptr) return fail(ErrorCode::usage, "a limit of the plan is no constant that is 0 or more");
  GARUDA_TRY_ASSIGN(auto const table, (*context.find)(name));
  return context.tables.emplace(name, table).first->second;
}

/// A column that the plan may read, as the message of the plan has it: tables have many, of which few are read.
struct ReadColumn {
  std::string_view name;
  std::string_view type;
};

/// The type of a column where queries have it.
Result<std::optional<DataType>> type_of(ReadColumn const& column) {
  GARUDA_TRY_ASSIGN(auto const message, Message::parse(column.type));
  GARUDA_TRY(count_inner_names(message, 0));  // types that queries do not have may be nested too deeply
  auto type = read_type(message);
  return type ? std::optional(*std::move(type)) : std::nullopt;
}

Result<std::vector<ReadColumn>> read_schema(Message const& read) {
  GARUDA_TRY_ASSIGN(auto const schema, read.message(ReadField::base_schema));
  GARUDA_TRY_ASSIGN(auto const names, schema.all_bytes(NamedStructField::names));
  GARUDA_TRY_ASSIGN(auto const structure, schema.message(NamedStructField::structure));
  GARUDA_TRY_ASSIGN(auto const types, structure.all_bytes(StructTypeField::types));
  bool const have_inner_names = names.size() != types.size();
  std::vector<ReadColumn> columns;
  std::size_t next = 0;
  for (auto const type : types) {
    if (next >= names.size()) return fail(ErrorCode::invalid_input, "a schema of the plan has more types than names");
    columns.push_back({names[next++], type});
    if (!have_inner_names) continue;
    GARUDA_TRY_ASSIGN(auto const message, Message::parse(type));
    GARUDA_TRY_ASSIGN(auto const inner, count_inner_names(message, 0));
    next += inner;
  }
  return columns;
}

/// Whether values of two types are the same to a plan: layouts of strings, zones and widths of decimals may differ.
bool agree(DataType const& planned, DataType const& given) {
  auto const& type = value_type(given);
  auto const kind = [](DataType const& t) {
    switch (t.id) {
      case TypeId::large_utf8:
      case TypeId::utf8_view:
        return TypeId::utf8;
      case TypeId::large_binary:
      case TypeId::binary_view:
        return TypeId::binary;
      case TypeId::decimal32:
      case TypeId::decimal64:
      case TypeId::decimal256:
        return TypeId::decimal128;
      default:
        return t.id;
    }
  };
  return kind(planned) == kind(type) && planned.scale == type.scale && planned.unit == type.unit &&
         planned.timezone.empty() == type.timezone.empty();
}

/// The fields of a read: all columns of its schema, by where the table has them.
Result<std::vector<std::size_t>> columns_of(std::vector<ReadColumn> const& columns, std::string const& name,
                                            TableView table) {
  std::vector<std::size_t> fields;
  for (auto const& column : columns) {
    GARUDA_TRY_ASSIGN(auto const position, find_column(table.schema(), column.name));
    auto const& given = table.schema()[position].type;
    GARUDA_TRY_ASSIGN(auto const planned, type_of(column));
    if (planned && !agree(*planned, given))
      return fail(ErrorCode::invalid_input, fmt::format("the plan reads column '{}' of table '{}' as {}, which it is "
                                                        "not: {}",
                                                        column.name, name, to_string(*planned), to_string(given)));
    fields.push_back(position);
  }
  return fields;
}

/// The positions that a read gives of `count` columns of its schema.
Result<std::vector<std::size_t>> read_mask(Message const& read, std::size_t count) {
  if (!read.has(ReadField::projection)) return first_positions(count);
  GARUDA_TRY_ASSIGN(auto const projection, read.message(ReadField::projection));
  GARUDA_TRY_ASSIGN(auto const select, projection.message(MaskField::select));
  GARUDA_TRY_ASSIGN(auto const items, select.messages(StructSelectField::struct_items));
  std::vector<std::size_t> chosen;
  for (auto const& item : items) {
    GARUDA_TRY_ASSIGN(auto const position, item.integer(StructItemField::field));
    if (item.has(StructItemField::child)) return fail(ErrorCode::usage, "queries do not read parts of structs");
    if (position >= count)
      return fail(ErrorCode::invalid_input, fmt::format("a projection of the plan refers to one of {} columns by its "
                                                        "position: {}",
                                                        count, position));
    chosen.push_back(position);
  }
  return chosen;
}

template <class T>
std::vector<T> chosen_of(std::vector<T> const& all, std::vector<std::size_t> const& positions) {
  std::vector<T> chosen;
  for (auto const position : positions) chosen.push_back(all[position]);
  return chosen;
}

/// The constant rows of a read, each a projection of the one row.
Result<Relation> read_values(Message const& read, PlanContext& context) {
  GARUDA_TRY_ASSIGN(auto const values, read.message(ReadField::virtual_table));
  if (values.has(VirtualTableField::old_values))
    return fail(ErrorCode::usage, "constant rows stand where versions of Substrait before 0.56 had them");
  GARUDA_TRY_ASSIGN(auto const rows, values.messages(VirtualTableField::expressions));
  GARUDA_TRY_ASSIGN(auto const schema, read_schema(read));
  std::vector<std::optional<DataType>> types;
  for (auto const& column : schema) {
    GARUDA_TRY_ASSIGN(auto type, type_of(column));
    types.push_back(std::move(type));
  }
  if (rows.empty()) {
    // No row is left of one whose columns have the types.
    std::vector<NamedExpression> nulls;
    for (auto const& type : types)
      nulls.push_back({{}, literal(Literal{type.value_or(DataType{TypeId::boolean}), {}})});
    auto none = one_row();
    if (!nulls.empty()) none = plain(none.query.project(nulls), nulls.size());
    none.query = none.query.limit(0);
    return none;
  }
  std::vector<Query> queries;
  for (auto const& row : rows) {
    GARUDA_TRY_ASSIGN(auto const expressions, row.messages(NestedStructField::fields));
    if (expressions.size() != schema.size())
      return fail(ErrorCode::invalid_input,
                  fmt::format("a constant row of the plan has {} fields, not {}", expressions.size(), schema.size()));
    ExpressionReader reader(one_row(), context);
    GARUDA_TRY_ASSIGN(auto const fields, reader.read_all(expressions));
    std::vector<NamedExpression> columns;
    for (std::size_t f = 0; f < fields.size(); ++f)
      columns.push_back({{}, types[f] ? cast(fields[f], *types[f]) : fields[f]});
    if (columns.empty()) columns.push_back({{}, literal(true)});
    queries.push_back(reader.take_input().query.project(std::move(columns)));
  }
  Relation relation{Query::union_all(std::move(queries)), std::max<std::size_t>(schema.size(), 1),
                    first_positions(schema.size())};
  return relation;
}

Result<Relation> read_read(Message const& read, PlanContext& context) {
  if (read.has(ReadField::virtual_table)) return read_values(read, context);
  if (!read.has(ReadField::named_table))
    return fail(ErrorCode::usage, "plans read tables by their names, and constant rows, not files");
  GARUDA_TRY_ASSIGN(auto const named_table, read.message(ReadField::named_table));
  GARUDA_TRY_ASSIGN(auto const name, table_name(named_table));
  GARUDA_TRY_ASSIGN(auto const table, find_table(name, context));
  GARUDA_TRY_ASSIGN(auto const schema, read_schema(read));
  GARUDA_TRY_ASSIGN(auto const mask, read_mask(read, schema.size()));
  // Columns that the mask leaves out need not be there, unless a filter may name them. A filter of best effort leaves
  // out only rows that the plan leaves out anyway.
  if (!read.has(ReadField::filter)) {
    GARUDA_TRY_ASSIGN(auto fields, columns_of(chosen_of(schema, mask), name, table.table));
    return Relation{Query::scan(table), table.table.num_columns(), std::move(fields)};
  }
  GARUDA_TRY_ASSIGN(auto fields, columns_of(schema, name, table.table));
  ExpressionReader reader({Query::scan(table), table.table.num_columns(), std::move(fields)}, context);
  GARUDA_TRY_ASSIGN(auto predicate, reader.read_optional(read, ReadField::filter));
  auto relation = reader.take_input();
  relation.query = relation.query.filter(*std::move(predicate));
  relation.fields = chosen_of(relation.fields, mask);
  return relation;
}

// --- relations of one input ---------------------------------------------------------------------------------------

Result<Relation> read_filter(Message const& filter, PlanContext& context) {
  GARUDA_TRY_ASSIGN(auto input, read_input(filter, FilterField::input, context));
  ExpressionReader reader(std::move(input), context);
  GARUDA_TRY_ASSIGN(auto predicate, reader.read_optional(filter, FilterField::condition));
  if (!predicate) return fail(ErrorCode::invalid_input, "a filter of the plan has no condition");
  auto relation = reader.take_input();
  relation.query = relation.query.filter(*std::move(predicate));
  return relation;
}

Result<Relation> read_project(Message const& project, PlanContext& context) {
  GARUDA_TRY_ASSIGN(auto input, read_input(project, ProjectField::input, context));
  ExpressionReader reader(std::move(input), context);
  GARUDA_TRY_ASSIGN(auto const expressions, project.messages(ProjectField::expressions));
  GARUDA_TRY_ASSIGN(auto values, reader.read_all(expressions));
  auto const relation = reader.take_input();
  GARUDA_TRY_ASSIGN(auto const common, project.message(AnyRelField::common));
  bool const is_alone = context.projects_alone && !common.has(CommonField::emit);
  std::vector<NamedExpression> columns;
  if (!is_alone)
    for (auto const field : relation.fields) columns.push_back({{}, column(field)});
  for (auto& value : values) columns.push_back({{}, std::move(value)});
  auto const width = columns.size();
  if (width == 0) return relation;
  return plain(relation.query.project(std::move(columns)), width);
}

Result<Relation> read_sort(Message const& sort, PlanContext& context) {
  GARUDA_TRY_ASSIGN(auto input, read_input(sort, SortField::input, context));
  // Ties are broken by the fields of the relation.
  ExpressionReader reader(with_plain_columns(std::move(input)), context);
  GARUDA_TRY_ASSIGN(auto const messages, sort.messages(SortField::sorts));
  GARUDA_TRY_ASSIGN(auto keys, reader.read_sort_keys(messages));
  auto relation = reader.take_input();
  relation.query = relation.query.sort(std::move(keys));
  return relation;
}

/// A number of rows: a constant, or, by an earlier version, a plain number; nullopt: there is none.
Result<std::optional<std::uint64_t>> read_rows(Message const& fetch, FetchField field, FetchField old_field) {
  auto number = std::int64_t{-1};
  if (fetch.has(field)) {
    GARUDA_TRY_ASSIGN(auto const expression, fetch.message(field));
    PlanContext none;
    GARUDA_TRY_ASSIGN(auto const value, ExpressionReader(one_row(), none).read(expression));
    auto const* const constant = std::get_if<std::int64_t>(&value.literal.value);
    if (value.form != ScalarExpression::Form::literal || constant == nullptr || *constant < 0)
      return fail(ErrorCode::usage, "a limit of the plan is no constant that is 0 or more");
    number = *constant;
  } else if (fetch.has(old_field)) {
    GARUDA_TRY_ASSIGN(auto const bits, fetch.integer(old_field));
    number = static_cast<std::int64_t>(bits);
  }
  return number < 0 ? std::nullopt : std::optional(static_cast<std::uint64_t>(number));
}

Result<Relation> read_fetch(Message const& fetch, PlanContext& context) {
  GARUDA_TRY_ASSIGN(auto relation, read_input(fetch, FetchField::input, context));
  GARUDA_TRY_ASSIGN(auto const offset, read_rows(fetch, FetchField::offset, FetchField::old_offset));
  GARUDA_TRY_ASSIGN(auto const count, read_rows(fetch, FetchField::count, FetchField::old_count));
  relation.query = relation.query.limit(count, offset.value_or(0));
  return relation;
}

Result<Relation> read_set(Message const& set, PlanContext& context) {
  GARUDA_TRY_ASSIGN(auto const number, set.integer(SetField::op));
  auto const operation = static_cast<SetOperation>(number);
  if (operation != SetOperation::union_all && operation != SetOperation::union_distinct)
    return fail(ErrorCode::usage, fmt::format("queries do not have this operation of sets: {}", number));
  GARUDA_TRY_ASSIGN(auto const rels, set.messages(SetField::inputs));
  if (rels.empty()) return fail(ErrorCode::invalid_input, "a set of the plan has no inputs");
  std::vector<Query> inputs;
  std::size_t width = 0;
  for (auto const& rel : rels) {
    GARUDA_TRY_ASSIGN(auto relation, read_relation(rel, context));
    relation = with_plain_columns(std::move(relation));
    if (!inputs.empty() && relation.fields.size() != width)
      return fail(ErrorCode::invalid_input, "the inputs of a set of the plan have different numbers of fields");
    width = relation.fields.size();
    inputs.push_back(std::move(relation.query));
  }
  auto query = Query::union_all(std::move(inputs));
  if (operation == SetOperation::union_distinct) query = query.distinct();
  return Relation{std::move(query), std::max<std::size_t>(width, 1), first_positions(width)};
}

Result<Relation> read_body(RelField field, Message const& body, PlanContext& context) {
  switch (field) {
    case RelField::read:
      return read_read(body, context);
    case RelField::filter:
      return read_filter(body, context);
    case RelField::fetch:
      return read_fetch(body, context);
    case RelField::aggregate:
      return read_aggregate(body, context);
    case RelField::sort:
      return read_sort(body, context);
    case RelField::join:
      if (!body.has(JoinField::type)) return fail(ErrorCode::usage, "a join of the plan says no type");
      return read_join(body, context);
    case RelField::cross:
      return read_join(body, context);
    case RelField::project:
      return read_project(body, context);
    case RelField::set:
      return read_set(body, context);
  }
  constexpr std::pair<std::uint32_t, std::string_view> kNames[] = {
      {9, "extension"},         {10, "extension"}, {11, "extension"},   {13, "hash join"},
      {14, "merge join"},       {15, "exchange"},  {16, "expand"},      {17, "window"},
      {18, "nested loop join"}, {19, "write"},     {20, "DDL"},         {21, "reference"},
      {22, "update"},           {23, "top-n"},     {24, "lateral join"}};
  auto const number = static_cast<std::uint32_t>(field);
  auto const* const name = std::ranges::find(kNames, number, [](auto const& pair) { return pair.first; });
  return fail(ErrorCode::usage, name == std::end(kNames)
                                    ? fmt::format("queries have no relation of this field of Substrait's: {}", number)
                                    : fmt::format("queries do not have this relation of Substrait: {}", name->second));
}

}  // namespace

Relation with_plain_columns(Relation relation) {
  auto const count = relation.fields.size();
  if (count == relation.width && std::ranges::equal(relation.fields, first_positions(count))) return relation;
  std::vector<NamedExpression> columns;
  for (auto const field : relation.fields) columns.push_back({{}, column(field)});
  if (columns.empty()) columns.push_back({{}, literal(true)});
  auto const width = columns.size();
  return {relation.query.project(std::move(columns)), width, first_positions(count)};
}

Relation one_row() {
  static Table const none({{"none", DataType{TypeId::boolean}}}, {});
  AggregateCall rows;
  rows.name = "rows";
  return {Query::scan(none.view()).group_by({}, {rows}), 1, {}};
}

Result<Relation> read_relation(Message const& rel, PlanContext& context) {
  Level const level(context.depth);
  if (level.is_too_deep()) return too_deep();
  auto const field = static_cast<RelField>(rel.first_number());
  GARUDA_TRY_ASSIGN(auto const body, rel.message(field));
  GARUDA_TRY_ASSIGN(auto relation, read_body(field, body, context));
  return emitted(std::move(relation), body);
}

}  // namespace garuda::substrait
