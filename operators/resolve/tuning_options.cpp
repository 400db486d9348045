#include "operators/resolve/tuning_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "operators/resolve/tuning_text.hpp"

namespace garuda::resolve {
namespace {

constexpr std::size_t kColumns = 5;
using Row = std::array<std::string, kColumns>;

/// The rows of one operator's options.
template <class Tuning>
std::vector<Row> rows_of(std::span<Knob<Tuning> const> knobs, char const* operators) {
  std::vector<Row> rows;
  for (auto const& knob : knobs)
    rows.push_back(
        {std::string(knob.name), operators, std::string(knob.paths), allowed_values(knob), std::string(knob.about)});
  return rows;
}

/// A row of an option that both have.
Row merged(Row const& join, Row const& group_by) {
  Row row{join[0], "both"};
  for (std::size_t i = 2; i < kColumns; ++i)
    row[i] = join[i] == group_by[i] ? join[i] : fmt::format("join: {}; group-by: {}", join[i], group_by[i]);
  return row;
}

}  // namespace

std::string tuning_table() {
  std::vector<Row> rows{{"option", "of", "paths", "values", "decides"}, {}};
  auto const joins = rows_of(join_knobs(), "join");
  rows.insert(rows.end(), joins.begin(), joins.end());
  for (auto& group_by : rows_of(group_by_knobs(), "group-by")) {
    auto const same = std::ranges::find(rows, group_by[0], [](Row const& row) { return row[0]; });
    if (same == rows.end())
      rows.push_back(std::move(group_by));
    else
      *same = merged(*same, group_by);
  }
  // The last column is as wide as each row's own text.
  std::array<std::size_t, kColumns> widths{};
  for (auto const& row : rows)
    for (std::size_t i = 0; i + 1 < kColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  for (std::size_t i = 0; i < kColumns; ++i) rows[1][i].assign(std::max<std::size_t>(widths[i], 3), '-');
  std::string text;
  for (auto const& row : rows) {
    for (std::size_t i = 0; i < kColumns; ++i) text += fmt::format("| {:<{}} ", row[i], widths[i]);
    text += "|\n";
  }
  return text;
}

}  // namespace garuda::resolve
