// The options of --tuning: their text in tunings and plans, and their table.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "garuda/group_by.hpp"
#include "garuda/join.hpp"
#include "operators/resolve/tuning_text.hpp"

namespace garuda::resolve {
namespace {

// Facts and rules that joins and group-bys have in common.
constexpr std::array kAddressChoices{Choice{"auto", 0}, Choice{"hash", 1}, Choice{"direct", 2}};
constexpr std::array kUploadChoices{Choice{"auto", 0}, Choice{"map", 1}, Choice{"stage", 2}, Choice{"import", 3}};
constexpr std::array kPlacementChoices{Choice{"auto", 0}, Choice{"device", 1}, Choice{"slices", 2}};

/// The knobs of an operator between those of RunTuning, in the order in which they are printed. `Tuning` derives from
/// RunTuning.
template <class Tuning>
std::vector<Knob<Tuning>> with_run_knobs(std::vector<Knob<Tuning>> own) {
  std::vector<Knob<Tuning>> all{choice_knob<Tuning>("address", kAddressChoices, &Tuning::address,
                                                    "graphics; group-bys also on compute",
                                                    "how a key finds its pixel or slot: by a hash, or as a number")};
  for (auto& knob : own) all.push_back(std::move(knob));
  for (auto& knob :
       {choice_knob<Tuning>("placement", kPlacementChoices, &Tuning::placement, "compute",
                            "whether tables go to the device whole, or slice by slice"),
        choice_knob<Tuning>("upload", kUploadChoices, &Tuning::upload, "graphics, compute, cuda",
                            "how bytes reach the device"),
        number_knob<Tuning>("radix_bits", 0, 16, &Tuning::radix_bits, "all", "partitions are 2 to this power", -1),
        number_knob<Tuning>("slice_rows", 1, 1 << 24, &Tuning::slice_rows, "all", "most rows of a table in one pass"),
        number_knob<Tuning>("lanes", 1, 256, &Tuning::lanes, "all", "partitions in flight"),
        number_knob<Tuning>("chunk_rows", 1, 1 << 30, &Tuning::chunk_rows, "all", "rows of a batch of the result")})
    all.push_back(knob);
  return all;
}

constexpr std::array kStorage{Choice{"auto", 0}, Choice{"stack", 1}, Choice{"runs", 2}};
constexpr std::array kProbe{Choice{"auto", 0}, Choice{"instanced", 1}, Choice{"output", 2}};
constexpr std::array kMatching{Choice{"auto", 0}, Choice{"draw", 1}, Choice{"compute", 2}};
constexpr std::array kBuild{Choice{"auto", 0}, Choice{"left", 1}, Choice{"right", 2}};

constexpr std::array kKeys{Choice{"auto", 0}, Choice{"packed", 1}, Choice{"words", 2}, Choice{"rowid", 3}};

constexpr std::array kGroupings{Choice{"auto", 0}, Choice{"slices", 1}, Choice{"direct", 2}, Choice{"local", 3},
                                Choice{"partitioned", 4}};

constexpr std::array kMethods{Choice{"auto", 0}, Choice{"hash", 1}, Choice{"partitioned", 2}, Choice{"shared", 3}};

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

std::span<Knob<JoinTuning> const> join_knobs() {
  static auto const all = with_run_knobs<JoinTuning>({
      choice_knob<JoinTuning>("storage", kStorage, &JoinTuning::storage, "graphics",
                              "how rows of one pixel are kept: in a stack of images, or in consecutive texels"),
      choice_knob<JoinTuning>("probe", kProbe, &JoinTuning::probe, "graphics",
                              "how matches are drawn: instances a probe row, or a point an output row"),
      choice_knob<JoinTuning>("build", kBuild, &JoinTuning::build, "all", "the side that the table is built of"),
      choice_knob<JoinTuning>("payload", kPayloadChoices, &JoinTuning::payload, "cpu, compute",
                              "whether payload moves with its keys, or is fetched by row id"),
      choice_knob<JoinTuning>("method", kJoinMethodChoices, &JoinTuning::method, "cpu, compute",
                              "how matches are found; nested_loops and sorted_ranges are of joins without keys, bitmap "
                              "of semi, anti and mark joins and of counts"),
      choice_knob<JoinTuning>("matching", kMatching, &JoinTuning::matching, "graphics",
                              "what finds matches in the images: drawn points, or compute passes"),
  });
  return all;
}

std::span<Knob<GroupByTuning> const> group_by_knobs() {
  static auto const all = with_run_knobs<GroupByTuning>({
      choice_knob<GroupByTuning>("keys", kKeys, &GroupByTuning::keys, "all",
                                 "the form of keys: packed in one word, several words, or row ids that stand for them"),
      choice_knob<GroupByTuning>("grouping", kGroupings, &GroupByTuning::grouping, "cpu",
                                 "how rows of a group are brought together on threads"),
      choice_knob<GroupByTuning>("method", kMethods, &GroupByTuning::method, "compute",
                                 "how rows of a group are brought together on the device"),
  });
  return all;
}

}  // namespace garuda::resolve

namespace garuda {

Result<JoinTuning> parse_join_tuning(std::string_view text) {
  return resolve::parse_tuning(resolve::join_knobs(), text);
}

std::string to_string(JoinTuning const& tuning) { return resolve::print_tuning(resolve::join_knobs(), tuning); }

std::string_view to_string(Grouping grouping) noexcept {
  for (auto const& choice : resolve::kGroupings)
    if (choice.value == static_cast<int>(grouping)) return choice.name;
  return "unknown";
}

Result<GroupByTuning> parse_group_by_tuning(std::string_view text) {
  return resolve::parse_tuning(resolve::group_by_knobs(), text);
}

std::string to_string(GroupByTuning const& tuning) { return resolve::print_tuning(resolve::group_by_knobs(), tuning); }

}  // namespace garuda
