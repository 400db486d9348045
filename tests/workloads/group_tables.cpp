#include "tests/workloads/group_tables.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

#include "keys/numbering/mix.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/data_types.hpp"

namespace garuda::testing {
namespace {

using reference::Column;
using reference::Decimal128;
using reference::typed;

std::string numbered(std::string prefix, std::uint64_t number) { return prefix.append(std::to_string(number)); }

/// Random numbers that are a function of case, row and purpose.
class Rows {
 public:
  explicit Rows(GroupTableCase const& group_case) : case_(group_case) {
    if (case_.pattern != GroupSpread::zipf_1_5) return;
    double total = 0;
    for (std::uint64_t g = 0; g < case_.groups; ++g)
      cumulated_.push_back(total += std::pow(static_cast<double>(g + 1), -1.5));
  }

  std::uint64_t random(std::uint64_t row, std::uint64_t purpose) const {
    return keys::mix(keys::mix(case_.seed * 1000 + purpose) ^ (row * 2 + 1));
  }

  bool is_null(std::uint64_t row, std::uint64_t purpose) const {
    return case_.nulls && random(row, purpose + 500) % 8 == 0;
  }

  std::uint64_t group(std::uint64_t row) const {
    auto const number = random(row, 0);
    switch (case_.pattern) {
      case GroupSpread::uniform:
        break;
      case GroupSpread::one_heavy:
        return number % 10 != 0 ? 0 : number / 10 % case_.groups;
      case GroupSpread::every_row:
        return row;
      case GroupSpread::zipf_1_5: {
        auto const share = static_cast<double>(number >> 11) / 9007199254740992.0 * cumulated_.back();
        auto const found = std::upper_bound(cumulated_.begin(), cumulated_.end() - 1, share);
        return static_cast<std::uint64_t>(found - cumulated_.begin());
      }
    }
    return number % case_.groups;
  }

