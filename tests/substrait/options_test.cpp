// Options of functions, and the collections that functions are of: what queries do is taken, the rest is refused by
// name.
#include <gtest/gtest.h>

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

using reference::typed;

/// The first value that a plan gives of a table `t` with a column `a`, or its error.
std::string first_of(std::string const& plan) {
  static auto engine = Engine::create({.vulkan = false, .cuda = false}).value();
  std::vector<Batch> batches;
  batches.push_back(reference::make_batch(std::vector{reference::make_column<std::int64_t>(
      typed(TypeId::int64), std::vector<std::optional<std::int64_t>>{7, std::nullopt, 9}, 0)}));
  Table const table(Schema{{"a", typed(TypeId::int64), true}}, std::move(batches));
  std::vector<NamedTable> const tables{{"t", table.view()}};
  auto const result = engine.run_substrait(std::as_bytes(std::span(plan)), tables, {});
  if (!result) return result.error().describe();
  auto const rows = collect(**result);
  if (!rows) return rows.error().describe();
  return reference::read_table(rows->view()).rows.at(0).at(0).value_or("null");
}

/// Floats as their bits.
constexpr auto const* kOne = "3ff0000000000000";
constexpr auto const* kTwo = "4000000000000000";
constexpr auto const* kInfinity = "7ff0000000000000";

std::string read_a() { return read_of("t", {"a"}, {TypeField::i64}); }

std::string option_of(std::string const& name, std::vector<std::string> const& values) {
  auto option = field(FunctionOptionField::name, name);
  for (auto const& value : values) option += field(FunctionOptionField::preference, value);
  return option;
}

/// A call of the plan's first function, whose result has this type.
std::string call_with(std::vector<std::string> const& arguments, std::string const& option, TypeField output) {
  auto call = number_field(ScalarFunctionField::function_reference, 0) +
              field(ScalarFunctionField::output_type, simple_type(output)) +
              field(ScalarFunctionField::options, option);
  for (auto const& argument : arguments)
    call += field(ScalarFunctionField::arguments, field(ArgumentField::value, argument));
  return field(ExpressionField::scalar_function, call);
}

std::string project_one(std::string const& expression) {
  return field(RelField::project,
               emit_of({1}) + field(ProjectField::input, read_a()) + field(ProjectField::expressions, expression));
}

std::string added(std::vector<std::string> const& values) {
  auto const sum = call_with({field_reference(0), int64_literal(1)}, option_of("overflow", values), TypeField::i64);
  return first_of(plan_of(project_one(sum), {"x"}, {"add:i64_i64"}));
}

TEST(FunctionOptions, OneOfThoseThatWillDoIsDone) {
  EXPECT_EQ(added({"ERROR"}), "8");
  EXPECT_EQ(added({"SATURATE", "ERROR"}), "8");
  EXPECT_EQ(added({}), "8");
  EXPECT_EQ(added({"SILENT", "SATURATE"}),
            "the plan wants of function 'add' an option that queries do not have: overflow SILENT or SATURATE");
  EXPECT_EQ(added({"error"}), "the plan wants of function 'add' an option that queries do not have: overflow error");
}

TEST(FunctionOptions, UnknownOnesAreNamed) {
  auto const call = call_with({field_reference(0)}, option_of("colour", {"RED"}), TypeField::i64);
  EXPECT_EQ(first_of(plan_of(project_one(call), {"x"}, {"abs"})),
            "the plan wants of function 'abs' an option that queries do not have: colour RED");
}

TEST(FunctionOptions, QuotientsByZeroDependOnTheType) {
  auto const divided = [](std::string const& by, std::string const& value, TypeField type) {
    auto const call = call_with({field_reference(0), by}, option_of("on_division_by_zero", {value}), type);
    return first_of(plan_of(project_one(call), {"x"}, {"divide"}));
  };
  auto const zero = literal_of(double_field(LiteralField::fp64, 0));
  EXPECT_EQ(divided(zero, "LIMIT", TypeField::fp64), kInfinity);
  EXPECT_NE(divided(zero, "ERROR", TypeField::fp64).find("do not have: on_division_by_zero ERROR"), std::string::npos);
  EXPECT_EQ(divided(int64_literal(2), "ERROR", TypeField::i64), "3");
  EXPECT_NE(divided(int64_literal(2), "LIMIT", TypeField::i64).find("do not have"), std::string::npos);
}

