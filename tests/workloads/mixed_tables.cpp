#include "tests/workloads/mixed_tables.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <utility>

#include "keys/codes/key_types.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/data_types.hpp"

namespace garuda::testing {
namespace {

using reference::Column;
using reference::dictionary_of;
using reference::timed;
using reference::typed;
using Generator = std::mt19937_64;

/// A kind of column: its name, its type, and constants that it is compared with.
struct Kind {
  std::string name;
  DataType type;
  std::vector<std::string> constants;
  Constant::Form form = Constant::Form::number;
};

std::vector<Kind> const& kinds() {
  using enum TypeId;
  constexpr auto kText = Constant::Form::text;
  static std::vector<Kind> const kinds{
      {"i8", typed(int8), {"0", "-3", "2.5", "127", "1000", "-128.5"}},
      {"i16", typed(int16), {"1", "-2.5", "1e6"}},
      {"i32", typed(int32), {"2", "-2147483648", "2147483648", "0.5"}},
      {"i64", typed(int64), {"-1", "9223372036854775807", "9223372036854775808", "-1e30"}},
      {"u8", typed(uint8), {"3", "-1", "255.5"}},
      {"u32", typed(uint32), {"1", "4294967295", "4294967296"}},
      {"u64", typed(uint64), {"2", "18446744073709551615", "1e20"}},
      {"f16", typed(float16), {"1.5", "-2", "inf", "nan", "70000"}},
      {"f32", typed(float32), {"0.1", "-0", "nan", "-inf", "1e39"}},
      {"f64", typed(float64), {"0.1", "0", "nan", "1e-300", "inf"}},
      {"d9", typed(decimal32, 9, 2), {"0.5", "-1", "1.005", "1e9"}},
      {"d18", typed(decimal64, 18, 4), {"0.5", "-1.00001", "3"}},
      {"d38", typed(decimal128, 38, 2), {"1", "-0.5", "1e38", "0.001"}},
      {"d76", typed(decimal256, 76, 3), {"1", "-0.5", "0.0001"}},
      {"day", typed(date32), {"1970-01-02", "1969-12-30", "2024-02-29"}, kText},
      {"day64", typed(date64), {"1970-01-01", "1969-12-31"}, kText},
      {"time32", timed(time32, TimeUnit::millisecond), {"00:00:00.002", "12:30", "00:00:00.0015"}, kText},
      {"time64", timed(time64, TimeUnit::nanosecond), {"00:00:00.000000003", "23:59:59"}, kText},
      {"second", typed(timestamp), {"1970-01-01", "1970-01-01T00:00:01.5", "1969-12-31 23:59:58"}, kText},
      {"micro", timed(timestamp, TimeUnit::microsecond), {"1970-01-01 00:00:00.000002", "0001-01-01"}, kText},
      {"zoned",
       timed(timestamp, TimeUnit::nanosecond, "Europe/Berlin"),
       {"1970-01-01 00:00:00.000000001Z", "1970-01-01T01:00:00+01:00", "9999-12-31T00:00:00Z"},
       kText},
      {"utc", timed(timestamp, TimeUnit::second, "UTC"), {"1970-01-01 00:00:02Z", "1969-12-31T18:59:59-05:00"}, kText},
      {"span", timed(duration, TimeUnit::millisecond), {"2 ms", "-1500 us", "0.001 s"}, kText},
      {"flag", typed(boolean), {"true", "false"}, Constant::Form::boolean},
      {"text", typed(utf8), {"", "a", "ab", "a longer text of its own", "b"}, kText},
      {"large", typed(large_utf8), {"a", "zz"}, kText},
      {"view", typed(utf8_view), {"ab", "a longer text"}, kText},
      {"bytes", typed(binary), {"a", "\x80"}, kText},
      {"fixed", typed(fixed_size_binary), {"abc", "ab", "abcd"}, kText},
      {"word", dictionary_of(typed(utf8)), {"ab", "", "c"}, kText},
      {"coded", dictionary_of(typed(int64)), {"1", "2.5", "-1e30"}},
  };
  return kinds;
}

Kind const& kind_named(std::string const& name) {
  return *std::ranges::find_if(kinds(), [&](Kind const& kind) { return kind.name == name; });
}

/// Draws the values of one batch.
class Batcher {
 public:
  Batcher(Generator& random, std::uint64_t rows, std::uint64_t nulls_in_8)
      : random_(random), rows_(rows), nulls_in_8_(nulls_in_8) {}

