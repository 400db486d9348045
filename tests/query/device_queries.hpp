// The fixture of tests that compare operators of queries on a device with those of the host, and tables for them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "garuda/engine.hpp"
#include "tests/engine/engine_test.hpp"
#include "tests/query/random_expressions.hpp"
#include "tests/query/random_queries.hpp"
#include "tests/query/reference_query.hpp"
#include "tests/reference/column_builder.hpp"
#include "tests/reference/data_types.hpp"
#include "tests/reference/reference_join.hpp"

namespace garuda::testing {

using Rows = std::vector<std::vector<std::optional<std::string>>>;

/// Compares queries on devices with those of the host.
class DeviceQueryTest : public EngineTest {
 protected:
  /// Options of the paths that evaluate expressions on a device, on each device that has buffer addresses.
  static std::vector<QueryOptions> device_paths() {
    auto all = all_paths<QueryOptions>();
    std::erase_if(all, [](QueryOptions const& options) {
      return (options.path != Path::compute && options.path != Path::graphics) || !has_addresses(options);
    });
    return all;
  }

  /// The compute path runs where a device has buffer addresses.
  static bool has_addresses(QueryOptions const& options) {
    return std::ranges::any_of(all_paths<QueryOptions>(), [&](QueryOptions const& other) {
      return other.path == Path::compute && other.device == options.device;
    });
  }

  /// The rows of a query, with their bits, or its error.
  struct Outcome {
    Rows rows;
    std::string error;
    Plan plan;

    std::string text() const {
      auto shown = error;
      for (auto const& row : rows)
        for (auto const& value : row) shown += value.value_or("null") + ",";
      return shown;
    }
  };

  static Outcome outcome_of(Query const& query, QueryOptions const& options) {
    Outcome outcome;
    auto const result = engine().run(query, options);
    if (!result) {
      outcome.error = result.error().describe();
      return outcome;
    }
    outcome.plan = (*result)->plan();
    auto const table = collect(**result);
    if (!table) {
      outcome.error = table.error().describe();
      return outcome;
    }
    outcome.rows = reference::read_table(table->view()).rows;
    for (auto& row : outcome.rows)
      for (std::size_t c = 0; c < row.size(); ++c)
        row[c] = reference::with_one_nan(table->schema()[c].type, std::move(row[c]));
    return outcome;
  }

  static QueryOptions on_host() {
    QueryOptions options;
    options.path = Path::cpu;
    return options;
  }

  /// Nodes of a plan that ran on a device, but for tables.
  static std::size_t device_nodes(Plan const& plan) {
    std::size_t nodes = plan.on_device && plan.operation != "table" ? 1 : 0;
    for (auto const& input : plan.inputs) nodes += device_nodes(input);
    return nodes;
  }

  /// Whether the rows of a query are those of the host, in any order. Returns the nodes that ran on the device.
  static std::size_t compare(Query const& query, QueryOptions const& options, std::string const& what) {
    return device_nodes(compared(query, options, what));
  }

  /// As compare(); returns the plan.
  static Plan compared(Query const& query, QueryOptions const& options, std::string const& what) {
    auto host = on_host();
    host.threads = options.threads;
    auto expected = outcome_of(query, host);
    auto found = outcome_of(query, options);
    EXPECT_EQ(found.error, expected.error) << what << "\n" << to_text(query);
    std::ranges::sort(expected.rows);
    std::ranges::sort(found.rows);
    EXPECT_EQ(found.rows.size(), expected.rows.size()) << what << "\n" << to_text(query);
    for (std::size_t i = 0; i < std::min(found.rows.size(), expected.rows.size()); ++i) {
      if (found.rows[i] == expected.rows[i]) continue;
      ADD_FAILURE() << what << ": row " << i << " is " << Outcome{{found.rows[i]}, {}, {}}.text() << " not "
                    << Outcome{{expected.rows[i]}, {}, {}}.text() << "\n"
                    << to_text(query);
      break;
    }
    return found.plan;
  }
};

/// Rows as those of TPC-H's lineitem: decimals, dates and flags.
inline Table items(std::size_t rows) {
  Draw draw(7);
  std::vector<std::optional<__int128>> prices;
  std::vector<std::optional<__int128>> discounts;
  std::vector<std::optional<std::int32_t>> days;
  std::vector<std::optional<std::string>> flags;
  for (std::size_t i = 0; i < rows; ++i) {
    prices.emplace_back(90'000 + static_cast<__int128>(draw.below(10'000'000)));
    discounts.emplace_back(static_cast<__int128>(draw.below(11)));
    days.emplace_back(8'000 + static_cast<std::int32_t>(draw.below(2'500)));
    flags.emplace_back(draw.of<std::string>({"A", "N", "R"}));
  }
  auto const decimal = reference::typed(TypeId::decimal128, 15, 2);
  std::vector<Batch> batches;
  batches.push_back(reference::make_batch(std::vector{
      reference::make_column<__int128>(decimal, prices, 0), reference::make_column<__int128>(decimal, discounts, 0),
      reference::make_column<std::int32_t>(reference::typed(TypeId::date32), days, 0),
      reference::make_strings(flags, TypeId::utf8)}));
  return Table(Schema{{"price", decimal},
                      {"discount", decimal},
                      {"day", reference::typed(TypeId::date32)},
                      {"flag", reference::typed(TypeId::utf8)}},
               std::move(batches));
}

inline ScalarExpression decimal(std::int64_t value, std::int32_t precision, std::int32_t scale) {
  return literal(Literal{reference::typed(TypeId::decimal128, precision, scale),
                         std::array{static_cast<std::uint64_t>(value), value < 0 ? ~std::uint64_t{0} : 0}});
}

inline ScalarExpression day(std::int64_t value) { return literal(Literal{reference::typed(TypeId::date32), value}); }

/// Operators of a plan that ran on a device by this path, but for tables.
inline std::vector<std::string> operations_on(Path path, Plan const& plan) {
  std::vector<std::string> operations;
  if (plan.on_device && plan.path == path && plan.operation != "table") operations.push_back(plan.operation);
  for (auto const& input : plan.inputs) std::ranges::move(operations_on(path, input), std::back_inserter(operations));
  return operations;
}

}  // namespace garuda::testing
