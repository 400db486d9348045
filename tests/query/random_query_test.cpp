// Random queries on every path against a slow reference, each in several forms that mean the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/type_rows.hpp"
#include "garuda/engine.hpp"
#include "garuda/stored_table.hpp"
#include "tests/engine/engine_test.hpp"
#include "tests/query/random_queries.hpp"
#include "tests/query/reference_expression.hpp"
#include "tests/query/reference_query.hpp"
#include "tests/reference/cell_values.hpp"
#include "tests/unwrap.hpp"

namespace garuda {
namespace {

using reference::Failures;
using Cells = std::vector<reference::Cell>;
using testing::RandomQuery;

/// The reference's answer to a query.
struct Expected {
  Schema schema;
  std::vector<Cells> rows;
  bool is_ordered = false;
  bool may_fail = false;   ///< Some value cannot be computed.
  bool must_fail = false;  ///< Some value that the result needs cannot be computed.
};

/// Whether the order of rows that are equal but for the signs of zeros decides what the query gives.
bool has_limit(Query const& query) {
  return std::holds_alternative<Query::Limit>(query.node().operation) ||
         std::holds_alternative<Query::NumberRows>(query.node().operation) ||
         std::ranges::any_of(query.node().inputs, has_limit);
}

/// A row with zeros of one sign.
Cells with_one_zero(Schema const& schema, Cells row) {
  for (std::size_t c = 0; c < row.size(); ++c)
    if (row[c]) row[c] = reference::canonical(schema[c].type, *row[c]);
  return row;
}

bool has_join(Query const& query) {
  return std::holds_alternative<Query::Join>(query.node().operation) ||
         std::ranges::any_of(query.node().inputs, has_join);
}

Expected expected_of(Query const& query) {
  Expected expected;
  try {
    auto const relation = reference::run_reference(query, Failures::at_once);
    expected = {relation.schema, reference::texts_of(relation), relation.is_ordered};
    return expected;
  } catch (expr::Failure const&) {
    expected.may_fail = true;
  }
  std::vector<Failures> modes{Failures::when_read};
  if (has_join(query)) modes.push_back(Failures::not_from_filters);
  for (auto const failures : modes) {
    try {
      auto const relation = reference::run_reference(query, failures);
      expected.schema = relation.schema;
      expected.rows = reference::texts_of(relation);
      expected.is_ordered = relation.is_ordered;
      return expected;
    } catch (expr::Failure const&) {
      expected.must_fail = failures == modes.back();
    }
  }
  return expected;
}

std::string shown(Cells const& row) {
  std::string text;
  for (auto const& cell : row) text += (text.empty() ? "" : ", ") + cell.value_or("null");
  return text;
}

bool is_same_type(DataType const& found, DataType const& wanted) {
  auto const plain = reference::plain_type(found);
  if (reference::is_decimal(plain.id)) return reference::is_decimal(wanted.id) && plain.scale == wanted.scale;
  return plain == wanted;
}

/// Groups of a few rows fit the first limit. Build sides need the second one, since the least takes some 40 kB.
constexpr std::uint64_t kTinyLimit = 4'000;
constexpr std::uint64_t kSmallLimit = 42'000;

/// Whether a query ended because its limit has no room for what cannot be cut: the tables of a join, a group.
bool is_too_large(Error const& error, QueryOptions const& options) {
  auto const text = error.describe();
  return error.code() == ErrorCode::limit_exceeded && options.memory_limit_bytes != 0 &&
         (text.find("bytes of host memory") != std::string::npos ||
          text.find("all values of a group at once") != std::string::npos);
}

/// Counts of what a run met, so that it cannot pass by meeting nothing.
struct Tally {
  std::uint64_t compared = 0;
  std::uint64_t rows = 0;
  std::uint64_t failed = 0;
  std::uint64_t left_out = 0;
  std::uint64_t spilled = 0;
  std::uint64_t too_large = 0;  ///< for the memory limit
};

class RandomQueries : public testing::EngineTest {
 protected:
  /// The first way in which the engine's answer is not the reference's; empty: there is none.
  static std::string difference(Query const& query, Expected const& expected, QueryOptions const& options,
                                Tally& tally) {
    auto const result = engine().run(query, options);
    if (!result && is_too_large(result.error(), options)) {
      ++tally.too_large;
      return {};
    }
    // Constants that no type holds are refused before there are rows; the reference meets them in a row.
    if (!result && result.error().code() == ErrorCode::usage && expected.rows.empty()) {
      ++tally.left_out;
      return {};
    }
    if (!result) return failure(result.error(), expected);
    auto const counters = (*result)->stats().counters;
    if (std::ranges::any_of(counters, [](auto const& counter) { return counter.first == "spilled_bytes"; }))
      ++tally.spilled;
    auto const table = collect(**result);
    if (!table) return failure(table.error(), expected);
    if (expected.must_fail) return "the query gives rows, and a value of them cannot be computed";
    auto const& schema = table->schema();
    if (schema.size() != expected.schema.size()) return "another number of columns";
    for (std::size_t c = 0; c < schema.size(); ++c) {
      if (!is_same_type(schema[c].type, expected.schema[c].type))
        return "column " + schema[c].name + " is " + to_string(schema[c].type) + ", not " +
               to_string(expected.schema[c].type);
      if (schema[c].name != expected.schema[c].name)
        return "a column is called " + schema[c].name + ", not " + expected.schema[c].name;
    }
    auto found = reference::read_table(table->view()).rows;
    auto wanted = expected.rows;
    if (found.size() != wanted.size())
      return std::to_string(found.size()) + " rows, not " + std::to_string(wanted.size());
    if (expected.is_ordered || has_limit(query))
      for (auto* rows : {&found, &wanted})
        for (auto& row : *rows) row = with_one_zero(expected.schema, std::move(row));
    for (auto& row : found)
      for (std::size_t c = 0; c < row.size(); ++c) row[c] = reference::with_one_nan(expected.schema[c].type, row[c]);
    if (!expected.is_ordered) {
      std::ranges::sort(found);
      std::ranges::sort(wanted);
    }
    for (std::size_t i = 0; i < found.size(); ++i)
      if (found[i] != wanted[i])
        return "row " + std::to_string(i) + " is " + shown(found[i]) + ", not " + shown(wanted[i]);
    return {};
  }
  static std::string failure(Error const& error, Expected const& expected) {
    if (expected.may_fail && error.code() == ErrorCode::invalid_input) return {};
    return error.describe();
  }

