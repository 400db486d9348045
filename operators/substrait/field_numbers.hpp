// Numbers of the fields and enumerations of Substrait's messages that are read (substrait 0.106: plan.proto,
// algebra.proto, type.proto, extensions.proto), an enum for each message. Words that C++ keeps for itself have other
// names here. `old_…` are fields of earlier versions that producers still write.
#pragma once

#include <cstdint>

namespace garuda::substrait {

enum class PlanField : std::uint32_t { old_uris = 1, extensions = 2, relations = 3, version = 6, urns = 8 };
/// A collection of functions: by its URN, or, by an earlier version, by its URI.
enum class CollectionField : std::uint32_t { anchor = 1, name = 2 };
enum class VersionField : std::uint32_t { major = 1, minor = 2, producer = 5 };
enum class DeclarationField : std::uint32_t { function = 3 };
enum class FunctionDeclarationField : std::uint32_t { old_uri = 1, anchor = 2, name = 3, urn = 4 };
enum class PlanRelField : std::uint32_t { rel = 1, root = 2 };
enum class RootField : std::uint32_t { input = 1, names = 2 };

enum class RelField : std::uint32_t {
  read = 1,
  filter = 2,
  fetch = 3,
  aggregate = 4,
  sort = 5,
  join = 6,
  project = 7,
  set = 8,
  cross = 12,
};
/// Fields that every relation has.
enum class AnyRelField : std::uint32_t { common = 1, advanced_extension = 10 };
enum class CommonField : std::uint32_t { emit = 2, advanced_extension = 4 };
enum class EmitField : std::uint32_t { output_mapping = 1 };
enum class AdvancedExtensionField : std::uint32_t { enhancement = 2 };

enum class ReadField : std::uint32_t {
  base_schema = 2,
  filter = 3,
  projection = 4,
  virtual_table = 5,
  named_table = 7,
};
enum class NamedTableField : std::uint32_t { names = 1 };
enum class VirtualTableField : std::uint32_t { old_values = 1, expressions = 2 };
enum class NestedStructField : std::uint32_t { fields = 1 };
enum class NamedStructField : std::uint32_t { names = 1, structure = 2 };
enum class MaskField : std::uint32_t { select = 1 };
enum class StructSelectField : std::uint32_t { struct_items = 1 };
enum class StructItemField : std::uint32_t { field = 1, child = 2 };

enum class FilterField : std::uint32_t { input = 2, condition = 3 };
enum class ProjectField : std::uint32_t { input = 2, expressions = 3 };
enum class CrossField : std::uint32_t { left = 2, right = 3 };
enum class SetField : std::uint32_t { inputs = 2, op = 3 };
enum class SetOperation : std::uint32_t { union_distinct = 5, union_all = 6 };
enum class FetchField : std::uint32_t { input = 2, old_offset = 3, old_count = 4, offset = 5, count = 6 };

enum class JoinField : std::uint32_t { left = 2, right = 3, expression = 4, post_join_filter = 5, type = 6 };
enum class JoinType : std::uint32_t {
  inner = 1,
  outer = 2,
  left = 3,
  right = 4,
  left_semi = 5,
  left_anti = 6,
  right_semi = 8,
  right_anti = 9,
  left_mark = 11,
  right_mark = 12,
};

enum class SortField : std::uint32_t { input = 2, sorts = 3 };
enum class SortKeyField : std::uint32_t { expression = 1, direction = 2 };
enum class SortDirection : std::uint32_t {
  ascending_nulls_first = 1,
  ascending_nulls_last = 2,
  descending_nulls_first = 3,
  descending_nulls_last = 4,
};

enum class AggregateField : std::uint32_t { input = 2, groupings = 3, measures = 4, grouping_expressions = 5 };
enum class GroupingField : std::uint32_t { old_expressions = 1, expression_references = 2 };
enum class MeasureField : std::uint32_t { measure = 1, filter = 2 };
enum class AggregateFunctionField : std::uint32_t {
  function_reference = 1,
  sorts = 3,
  phase = 4,
  invocation = 6,
  arguments = 7,
  options = 8,
};
enum class Invocation : std::uint32_t { unspecified = 0, all = 1, distinct = 2 };
enum class Phase : std::uint32_t { unspecified = 0, initial_to_result = 3 };

enum class WindowFunctionField : std::uint32_t {
  function_reference = 1,
  partitions = 2,
  sorts = 3,
  output_type = 7,
  arguments = 9,
};

enum class ExpressionField : std::uint32_t {
  literal = 1,
  selection = 2,
  scalar_function = 3,
  window_function = 5,
  if_then = 6,
  switch_expression = 7,
  singular_or_list = 8,
  cast = 11,
  subquery = 12,
};
enum class SelectionField : std::uint32_t { direct_reference = 1, outer_reference = 5 };
enum class ReferenceField : std::uint32_t { struct_field = 2 };
enum class StructReferenceField : std::uint32_t { field = 1, child = 2 };
enum class ScalarFunctionField : std::uint32_t {
  function_reference = 1,
  old_args = 2,
  output_type = 3,
  arguments = 4,
  options = 5,
};
enum class FunctionOptionField : std::uint32_t { name = 1, preference = 2 };
enum class ArgumentField : std::uint32_t { word = 1, type = 2, value = 3 };
enum class IfThenField : std::uint32_t { ifs = 1, otherwise = 2 };
enum class ClauseField : std::uint32_t { condition = 1, then = 2 };
enum class SwitchField : std::uint32_t { ifs = 1, otherwise = 2, match = 3 };
enum class OrListField : std::uint32_t { value = 1, options = 2 };
enum class CastField : std::uint32_t { type = 1, input = 2, failure_behavior = 3 };
enum class FailureBehavior : std::uint32_t { return_null = 1 };
enum class SubqueryField : std::uint32_t { scalar = 1, in_predicate = 2, set_predicate = 3 };
enum class InPredicateField : std::uint32_t { needles = 1, haystack = 2 };
enum class ScalarSubqueryField : std::uint32_t { input = 1 };
enum class SetPredicateField : std::uint32_t { operation = 1, tuples = 2 };
enum class SetPredicate : std::uint32_t { exists = 1 };

enum class LiteralField : std::uint32_t {
  boolean = 1,
  i8 = 2,
  i16 = 3,
  i32 = 5,
  i64 = 7,
  fp32 = 10,
  fp64 = 11,
  string = 12,
  binary = 13,
  old_timestamp = 14,
  date = 16,
  old_time = 17,
  interval_year_to_month = 19,
  interval_day_to_second = 20,
  fixed_char = 21,
  var_char = 22,
  fixed_binary = 23,
  decimal = 24,
  old_timestamp_tz = 27,
  null = 29,
  precision_timestamp = 34,
  precision_timestamp_tz = 35,
  interval_compound = 36,
  precision_time = 37,
  nullable = 50,
  type_variation_reference = 51,
};
enum class DecimalLiteralField : std::uint32_t { value = 1, precision = 2, scale = 3 };
enum class VarCharLiteralField : std::uint32_t { value = 1 };
enum class PrecisionLiteralField : std::uint32_t { precision = 1, value = 2 };
enum class YearToMonthField : std::uint32_t { years = 1, months = 2 };
enum class DayToSecondField : std::uint32_t {
  days = 1,
  seconds = 2,
  old_microseconds = 3,
  precision = 4,
  subseconds = 5
};
enum class CompoundField : std::uint32_t { year_to_month = 1, day_to_second = 2 };

enum class TypeField : std::uint32_t {
  boolean = 1,
  i8 = 2,
  i16 = 3,
  i32 = 5,
  i64 = 7,
  fp32 = 10,
  fp64 = 11,
  string = 12,
  binary = 13,
  old_timestamp = 14,
  date = 16,
  old_time = 17,
  interval_year = 19,
  interval_day = 20,
  fixed_char = 21,
  varchar = 22,
  fixed_binary = 23,
  decimal = 24,
  structure = 25,
  list = 27,
  map = 28,
  old_timestamp_tz = 29,
  user_defined = 30,
  uuid = 32,
  precision_timestamp = 33,
  precision_timestamp_tz = 34,
  interval_compound = 35,
  precision_time = 36,
};
/// Types without parameters of their own.
enum class SimpleTypeField : std::uint32_t { variation = 1 };
enum class DecimalTypeField : std::uint32_t { scale = 1, precision = 2, variation = 3 };
/// Types with a length or a precision.
enum class SizedTypeField : std::uint32_t { size = 1, variation = 2 };
enum class StructTypeField : std::uint32_t { types = 1 };
enum class ListTypeField : std::uint32_t { type = 1 };
enum class MapTypeField : std::uint32_t { key = 1, value = 2 };

}  // namespace garuda::substrait
