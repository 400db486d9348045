// The text form of GroupByTuning, for --tuning and for plans.
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "garuda/group_by.hpp"
#include "operators/resolve/run_knobs.hpp"

namespace garuda {
namespace {

using resolve::Choice;
using resolve::choice_knob;

constexpr std::array kKeys{Choice{"auto", 0}, Choice{"packed", 1}, Choice{"words", 2}, Choice{"rowid", 3}};

constexpr std::array kGroupings{Choice{"auto", 0}, Choice{"slices", 1}, Choice{"direct", 2}, Choice{"local", 3},
                                Choice{"partitioned", 4}};

constexpr std::array kMethods{Choice{"auto", 0}, Choice{"hash", 1}, Choice{"partitioned", 2}, Choice{"shared", 3}};

}  // namespace

std::span<resolve::Knob<GroupByTuning> const> resolve::group_by_knobs() {
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

std::string_view to_string(Grouping grouping) noexcept {
  for (auto const& choice : kGroupings)
    if (choice.value == static_cast<int>(grouping)) return choice.name;
  return "unknown";
}

Result<GroupByTuning> parse_group_by_tuning(std::string_view text) {
  return resolve::parse_tuning(resolve::group_by_knobs(), text);
}

std::string to_string(GroupByTuning const& tuning) { return resolve::print_tuning(resolve::group_by_knobs(), tuning); }

}  // namespace garuda
