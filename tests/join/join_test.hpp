// The fixture of tests that run whole joins on every path of one engine.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "garuda/engine.hpp"
#include "tests/engine/engine_test.hpp"
#include "tests/join/join_kinds.hpp"
#include "tests/reference/reference_join.hpp"

namespace garuda::testing {

class JoinTest : public EngineTest {
 protected:
  static std::vector<JoinOptions> all_paths() { return EngineTest::all_paths<JoinOptions>(); }

  static JoinSpec spec_of(JoinKind kind, bool nulls_equal = false, bool ordered = false) {
    JoinSpec spec;
    spec.on = {{"k", "k"}};
    spec.kind = kind;
    spec.nulls_equal = nulls_equal;
    spec.ordered = ordered;
    return spec;
  }

  /// The join's rows, and their number, counted, are the oracle's.
  static void expect_join(Table const& left, Table const& right, JoinSpec const& spec, JoinOptions const& options) {
    SCOPED_TRACE(std::string(to_string(options.path)) + " " + describe(spec) + " " + to_string(options.tuning));
    auto const expected = reference::reference_join_table(left.view(), right.view(), spec);
    auto const counted = engine().join_count(left.view(), right.view(), spec, options);
    ASSERT_TRUE(counted) << counted.error().describe();
    EXPECT_EQ(counted->rows, expected.rows.size());
    auto const result = engine().join(left.view(), right.view(), spec, options);
    ASSERT_TRUE(result) << result.error().describe();
    auto const joined = collect(**result);
    ASSERT_TRUE(joined) << joined.error().describe();
    expect_no_null_where_there_is_none(*joined);
    expect_rows(reference::read_table(joined->view()), expected, spec);
    EXPECT_EQ((*result)->stats().rows_out, expected.rows.size());
  }

  static void expect_no_null_where_there_is_none(Table const& table) {
    for (auto const& batch : table.batches())
      for (std::size_t c = 0; c < batch.columns.size(); ++c) {
        EXPECT_EQ(batch.columns[c].length, batch.num_rows);
        if (!table.schema()[c].nullable) {
          EXPECT_EQ(count_nulls(batch.columns[c]), 0) << table.schema()[c].name;
        }
      }
  }

  static JoinOptions tuned(JoinOptions options, char const* tuning) {
    options.tuning = parse_join_tuning(tuning).value();
    return options;
  }
};

}  // namespace garuda::testing
