// Shared by the tests of the kinds of join.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "garuda/join.hpp"
#include "tests/reference/reference_join.hpp"

namespace garuda::testing {

inline constexpr JoinKind kJoinKinds[] = {JoinKind::inner, JoinKind::left, JoinKind::right, JoinKind::full,
                                          JoinKind::semi,  JoinKind::anti, JoinKind::mark};

inline bool has_left_columns_only(JoinKind kind) {
  return kind == JoinKind::semi || kind == JoinKind::anti || kind == JoinKind::mark;
}

/// Columns of tables that have `k` and `p`, one of them twice, as a join of that kind may have.
inline std::vector<ColumnRef> some_columns(JoinKind kind) {
  if (has_left_columns_only(kind)) return {{Side::left, "p"}, {Side::left, "k"}, {Side::left, "p"}};
  return {{Side::right, "p"}, {Side::left, "k"}, {Side::right, "p"}};
}

inline std::string describe(JoinSpec const& spec) {
  return std::string(to_string(spec.kind)) + (spec.nulls_equal ? ", nulls equal" : "") +
         (spec.ordered ? ", ordered" : "") + (spec.columns ? ", some columns" : "") +
         (spec.where ? ", where " + to_string(*spec.where) : "");
}

/// The rows of a join are the oracle's, in its order where the spec or the kind gives one.
inline void expect_rows(reference::TextTable const& actual, reference::TextTable const& expected,
                        JoinSpec const& spec) {
  EXPECT_EQ(actual.names, expected.names);
  if (spec.ordered || has_left_columns_only(spec.kind))
    EXPECT_EQ(actual.rows, expected.rows);
  else
    EXPECT_EQ(reference::sorted(actual), reference::sorted(expected));
}

}  // namespace garuda::testing
