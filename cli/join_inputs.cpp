#include "cli/join_inputs.hpp"

#include <algorithm>
#include <utility>

#include "cli/interrupt.hpp"
#include "io/file_format.hpp"
#include "io/table_reader.hpp"
#include "operators/contract/join_kind.hpp"

namespace garuda::cli {
namespace {

/// Names of the columns that the join uses of one side; nullopt: all.
std::optional<std::vector<std::string>> used_columns(JoinRequest const& request, Side side) {
  auto const& spec = request.spec;
  bool const is_key_alone = request.count || (side == Side::right && !contract::parts_of(spec.kind).pairs);
  if (!is_key_alone && !spec.columns) return std::nullopt;
  std::vector<std::string> names;
  for (auto const& [left, right] : spec.on) names.push_back(side == Side::left ? left : right);
  if (is_key_alone) return names;
  for (auto const& column : *spec.columns) {
    if (column.side == side) names.push_back(column.name);
  }
  return names;
}

io::ReadOptions read_options(JoinRequest const& request, Side side) {
  io::ReadOptions options;
  options.columns = used_columns(request, side);
  options.threads = request.options.threads;
  options.cancelled = &interrupted();
  return options;
}

io::FileField const* find_field(std::vector<io::FileField> const& fields, std::string const& name) {
  auto const found = std::find_if(fields.begin(), fields.end(), [&](auto const& field) { return field.name == name; });
  return found == fields.end() ? nullptr : &*found;
}

/// A key column of a CSV file that holds no value takes the type of the key it is compared with, so that a table
/// without rows joins like any other.
Result<void> type_empty_keys(JoinRequest const& request, io::ReadOptions& left, io::ReadOptions& right) {
  auto const is_csv = [](auto const& path) { return io::format_of(path) == io::FileFormat::csv; };
  if (!is_csv(request.left) && !is_csv(request.right)) return {};
  GARUDA_TRY_ASSIGN(auto const left_fields, io::read_fields(request.left));
  GARUDA_TRY_ASSIGN(auto const right_fields, io::read_fields(request.right));
  for (auto const& [left_key, right_key] : request.spec.on) {
    auto const* left_field = find_field(left_fields, left_key);
    auto const* right_field = find_field(right_fields, right_key);
    if (left_field == nullptr || right_field == nullptr) continue;
    DataType const number{TypeId::int64};
    auto const type_of = [&](io::FileField const& field) {
      return field.field && !field.without_values ? field.field->type : number;
    };
    if (left_field->without_values) left.types_without_values.emplace_back(left_key, type_of(*right_field));
    if (right_field->without_values) right.types_without_values.emplace_back(right_key, type_of(*left_field));
  }
  return {};
}

/// What `request` reads of both files.
struct JoinFiles {
  io::ReadOptions left;
  io::ReadOptions right;
};

Result<JoinFiles> files_of(JoinRequest const& request) {
  JoinFiles files{read_options(request, Side::left), read_options(request, Side::right)};
  GARUDA_TRY(type_empty_keys(request, files.left, files.right));
  return files;
}

/// Errors as when the columns are read.
Result<void> check_columns(JoinRequest const& request, Side side) {
  auto const& path = side == Side::left ? request.left : request.right;
  GARUDA_TRY_ASSIGN(auto const fields, io::read_fields(path));
  Schema known;
  for (auto const& field : fields) known.push_back(Field{field.name, {}});
  for (auto const& column : *request.spec.columns) {
    if (column.side != side) continue;
    auto found = find_column(known, column.name);
    if (!found) return tl::unexpected(std::move(found).error().wrap("cannot read " + path.string()));
  }
  return {};
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
  GARUDA_TRY_ASSIGN(auto const files, files_of(request));
  GARUDA_TRY_ASSIGN(auto left, io::read_table(request.left, files.left));
  GARUDA_TRY_ASSIGN(auto right, io::read_table(request.right, files.right));
  return JoinInputs{std::move(left), std::move(right)};
}

}  // namespace garuda::cli