 private:
  GroupTableCase case_;
  std::vector<double> cumulated_;
};

/// The row ids of one batch.
using RowIds = std::vector<std::uint64_t>;

template <class T, class Make>
Column fixed(DataType type, Rows const& rows, RowIds const& ids, std::uint64_t purpose, Make make,
             std::int64_t offset = 0) {
  std::vector<std::optional<T>> values;
  for (auto const id : ids)
    values.push_back(rows.is_null(id, purpose) ? std::nullopt : std::optional<T>(static_cast<T>(make(id))));
  return reference::make_column(std::move(type), values, offset);
}

template <class Make>
Column strings(Rows const& rows, RowIds const& ids, std::uint64_t purpose, Make make) {
  std::vector<std::optional<std::string>> values;
  for (auto const id : ids)
    values.push_back(rows.is_null(id, purpose) ? std::nullopt : std::optional<std::string>(make(id)));
  return reference::make_strings(values);
}

template <class Make>
Column booleans(Rows const& rows, RowIds const& ids, std::uint64_t purpose, Make make) {
  std::vector<std::optional<bool>> values;
  for (auto const id : ids) values.push_back(rows.is_null(id, purpose) ? std::nullopt : std::optional<bool>(make(id)));
  return reference::make_booleans(values);
}

/// Each batch has a dictionary of its own, rotated by the first row.
template <class Make>
Column dictionaries(Rows const& rows, RowIds const& ids, std::uint64_t purpose, Make make) {
  constexpr std::uint64_t kWords = 50;
  auto const first = ids.empty() ? 0 : ids.front();
  std::vector<std::optional<std::string>> words;
  for (std::uint64_t w = 0; w < kWords; ++w) words.push_back(numbered("word ", (w + first) % kWords));
  std::vector<std::optional<std::int32_t>> indices;
  for (auto const id : ids)
    indices.push_back(rows.is_null(id, purpose) ? std::nullopt
                                                : std::optional<std::int32_t>(static_cast<std::int32_t>(
                                                      (make(id) + kWords - first % kWords) % kWords)));
  return reference::make_dictionary(indices, reference::make_strings(words));
}

Decimal128 wide(std::int64_t value, std::int64_t high) {
  return {static_cast<std::uint64_t>(value), (value < 0 ? -1 : 0) + high};
}

/// Some of 64 bits, others of up to 240.
Column wide_decimals(DataType type, Rows const& rows, RowIds const& ids, std::uint64_t purpose) {
  using Words = std::array<std::uint64_t, 4>;
  std::vector<std::optional<Words>> values;
  for (auto const id : ids) {
    auto const number = rows.random(id, purpose);
    auto const sign = number % 2 == 0 ? std::uint64_t{0} : ~std::uint64_t{0};
    Words words{number >> 1, sign, sign, sign};
    if (number % 8 < 4) words = {number, rows.random(id, purpose + 1), number * 3, sign << 48 | number >> 16};
    values.push_back(rows.is_null(id, purpose) ? std::nullopt : std::optional(words));
  }
  return reference::make_column(std::move(type), values);
}

/// Floats of all magnitudes; every second row's is the negative of a neighbour's, so that sums cancel.
double float_value(Rows const& rows, std::uint64_t row) {
  auto const number = rows.random(row / 2, 40);
  auto const sign = row % 2 == 0 ? 1.0 : -1.0;
  switch (number % 64) {
    case 0:
      return sign * std::numeric_limits<double>::denorm_min() * static_cast<double>(number >> 40);
    case 1:
      return sign * 0.0;
    case 2:
      if (rows.group(row) % 8 == 0) return std::numeric_limits<double>::quiet_NaN();
      break;
    case 3:
      if (rows.group(row) % 8 == 1) return sign * HUGE_VAL;
      break;
    case 4:
      if (rows.group(row) % 8 == 2) return HUGE_VAL;
      break;
    default:
      break;
  }
  auto const magnitude = std::pow(10.0, static_cast<double>(number >> 8 & 1023) / 1023 * 600 - 300);
  return sign * magnitude * (1 + static_cast<double>(number >> 32) * 0x1p-32) +
         (number % 5 == 0 ? 0.1 * static_cast<double>(row) : 0);
}

/// Key column `k` of a group: the first tells all groups apart unless it has nulls, the others some of them.
Column key_column(std::uint32_t k, Rows const& rows, RowIds const& ids) {
  auto const purpose = 10 + k;
  auto const part = [&](std::uint64_t modulus) {
    return [&rows, modulus, k](std::uint64_t id) { return keys::mix(rows.group(id) + k) % modulus; };
  };
  switch (k) {
    case 0:
      return fixed<std::int32_t>(
          typed(TypeId::int32), rows, ids, purpose,
          [&](std::uint64_t id) { return static_cast<std::int64_t>(rows.group(id)) - 40; }, 3);
    case 1:
      return strings(rows, ids, purpose, [=](std::uint64_t id) { return std::string(part(7)(id), 'x') + "y"; });
    case 2: {
      // Both zeros and several NaNs are one key each.
      static constexpr std::array<double, 6> kValues{0.0, -0.0, 1.5, -2e300, 5e-324, 0.0};
      return fixed<double>(typed(TypeId::float64), rows, ids, purpose, [=, &rows](std::uint64_t id) {
        auto const choice = part(6)(id);
        if (choice == 5) return rows.random(id, 60) % 2 == 0 ? std::nan("1") : -std::nan("2");
        return choice < 2 ? kValues[rows.random(id, 61) % 2] : kValues[choice];
      });
    }
    case 3:
      return fixed<std::int64_t>(typed(TypeId::int64), rows, ids, purpose, [=](std::uint64_t id) {
        return part(5)(id) == 0 ? std::numeric_limits<std::int64_t>::min()
                                : std::numeric_limits<std::int64_t>::max() - static_cast<std::int64_t>(part(5)(id));
      });
    case 4:
      return booleans(rows, ids, purpose, [=](std::uint64_t id) { return part(2)(id) == 1; });
    case 5:
      return fixed<Decimal128>(typed(TypeId::decimal128, 38, 4), rows, ids, purpose, [=](std::uint64_t id) {
        return wide(static_cast<std::int64_t>(part(9)(id)) - 4, static_cast<std::int64_t>(part(3)(id)));
      });
    case 6:
      return dictionaries(rows, ids, purpose, part(11));
    case 7:
      return fixed<std::int32_t>(typed(TypeId::date32), rows, ids, purpose, part(4));
    default:
      return fixed<std::uint8_t>(typed(TypeId::uint8), rows, ids, purpose, part(3));
  }
}

std::vector<Column> value_column_list(Rows const& rows, RowIds const& ids) {
  auto const number = [&](std::uint64_t purpose) {
    return [&rows, purpose](std::uint64_t id) { return rows.random(id, purpose); };
  };
  auto const bits = [&](std::uint64_t purpose, std::uint32_t count) {
    return [&rows, purpose, count](std::uint64_t id) {
      return static_cast<std::int64_t>(rows.random(id, purpose)) >> (64 - count);
    };
  };
  auto const real = [&](std::uint64_t id) { return float_value(rows, id); };
  auto timestamp = typed(TypeId::timestamp);
  timestamp.unit = TimeUnit::microsecond;
  return {
      fixed<std::int8_t>(typed(TypeId::int8), rows, ids, 20, number(20)),
      fixed<std::int16_t>(typed(TypeId::int16), rows, ids, 21, number(21)),
      fixed<std::int32_t>(typed(TypeId::int32), rows, ids, 22, number(22), 1),
      // 46 bits: 65 537 of them need 63.
      fixed<std::int64_t>(typed(TypeId::int64), rows, ids, 23, bits(23, 46)),
      fixed<std::uint8_t>(typed(TypeId::uint8), rows, ids, 24, number(24)),
      fixed<std::uint16_t>(typed(TypeId::uint16), rows, ids, 25, number(25)),
      fixed<std::uint32_t>(typed(TypeId::uint32), rows, ids, 26, number(26)),
      fixed<std::uint64_t>(typed(TypeId::uint64), rows, ids, 27,
                           [&](std::uint64_t id) { return number(27)(id) >> 18; }),
      fixed<float>(typed(TypeId::float32), rows, ids, 28, [&](std::uint64_t id) { return real(id) * 1e-20; }),
      fixed<double>(typed(TypeId::float64), rows, ids, 29, real),
      fixed<std::int32_t>(typed(TypeId::decimal32, 9, 2), rows, ids, 30, bits(30, 30)),
      fixed<Decimal128>(typed(TypeId::decimal128, 38, 10), rows, ids, 31,
                        [&](std::uint64_t id) { return wide(bits(31, 64)(id), bits(32, 40)(id)); }),
      fixed<std::int32_t>(typed(TypeId::date32), rows, ids, 33, bits(33, 17)),
      fixed<std::int64_t>(timestamp, rows, ids, 34, number(34)),
      strings(rows, ids, 35, [&](std::uint64_t id) { return numbered("s", number(35)(id) % 1000); }),
      booleans(rows, ids, 36, [&](std::uint64_t id) { return number(36)(id) % 16 == 0; }),
      dictionaries(rows, ids, 37, number(37)),
      fixed<std::uint16_t>(typed(TypeId::float16), rows, ids, 38, number(38)),
      wide_decimals(typed(TypeId::decimal256, 76, 10), rows, ids, 39),
  };
}

Table table_of(GroupTableCase const& group_case, RowIds const& order) {
  Rows const rows(group_case);
  auto const step = group_case.batch_rows == 0 ? std::max<std::size_t>(order.size(), 1)
                                               : static_cast<std::size_t>(group_case.batch_rows);
  auto names = value_columns();
  names.insert(names.end(), odd_columns().begin(), odd_columns().end());
  Schema schema;
  std::vector<Batch> batches;
  // A table without rows has an empty batch, which says the types.
  for (std::size_t first = 0; first == 0 || first < order.size(); first += step) {
    RowIds const ids(order.begin() + static_cast<std::ptrdiff_t>(first),
                     order.begin() + static_cast<std::ptrdiff_t>(std::min(first + step, order.size())));
    std::vector<Column> columns;
    for (std::uint32_t k = 0; k < group_case.keys; ++k) columns.push_back(key_column(k, rows, ids));
    auto values = value_column_list(rows, ids);
    columns.insert(columns.end(), values.begin(), values.end());
    if (schema.empty())
      for (std::size_t c = 0; c < columns.size(); ++c)
        schema.push_back({c < group_case.keys ? numbered("k", c) : names[c - group_case.keys], columns[c].type, true});
    batches.push_back(reference::make_batch(columns));
  }
  return Table(std::move(schema), std::move(batches));
}

RowIds all_rows(std::uint64_t rows) {
  RowIds ids(rows);
  std::iota(ids.begin(), ids.end(), std::uint64_t{0});
  return ids;
}

}  // namespace

std::string_view to_string(GroupSpread pattern) noexcept {
  static constexpr std::array<std::string_view, 4> kNames{"uniform", "zipf_1_5", "one_heavy", "every_row"};
  return kNames[static_cast<std::size_t>(pattern)];
}

std::string to_string(GroupTableCase const& group_case) {
  return "rows=" + std::to_string(group_case.rows) + " groups=" + std::to_string(group_case.groups) + " " +
         std::string(to_string(group_case.pattern)) + " keys=" + std::to_string(group_case.keys) +
         (group_case.nulls ? " nulls" : "") + " batch_rows=" + std::to_string(group_case.batch_rows) +
         " seed=" + std::to_string(group_case.seed);
}

std::vector<std::string> const& value_columns() {
  static std::vector<std::string> const names{"i8",  "i16", "i32",  "i64",  "u8",   "u16", "u32", "u64", "f32",
                                              "f64", "d32", "d128", "date", "time", "s",   "b",   "dict"};
  return names;
}

std::vector<std::string> const& odd_columns() {
  static std::vector<std::string> const names{"f16", "d256"};
  return names;
}

Table make_table(GroupTableCase const& group_case) { return table_of(group_case, all_rows(group_case.rows)); }

Table shuffled(GroupTableCase const& group_case) {
  auto ids = all_rows(group_case.rows);
  std::mt19937_64 random(group_case.seed + 99);
  for (auto i = ids.size(); i > 1; --i) std::swap(ids[i - 1], ids[random() % i]);
  return table_of(group_case, ids);
}

GroupBySpec all_aggregates(GroupTableCase const& group_case) {
  GroupBySpec spec;
  for (std::uint32_t k = 0; k < group_case.keys; ++k) spec.keys.push_back(numbered("k", k));
  spec.aggregates.push_back({AggregateFunction::count, std::nullopt, std::nullopt});
  for (auto const& name : value_columns()) {
    auto const add = [&](AggregateFunction function) { spec.aggregates.push_back({function, name, std::nullopt}); };
    add(AggregateFunction::count);
    add(AggregateFunction::min);
    add(AggregateFunction::max);
    if (name == "date" || name == "time" || name == "s" || name == "b" || name == "dict") continue;
    add(AggregateFunction::sum);
    add(AggregateFunction::mean);
  }
  return spec;
}

}  // namespace garuda::testing
