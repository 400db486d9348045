#include "io/row_format.hpp"

#include <utility>

#include "io/arrow_bridge.hpp"
#include "io/columns/stored_types.hpp"

namespace garuda::io {
namespace {

bool is_hexadecimal(arrow::DataType const& type) {
  return type.id() == arrow::Type::BINARY || type.id() == arrow::Type::LARGE_BINARY ||
         type.id() == arrow::Type::FIXED_SIZE_BINARY;
}

bool is_text(arrow::DataType const& type) {
  return type.id() == arrow::Type::STRING || type.id() == arrow::Type::LARGE_STRING ||
         type.id() == arrow::Type::STRING_VIEW;
}

/// `text` as it is, or between quotes (those within it doubled) where a reader would take it for something else.
std::string quoted_if_misread(std::string text) {
  bool const is_clear =
      !text.empty() && text != "null" && text.front() != '"' && text.front() != ' ' && text.back() != ' ';
  if (is_clear) return text;
  std::string quoted = "\"";
  for (char const c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string format_value(arrow::Scalar const& value) {
  if (!value.is_valid) return "null";
  if (value.type->id() == arrow::Type::DICTIONARY) {
    auto const decoded = static_cast<arrow::DictionaryScalar const&>(value).GetEncodedValue();
    return decoded.ok() ? format_value(**decoded) : value.ToString();
  }
  if (is_hexadecimal(*value.type)) return static_cast<arrow::BaseBinaryScalar const&>(value).value->ToHexString();
  if (is_text(*value.type)) return quoted_if_misread(value.ToString());
  return value.ToString();
}

}  // namespace

Result<std::vector<std::vector<std::string>>> format_rows(Schema const& schema, Batch const& batch,
                                                          std::int64_t num_rows) {
  GARUDA_EXPECTS(num_rows >= 0 && num_rows <= batch.num_rows);
  GARUDA_TRY_ASSIGN(auto const rows, to_arrow_batch(schema, batch));
  std::vector<std::vector<std::string>> cells(static_cast<std::size_t>(num_rows));
  for (auto const& column : rows->columns()) {
    for (std::int64_t row = 0; row < num_rows; ++row) {
      GARUDA_ARROW_TRY_ASSIGN(auto const value, column->GetScalar(row), ErrorCode::invalid_input,
                              "cannot show a value");
      cells[static_cast<std::size_t>(row)].push_back(format_value(*value));
    }
  }
  return cells;
}

Result<Schema> shown_schema(Schema const& schema) {
  GARUDA_TRY_ASSIGN(auto const stored, to_arrow_schema(schema));
  GARUDA_TRY_ASSIGN(auto const table, to_table(decoded_schema(*stored), {}));
  return table.schema();
}

}  // namespace garuda::io
