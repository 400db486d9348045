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
  EXPECT_EQ(join->left_key, 0U);
  EXPECT_EQ(join->right_key, 1U);
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

TEST(JoinColumns, TakesExactlyOneKeyPair) {
  EXPECT_EQ(resolve_join(schema_of({"k"}), schema_of({"k"}), {}).error().code(), ErrorCode::usage);
  auto none = on("k", "k");
  none.columns = std::vector<ColumnRef>{};
  EXPECT_EQ(resolve_join(schema_of({"k"}), schema_of({"k"}), none).error().code(), ErrorCode::usage);
}

}  // namespace
}  // namespace garuda::resolve