  /// The first rows of a query by the reference.
  static std::string first_rows(Query const& query) {
    auto const expected = expected_of(query);
    std::string text;
    for (std::size_t i = 0; i < std::min<std::size_t>(expected.rows.size(), 12); ++i)
      text += "  " + shown(expected.rows[i]) + "\n";
    return text + "  of " + std::to_string(expected.rows.size()) + "\n";
  }

  /// Compares a query, and what is below it where it differs, so that the smallest tree is shown.
  static void compare(Query const& query, QueryOptions const& options, std::uint64_t seed, Tally& tally) {
    std::optional<Expected> expected;
    try {
      expected = expected_of(query);
    } catch (reference::TooLarge const&) {
      ++tally.left_out;
      return;
    }
    auto const different = difference(query, *expected, options, tally);
    ++tally.compared;
    tally.rows += expected->rows.size();
    if (expected->may_fail) ++tally.failed;
    if (different.empty()) return;
    for (auto const& input : query.node().inputs) {
      compare(input, options, seed, tally);
      if (HasFailure()) return;
    }
    std::string below;
    for (auto const& input : query.node().inputs) below += first_rows(input);
    ADD_FAILURE() << different << "\nrows below:\n"
                  << below << "\nseed " << seed << " on " << to_string(options.path) << ":\n"
                  << testing::to_text(query);
  }

  using StoredTables = std::map<Schema const*, StoredTable>;

