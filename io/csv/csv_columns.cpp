#include "io/csv/csv_columns.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace garuda::io {
namespace {

/// The type of each CsvKind.
std::vector<std::shared_ptr<arrow::DataType>> types() {
  using arrow::TimeUnit;
  return {arrow::null(),
          arrow::int64(),
          arrow::uint64(),
          arrow::decimal128(arrow::Decimal128Type::kMaxPrecision, 0),
          arrow::utf8(),
          arrow::boolean(),
          arrow::date32(),
          arrow::time32(TimeUnit::SECOND),
          arrow::timestamp(TimeUnit::SECOND),
          arrow::timestamp(TimeUnit::NANO),
          arrow::timestamp(TimeUnit::SECOND, "UTC"),
          arrow::timestamp(TimeUnit::NANO, "UTC"),
          arrow::float64(),
          arrow::utf8()};
}

bool is_integer(std::string_view text) {
  auto const first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return false;
  text = text.substr(first, text.find_last_not_of(" \t") - first + 1);
  if (text.front() == '-') text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Returns OK if values of `column` may be of `kind`, by their form. Arrow's decimals are numbers with points and
/// exponents, too; those are floats here. Longer values than kMostBytes are text: Arrow's error repeats the value
/// several times, which a memory limit does not foresee.
arrow::Status check_form(arrow::csv::BlockParser const& rows, int column, CsvKind kind) {
  constexpr std::uint32_t kMostBytes = 4 << 10;
  if (kind == CsvKind::text) return arrow::Status::OK();
  bool const integers = kind == CsvKind::integer || kind == CsvKind::digits;
  return rows.VisitColumn(column, [&](std::uint8_t const* data, std::uint32_t size, bool quoted, bool) {
    if (size > kMostBytes && kind != CsvKind::digits) return arrow::Status::Invalid("a value of text");
    bool const is_null = size == 0 && !quoted;
    bool const fits = !integers || is_null || is_integer({reinterpret_cast<char const*>(data), size});
    return fits ? arrow::Status::OK() : arrow::Status::Invalid("not an integer");
  });
}

}  // namespace

std::shared_ptr<arrow::DataType> CsvConverter::type_of(CsvKind kind) { return types()[static_cast<std::size_t>(kind)]; }

arrow::csv::ParseOptions csv_parse_options() {
  auto options = arrow::csv::ParseOptions::Defaults();
  options.newlines_in_values = true;
  return options;
}

arrow::Result<std::shared_ptr<CsvConverter const>> CsvConverter::make() {
  auto converter = std::make_shared<CsvConverter>();
  auto& options = converter->options_;
  options = arrow::csv::ConvertOptions::Defaults();
  // Only what the writer makes of a null is one: `NA` and `null` are words, `""` is an empty string.
  options.null_values = {""};
  options.strings_can_be_null = true;
  options.quoted_strings_can_be_null = false;
  for (auto const& type : types()) {
    ARROW_ASSIGN_OR_RAISE(auto of_kind, arrow::csv::Converter::Make(type, options, memory_pool()));
    converter->converters_.push_back(std::move(of_kind));
  }
  return converter;
}

arrow::Result<CsvValues> CsvConverter::convert(arrow::csv::BlockParser const& rows, int column, CsvKind kind) const {
  while (true) {
    auto const fits = check_form(rows, column, kind);
    auto values = fits.ok() ? converters_[static_cast<std::size_t>(kind)]->Convert(rows, column)
                            : arrow::Result<std::shared_ptr<arrow::Array>>(fits);
    if (values.ok()) return CsvValues{*std::move(values), kind};
    if (kind == CsvKind::text || values.status().IsOutOfMemory()) return values.status();
    kind = static_cast<CsvKind>(static_cast<std::uint8_t>(kind) + 1);
  }
}

}  // namespace garuda::io
