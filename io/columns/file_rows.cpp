#include "io/columns/file_rows.hpp"

#include <arrow/util/utf8.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "io/columns/file_columns.hpp"
#include "io/file_format.hpp"

namespace garuda::io {
namespace {

/// A value of a folder's name in each of `rows` rows.
arrow::Result<std::shared_ptr<arrow::Array>> repeated(std::optional<std::string> const& value,
                                                      std::shared_ptr<arrow::DataType> const& type, std::int64_t rows) {
  if (!value) return arrow::MakeArrayOfNull(type, rows, memory_pool());
  if (type->id() == arrow::Type::STRING)
    return arrow::MakeArrayFromScalar(arrow::StringScalar(*value), rows, memory_pool());
  std::int64_t number = 0;
  std::from_chars(value->data(), value->data() + value->size(), number);
  return arrow::MakeArrayFromScalar(arrow::Int64Scalar(number), rows, memory_pool());
}

}  // namespace

Result<void> check_folder_names(TableFiles const& files) {
  arrow::util::InitializeUTF8();
  for (auto const& file : files.files)
    for (auto const& [key, value] : file.keys)
      if (!arrow::util::ValidateUTF8(key) || !arrow::util::ValidateUTF8(value.value_or("")) ||
          key.find('\0') != std::string::npos)
        return tl::unexpected(
            Error(ErrorCode::invalid_input, "a folder's name is not UTF-8").wrap("cannot read " + file.path.string()));
  return {};
}

Result<FolderColumns> FolderColumns::make(TableFiles const& files, ReadOptions const& options) {
  FolderColumns result;
  result.files_ = &files;
  result.file_options_ = options;
  auto const& keys = files.files.front().keys;
  if (keys.empty()) return result;
  GARUDA_TRY(check_folder_names(files));
  GARUDA_TRY_ASSIGN(auto const fields, read_fields(files.files.front().path));
  auto& names = result.file_options_.columns;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    auto const& name = keys[i].first;
    if (std::ranges::find(fields, name, &FileField::name) != fields.end())
      return fail(ErrorCode::invalid_input, fmt::format("{} has a column '{}', and so has its folder's name",
                                                        files.files.front().path.string(), name));
    if (names && std::erase(*names, name) == 0) continue;
    result.columns_.push_back({i, arrow::field(name, files.has_integers(i) ? arrow::int64() : arrow::utf8())});
  }
  if (!names || !names->empty()) return result;
  result.drops_columns_ = true;
  auto const known = std::ranges::find_if(fields, [](FileField const& field) { return field.field.has_value(); });
  if (known == fields.end())
    return fail(ErrorCode::invalid_input,
                fmt::format("{} has no column of a type that garuda has", files.files.front().path.string()));
  names->push_back(known->name);
  return result;
}

std::shared_ptr<arrow::Schema> FolderColumns::schema(arrow::Schema const& file) const {
  auto fields = drops_columns_ ? arrow::FieldVector() : file.fields();
  for (auto const& column : columns_) fields.push_back(column.field);
  return arrow::schema(std::move(fields));
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> FolderColumns::complete(arrow::RecordBatch const& rows,
                                                                           std::size_t index) const {
  auto arrays = drops_columns_ ? arrow::ArrayVector() : rows.columns();
  for (auto const& column : columns_) {
    auto const& value = files_->files[index].keys[column.key].second;
    ARROW_ASSIGN_OR_RAISE(auto array, repeated(value, column.field->type(), rows.num_rows()));
    arrays.push_back(std::move(array));
  }
  return arrow::RecordBatch::Make(schema(*rows.schema()), rows.num_rows(), std::move(arrays));
}

Result<std::vector<int>> fit_schema(arrow::Schema const& wanted, std::string const& wanted_path,
                                    arrow::Schema const& schema, std::string const& path) {
  auto const differ = [](std::string const& reason) {
    return fail(ErrorCode::invalid_input, fmt::format("files of one table must have the same columns: {}", reason));
  };
  std::vector<int> positions;
  for (int i = 0; i < wanted.num_fields(); ++i) {
    auto const& field = *wanted.field(i);
    bool const in_place = i < schema.num_fields() && schema.field(i)->name() == field.name();
    int const position = in_place ? i : schema.GetFieldIndex(field.name());
    if (position < 0) return differ(fmt::format("{} has '{}', {} does not", wanted_path, field.name(), path));
    auto const& type = *schema.field(position)->type();
    if (!type.Equals(*field.type()))
      return differ(fmt::format("'{}' is {} in {} and {} in {}", field.name(), field.type()->ToString(), wanted_path,
                                type.ToString(), path));
    positions.push_back(position);
  }
  if (schema.num_fields() == wanted.num_fields()) return positions;
  for (auto const& field : schema.fields())
    if (wanted.GetFieldIndex(field->name()) < 0)
      return differ(fmt::format("{} has '{}', {} does not", path, field->name(), wanted_path));
  return differ(fmt::format("{} and {} have a name more than once", wanted_path, path));
}

Result<void> check_all_columns(arrow::Schema const& wanted, std::filesystem::path const& wanted_path,
                               arrow::Schema const& schema, std::filesystem::path const& path) {
  GARUDA_TRY_ASSIGN(auto const wanted_format, format_of(wanted_path));
  GARUDA_TRY_ASSIGN(auto const format, format_of(path));
  bool const has_types = wanted_format != FileFormat::csv && format != FileFormat::csv;
  auto const compared = [has_types](arrow::Schema const& all) {
    arrow::FieldVector fields;
    for (auto const& field : all.fields())
      fields.push_back(has_types ? plain_field(*field) : field->WithType(arrow::null()));
    return arrow::Schema(std::move(fields));
  };
  GARUDA_TRY(fit_schema(compared(wanted), wanted_path.string(), compared(schema), path.string()));
  return {};
}

}  // namespace garuda::io