TEST(FunctionOptions, ConcatHasBothWaysWithNulls) {
  auto const null = literal_of(field(LiteralField::null, simple_type(TypeField::string)));
  auto const text = literal_of(field(LiteralField::string, "text"));
  auto const put_together = [&](std::string const& value) {
    auto const call = call_with({text, null}, option_of("null_handling", {value}), TypeField::string);
    return first_of(plan_of(project_one(call), {"x"}, {"concat:str"}));
  };
  EXPECT_EQ(put_together("IGNORE_NULLS"), "text");
  EXPECT_EQ(put_together("ACCEPT_NULLS"), "null");
}

TEST(FunctionOptions, AggregatesHaveThem) {
  auto const aggregated = [](std::string const& name, std::string const& more) {
    auto const measure = number_field(AggregateFunctionField::function_reference, 0) + more +
                         field(AggregateFunctionField::arguments, field(ArgumentField::value, field_reference(0)));
    auto const rel =
        field(AggregateField::input, read_a()) + field(AggregateField::measures, field(MeasureField::measure, measure));
    return first_of(plan_of(field(RelField::aggregate, rel), {"x"}, {name}));
  };
  auto const option = [](std::string const& name, std::string const& value) {
    return field(AggregateFunctionField::options, option_of(name, {value}));
  };
  auto const word = [](std::string const& value) {
    return field(AggregateFunctionField::arguments, field(ArgumentField::word, value));
  };
  EXPECT_EQ(aggregated("sum:i64", option("overflow", "ERROR")), "16");
  EXPECT_EQ(aggregated("sum:i64", option("overflow", "SILENT")),
            "the plan wants of function 'sum' an option that queries do not have: overflow SILENT");
  EXPECT_EQ(aggregated("count:any", option("overflow", "SILENT")), "2");
  EXPECT_EQ(aggregated("variance:fp64", option("distribution", "POPULATION")), kOne);
  EXPECT_EQ(aggregated("variance:fp64", option("distribution", "SAMPLE")), kTwo);
  EXPECT_EQ(aggregated("variance:req_fp64", word("POPULATION")), kOne);
  EXPECT_EQ(aggregated("std_dev:req_fp64", word("POPULATION")), kOne);
  EXPECT_EQ(aggregated("variance:req_fp64", word("GUESS")),
            "aggregate 'variance' of the plan does not take this word: GUESS");
  EXPECT_EQ(aggregated("sum:i64", word("SAMPLE")), "aggregate 'sum' of the plan does not take this word: SAMPLE");
}

/// A plan whose only function, `add`, is of a collection of this name, declared as field `kind`.
std::string of_collection(PlanField kind, FunctionDeclarationField reference, std::string const& name) {
  auto const sum = function_call(5, {field_reference(0), int64_literal(1)});
  auto const declared = number_field(FunctionDeclarationField::anchor, 5) +
                        field(FunctionDeclarationField::name, "add:i64_i64") + number_field(reference, 3);
  auto const collection = number_field(CollectionField::anchor, 3) + field(CollectionField::name, name);
  return first_of(plan_of(project_one(sum), {"x"}) + field(kind, collection) +
                  field(PlanField::extensions, field(DeclarationField::function, declared)));
}

TEST(FunctionCollections, ThoseOfSubstraitAreKnown) {
  for (auto const* name : {"extension:io.substrait:functions_arithmetic"})
    EXPECT_EQ(of_collection(PlanField::urns, FunctionDeclarationField::urn, name), "8") << name;
  for (auto const* name : {"/functions_arithmetic.yaml", "functions_arithmetic.yaml",
                           "https://github.com/substrait-io/substrait/blob/main/extensions/functions_arithmetic.yaml"})
    EXPECT_EQ(of_collection(PlanField::old_uris, FunctionDeclarationField::old_uri, name), "8") << name;
}

TEST(FunctionCollections, OthersAreRefusedByName) {
  auto const refused = [](std::string const& name) {
    return "function 'add' of the plan is of a collection that queries do not have: " + name;
  };
  for (auto const* name : {"extension:com.acme:functions_arithmetic", "urn:arrow:substrait_simple_extension_function"})
    EXPECT_EQ(of_collection(PlanField::urns, FunctionDeclarationField::urn, name), refused(name));
  for (auto const* name : {"https://acme.com/functions_arithmetic.yaml", "/arithmetic.yaml", ""})
    EXPECT_EQ(of_collection(PlanField::old_uris, FunctionDeclarationField::old_uri, name),
              *name == '\0' ? "8" : refused(name));
}

}  // namespace
}  // namespace garuda::substrait
