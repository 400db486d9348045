#include "io/parquet/row_group_tests.hpp"

#include <parquet/metadata.h>
#include <parquet/schema.h>
#include <parquet/statistics.h>
#include <parquet/types.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/numbers/wide_integer.hpp"
#include "core/type_rows.hpp"

namespace garuda::io {
namespace {

/// Values of one kind are compared with each other, whatever their types.
enum class Kind : std::uint8_t { other, boolean, exact, floating, date, time, timestamp, duration, text, binary };

/// An integer, a decimal, or a time as a decimal number of seconds.
struct Exact {
  Int128 digits = 0;
  std::int32_t scale = 0;
};
using Value = std::variant<Exact, double, std::string_view>;

struct Bounds {
  Kind kind = Kind::other;
  Value least;
  Value greatest;
};

std::int32_t scale_of(TimeUnit unit) noexcept { return 3 * static_cast<std::int32_t>(unit); }

Kind kind_of(DataType const& type) noexcept {
  auto const family = type_row(type.id).family;
  if (family == TypeFamily::boolean) return Kind::boolean;
  if (family == TypeFamily::integer || family == TypeFamily::decimal) return Kind::exact;
  if (family == TypeFamily::floating) return Kind::floating;
  if (family == TypeFamily::bytes) return is_text(type.id) ? Kind::text : Kind::binary;
  switch (type.id) {
    case TypeId::date32:
      return Kind::date;
    case TypeId::time32:
    case TypeId::time64:
      return Kind::time;
    case TypeId::timestamp:
      return Kind::timestamp;
    case TypeId::duration:
      return Kind::duration;
    default:
      return Kind::other;
  }
}

/// The value of a constant that is not null, borrowed.
Value value_of(Literal const& constant) {
  auto const& type = constant.type;
  auto const kind = kind_of(type);
  bool const has_unit = kind == Kind::time || kind == Kind::timestamp || kind == Kind::duration;
  auto const scale = has_unit ? scale_of(type.unit) : kind == Kind::exact ? type.scale : 0;
  return std::visit(
      [&]<class Held>(Held const& held) -> Value {
        if constexpr (std::is_same_v<Held, std::string>)
          return std::string_view(held);
        else if constexpr (std::is_same_v<Held, double>)
          return held;
        else if constexpr (std::is_same_v<Held, std::array<std::uint64_t, 2>>)
          return Exact{static_cast<Int128>(wide_word(held.data())), scale};
        else if constexpr (std::is_same_v<Held, std::monostate>)
          return Exact{};
        else
          return Exact{static_cast<Int128>(held), scale};
      },
      constant.value);
}

std::strong_ordering compare(Exact a, Exact b) noexcept {
  if (a.scale > b.scale) return 0 <=> compare(b, a);
  for (; a.scale < b.scale; ++a.scale) {
    Int128 scaled = 0;
    // A number of too many digits has the larger absolute value, whatever the other is.
    if (__builtin_mul_overflow(a.digits, Int128{10}, &scaled)) return a.digits <=> Int128{0};
    a.digits = scaled;
  }
  return a.digits <=> b.digits;
}

/// Values in the order of keys: zeros are equal, NaN is the greatest.
std::strong_ordering compare(double a, double b) noexcept {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) <=> std::isnan(b);
  return a < b ? std::strong_ordering::less : a > b ? std::strong_ordering::greater : std::strong_ordering::equal;
}

/// Values of one kind.
std::strong_ordering compare(Value const& a, Value const& b) noexcept {
  if (auto const* const text = std::get_if<std::string_view>(&a))
    return text->compare(std::get<std::string_view>(b)) <=> 0;
  if (auto const* const number = std::get_if<double>(&a)) return compare(*number, std::get<double>(b));
  return compare(std::get<Exact>(a), std::get<Exact>(b));
}

/// The unit of the times that a column stores, which may be another one than that of its Arrow type.
std::optional<std::int32_t> stored_scale(parquet::LogicalType const& type, arrow::DataType const& read) {
  auto const of = [](parquet::LogicalType::TimeUnit::unit unit) -> std::optional<std::int32_t> {
    switch (unit) {
      case parquet::LogicalType::TimeUnit::MILLIS:
        return 3;
      case parquet::LogicalType::TimeUnit::MICROS:
        return 6;
      case parquet::LogicalType::TimeUnit::NANOS:
        return 9;
      default:
        return std::nullopt;
    }
  };
  if (type.is_timestamp()) return of(static_cast<parquet::TimestampLogicalType const&>(type).time_unit());
  if (type.is_time()) return of(static_cast<parquet::TimeLogicalType const&>(type).time_unit());
  if (read.id() == arrow::Type::DURATION)
    return scale_of(static_cast<TimeUnit>(static_cast<arrow::DurationType const&>(read).unit()));
  return std::nullopt;
}

/// The kind of a column's values, and the scale that they are stored in.
struct ColumnKind {
  Kind kind = Kind::other;
  std::int32_t scale = 0;
  bool is_unsigned = false;
};

ColumnKind kind_of_column(parquet::ColumnDescriptor const& column, arrow::DataType const& type) {
  switch (type.id()) {
    case arrow::Type::DICTIONARY:
      return kind_of_column(column, *static_cast<arrow::DictionaryType const&>(type).value_type());
    case arrow::Type::EXTENSION:
      return kind_of_column(column, *static_cast<arrow::ExtensionType const&>(type).storage_type());
    case arrow::Type::BOOL:
      return {Kind::boolean};
    case arrow::Type::INT8:
    case arrow::Type::INT16:
    case arrow::Type::INT32:
    case arrow::Type::INT64:
      return {Kind::exact};
    case arrow::Type::UINT8:
    case arrow::Type::UINT16:
    case arrow::Type::UINT32:
    case arrow::Type::UINT64:
      return {Kind::exact, 0, true};
    case arrow::Type::DECIMAL32:
    case arrow::Type::DECIMAL64:
    case arrow::Type::DECIMAL128:
    case arrow::Type::DECIMAL256:
      return {Kind::exact, static_cast<arrow::DecimalType const&>(type).scale()};
    case arrow::Type::FLOAT:
    case arrow::Type::DOUBLE:
      return {Kind::floating};
    case arrow::Type::DATE32:
      return {Kind::date};
    case arrow::Type::TIME32:
    case arrow::Type::TIME64:
    case arrow::Type::TIMESTAMP:
    case arrow::Type::DURATION: {
      auto const scale = stored_scale(*column.logical_type(), type);
      if (!scale) return {};
      if (type.id() == arrow::Type::TIMESTAMP) return {Kind::timestamp, *scale};
      return {type.id() == arrow::Type::DURATION ? Kind::duration : Kind::time, *scale};
    }
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::STRING_VIEW:
      return {Kind::text};
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_BINARY:
    case arrow::Type::BINARY_VIEW:
    case arrow::Type::FIXED_SIZE_BINARY:
      return {Kind::binary};
    default:
      return {};
  }
}

/// The integer whose big-endian bytes of two's complement these are; nullopt: it has more than 128 bits.
std::optional<Int128> big_endian(std::string_view bytes) noexcept {
  if (bytes.empty() || bytes.size() > sizeof(Int128)) return std::nullopt;
  auto value = static_cast<UInt128>(static_cast<signed char>(bytes[0]) < 0 ? Int128{-1} : Int128{0});
  for (auto const byte : bytes) value = (value << 8) | static_cast<unsigned char>(byte);
  return static_cast<Int128>(value);
}

class StatisticsReader {
 public:
  explicit StatisticsReader(ColumnKind const& column) : column_(column) {}

