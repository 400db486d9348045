// Conditions of joins of tables on a device beyond columns of one type and 64 bits, tested where the tables live:
// results equal the oracle's. Strings and binary of any shape, decimals to the ends of 256 bits. A random case is a
// function of its seed, which a failure names.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "garuda/engine.hpp"
#include "keys/codes/key_types.hpp"
#include "tests/device/mixed_device_tables.hpp"
#include "tests/device/string_tables.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/data_types.hpp"
#include "tests/test_run.hpp"
#include "tests/workloads/mixed_keys.hpp"
#include "tests/workloads/mixed_tables.hpp"

namespace garuda {
namespace {

using testing::draw_texts;
using testing::kKinds;
using testing::MixedTable;
using testing::StringLayout;
using testing::StringTable;
using Random = std::mt19937_64;

class DeviceConditions : public testing::MixedDeviceTables {
 protected:
  static JoinSpec where(std::string const& condition, JoinKind kind, std::string const& key = "k") {
    JoinSpec spec;
    spec.on = {{key, key}};
    spec.kind = kind;
    spec.where = parse_condition(condition).value();
    spec.columns = std::vector<ColumnRef>{{Side::left, "n"}};
    if (kind <= JoinKind::full) spec.columns->push_back({Side::right, "n"});
    return spec;
  }

