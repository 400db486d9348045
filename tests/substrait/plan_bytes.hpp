// Plans of Substrait written by hand, message by message.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "operators/substrait/field_numbers.hpp"

namespace garuda::substrait {

/// A field with a message, a string or bytes; fields put together are a message.
template <class Number>
std::string field(Number number, std::string_view bytes) {
  std::string out;
  protozero::pbf_writer(out).add_bytes(static_cast<std::uint32_t>(number), bytes.data(), bytes.size());
  return out;
}

template <class Number>
std::string number_field(Number number, std::uint64_t value) {
  std::string out;
  protozero::pbf_writer(out).add_uint64(static_cast<std::uint32_t>(number), value);
  return out;
}

template <class Number>
std::string double_field(Number number, double value) {
  std::string out;
  protozero::pbf_writer(out).add_double(static_cast<std::uint32_t>(number), value);
  return out;
}

template <class Number>
std::string float_field(Number number, float value) {
  std::string out;
  protozero::pbf_writer(out).add_float(static_cast<std::uint32_t>(number), value);
  return out;
}

inline std::string simple_type(TypeField type) { return field(type, ""); }

/// `Expression`: a field of the input.
inline std::string field_reference(std::uint64_t position) {
  auto const structure = number_field(StructReferenceField::field, position);
  auto const reference = field(ReferenceField::struct_field, structure);
  return field(ExpressionField::selection, field(SelectionField::direct_reference, reference));
}

/// `Expression`: a constant.
inline std::string literal_of(std::string const& literal) { return field(ExpressionField::literal, literal); }
inline std::string int64_literal(std::int64_t value) {
  return literal_of(number_field(LiteralField::i64, static_cast<std::uint64_t>(value)));
}

/// `Expression`: a call of the function that the plan declares as this anchor.
inline std::string function_call(std::uint64_t anchor, std::initializer_list<std::string> arguments) {
  auto call = number_field(ScalarFunctionField::function_reference, anchor);
  for (auto const& argument : arguments)
    call += field(ScalarFunctionField::arguments, field(ArgumentField::value, argument));
  return field(ExpressionField::scalar_function, call);
}

/// `RelCommon` with a mapping, packed as producers write it.
inline std::string emit_of(std::vector<std::uint32_t> const& mapping) {
  std::string emit;
  protozero::pbf_writer(emit).add_packed_uint32(static_cast<std::uint32_t>(EmitField::output_mapping), mapping.begin(),
                                                mapping.end());
  return field(AnyRelField::common, field(CommonField::emit, emit));
}

/// `Rel`: the columns of a table, of these types.
inline std::string read_of(std::string_view table, std::vector<std::string> const& names,
                           std::vector<TypeField> const& types) {
  std::string schema;
  for (auto const& name : names) schema += field(NamedStructField::names, name);
  std::string structure;
  for (auto const type : types) structure += field(StructTypeField::types, simple_type(type));
  schema += field(NamedStructField::structure, structure);
  return field(RelField::read, field(ReadField::base_schema, schema) +
                                   field(ReadField::named_table, field(NamedTableField::names, table)));
}

/// `Plan` with one root; functions are declared in order, as anchors 0, 1, ….
inline std::string plan_of(std::string const& rel, std::vector<std::string> const& names,
                           std::vector<std::string> const& functions = {}, std::uint64_t minor = 85) {
  auto plan = field(PlanField::version, number_field(VersionField::minor, minor));
  for (std::size_t f = 0; f < functions.size(); ++f)
    plan += field(PlanField::extensions,
                  field(DeclarationField::function, number_field(FunctionDeclarationField::anchor, f) +
                                                        field(FunctionDeclarationField::name, functions[f])));
  auto root = field(RootField::input, rel);
  for (auto const& name : names) root += field(RootField::names, name);
  return plan + field(PlanField::relations, field(PlanRelField::root, root));
}

}  // namespace garuda::substrait