  /// Least and greatest value, which view the statistics; nullopt: they are not what the column's values are.
  std::optional<Bounds> bounds(parquet::Statistics const& statistics, parquet::ColumnDescriptor const& column) const {
    auto const both = [&]<class Type>(Type) -> std::optional<Bounds> {
      auto const& typed = static_cast<parquet::TypedStatistics<Type> const&>(statistics);
      auto const least = value(typed.min(), column);
      auto const greatest = value(typed.max(), column);
      if (!least || !greatest) return std::nullopt;
      return Bounds{column_.kind, *least, *greatest};
    };
    switch (column.physical_type()) {
      case parquet::Type::BOOLEAN:
        return both(parquet::BooleanType());
      case parquet::Type::INT32:
        return both(parquet::Int32Type());
      case parquet::Type::INT64:
        return both(parquet::Int64Type());
      case parquet::Type::FLOAT:
        return both(parquet::FloatType());
      case parquet::Type::DOUBLE:
        return both(parquet::DoubleType());
      case parquet::Type::BYTE_ARRAY:
        return both(parquet::ByteArrayType());
      case parquet::Type::FIXED_LEN_BYTE_ARRAY:
        return both(parquet::FLBAType());
      default:
        return std::nullopt;
    }
  }

 private:
  template <class Stored>
  std::optional<Value> value(Stored const& stored, parquet::ColumnDescriptor const& column) const {
    using Kinds = Kind;
    if constexpr (std::is_same_v<Stored, parquet::ByteArray>)
      return of_bytes({reinterpret_cast<char const*>(stored.ptr), stored.len});
    else if constexpr (std::is_same_v<Stored, parquet::FixedLenByteArray>)
      return of_bytes({reinterpret_cast<char const*>(stored.ptr), static_cast<std::size_t>(column.type_length())});
    else if constexpr (std::is_floating_point_v<Stored>)
      return column_.kind == Kinds::floating && !std::isnan(stored) ? std::optional<Value>(double{stored})
                                                                    : std::nullopt;
    else {
      if (column_.kind == Kinds::floating || column_.kind == Kinds::text || column_.kind == Kinds::binary)
        return std::nullopt;
      if constexpr (!std::is_same_v<Stored, bool>)
        if (column_.is_unsigned)
          return Exact{static_cast<Int128>(static_cast<std::make_unsigned_t<Stored>>(stored)), 0};
      return Exact{static_cast<Int128>(stored), column_.scale};
    }
  }

