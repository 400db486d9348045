#include "operators/resolve/join_columns.hpp"

#include <gtest/gtest.h>

namespace garuda::resolve {
namespace {

Schema schema_of(std::initializer_list<char const*> names) {
  Schema schema;
  for (auto const* name : names) schema.push_back({name, {}, true});
  return schema;
}

JoinSpec on(char const* left, char const* right) {
  JoinSpec spec;
  spec.on = {{left, right}};
  return spec;
}

TEST(JoinColumns, LeftThenRightWithoutItsKey) {
  auto const join =
      resolve_join(schema_of({"k", "a", "b"}), schema_of({"b", "k2", "c", "a_right", "a"}), on("k", "k2"));
  ASSERT_TRUE(join) << join.error().describe();
  ASSERT_EQ(join->keys.size(), 1U);
  EXPECT_EQ(join->keys[0].left, 0U);
  EXPECT_EQ(join->keys[0].right, 1U);
  EXPECT_EQ(join->names, (std::vector<std::string>{"k", "a", "b", "b_right", "c", "a_right", "a_right_right"}));
}

TEST(JoinColumns, ChosenColumnsKeepTheirOrder) {
  auto spec = on("k", "k");
  spec.columns = {{Side::right, "k"}, {Side::left, "k"}, {Side::right, "v"}};
  auto const join = resolve_join(schema_of({"k"}), schema_of({"v", "k"}), spec);
  ASSERT_TRUE(join) << join.error().describe();
  EXPECT_EQ(join->names, (std::vector<std::string>{"k_right", "k", "v"}));
  EXPECT_EQ(join->output[0].column, 1U);
}

TEST(JoinColumns, NamesTheSideAndTheNearestColumn) {
  auto const join = resolve_join(schema_of({"custkey"}), schema_of({"orderkey"}), on("custkey", "orderky"));
  ASSERT_FALSE(join);
  EXPECT_EQ(join.error().code(), ErrorCode::invalid_input);
  EXPECT_NE(join.error().message().find("right table"), std::string::npos);
  EXPECT_NE(join.error().message().find("orderkey"), std::string::npos);
}

TEST(JoinColumns, KeysOfBothSidesAreOneColumnWhereRowsComeAlone) {
  auto spec = on("k", "l");
  spec.on.emplace_back("m", "n");
  for (auto const kind : {JoinKind::inner, JoinKind::full}) {
    spec.kind = kind;
    auto const join = resolve_join(schema_of({"a", "m", "k"}), schema_of({"l", "b", "n"}), spec);
    ASSERT_TRUE(join) << join.error().describe();
    EXPECT_EQ(join->names, (std::vector<std::string>{"a", "m", "k", "b"}));
    EXPECT_EQ(join->shares_keys, kind == JoinKind::full);
    EXPECT_EQ(join->key_columns(Side::right), (std::vector<std::size_t>{0, 2}));
    EXPECT_EQ(join->shared_key({Side::left, 1}), kind == JoinKind::full ? std::optional<std::size_t>(1) : std::nullopt);
  }
}

TEST(JoinColumns, TakesOneToSixteenPairsOfDifferentColumns) {
  auto twice = on("k", "k");
  twice.on.emplace_back("k", "l");
  auto const again = resolve_join(schema_of({"k"}), schema_of({"k", "l"}), twice);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), ErrorCode::usage);
  EXPECT_NE(again.error().message().find("left.k"), std::string::npos);
  JoinSpec many;
  Schema schema;
  for (int i = 0; i < 17; ++i) {
    schema.push_back({"c" + std::to_string(i), {}, true});
    many.on.emplace_back(schema.back().name, schema.back().name);
  }
  EXPECT_EQ(resolve_join(schema, schema, many).error().code(), ErrorCode::usage);
  many.on.pop_back();
  EXPECT_TRUE(resolve_join(schema, schema, many));
  EXPECT_EQ(resolve_join(schema_of({"k"}), schema_of({"k"}), {}).error().code(), ErrorCode::usage);
  auto none = on("k", "k");
  none.columns = std::vector<ColumnRef>{};
  EXPECT_EQ(resolve_join(schema_of({"k"}), schema_of({"k"}), none).error().code(), ErrorCode::usage);
}

}  // namespace
}  // namespace garuda::resolve
