#include "operators/materialize/gather_column.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/bitmap.hpp"
#include "core/dictionary.hpp"
#include "core/type_rows.hpp"
#include "core/variable_value.hpp"

namespace garuda {
namespace {

/// The bytes of one value that is not null.
std::string_view value_bytes(ArrayView const& array, DataType const& type, std::int64_t row) {
  auto const at = array.offset + row;
  if (type.id == TypeId::boolean) {
    return get_bit(static_cast<std::uint8_t const*>(array.values), at) ? std::string_view("1") : std::string_view("0");
  }
  return bytes_at(array, type, at);
}

/// The union of several dictionaries of one value type.
class DictionaryUnion {
 public:
  explicit DictionaryUnion(DataType const& type) : type_(type) {}

  /// Adds the values that are new; returns where each value of `dictionary` is in the union.
  DictionaryMap add(ArrayView const& dictionary) {
    DictionaryMap map(static_cast<std::size_t>(dictionary.length));
    for (std::int64_t i = 0; i < dictionary.length; ++i) {
      map[static_cast<std::size_t>(i)] = dictionary.is_null(i) ? add_null(i) : add_value(dictionary, i);
    }
    first_row_ += dictionary.length;
    return map;
  }

  /// For each value of the union, a row that holds it; rows count over all dictionaries added.
  std::vector<std::int64_t> const& rows() const noexcept { return rows_; }
  /// Bytes of the values of the union; variable width only.
  std::int64_t num_bytes() const noexcept { return num_bytes_; }

 private:
  std::int64_t append(std::int64_t row) {
    rows_.push_back(first_row_ + row);
    return static_cast<std::int64_t>(rows_.size()) - 1;
  }
  std::int64_t add_null(std::int64_t row) {
    if (!null_) null_ = append(row);
    return *null_;
  }
  std::int64_t add_value(ArrayView const& dictionary, std::int64_t row) {
    auto const bytes = value_bytes(dictionary, type_, row);
    auto const [position, is_new] = positions_.try_emplace(bytes, static_cast<std::int64_t>(rows_.size()));
    if (is_new) {
      append(row);
      num_bytes_ += static_cast<std::int64_t>(bytes.size());
    }
    return position->second;
  }

  DataType const& type_;
  std::unordered_map<std::string_view, std::int64_t> positions_;
  std::optional<std::int64_t> null_;
  std::vector<std::int64_t> rows_;
  std::int64_t first_row_ = 0;
  std::int64_t num_bytes_ = 0;
};

bool is_identity(DictionaryMap const& map) {
  for (std::size_t i = 0; i < map.size(); ++i) {
    if (std::cmp_not_equal(map[i], i)) return false;
  }
  return true;
}

/// The narrowest integer type of the signedness of `index`, at least as wide, that counts `size` values.
TypeId index_type_for(TypeId index, std::int64_t size) {
  GARUDA_EXPECTS(is_integer(index));
  auto const* row = &type_row(index);  // wider ones follow
  while (row->width < 8 && size > std::int64_t{1} << (8 * row->width - (row->is_signed ? 1 : 0))) ++row;
  return row->id;
}

TypeId with_large_offsets(DataType const& type) {
  return is_variable_width(type) || is_view(type) ? large_bytes(type.id) : type.id;
}

/// Copies values of `arrays`, of type `type`, into one array.
Result<std::shared_ptr<Batch const>> copy_values(std::vector<ArrayView> const& arrays, DataType const& source_type,
                                                 DataType const& type, std::vector<std::int64_t> const& rows) {
  GatherColumn values;
  values.source_type = source_type;
  values.type = type;
  std::vector<std::int64_t> first_rows{0};
  for (auto const& array : arrays) {
    if (array.length == 0) continue;
    values.add_part(array);
    first_rows.push_back(first_rows.back() + array.length);
  }
  GARUDA_TRY_ASSIGN(auto copied, gather_columns<std::int64_t>({&values, 1}, first_rows, rows, GatherLimits{}));
  GARUDA_EXPECTS(std::cmp_equal(copied.rows_taken, rows.size()));
  return std::make_shared<Batch const>(std::move(copied.batch));
}

}  // namespace

Result<void> unify_dictionaries(GatherColumn& column, GatherLimits limits, StringForm strings,
                                std::shared_ptr<void const> const& owner) {
  auto const& source_value = *column.source_type.value;
  auto const distinct = distinct_dictionaries(column.parts);
  bool const is_shared = distinct.dictionaries.size() == 1 && owner != nullptr &&
                         (strings == StringForm::view || distinct.dictionaries.front().ascends);
  if (is_shared) {
    auto const& only = distinct.dictionaries.front();
    column.dictionary = std::make_shared<Batch const>(Batch{only.length, {only}, owner});
    return {};
  }
  if (distinct.dictionaries.size() <= 1) {
    std::vector<std::int64_t> rows(
        distinct.dictionaries.empty() ? 0 : static_cast<std::size_t>(distinct.dictionaries[0].length));
    std::iota(rows.begin(), rows.end(), std::int64_t{0});
    GARUDA_TRY_ASSIGN(column.dictionary, copy_values(distinct.dictionaries, source_value, source_value, rows));
    return {};
  }

  DictionaryUnion values(source_value);
  std::vector<std::shared_ptr<DictionaryMap const>> maps;
  bool all_stay = true;
  for (auto const& dictionary : distinct.dictionaries) {
    maps.push_back(std::make_shared<DictionaryMap const>(values.add(dictionary)));
    all_stay = all_stay && is_identity(*maps.back());
  }
  auto value_type = source_value;
  if (values.num_bytes() > limits.max_offset_32) value_type.id = with_large_offsets(value_type);
  if (value_type.id != source_value.id) column.type.value = std::make_shared<DataType const>(value_type);
  GARUDA_TRY_ASSIGN(column.dictionary, copy_values(distinct.dictionaries, source_value, value_type, values.rows()));
  if (all_stay) return {};
  column.type.index = index_type_for(column.type.index, static_cast<std::int64_t>(values.rows().size()));
  for (auto const part : distinct.of_array) column.maps.push_back(maps[part]);
  return {};
}

}  // namespace garuda