  static Result<Table> collect_join(TableView left, TableView right, JoinSpec const& spec, JoinOptions const& options) {
    GARUDA_TRY_ASSIGN(auto const joined, engine().join(left, right, spec, options));
    return collect(*joined);
  }
};

TEST_F(DeviceConditions, OfStringsAndOfTwoTypes) {
  auto const left = testing::pick(MixedTable{70, 30, 6, 1}.build(21), testing::columns_there_and_n());
  auto const right = testing::pick(MixedTable{60, 0, 6, 1}.build(22), testing::columns_there_and_n());
  auto const left_there = upload(left);
  auto const right_there = upload(right);
  std::uint64_t cases = 0;
  for (auto const* const condition : {"left.text = right.view",
                                      "left.word <> 'ab'",
                                      "left.text = 'ab' or right.large = left.view or right.text = ''",
                                      "left.bytes <> right.bytes",
                                      "left.fixed = right.fixed",
                                      "left.f16 < right.f64",
                                      "left.f16 >= 1.5",
                                      "left.f32 <= right.f16 and right.f32 > left.i8",
                                      "left.i32 < right.f64",
                                      "left.u32 <> right.f64",
                                      "left.second <= right.micro",
                                      "left.zoned > right.utc",
                                      "left.day < right.day64",
                                      "left.time32 = right.time64",
                                      "left.d9 > right.d18",
                                      "left.i8 < right.d9 and left.i8 > -3",
                                      "left.u32 >= right.d18",
                                      "left.d9 < 2.5",
                                      "left.text < right.view",
                                      "left.word >= right.large or left.view > 'ab'",
                                      "left.bytes <= right.fixed",
                                      "left.fixed > right.fixed and right.fixed <= 'abc'",
                                      "left.text < null or left.text >= right.word",
                                      "left.d38 <= right.d38",
                                      "left.d76 = right.d76",
                                      "left.i64 < right.d38",
                                      "left.d9 > right.d76",
                                      "left.u64 <> right.d38 and left.d76 < right.i8",
                                      "left.d38 > 0.001",
                                      "not left.d76 <= -0.5",
                                      "not (left.text = right.text or left.second < '1970-01-01T00:00:01.5')"}) {
    auto const spec = where(condition, kKinds[cases++ % kKinds.size()]);
    if (testing::takes_compiled_case(cases)) expect_rows(left, right, left_there, right_there, spec, "");
  }
}

/// Decimals as Parquet files have them: of 128 bits, with values that fit 64.
TEST_F(DeviceConditions, OfWideDecimalsThatFit) {
  auto const left =
      testing::mixed_table<reference::Decimal128>(testing::decimal_of(TypeId::decimal128, 30), 90, 1, true);
  auto const right = testing::mixed_table<std::int64_t>(testing::decimal_of(TypeId::decimal64, 12), 80, 2, true);
  auto const left_there = upload(left);
  auto const right_there = upload(right);
  for (auto const* const condition : {"left.k < right.k", "left.k <> 0.05", "left.k >= right.plain"}) {
    auto spec = where("left.plain <= right.plain", JoinKind::full, "k");
    spec.on = {{"plain", "plain"}};
    spec.where = parse_condition(condition).value();
    spec.columns = std::vector<ColumnRef>{{Side::left, "plain"}, {Side::right, "k"}};
    expect_rows(left, right, left_there, right_there, spec, "");
  }
}

constexpr std::array kComparators{Comparator::equal,      Comparator::not_equal, Comparator::less,
                                  Comparator::less_equal, Comparator::greater,   Comparator::greater_equal};

/// A condition alone, on rows that are paired by a column of few values.
JoinSpec paired(Condition condition, JoinKind kind = JoinKind::inner) {
  JoinSpec spec;
  spec.on = {{"n", "n"}};
  spec.kind = kind;
  spec.where = std::move(condition);
  return spec;
}

/// Texts of every shape, in each layout on both sides, by every comparator.
TEST_F(DeviceConditions, StringsAreOrderedByTheirBytes) {
  constexpr std::array kLayouts{std::array{StringLayout::utf8, StringLayout::dictionary},
                                std::array{StringLayout::dictionary, StringLayout::large_utf8},
                                std::array{StringLayout::utf8_view, StringLayout::utf8},
                                std::array{StringLayout::large_utf8, StringLayout::utf8_view},
                                std::array{StringLayout::dictionary, StringLayout::dictionary},
                                std::array{StringLayout::binary, StringLayout::large_binary},
                                std::array{StringLayout::large_binary, StringLayout::binary_view},
                                std::array{StringLayout::binary_view, StringLayout::binary}};
  auto const shapes = testing::string_shapes();
  std::uint64_t turn = 0;
  for (auto const& [of_left, of_right] : kLayouts) {
    auto const left = StringTable{draw_texts(shapes, 130, 9, 1 + turn), of_left, 50, 31 + turn}.build();
    auto const right = StringTable{draw_texts(shapes, 110, 0, 2 + turn), of_right, 110, 32 + turn}.build();
    auto const left_there = upload(left);
    auto const right_there = upload(right);
    for (auto const comparator : kComparators) {
      auto const kind = kKinds[turn++ % kKinds.size()];
      if (!testing::takes_compiled_case(turn)) continue;
      expect_rows(left, right, left_there, right_there,
                  paired(compare(left_column("s"), comparator, right_column("s")), kind), "");
    }
  }
}

TEST_F(DeviceConditions, StringsAreOrderedAmongConstants) {
  auto const shapes = testing::string_shapes();
  auto const left = StringTable{draw_texts(shapes, 150, 9, 3), StringLayout::utf8, 60, 33}.build();
  auto const right = StringTable{draw_texts(shapes, 30, 5, 4), StringLayout::dictionary, 60, 34}.build();
  auto const left_there = upload(left);
  auto const right_there = upload(right);
  Random random(35);
  for (std::uint64_t turn = 0; turn < 36; ++turn) {
    auto const some = [&] { return constant(std::string_view(shapes[random() % shapes.size()])); };
    auto const condition = compare(left_column("s"), kComparators[turn % 6], some()) ||
                           (compare(right_column("s"), kComparators[turn / 6], some()) &&
                            !compare(left_column("s"), kComparators[random() % 6], some()));
    if (testing::takes_compiled_case(turn))
      expect_rows(left, right, left_there, right_there, paired(condition, kKinds[turn % kKinds.size()]), "");
  }
}

/// Binary of one size, whose last word is not full, with other sizes and with binary of any.
TEST_F(DeviceConditions, BinaryOfEachSizeIsOrdered) {
  auto const table_of = [](std::int32_t width, std::size_t rows, std::uint64_t seed) {
    Random random(seed);
    DataType type{TypeId::fixed_size_binary};
    type.fixed_byte_width = width;
    std::vector<std::byte> bytes;
    std::vector<bool> valid;
    testing::Texts texts;
    std::vector<std::int32_t> numbers;
    constexpr std::array<unsigned char, 5> kBytes{0, 1, 'x', 0x80, 0xff};
    for (std::size_t i = 0; i < rows; ++i) {
      // Alike but for one byte, if any.
      std::string text(static_cast<std::size_t>(width), 'x');
      text[random() % text.size()] = static_cast<char>(kBytes[random() % kBytes.size()]);
      for (auto const c : text) bytes.push_back(static_cast<std::byte>(c));
      valid.push_back(random() % 7 != 0);
      texts.emplace_back(text.substr(0, random() % 2 == 0 ? text.size() : random() % text.size()));
      numbers.push_back(static_cast<std::int32_t>(random() % 4));
    }
    std::vector<Batch> batches;
    batches.push_back(reference::make_batch(
        {reference::make_column(type, bytes, valid, 1), reference::make_strings(texts, TypeId::binary),
         reference::make_column<std::int32_t>(reference::typed(TypeId::int32), numbers)}));
    return Table({{"f", type, true}, {"b", {TypeId::binary}, true}, {"n", {TypeId::int32}, true}}, std::move(batches));
  };
  for (std::int32_t width = 1; width <= 17; ++width) {
    auto const left = table_of(width, 50, 40 + static_cast<std::uint64_t>(width));
    auto const right = table_of(width, 40, 60 + static_cast<std::uint64_t>(width));
    auto const longer = table_of(width + 3, 40, 80 + static_cast<std::uint64_t>(width));
    auto const left_there = upload(left);
    auto const turn = static_cast<std::uint64_t>(width);
    auto const comparator = kComparators[turn % 6];
    auto const other = kComparators[(turn + 3) % 6];
    auto const kind = kKinds[turn % kKinds.size()];
    expect_rows(left, right, left_there, upload(right),
                paired(compare(left_column("f"), comparator, right_column("f")), kind), "");
    if (!testing::takes_compiled_case(turn)) continue;
    expect_rows(left, longer, left_there, upload(longer),
                paired(compare(left_column("f"), other, right_column("f")), kind), "");
    expect_rows(left, right, left_there, upload(right),
                paired(compare(left_column("b"), other, right_column("f")), kind), "");
  }
}

/// 10^digits, at most 76, and what lies beside it, of either sign.
std::array<std::uint64_t, 4> power(std::int32_t digits, std::int64_t beside, bool is_negative) {
  keys::Words256 number{1};
  for (std::int32_t i = 0; i < digits; ++i) keys::multiply(number, 10);
  number[0] += static_cast<std::uint64_t>(beside);
  return is_negative ? keys::negated(number) : number;
}

/// Values around the powers of ten that a decimal's digits allow, 0, small ones.
Table decimals_of(DataType const& type, std::size_t rows, std::uint64_t seed, std::int32_t most_digits) {
  Random random(seed);
  auto const width = static_cast<std::size_t>(byte_width(type));
  std::vector<std::byte> bytes;
  std::vector<bool> valid;
  std::vector<std::int32_t> numbers;
  for (std::size_t i = 0; i < rows; ++i) {
    auto const digits = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(most_digits));
    auto const value = power(digits, digits < 2 ? 0 : static_cast<std::int64_t>(random() % 3) - 1, random() % 2 == 0);
    auto const* const first = reinterpret_cast<std::byte const*>(value.data());
    bytes.insert(bytes.end(), first, first + width);
    valid.push_back(random() % 8 != 0);
    numbers.push_back(static_cast<std::int32_t>(random() % 5));
  }
  std::vector<Batch> batches;
  batches.push_back(
      reference::make_batch({reference::make_column(type, bytes, valid, 2),
                             reference::make_column<std::int32_t>(reference::typed(TypeId::int32), numbers)}));
  return Table({{"d", type, true}, {"n", {TypeId::int32}, true}}, std::move(batches));
}

/// Decimals of all widths with scales that differ by up to 60 digits: one times its factor takes up to 76 digits.
TEST_F(DeviceConditions, DecimalsOfScalesFarApart) {
  struct Case {
    DataType left;
    DataType right;
  };
  std::array const cases{
      Case{reference::typed(TypeId::decimal128, 38, 0), reference::typed(TypeId::decimal128, 38, 38)},
      Case{reference::typed(TypeId::decimal256, 76, 30), reference::typed(TypeId::decimal128, 30, 2)},
      Case{reference::typed(TypeId::decimal256, 40, 2), reference::typed(TypeId::decimal256, 70, 38)},
      Case{reference::typed(TypeId::decimal64, 16, 1), reference::typed(TypeId::decimal256, 76, 60)},
      Case{reference::typed(TypeId::decimal32, 9, -3), reference::typed(TypeId::decimal128, 38, 20)},
      Case{reference::typed(TypeId::decimal128, 20, 2), reference::typed(TypeId::decimal128, 20, 7)},
      Case{reference::typed(TypeId::int64), reference::typed(TypeId::decimal128, 38, 19)}};
  std::uint64_t turn = 0;
  for (auto const& [left_type, right_type] : cases) {
    auto const digits_of = [](DataType const& type) { return type.precision != 0 ? type.precision : 18; };
    auto const left = decimals_of(left_type, 90, 50 + turn, digits_of(left_type));
    auto const right = decimals_of(right_type, 80, 51 + turn, digits_of(right_type));
    auto const left_there = upload(left);
    auto const right_there = upload(right);
    for (auto const comparator : kComparators) {
      auto const kind = kKinds[turn++ % kKinds.size()];
      if (!testing::takes_compiled_case(turn)) continue;
      SCOPED_TRACE(to_string(left_type) + ", " + to_string(right_type));
      expect_rows(left, right, left_there, right_there,
                  paired(compare(left_column("d"), comparator, right_column("d")), kind), "");
      expect_rows(left, right, left_there, right_there,
                  paired(compare(left_column("d"), comparator, constant(9'999)) ||
                             compare(right_column("d"), comparator, constant(-0.001)),
                         kind),
                  "");
    }
  }
}

/// A value of more digits than its type has, which is beyond the type of both: an error on the host, and so here.
TEST_F(DeviceConditions, ValuesBeyondTheTypeOfBothAreTheHostsError) {
  auto const left = decimals_of(reference::typed(TypeId::decimal128, 20, 2), 90, 60, 38);
  auto const right = decimals_of(reference::typed(TypeId::decimal128, 20, 7), 80, 61, 20);
  auto const spec = paired(compare(left_column("d"), Comparator::less, right_column("d")));
  JoinOptions on_host;
  on_host.path = Path::cpu;
  auto const expected = collect_join(left.view(), right.view(), spec, on_host);
  auto const left_there = upload(left);
  auto const right_there = upload(right);
  auto const refused = collect_join(left_there.view(), right_there.view(), spec, {});
  ASSERT_FALSE(expected);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::invalid_input);
  EXPECT_EQ(refused.error().message(), expected.error().message());
  auto const forced = engine().join(left_there.view(), right_there.view(), spec, tuned("placement=device"));
  ASSERT_FALSE(forced);
  EXPECT_EQ(forced.error().code(), ErrorCode::invalid_input);
}

/// Host tables that go to the device whole are compared there likewise.
TEST_F(DeviceConditions, HostTablesThatGoWholeAreComparedThere) {
  auto const left = decimals_of(reference::typed(TypeId::decimal128, 38, 2), 70, 70, 38);
  auto const right = decimals_of(reference::typed(TypeId::decimal256, 70, 9), 60, 71, 70);
  auto const spec = paired(compare(left_column("d"), Comparator::less_equal, right_column("d")), JoinKind::full);
  auto whole = tuned("placement=device");
  whole.path = Path::compute;
  whole.device = "0";
  auto const joined = engine().join(left.view(), right.view(), spec, whole);
  ASSERT_TRUE(joined) << joined.error().describe();
  expect_same(collect(**joined).value(), reference::reference_join_table(left.view(), right.view(), spec));
}

TEST_F(DeviceConditions, RandomOnesEqualTheOracle) {
  auto const cases = testing::is_bounded() ? 12 : testing::random_cases(Path::compute, 0, 60);
  auto const first = testing::first_seed(13'000);
  for (auto seed = first; seed < first + cases && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    auto left = testing::random_mixed_table(random);
    auto right = testing::random_mixed_table(random);
    auto spec = where("left.n = 1", kKinds[random() % kKinds.size()]);
    spec.where = testing::mixed_condition(left.schema(), 1 + random() % 3, random());
    if (to_string(*spec.where).find("coded") != std::string::npos) continue;  // a dictionary that stays on the host
    spec.nulls_equal = random() % 3 == 0;
    spec.ordered = random() % 3 == 0;
    left = testing::pick(left, testing::columns_there_and_n());
    right = testing::pick(right, testing::columns_there_and_n());
    expect_rows(left, right, upload(left), upload(right), spec, "");
  }
}

}  // namespace
}  // namespace garuda
