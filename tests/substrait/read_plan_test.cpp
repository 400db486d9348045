// Plans of Substrait that were written by hand: their rows, what is refused by name, and bytes that are no plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "garuda/engine.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/data_types.hpp"
#include "tests/reference/reference_join.hpp"
#include "tests/substrait/plan_bytes.hpp"

namespace garuda::substrait {
namespace {

using Numbers = std::vector<std::optional<std::int64_t>>;
using Rows = std::vector<std::vector<std::string>>;
using reference::typed;

Table numbers() {
  std::vector<Batch> batches;
  batches.push_back(reference::make_batch(
      std::vector{reference::make_column<std::int64_t>(typed(TypeId::int64), Numbers{1, 2, std::nullopt, 4}, 0),
                  reference::make_column<std::int64_t>(typed(TypeId::int64), Numbers{10, 20, 30, 20}, 0)}));
  return Table(Schema{{"a", typed(TypeId::int64), true}, {"b", typed(TypeId::int64), true}}, std::move(batches));
}

Engine& engine() {
  static auto one = Engine::create({.vulkan = false, .cuda = false}).value();
  return one;
}

std::span<std::byte const> bytes_of(std::string const& plan) { return std::as_bytes(std::span(plan)); }

/// The rows of a plan over the table `t`, or its error as the only cell.
Rows rows_of(std::string const& plan) {
  auto const table = numbers();
  std::vector<NamedTable> const tables{{"t", table.view()}};
  auto const result = engine().run_substrait(bytes_of(plan), tables);
  if (!result) return {{result.error().describe()}};
  auto const collected = collect(**result);
  if (!collected) return {{collected.error().describe()}};
  Rows rows;
  for (auto const& row : reference::read_table(collected->view()).rows) {
    rows.emplace_back();
    for (auto const& value : row) rows.back().push_back(value.value_or("null"));
  }
  return rows;
}

std::string error_of(std::string const& plan) {
  auto const rows = rows_of(plan);
  return rows.empty() || rows[0].empty() ? std::string("rows") : rows[0][0];
}

std::string read_t() { return read_of("t", {"a", "b"}, {TypeField::i64, TypeField::i64}); }

std::string filter_of(std::string const& input, std::string const& condition) {
  return field(RelField::filter, field(FilterField::input, input) + field(FilterField::condition, condition));
}

std::string project_of(std::string const& input, std::vector<std::string> const& expressions,
                       std::vector<std::uint32_t> const& mapping) {
  auto project = emit_of(mapping) + field(ProjectField::input, input);
  for (auto const& expression : expressions) project += field(ProjectField::expressions, expression);
  return field(RelField::project, project);
}

/// A plan with a filter, a function and a mapping.
std::string valid_plan() {
  auto const filtered = filter_of(read_t(), function_call(0, {field_reference(1), int64_literal(15)}));
  return plan_of(project_of(filtered, {function_call(1, {field_reference(0), int64_literal(1)})}, {2, 1}), {"x", "b"},
                 {"gt:any_any", "add"});
}

TEST(SubstraitPlans, FiltersAndProjects) {
  EXPECT_EQ(rows_of(valid_plan()), (Rows{{"3", "20"}, {"null", "30"}, {"5", "20"}}));
}

TEST(SubstraitPlans, RowsAreCountedFromTheOffset) {
  auto const fetch = field(FetchField::input, read_t()) + field(FetchField::offset, int64_literal(1)) +
                     field(FetchField::count, int64_literal(2));
  EXPECT_EQ(rows_of(plan_of(field(RelField::fetch, fetch), {"a", "b"})), (Rows{{"2", "20"}, {"null", "30"}}));
  auto const old = field(FetchField::input, read_t()) + number_field(FetchField::old_offset, 3) +
                   number_field(FetchField::old_count, ~std::uint64_t{0});
  EXPECT_EQ(rows_of(plan_of(field(RelField::fetch, old), {"a", "b"})), (Rows{{"4", "20"}}));
}

TEST(SubstraitPlans, ConstantsOfEveryType) {
  auto const null_int = field(LiteralField::null, simple_type(TypeField::i32));
  auto const decimal = field(DecimalLiteralField::value, std::string("\x7b") + std::string(15, '\0')) +
                       number_field(DecimalLiteralField::precision, 5) + number_field(DecimalLiteralField::scale, 2);
  auto const timestamp =
      number_field(PrecisionLiteralField::precision, 6) + number_field(PrecisionLiteralField::value, 1'000'000);
  std::vector<std::string> const constants{
      number_field(LiteralField::boolean, 1),
      number_field(LiteralField::i8, ~std::uint64_t{0}),
      number_field(LiteralField::i32, 0xffff'ffffU) + number_field(LiteralField::type_variation_reference, 1),
      float_field(LiteralField::fp32, 1.5F),
      double_field(LiteralField::fp64, -2.25),
      field(LiteralField::string, "text"),
      number_field(LiteralField::date, 1),
      field(LiteralField::decimal, decimal),
      field(LiteralField::precision_timestamp, timestamp),
      null_int,
  };
  std::vector<std::string> expressions;
  std::vector<std::uint32_t> mapping;
  std::vector<std::string> names;
  for (auto const& constant : constants) {
    mapping.push_back(static_cast<std::uint32_t>(2 + expressions.size()));
    names.push_back("c" + std::to_string(expressions.size()));
    expressions.push_back(literal_of(constant));
  }
  auto const fetch =
      field(FetchField::input, project_of(read_t(), expressions, mapping)) + field(FetchField::count, int64_literal(1));
  auto const plan = plan_of(field(RelField::fetch, fetch), names);
  auto const table = numbers();
  std::vector<NamedTable> const tables{{"t", table.view()}};
  auto const result = engine().run_substrait(bytes_of(plan), tables, {});
  ASSERT_TRUE(result) << result.error().describe();
  std::vector<std::string> types;
  for (auto const& column : (*result)->schema()) types.push_back(to_string(column.type));
  EXPECT_EQ(types, (std::vector<std::string>{"bool", "int8", "uint32", "float32", "float64", "utf8", "date32",
                                             "decimal128(5, 2)", "timestamp[us]", "int32"}));
  auto const rows = rows_of(plan);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0][1], "-1");
  EXPECT_EQ(rows[0][2], "4294967295");
  EXPECT_EQ(rows[0][5], "text");
  EXPECT_EQ(rows[0][9], "null");
}

TEST(SubstraitPlans, JoinsSplitTheirExpression) {
  auto const equal = function_call(0, {field_reference(1), field_reference(3)});
  auto const less = function_call(1, {field_reference(0), field_reference(2)});
  auto const join = field(JoinField::left, read_t()) + field(JoinField::right, read_t()) +
                    field(JoinField::expression, function_call(2, {equal, less}));
  auto const typed_join = [&](JoinType type) {
    return field(RelField::join, join + number_field(JoinField::type, static_cast<std::uint64_t>(type)));
  };
  std::vector<std::string> const functions{"equal", "lt", "and"};
  EXPECT_EQ(rows_of(plan_of(typed_join(JoinType::inner), {"a", "b", "c", "d"}, functions)),
            (Rows{{"2", "20", "4", "20"}}));
  EXPECT_EQ(rows_of(plan_of(typed_join(JoinType::left_semi), {"a", "b"}, functions)), (Rows{{"2", "20"}}));
  EXPECT_EQ(rows_of(plan_of(typed_join(JoinType::right_semi), {"a", "b"}, functions)), (Rows{{"4", "20"}}));
  EXPECT_EQ(error_of(plan_of(field(RelField::join, join + number_field(JoinField::type, 7)), {"a", "b"}, functions)),
            "queries do not have this type of join: 7");
  EXPECT_EQ(error_of(plan_of(field(RelField::join, join), {"a", "b"}, functions)), "a join of the plan says no type");
}

TEST(SubstraitPlans, ValuesAreLookedUpInSubqueriesWithNulls) {
  auto const filtered_by = [](std::string const& haystack, bool is_negated) {
    auto const predicate =
        field(InPredicateField::needles, field_reference(1)) + field(InPredicateField::haystack, haystack);
    auto const in = field(ExpressionField::subquery, field(SubqueryField::in_predicate, predicate));
    return rows_of(plan_of(filter_of(read_t(), is_negated ? function_call(0, {in}) : in), {"a", "b"}, {"not", "gt"}));
  };
  auto const with_null = project_of(read_t(), {}, {0});
  auto const without_null =
      project_of(filter_of(read_t(), function_call(1, {field_reference(0), int64_literal(1)})), {}, {0});
  Rows const all{{"1", "10"}, {"2", "20"}, {"null", "30"}, {"4", "20"}};
  EXPECT_EQ(filtered_by(with_null, false), Rows{});
  EXPECT_EQ(filtered_by(with_null, true), Rows{});
  EXPECT_EQ(filtered_by(without_null, false), Rows{});
  EXPECT_EQ(filtered_by(without_null, true), all);
  EXPECT_EQ(filtered_by(project_of(read_t(), {}, {1}), false), all);
}

TEST(SubstraitPlans, RefusalsNameWhatIsUnknown) {
  auto const refused = [](std::string const& rel, std::vector<std::string> const& functions = {}) {
    return error_of(plan_of(rel, {"a", "b"}, functions));
  };
  EXPECT_EQ(refused(field(17, "")), "queries do not have this relation of Substrait: window");
  EXPECT_EQ(refused(field(99, "")), "queries have no relation of this field of Substrait's: 99");
  EXPECT_EQ(refused(""), "queries have no relation of this field of Substrait's: 0");
  EXPECT_EQ(refused(read_of("u", {"a"}, {TypeField::i64})), "the plan reads a table that it was not given: u");
  EXPECT_EQ(refused(read_of("t", {"zz"}, {TypeField::i64})), "unknown column: zz");
  EXPECT_EQ(refused(read_of("t", {"a"}, {TypeField::string})),
            "the plan reads column 'a' of table 't' as utf8, which it is not: int64");
  EXPECT_EQ(refused(filter_of(read_t(), function_call(0, {field_reference(0)})), {"cosh:fp64"}),
            "function 'cosh' of the plan is none that queries have");
  EXPECT_EQ(refused(filter_of(read_t(), function_call(3, {}))),
            "the plan calls a function that it does not declare: 3");
  EXPECT_EQ(refused(filter_of(read_t(), field_reference(2))),
            "an expression of the plan refers to one of 2 fields by its position: 2");
  EXPECT_EQ(refused(filter_of(read_t(), field(13, ""))), "queries do not have this expression of Substrait: nested");
  EXPECT_EQ(refused(filter_of(read_t(), field(5, ""))), "the plan calls a function that it does not declare: 0");
  EXPECT_EQ(refused(filter_of(read_t(), literal_of(field(30, "")))),
            "queries have no constants of this field of Substrait's literals: 30");
  EXPECT_EQ(refused(field(RelField::set, field(SetField::inputs, read_t()) + number_field(SetField::op, 1))),
            "queries do not have this operation of sets: 1");
}

TEST(SubstraitPlans, VersionsAndRootsAreChecked) {
  EXPECT_EQ(error_of(plan_of(read_t(), {"a", "b"}, {}, 19)),
            "plans are read of Substrait 0.20 and later 0.x, not this one's, by '': 0.19");
  EXPECT_EQ(error_of(""), "the plan says no version of Substrait");
  EXPECT_EQ(error_of(plan_of(read_t(), {"a"})),
            "the root of the plan has 1 names for 2 fields, of which there is at least one");
}

TEST(HostilePlans, EveryPrefixIsAnError) {
  auto const whole = valid_plan();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    auto const plan = engine().explain_substrait(bytes_of(whole.substr(0, size)), {});
    EXPECT_FALSE(plan) << size;
  }
}

