#include "operators/resolve/tuning_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "operators/resolve/tuning_text.hpp"

namespace garuda::resolve {
namespace {

constexpr std::size_t kColumns = 5;
using Row = std::array<std::string, kColumns>;

std::string line(Row const& row, std::array<std::size_t, kColumns> const& widths) {
  std::string text = "|";
  for (std::size_t i = 0; i < kColumns; ++i) text += fmt::format(" {:<{}} |", row[i], widths[i]);
  return text + '\n';
}

template <class Tuning>
std::string table(std::span<Knob<Tuning> const> knobs) {
  std::vector<Row> rows{{"option", "paths", "values", "default", "decides"}};
  for (auto const& knob : knobs)
    rows.push_back(
        {std::string(knob.name), std::string(knob.paths), allowed_values(knob), "auto", std::string(knob.about)});
  std::array<std::size_t, kColumns> widths{};
  for (auto const& row : rows)
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  Row rules;
  for (std::size_t i = 0; i < kColumns; ++i) rules[i].assign(widths[i], '-');
  rows.insert(rows.begin() + 1, rules);
  std::string text;
  for (auto const& row : rows) text += line(row, widths);
  return text;
}

}  // namespace

std::string tuning_tables() {
  return fmt::format("Of garuda join:\n\n{}\nOf garuda group-by:\n\n{}", table(join_knobs()), table(group_by_knobs()));
}

}  // namespace garuda::resolve
