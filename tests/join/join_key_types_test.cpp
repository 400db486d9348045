// Joins on one to four key columns of mixed types, through the public API on every path and in every kind, against the
// oracle; with whole hashes of keys, and with four bits of them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "garuda/engine.hpp"
#include "tests/join/join_kinds.hpp"
#include "tests/join/join_test.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/data_types.hpp"
#include "tests/reference/reference_join.hpp"
#include "tests/workloads/workloads.hpp"

namespace garuda {
namespace {

using reference::Column;
using reference::dictionary_of;
using reference::timed;
using reference::typed;
using testing::kJoinKinds;
using Random = std::mt19937_64;
using Values = std::vector<std::optional<int>>;

/// Numbers × factor in type T.
template <class T, std::int64_t kFactor = 1>
Column numbers(DataType type, Values const& values, std::int64_t offset) {
  std::vector<std::optional<T>> converted;
  for (auto const& value : values)
    converted.push_back(value ? std::optional(static_cast<T>(*value * kFactor)) : std::nullopt);
  return reference::make_column<T>(std::move(type), converted, offset);
}

/// Decimals of so many words of 64 bits, the value in the lowest ones.
template <std::size_t kWords, std::int64_t kFactor = 1>
Column wide_numbers(DataType type, Values const& values, std::int64_t offset) {
  using Words = std::array<std::int64_t, kWords>;
  std::vector<std::optional<Words>> converted;
  for (auto const& value : values) {
    Words words{};
    words.fill(value.value_or(0) < 0 ? -1 : 0);
    words[0] = std::int64_t{value.value_or(0)} * kFactor;
    converted.push_back(value ? std::optional(words) : std::nullopt);
  }
  return reference::make_column<Words>(std::move(type), converted, offset);
}

/// Zeros of both signs, NaNs of several bits, fractions.
template <class Float>
Column floats(DataType type, Values const& values, std::int64_t offset) {
  std::vector<std::optional<Float>> converted;
  int row = 0;
  for (auto const& value : values) {
    auto const number = static_cast<Float>(value.value_or(0));
    bool const odd = row++ % 2 == 1;
    auto const nan = std::numeric_limits<Float>::quiet_NaN();
    auto const result = number == 0 ? (odd ? -number : number) : number == 3 ? (odd ? -nan : nan) : number / 2;
    converted.push_back(value ? std::optional(result) : std::nullopt);
  }
  return reference::make_column<Float>(std::move(type), converted, offset);
}

/// The values as float16: halves of small numbers.
Column half_floats(DataType type, Values const& values, std::int64_t offset) {
  std::vector<std::optional<std::uint16_t>> converted;
  int row = 0;
  for (auto const& value : values) {
    auto const number = value.value_or(0);
    bool const odd = row++ % 2 == 1;
    std::uint16_t bits = odd ? 0x8000 : 0;
    if (number == 3) {
      bits = odd ? 0xFE01 : 0x7E00;
    } else if (number != 0) {
      auto const magnitude = static_cast<double>(std::abs(number)) / 2;
      int exponent = 0;
      auto const fraction = std::frexp(magnitude, &exponent);
      bits = static_cast<std::uint16_t>((number < 0 ? 0x8000 : 0) | (exponent + 14) << 10 |
                                        static_cast<int>(std::ldexp(fraction * 2 - 1, 10)));
    }
    converted.push_back(value ? std::optional(bits) : std::nullopt);
  }
  return reference::make_column<std::uint16_t>(std::move(type), converted, offset);
}

std::string word_of(int value) {
  auto const text = std::to_string(value);
  return value % 3 == 0 ? text : value % 3 == 1 ? "a word of more than twelve bytes, " + text : "";
}

template <TypeId kId>
Column words(DataType, Values const& values, std::int64_t) {
  std::vector<std::optional<std::string>> texts;
  for (auto const& value : values) texts.push_back(value ? std::optional(word_of(*value)) : std::nullopt);
  return reference::make_strings(texts, kId);
}

Column fixed_bytes(DataType type, Values const& values, std::int64_t offset) {
  std::vector<std::optional<std::array<char, 5>>> converted;
  for (auto const& value : values) {
    std::array<char, 5> bytes{'v', static_cast<char>(value.value_or(0)), 0, 0, 'x'};
    converted.push_back(value ? std::optional(bytes) : std::nullopt);
  }
  return reference::make_column<std::array<char, 5>>(std::move(type), converted, offset);
}

Column booleans(DataType, Values const& values, std::int64_t) {
  std::vector<std::optional<bool>> converted;
  for (auto const& value : values) converted.push_back(value ? std::optional(*value % 2 != 0) : std::nullopt);
  return reference::make_booleans(converted);
}

/// A form in which a column may have a value.
struct Form {
  DataType type;
  Column (*make)(DataType, Values const&, std::int64_t offset);
  bool is_dictionary = false;  ///< of that type
};

Form dictionary_of(Form form) {
  form.is_dictionary = true;
  return form;
}

DataType fixed_width(std::int32_t bytes) {
  auto type = typed(TypeId::fixed_size_binary);
  type.fixed_byte_width = bytes;
  return type;
}

/// Kinds of values, each in the types that are compared with each other.
std::vector<std::vector<Form>> const& families() {
  using enum TimeUnit;
  static std::vector<std::vector<Form>> const all{
      {{typed(TypeId::int8), numbers<std::int8_t>},
       {typed(TypeId::uint16), numbers<std::uint16_t>},
       {typed(TypeId::int32), numbers<std::int32_t>},
       {typed(TypeId::uint32), numbers<std::uint32_t>},
       {typed(TypeId::int64), numbers<std::int64_t>},
       {typed(TypeId::decimal32, 9, 2), numbers<std::int32_t, 100>},
       {typed(TypeId::decimal64, 18, 1), numbers<std::int64_t, 10>},
       {typed(TypeId::decimal128, 30, 4), wide_numbers<2, 10'000>},
       {typed(TypeId::decimal256, 50, 3), wide_numbers<4, 1'000>},
       dictionary_of({typed(TypeId::int64), numbers<std::int64_t>})},
      {{typed(TypeId::uint64), numbers<std::uint64_t>}, {typed(TypeId::uint8), numbers<std::uint8_t>}},
      {{typed(TypeId::decimal256, 76, 0), wide_numbers<4>}, {typed(TypeId::decimal256, 70, 0), wide_numbers<4>}},
      {{typed(TypeId::float16), half_floats},
       {typed(TypeId::float32), floats<float>},
       {typed(TypeId::float64), floats<double>},
       dictionary_of({typed(TypeId::float32), floats<float>})},
      {{typed(TypeId::int16), numbers<std::int16_t>},
       {typed(TypeId::float32), numbers<float>},
       {typed(TypeId::float64), numbers<double>}},
      {{typed(TypeId::boolean), booleans}, dictionary_of({typed(TypeId::boolean), booleans})},
      {{typed(TypeId::date32), numbers<std::int32_t>}, {typed(TypeId::date64), numbers<std::int64_t, 86'400'000>}},
      {{timed(TypeId::time32, second), numbers<std::int32_t>},
       {timed(TypeId::time32, millisecond), numbers<std::int32_t, 1'000>},
       {timed(TypeId::time64, nanosecond), numbers<std::int64_t, 1'000'000'000>}},
      {{timed(TypeId::timestamp, second), numbers<std::int64_t>},
       {timed(TypeId::timestamp, microsecond), numbers<std::int64_t, 1'000'000>}},
      {{timed(TypeId::timestamp, millisecond, "UTC"), numbers<std::int64_t, 1'000>},
       {timed(TypeId::timestamp, millisecond, "Asia/Tokyo"), numbers<std::int64_t, 1'000>},
       {timed(TypeId::timestamp, nanosecond, "UTC"), numbers<std::int64_t, 1'000'000'000>},
       dictionary_of({timed(TypeId::timestamp, second, "UTC"), numbers<std::int64_t>})},
      {{timed(TypeId::duration, second), numbers<std::int64_t>},
       {timed(TypeId::duration, nanosecond), numbers<std::int64_t, 1'000'000'000>}},
      {{typed(TypeId::utf8), words<TypeId::utf8>},
       {typed(TypeId::large_utf8), words<TypeId::large_utf8>},
       {typed(TypeId::utf8_view), words<TypeId::utf8_view>},
       dictionary_of({typed(TypeId::utf8), words<TypeId::utf8>}),
       dictionary_of({typed(TypeId::large_utf8), words<TypeId::large_utf8>})},
      {{typed(TypeId::binary), words<TypeId::binary>},
       {typed(TypeId::large_binary), words<TypeId::large_binary>},
       {typed(TypeId::binary_view), words<TypeId::binary_view>}},
      {{fixed_width(5), fixed_bytes}, dictionary_of({fixed_width(5), fixed_bytes})}};
  return all;
}

/// A column of such values; a dictionary has them in some order, one twice, and one that no row has.
Column column_of(Form const& form, Values const& values, Random& random) {
  auto const offset = static_cast<std::int64_t>(random() % 3);
  if (!form.is_dictionary) return form.make(form.type, values, offset);
  Values distinct{1, 77, 1};
  std::vector<std::optional<std::int32_t>> indices;
  for (auto const& value : values) {
    if (!value) {
      indices.emplace_back();
      continue;
    }
    auto const found = std::find(distinct.begin(), distinct.end(), value);
    indices.push_back(static_cast<std::int32_t>(found - distinct.begin()) + (*value == 1 && random() % 2 == 0 ? 2 : 0));
    if (found == distinct.end()) distinct.push_back(value);
  }
  return reference::make_dictionary(indices, form.make(form.type, distinct, 0));
}

/// Rows of keys as numbers.
using KeyRows = std::vector<Values>;

KeyRows draw_keys(std::size_t rows, std::size_t num_keys, std::uint64_t distinct, std::uint64_t null_share,
                  Random& random) {
  KeyRows keys(rows);
  for (auto& row : keys)
    for (std::size_t k = 0; k < num_keys; ++k)
      row.push_back(null_share != 0 && random() % null_share == 0
                        ? std::nullopt
                        : std::optional(static_cast<int>(random() % distinct)));
  return keys;
}

/// A table in batches: payload, the keys, and payload.
Table table_of(std::vector<Form> const& forms, KeyRows const& rows, std::size_t batch_rows, Random& random) {
  Schema schema{{"p", typed(TypeId::int32), false}};
  for (std::size_t k = 0; k < forms.size(); ++k) {
    auto type = forms[k].type;
    if (forms[k].is_dictionary) {
      type = typed(TypeId::dictionary);
      type.value = std::make_shared<DataType const>(forms[k].type);
    }
    schema.push_back({std::string("k").append(std::to_string(k)), type, true});
  }
  schema.push_back({"t", typed(TypeId::utf8_view), true});
  std::vector<Batch> batches;
  for (std::size_t first = 0; first < rows.size(); first += batch_rows) {
    auto const last = std::min(first + batch_rows, rows.size());
    std::vector<std::int32_t> numbers;
    std::vector<std::optional<std::string>> texts;
    for (auto row = first; row < last; ++row) {
      numbers.push_back(static_cast<std::int32_t>(row));
      texts.push_back(row % 5 == 0 ? std::nullopt : std::optional(std::string(row % 30, 'x')));
    }
    std::vector<Column> columns{reference::make_column<std::int32_t>(typed(TypeId::int32), numbers, 1)};
    for (std::size_t k = 0; k < forms.size(); ++k) {
      Values values;
      for (auto row = first; row < last; ++row) values.push_back(rows[row][k]);
      columns.push_back(column_of(forms[k], values, random));
    }
    columns.push_back(reference::make_strings(texts, TypeId::utf8_view));
    batches.push_back(reference::make_batch(columns));
  }
  return Table(std::move(schema), std::move(batches));
}

class JoinKeyTypes : public testing::JoinTest {
 protected:
  static JoinSpec spec_of(std::size_t num_keys, JoinKind kind, bool nulls_equal = false, bool ordered = false) {
    JoinSpec spec;
    for (std::size_t k = 0; k < num_keys; ++k) {
      auto const name = std::string("k").append(std::to_string(k));
      spec.on.emplace_back(name, name);
    }
    spec.kind = kind;
    spec.nulls_equal = nulls_equal;
    spec.ordered = ordered;
    return spec;
  }

  /// Key columns of both sides are compared as the oracle writes keys, whatever their type.
  static reference::TextTable with_normal_keys(Table const& joined, JoinSpec const& spec) {
    auto text = reference::read_table(joined.view());
    bool const shares_keys =
        !spec.columns && spec.kind != JoinKind::inner && !testing::has_left_columns_only(spec.kind);
    for (std::size_t c = 1; shares_keys && c <= spec.on.size(); ++c)
      for (auto& row : text.rows) row[c] = reference::key_text(joined.schema()[c].type, row[c]);
    return text;
  }

  static JoinBuild build_of(Table const& right, JoinSpec const& spec, JoinOptions const& options) {
    std::vector<std::string> keys;
    for (auto const& [left_key, right_key] : spec.on) keys.push_back(right_key);
    return engine()
        .build(right.view(), keys, {.nulls_equal = spec.nulls_equal, .radix_bits = options.tuning.radix_bits})
        .value();
  }

  /// `build`: of the right table, where the join has it; nullptr: it has the table.
  static void expect_join(Table const& left, Table const& right, JoinSpec const& spec, JoinOptions const& options,
                          JoinBuild const* build = nullptr) {
    SCOPED_TRACE(std::string(to_string(options.path)) + " " + testing::describe(spec) + " " +
                 to_string(options.tuning) + (build != nullptr ? " built before" : ""));
    auto const right_side = build != nullptr ? JoinRight(*build) : JoinRight(right.view());
    for (std::size_t k = 1; k <= spec.on.size(); ++k)
      SCOPED_TRACE(to_string(left.schema()[k].type) + " and " + to_string(right.schema()[k].type));
    auto const expected = reference::reference_join_table(left.view(), right.view(), spec, true);
    auto const counted = engine().join_count(left.view(), right_side, spec, options);
    ASSERT_TRUE(counted) << counted.error().describe();
    EXPECT_EQ(counted->rows, expected.rows.size());
    auto const result = engine().join(left.view(), right_side, spec, options);
    ASSERT_TRUE(result) << result.error().describe();
    auto const joined = collect(**result);
    ASSERT_TRUE(joined) << joined.error().describe();
    testing::expect_rows(with_normal_keys(*joined, spec), expected, spec);
  }
};

/// Every type with every other of its family, in every kind.
TEST_F(JoinKeyTypes, EveryPairOfTypes) {
  JoinOptions options;
  options.path = Path::cpu;
  Random random(1);
  for (auto const& family : families())
    for (auto const& left : family)
      for (auto const& right : family)
        for (auto const kind : kJoinKinds)
          for (auto const nulls_equal : {false, true}) {
            auto const left_table = table_of({left}, draw_keys(50, 1, 12, 6, random), 20, random);
            auto const right_table = table_of({right}, draw_keys(40, 1, 14, 7, random), 50, random);
            expect_join(left_table, right_table, spec_of(1, kind, nulls_equal, random() % 4 == 0), options);
            if (HasFailure()) return;
          }
}

/// One build side serves probe sides of every type that its keys are compared with.
TEST_F(JoinKeyTypes, ABuildSideServesEveryType) {
  JoinOptions options;
  options.path = Path::cpu;
  Random random(2);
  std::size_t turn = 0;
  for (auto const& family : families())
    for (auto const& right : family)
      for (auto const nulls_equal : {false, true}) {
        auto const right_table = table_of({right}, draw_keys(40, 1, 14, 7, random), 50, random);
        auto const build = build_of(right_table, spec_of(1, JoinKind::inner, nulls_equal), options);
        for (auto const& left : family) {
          auto const kind = kJoinKinds[turn++ % std::size(kJoinKinds)];
          auto const left_table = table_of({left}, draw_keys(50, 1, 20, 6, random), 20, random);
          expect_join(left_table, right_table, spec_of(1, kind, nulls_equal, random() % 4 == 0), options, &build);
          if (HasFailure()) return;
        }
      }
}

/// Numbers of keys, types, sizes, tunings and kinds drawn at random; a case is a function of its seed.
TEST_F(JoinKeyTypes, RandomSchemasEqualTheOracle) {
  char const* const tunings[] = {"",
                                 "build=left",
                                 "radix_bits=3",
                                 "lanes=3,chunk_rows=7",
                                 "payload=carry,radix_bits=2",
                                 "method=global,slice_rows=40",
                                 "placement=slices"};
  for (auto const& base : all_paths()) {
    auto const cases = testing::random_cases(base.path, 600, 30);
    for (std::uint64_t seed = 0; seed < cases; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      Random random(9'000 + seed);
      auto const num_keys = 1 + random() % 4;
      std::vector<Form> forms[2];
      for (std::size_t k = 0; k < num_keys; ++k) {
        auto const& family = families()[random() % families().size()];
        for (auto& side : forms) side.push_back(family[random() % family.size()]);
      }
      auto const most = base.path == Path::cpu ? 200U : 80U;
      auto const distinct = 1 + random() % 8;
      auto const table = [&](std::vector<Form> const& side) {
        auto const rows = random() % 8 == 0 ? 0 : random() % most;
        auto const nulls = random() % 3 == 0 ? 0 : 2 + random() % 9;
        return table_of(side, draw_keys(rows, num_keys, distinct, nulls, random),
                        random() % 2 == 0 ? 1'000 : 1 + random() % 60, random);
      };
      auto const left = table(forms[0]);
      auto const right = table(forms[1]);
      auto spec = spec_of(num_keys, kJoinKinds[random() % std::size(kJoinKinds)], random() % 3 == 0, random() % 3 == 0);
      if (random() % 4 == 0) {
        spec.columns = {{Side::left, "p"}, {Side::left, "k0"}, {Side::left, "t"}};
        if (!testing::has_left_columns_only(spec.kind)) spec.columns->push_back({Side::right, "k0"});
      }
      auto options = base;
      options.tuning = parse_join_tuning(tunings[random() % std::size(tunings)]).value();
      expect_join(left, right, spec, options);
      if (HasFailure()) return;
      if (seed % 3 != 0 || options.tuning.build == BuildSide::left) continue;
      auto const build = build_of(right, spec, options);
      expect_join(left, right, spec, options, &build);
      if (HasFailure()) return;
    }
  }
}

/// Keys whose codes take more than 64 bits are numbered, and the plan says so.
TEST_F(JoinKeyTypes, KeysBeyond64BitsAreNumbered) {
  Random random(3);
  std::vector<Form> const forms(3, Form{typed(TypeId::int64), numbers<std::int64_t, std::int64_t{1} << 52>});
  auto const left = table_of(forms, draw_keys(600, 3, 9, 20, random), 90, random);
  auto const right = table_of(forms, draw_keys(500, 3, 9, 20, random), 1'000, random);
  for (auto options : all_paths())
    for (auto const kind : kJoinKinds) {
      expect_join(left, right, spec_of(3, kind, kind == JoinKind::full), options);
      auto const plan = engine().explain_join(left.view(), right.view(), spec_of(3, kind), options);
      ASSERT_TRUE(plan) << plan.error().describe();
      EXPECT_EQ(plan->details[1].first, "keys");
      EXPECT_NE(plan->details[1].second.find("3 columns, numbered"), std::string::npos) << plan->details[1].second;
      if (HasFailure()) return;
    }
}

TEST_F(JoinKeyTypes, TablesWholeOnADeviceSayWhichKeysTheyTake) {
  Random random(4);
  auto const decimals = [&](std::int32_t scale) {
    return table_of({{typed(TypeId::decimal64, 18, scale), numbers<std::int64_t>}}, draw_keys(50, 1, 9, 0, random), 50,
                    random);
  };
  auto const left = decimals(2);
  auto const right = decimals(4);
  for (auto options : all_paths()) {
    if (options.path != Path::compute) continue;
    options.tuning.placement = Placement::device;
    auto const joined = engine().join(left.view(), right.view(), spec_of(1, JoinKind::inner), options);
    ASSERT_FALSE(joined);
    EXPECT_EQ(joined.error().code(), ErrorCode::invalid_input);
    EXPECT_NE(joined.error().describe().find("whose values all fit 64 bits"), std::string::npos)
        << joined.error().describe();
  }
}

TEST_F(JoinKeyTypes, TypesWithoutACommonOneAreNamed) {
  Random random(5);
  auto const strings = table_of({{typed(TypeId::utf8), words<TypeId::utf8>}}, draw_keys(5, 1, 3, 0, random), 9, random);
  auto const integers =
      table_of({{typed(TypeId::int64), numbers<std::int64_t>}}, draw_keys(5, 1, 3, 0, random), 9, random);
  for (auto const kind : kJoinKinds) {
    auto const joined = engine().join(strings.view(), integers.view(), spec_of(1, kind));
    ASSERT_FALSE(joined);
    EXPECT_EQ(joined.error().code(), ErrorCode::invalid_input);
    EXPECT_NE(joined.error().describe().find("utf8 and int64"), std::string::npos) << joined.error().describe();
  }
}

}  // namespace
}  // namespace garuda