TEST(HostilePlans, NoChangedByteEndsTheProcess) {
  auto const table = numbers();
  std::vector<NamedTable> const tables{{"t", table.view()}};
  auto const whole = valid_plan();
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (int const value : {0, 1, 0x7f, 0x80, 0xff, whole[at] ^ 1, whole[at] ^ 8, whole[at] + 1}) {
      auto changed = whole;
      changed[at] = static_cast<char>(value);
      auto const plan = engine().explain_substrait(bytes_of(changed), tables);
      EXPECT_TRUE(plan || !plan.error().describe().empty());
    }
}

/// `inner` within a million messages, each a field of the next. Written from the end, since lengths come before.
std::string nested(std::vector<std::uint32_t> const& numbers, std::string inner) {
  std::string reversed(inner.rbegin(), inner.rend());
  for (std::size_t level = 0; level < 1'000'000; ++level)
    for (auto const number : numbers) {
      std::string header;
      auto const length = reversed.size();
      protozero::pbf_writer(header).add_bytes(number, "", 0);
      header.pop_back();  // the length of nothing
      for (auto rest = length;; rest >>= 7) {
        header.push_back(static_cast<char>((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0)));
        if (rest <= 0x7f) break;
      }
      reversed.append(header.rbegin(), header.rend());
    }
  return {reversed.rbegin(), reversed.rend()};
}

