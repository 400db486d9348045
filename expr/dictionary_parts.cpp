#include "expr/dictionary_parts.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "core/dictionary.hpp"
#include "expr/columns.hpp"
#include "expr/evaluator.hpp"

namespace garuda::expr {
namespace {

/// The results of a part for the values of each dictionary.
struct PartResults {
  std::vector<ArrayView> arrays;
  std::vector<std::shared_ptr<void const>> owners;
};

/// Whether every column that the expression reads is the one that `column` has, which is set by the first.
bool reads_one(Expression const& expression, std::optional<std::size_t>& column) {
  if (expression.form == Expression::Form::column)
    return std::exchange(column, expression.column).value_or(expression.column) == expression.column;
  return std::ranges::all_of(expression.arguments,
                             [&](Expression const& argument) { return reads_one(argument, column); });
}

/// The expression over a table that has its column alone.
Expression over_one(Expression expression) {
  visit_columns(expression, [](std::size_t& column) { column = 0; });
  return expression;
}

class DictionaryRewriter {
 public:
  DictionaryRewriter(TableView const& table, std::int64_t rows_of_value)
      : table_(table), rows_of_value_(rows_of_value) {}

  Result<DictionaryParts> run(Expression expression) {
    GARUDA_TRY_ASSIGN(auto rewritten, rewrite(std::move(expression)));
    return DictionaryParts{std::move(rewritten), std::move(parts_)};
  }

 private:
  Result<Expression> rewrite(Expression expression) {
    if (expression.form != Expression::Form::call) return expression;
    std::optional<std::size_t> read;
    bool const is_part = reads_one(expression, read) && read && table_.schema()[*read].type.id == TypeId::dictionary &&
                         !can_fail(expression);
    if (is_part) {
      GARUDA_TRY_ASSIGN(auto part, evaluated(expression, *read));
      if (part) {
        parts_.push_back(std::move(*part));
        return column(table_.num_columns() + parts_.size() - 1, expression.type, to_string(expression));
      }
    }
    for (auto& argument : expression.arguments) {
      GARUDA_TRY_ASSIGN(argument, rewrite(std::move(argument)));
    }
    return expression;
  }

  /// The part as a column; nullopt: it is none.
  Result<std::optional<Table>> evaluated(Expression const& part, std::size_t read) const {
    auto const arrays = column_arrays(table_, read);
    auto const distinct = distinct_dictionaries(arrays);
    std::int64_t values = 0;
    for (auto const& dictionary : distinct.dictionaries) values += dictionary.length;
    if (values > table_.num_rows() / rows_of_value_) return std::optional<Table>();

    auto const& type = *table_.schema()[read].type.value;
    GARUDA_TRY_ASSIGN(auto const program, compile(over_one(part), {type}, Nulls::kept));
    Evaluator evaluator(program);
    GARUDA_TRY_ASSIGN(bool const is_null, is_null_of_null(evaluator));
    if (!is_null) return std::optional<Table>();
    auto results = std::make_shared<PartResults>();
    for (auto const& dictionary : distinct.dictionaries) {
      GARUDA_TRY_ASSIGN(auto written, results_of(evaluator, dictionary, type, part.type));
      if (!written) return std::optional<Table>();
      results->arrays.push_back(written->array);
      results->owners.push_back(std::move(written->owner));
    }
    return std::optional(table_of(part, read, arrays, distinct.of_array, results));
  }

  /// Whether the part is null where its column is.
  static Result<bool> is_null_of_null(Evaluator& evaluator) {
    Int128 const none = 0;
    std::uint8_t const invalid = 0;
    auto& input = evaluator.inputs()[0];
    input = {input.kind, false, &none, &invalid};
    GARUDA_TRY_ASSIGN(auto const result, evaluator.run(1));
    return result.valid != nullptr && result.valid[0] == 0;
  }

  /// nullopt: a value has no result.
  static Result<std::optional<WrittenColumn>> results_of(Evaluator& evaluator, ArrayView const& dictionary,
                                                         DataType const& type, DataType const& result_type) {
    Schema const schema{{"value", type}};
    BatchView const batch{dictionary.length, std::span(&dictionary, 1)};
    GARUDA_TRY_ASSIGN(auto reader, ColumnReader::create(TableView(schema, std::span(&batch, 1)), 0));
    ColumnWriter writer(result_type);
    for (std::int64_t begin = 0; begin < dictionary.length; begin += kVectorRows) {
      auto const count = static_cast<std::size_t>(std::min<std::int64_t>(kVectorRows, dictionary.length - begin));
      auto const values = reader.read(static_cast<std::uint64_t>(begin), count);
      evaluator.inputs()[0] = values;
      GARUDA_TRY_ASSIGN(auto const result, evaluator.run(count));
      for (std::size_t i = 0; result.valid != nullptr && i < count; ++i)
        if (result.valid[i * result.stride()] == 0 && (values.valid == nullptr || values.valid[i] != 0))
          return std::optional<WrittenColumn>();
      GARUDA_TRY(writer.append(result, count));
    }
    return std::optional(writer.finish());
  }

  Table table_of(Expression const& part, std::size_t read, std::span<ArrayView const> arrays,
                 std::span<std::size_t const> dictionaries, std::shared_ptr<PartResults const> const& results) const {
    Field field{to_string(part), table_.schema()[read].type};
    field.type.value = std::make_shared<DataType const>(part.type);
    std::vector<Batch> batches;
    for (std::size_t b = 0; b < arrays.size(); ++b) {
      auto array = arrays[b];
      array.dictionary = &results->arrays[dictionaries[b]];
      batches.push_back({table_.batch(b).num_rows, {array}, results});
    }
    return Table(Schema{std::move(field)}, std::move(batches));
  }

  TableView table_;
  std::int64_t rows_of_value_;
  std::vector<Table> parts_;
};

}  // namespace

Result<DictionaryParts> evaluate_dictionaries(TableView const& table, Expression expression,
                                              std::int64_t rows_of_value) {
  if (table.resident() != nullptr) return DictionaryParts{std::move(expression), {}};
  return DictionaryRewriter(table, rows_of_value).run(std::move(expression));
}

}  // namespace garuda::expr