  Column column(Kind const& kind) {
    auto const& type = kind.type;
    switch (type.id) {
      case TypeId::boolean:
        return reference::make_booleans(draw<bool>([&] { return random_() % 2 == 0; }));
      case TypeId::float16:
        return numbers<std::uint16_t>(type,
                                      {0, 0x8000, 0x3E00, 0xC000, 0x7C00, 0xFC00, 0x7E00, 0xFE01, 0x0001, 0x3C00});
      case TypeId::float32:
        return numbers<float>(type, special_floats<float>());
      case TypeId::float64:
        return numbers<double>(type, special_floats<double>());
      case TypeId::decimal128:
        return reference::make_column<reference::Decimal128>(
            type, draw<reference::Decimal128>([&] {
              auto const low = small();
              // Some that no 64 bits hold.
              if (random_() % 4 == 0)
                return reference::Decimal128{static_cast<std::uint64_t>(low), random_() % 2 == 0 ? 7 : -9};
              return reference::Decimal128{static_cast<std::uint64_t>(low), low < 0 ? -1 : 0};
            }));
      case TypeId::decimal256:
        return wide_decimals(type);
      case TypeId::utf8:
      case TypeId::large_utf8:
      case TypeId::utf8_view:
      case TypeId::binary:
        return reference::make_strings(draw<std::string>([&] { return word(); }), type.id);
      case TypeId::fixed_size_binary:
        return fixed(type);
      case TypeId::dictionary:
        return dictionary(*type.value);
      default:
        return integers(type);
    }
  }

  std::int64_t small() { return static_cast<std::int64_t>(random_() % 9) - 4; }

  template <class T>
  std::vector<std::optional<T>> draw(std::function<T()> const& next) {
    std::vector<std::optional<T>> values;
    for (std::uint64_t i = 0; i < rows_; ++i)
      values.push_back(random_() % 8 < nulls_in_8_ ? std::nullopt : std::optional<T>(next()));
    return values;
  }

 private:
  template <class T>
  static std::vector<T> special_floats() {
    using Limits = std::numeric_limits<T>;
    return {T(0),
            T(-0.0),
            T(0.1),
            -Limits::infinity(),
            Limits::infinity(),
            Limits::quiet_NaN(),
            T(-2.5),
            Limits::max(),
            Limits::denorm_min(),
            T(1),
            -Limits::quiet_NaN()};
  }

  template <class T>
  Column numbers(DataType const& type, std::vector<T> const& from) {
    return reference::make_column<T>(type, draw<T>([&] { return from[random_() % from.size()]; }), offset());
  }

  std::int64_t offset() { return static_cast<std::int64_t>(random_() % 3); }

  /// Small ones, and the ends of the type, but of types whose values are widened beyond 64 bits by their unit.
  template <class T>
  Column integers_of(DataType const& type, bool has_ends) {
    std::vector<T> from{T(0), T(1), T(2), T(3), static_cast<T>(small()), static_cast<T>(small())};
    if (has_ends) from.push_back(std::numeric_limits<T>::min());
    if (has_ends) from.push_back(std::numeric_limits<T>::max());
    return numbers<T>(type, from);
  }

  Column integers(DataType const& type) {
    switch (type.id) {
      case TypeId::int8:
        return integers_of<std::int8_t>(type, true);
      case TypeId::uint8:
        return integers_of<std::uint8_t>(type, true);
      case TypeId::int16:
        return integers_of<std::int16_t>(type, true);
      case TypeId::uint32:
        return integers_of<std::uint32_t>(type, true);
      case TypeId::uint64:
        return integers_of<std::uint64_t>(type, true);
      case TypeId::int64:
        return integers_of<std::int64_t>(type, random_() % 2 == 0);
      case TypeId::int32:
        return integers_of<std::int32_t>(type, true);
      case TypeId::date64: {
        std::vector<std::int64_t> days;
        for (std::int64_t day = -3; day < 4; ++day) days.push_back(day * 86'400'000);
        return numbers<std::int64_t>(type, days);
      }
      case TypeId::time32: {
        return numbers<std::int32_t>(type, {0, 1, 2, 3, 45'000'000});
      }
      case TypeId::time64:
        return numbers<std::int64_t>(type, {0, 1, 3, 2'000'000, 86'399'000'000'000});
      default:
        return byte_width(type) == 4 ? integers_of<std::int32_t>(type, false) : integers_of<std::int64_t>(type, false);
    }
  }

  Column wide_decimals(DataType const& type) {
    std::vector<std::byte> bytes(rows_ * 32);
    std::vector<bool> valid;
    for (std::uint64_t i = 0; i < rows_; ++i) {
      auto const low = small();
      std::array<std::int64_t, 4> words{low, random_() % 4 == 0 ? 5 : (low < 0 ? -1 : 0), 0, 0};
      if (words[1] < 0) words[2] = words[3] = -1;
      std::copy_n(reinterpret_cast<std::byte const*>(words.data()), 32, bytes.data() + 32 * i);
      valid.push_back(random_() % 8 >= nulls_in_8_);
    }
    return reference::make_column(type, bytes, nulls_in_8_ == 0 ? std::vector<bool>{} : valid, 0);
  }

  std::string word() {
    constexpr std::array kWords{
        "", "a", "ab", "abc", "b", "\x80", "a longer text of its own", "a longer text of others"};
    return kWords[random_() % kWords.size()];
  }

  Column fixed(DataType type) {
    type.fixed_byte_width = 3;
    std::vector<std::byte> bytes;
    std::vector<bool> valid;
    for (std::uint64_t i = 0; i < rows_; ++i) {
      for (int b = 0; b < 3; ++b) bytes.push_back(static_cast<std::byte>('a' + random_() % 3));
      valid.push_back(random_() % 8 >= nulls_in_8_);
    }
    return reference::make_column(std::move(type), bytes, nulls_in_8_ == 0 ? std::vector<bool>{} : valid, 0);
  }