  /// The query over its tables in their stored form, which `stored` keeps.
  static Query over_stored(Query const& query, StoredTables& stored) {
    auto node = query.node();
    if (auto const* const scan = std::get_if<Query::Scan>(&node.operation)) {
      auto const* const schema = &scan->table.schema();
      auto found = stored.find(schema);
      if (found == stored.end()) found = stored.emplace(schema, testing::value_of(store(scan->table))).first;
      return Query::scan(ScannedTable(found->second));
    }
    for (auto& input : node.inputs) input = over_stored(input, stored);
    return Query::of(std::move(node));
  }

  /// Compares the query over stored tables.
  static void compare_stored(Query const& query, QueryOptions const& options, std::uint64_t seed, Tally& tally) {
    StoredTables stored;
    try {
      auto const different = difference(over_stored(query, stored), expected_of(query), options, tally);
      ++tally.compared;
      if (different.empty()) return;
      for (auto const& input : query.node().inputs) {
        compare_stored(input, options, seed, tally);
        if (HasFailure()) return;
      }
      ADD_FAILURE() << different << "\nseed " << seed << " on " << to_string(options.path) << " over stored tables:\n"
                    << testing::to_text(query);
    } catch (reference::TooLarge const&) {
      ++tally.left_out;
    }
  }

  /// One case: a query, the same over stored tables, and two that mean the same.
  static void run_case(std::uint64_t seed, QueryOptions options, Tally& tally) {
    try {
      RandomQuery random(seed);
      options.threads = 1 + static_cast<std::uint32_t>(random.draw().below(3));
      compare(random.query(), options, seed, tally);
      if (!HasFailure()) compare_stored(random.query(), options, seed, tally);
      for (int form = 0; form < 2 && !HasFailure(); ++form) compare(random.rewritten(), options, seed, tally);
    } catch (std::runtime_error const& error) {
      ++tally.left_out;
      if (std::getenv("GARUDA_TEST_SEED") != nullptr) std::cout << seed << ": " << error.what() << "\n";
    }
  }

  static Tally run_cases(QueryOptions const& options, std::uint64_t cases) {
    Tally tally;
    auto const first = testing::first_seed(1);
    for (auto seed = first; seed < first + cases && !HasFailure(); ++seed) run_case(seed, options, tally);
    std::cout << to_string(options.path) << ": " << tally.compared << " queries, " << tally.rows << " rows, "
              << tally.failed << " with values that cannot be computed, " << tally.left_out << " left out, "
              << tally.spilled << " spilled, " << tally.too_large << " too large\n";
    if (cases < 100 || HasFailure()) return tally;
    EXPECT_GT(tally.rows, 2 * tally.compared);
    EXPECT_LT(tally.failed, tally.compared / 4);
    EXPECT_LT(tally.left_out, tally.compared / 10);
    return tally;
  }
};

/// Cases of a path: GARUDA_QUERY_CASES, or as many as the tier takes.
std::uint64_t cases_of(Path path) {
  auto const* const asked = std::getenv("GARUDA_QUERY_CASES");
  if (asked != nullptr) return std::strtoull(asked, nullptr, 10);
  return testing::random_cases(path, testing::full_tests() ? 3'000 : 800, 20);
}

TEST_F(RandomQueries, GiveTheRowsOfTheReference) {
  for (auto const& options : all_paths<QueryOptions>()) run_cases(options, cases_of(options.path));
}

TEST_F(RandomQueries, GiveTheSameRowsWhereTheyDoNotFitTheMemoryLimit) {
  std::uint64_t spilled = 0;
  for (auto const limit : {kTinyLimit, kSmallLimit}) {
    QueryOptions options;
    options.path = Path::cpu;
    options.memory_limit_bytes = limit;
    auto const cases = cases_of(options.path) / 4;
    auto const tally = run_cases(options, cases);
    if (cases < 100 || HasFailure()) return;
    spilled += tally.spilled;
    // The first limit has no room for joins, which 38 to 52 of 100 queries have by twenty seeds. At the second one,
    // those fail that have a large group or many equal keys.
    EXPECT_LT(tally.too_large, limit == kTinyLimit ? tally.compared * 2 / 3 : tally.compared / 20);
    EXPECT_GT(spilled, tally.compared / 50);
  }
}

}  // namespace
}  // namespace garuda