  std::optional<Value> of_bytes(std::string_view bytes) const {
    if (column_.kind == Kind::text || column_.kind == Kind::binary) return bytes;
    auto const digits = column_.kind == Kind::exact ? big_endian(bytes) : std::nullopt;
    return digits ? std::optional<Value>(Exact{*digits, column_.scale}) : std::nullopt;
  }

  ColumnKind const& column_;
};

bool overlaps(ValueRange const& range, Bounds const& bounds) {
  if ((range.least && kind_of(range.least->type) != bounds.kind) ||
      (range.greatest && kind_of(range.greatest->type) != bounds.kind))
    return true;
  if (bounds.kind == Kind::floating) {
    bool const may_have_nan = !range.greatest || std::isnan(std::get<double>(value_of(*range.greatest)));
    if (may_have_nan) return true;
  }
  if (range.least) {
    auto const order = compare(bounds.greatest, value_of(*range.least));
    if (order < 0 || (order == 0 && range.without_least)) return false;
  }
  if (range.greatest) {
    auto const order = compare(bounds.least, value_of(*range.greatest));
    if (order > 0 || (order == 0 && range.without_greatest)) return false;
  }
  return true;
}

bool may_pass_column(RowTest const& test, parquet::RowGroupMetaData const& row_group, TestedColumn const& tested) {
  auto const chunk = row_group.ColumnChunk(tested.leaf);
  auto const statistics = chunk->statistics();
  if (statistics == nullptr) return true;
  auto const& column = *row_group.schema()->Column(tested.leaf);
  bool const can_be_null = column.max_definition_level() > 0;
  if (test.or_null && can_be_null && (!statistics->HasNullCount() || statistics->null_count() > 0)) return true;
  if (test.ranges.empty()) return false;
  if (statistics->HasNullCount() && statistics->null_count() >= chunk->num_values()) return false;
  if (!statistics->HasMinMax()) return true;
  auto const kind = kind_of_column(column, *tested.type);
  if (kind.kind == Kind::other) return true;
  auto const bounds = StatisticsReader(kind).bounds(*statistics, column);
  return !bounds || std::ranges::any_of(test.ranges, [&](ValueRange const& range) { return overlaps(range, *bounds); });
}

}  // namespace

bool may_pass(RowTest const& test, parquet::RowGroupMetaData const& row_group, FindTested const& find) {
  auto const may_part = [&](RowTest const& part) { return may_pass(part, row_group, find); };
  if (test.kind == RowTest::Kind::all) return std::ranges::all_of(test.parts, may_part);
  if (test.kind == RowTest::Kind::any) return std::ranges::any_of(test.parts, may_part);
  auto const column = find(test.column);
  return !column || may_pass_column(test, row_group, *column);
}

}  // namespace garuda::io