TEST(HostilePlans, DeepNestingIsAnError) {
  auto const too_deep = "the plan is nested deeper than this bound: 256";
  auto const filter = static_cast<std::uint32_t>(RelField::filter);
  EXPECT_EQ(error_of(plan_of(nested({2, filter}, read_t()), {"a", "b"})), too_deep);
  auto const cast = static_cast<std::uint32_t>(ExpressionField::cast);
  EXPECT_EQ(error_of(plan_of(filter_of(read_t(), nested({2, cast}, int64_literal(1))), {"a", "b"})), too_deep);
  auto const list = static_cast<std::uint32_t>(TypeField::list);
  auto const schema = field(NamedStructField::names, "a") +
                      field(NamedStructField::structure, field(StructTypeField::types, nested({1, list}, "")));
  auto const read =
      field(ReadField::base_schema, schema) + field(ReadField::named_table, field(NamedTableField::names, "t"));
  EXPECT_EQ(error_of(plan_of(field(RelField::read, read), {"a"})), too_deep);
}

TEST(HostilePlans, FieldsOfAnotherFormAreErrors) {
  auto const rel =
      field(RelField::filter, field(FilterField::input, read_t()) + number_field(FilterField::condition, 7));
  EXPECT_EQ(error_of(plan_of(rel, {"a", "b"})),
            "the plan is no message of protobuf: field 3 has another form than Substrait gives it");
}

}  // namespace
}  // namespace garuda::substrait