  /// Each batch has a dictionary of its own, with a value twice.
  Column dictionary(DataType const& value) {
    auto const indices = draw<std::int32_t>([&] { return static_cast<std::int32_t>(random_() % 4); });
    if (value.id == TypeId::utf8)
      return reference::make_dictionary(indices, reference::make_strings({"ab", word(), "ab", "c"}));
    return reference::make_dictionary(
        indices, reference::make_column<std::int64_t>(value, std::vector<std::int64_t>{1, small(), 1, 3}));
  }

  Generator& random_;
  std::uint64_t rows_;
  std::uint64_t nulls_in_8_;
};

DataType type_of_column(Kind const& kind) {
  auto type = kind.type;
  if (type.id == TypeId::fixed_size_binary) type.fixed_byte_width = 3;
  return type;
}

Condition one_comparison(Schema const& schema, Generator& random) {
  auto const& names = mixed_columns();
  auto const any_side = [&] { return random() % 2 == 0 ? Side::left : Side::right; };
  auto const comparator = static_cast<Comparator>(random() % 6);
  auto const& name = names[random() % names.size()];
  ColumnRef const column{any_side(), name};
  if (random() % 2 == 0) {
    auto const constants = mixed_constants(name);
    auto const& constant = random() % 16 == 0 ? Constant{} : constants[random() % constants.size()];
    return random() % 4 == 0 ? compare(constant, comparator, column) : compare(column, comparator, constant);
  }
  auto const field = [&](std::string const& of) {
    return *std::ranges::find_if(schema, [&](Field const& candidate) { return candidate.name == of; });
  };
  std::vector<std::string> others;
  for (auto const& other : names)
    if (keys::common_key_type(field(name), field(other))) others.push_back(other);
  return compare(column, comparator, ColumnRef{any_side(), others[random() % others.size()]});
}

}  // namespace

Table MixedTable::build(std::uint64_t seed) const {
  Generator random(seed);
  Schema schema{{"k", typed(TypeId::int32)}, {"n", typed(TypeId::int32)}};
  for (auto const& kind : kinds()) schema.push_back({kind.name, type_of_column(kind)});
  std::vector<Batch> batches;
  auto const step = batch_rows == 0 ? std::max<std::uint64_t>(rows, 1) : batch_rows;
  for (std::uint64_t first = 0; first < rows; first += step) {
    auto const count = std::min(step, rows - first);
    Batcher batcher(random, count, nulls_in_8);
    std::vector<std::int32_t> numbers;
    for (std::uint64_t i = 0; i < count; ++i) numbers.push_back(static_cast<std::int32_t>(first + i));
    std::vector<std::optional<std::int32_t>> of_keys;
    for (std::uint64_t i = 0; i < count; ++i)
      of_keys.push_back(random() % 8 == 0 ? std::nullopt : std::optional(static_cast<std::int32_t>(random() % keys)));
    std::vector<Column> columns{reference::make_column<std::int32_t>(typed(TypeId::int32), of_keys),
                                reference::make_column<std::int32_t>(typed(TypeId::int32), numbers)};
    for (auto const& kind : kinds()) columns.push_back(batcher.column(kind));
    batches.push_back(reference::make_batch(columns));
  }
  return Table(std::move(schema), std::move(batches));
}

std::vector<MixedTable> mixed_shapes() {
  return {{.rows = 0},
          {.rows = 1},
          {.rows = 90, .batch_rows = 37},
          {.rows = 120, .keys = 1'000},
          {.rows = 110, .batch_rows = 50, .keys = 1, .nulls_in_8 = 0},
          {.rows = 60, .nulls_in_8 = 8}};
}

std::vector<std::string> mixed_columns() {
  std::vector<std::string> names;
  for (auto const& kind : kinds()) names.push_back(kind.name);
  return names;
}

std::vector<Constant> mixed_constants(std::string const& column) {
  auto const& kind = kind_named(column);
  std::vector<Constant> constants;
  for (auto const& text : kind.constants) {
    bool const is_word = text.find_first_of("0123456789") == std::string::npos;
    constants.push_back({kind.form == Constant::Form::number && is_word ? Constant::Form::text : kind.form, text});
  }
  return constants;
}

Condition mixed_condition(Schema const& schema, std::size_t comparisons, std::uint64_t seed) {
  Generator random(seed);
  std::function<Condition(std::size_t)> const make = [&](std::size_t count) {
    auto const part = [&] {
      if (count == 1) return one_comparison(schema, random);
      auto const first = 1 + random() % (count - 1);
      auto one = make(first);
      auto other = make(count - first);
      return random() % 2 == 0 ? std::move(one) && std::move(other) : std::move(one) || std::move(other);
    };
    auto made = part();
    return random() % 4 == 0 ? !std::move(made) : made;
  };
  return make(comparisons);
}

}  // namespace garuda::testing
