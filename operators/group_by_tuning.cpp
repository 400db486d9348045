// The text form of GroupByTuning, for --tuning and for plans.
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "garuda/group_by.hpp"
#include "operators/tuning_text.hpp"

namespace garuda {
namespace {

using operators::Choice;
using operators::choice_knob;
using operators::number_knob;

constexpr std::array kKeys{Choice{"auto", 0}, Choice{"packed", 1}, Choice{"words", 2}, Choice{"rowid", 3}};

constexpr std::array kGroupings{Choice{"auto", 0}, Choice{"slices", 1}, Choice{"direct", 2}, Choice{"local", 3},
                                Choice{"partitioned", 4}};

constexpr std::array kMethods{Choice{"auto", 0}, Choice{"hash", 1}, Choice{"partitioned", 2}, Choice{"sorted", 3}};

}  // namespace

std::span<operators::Knob<GroupByTuning> const> operators::group_by_knobs() {
  static std::array const all{
      choice_knob("address", kAddressChoices, &GroupByTuning::address),
      choice_knob("keys", kKeys, &GroupByTuning::keys),
      choice_knob("grouping", kGroupings, &GroupByTuning::grouping),
      choice_knob("method", kMethods, &GroupByTuning::method),
      choice_knob("counting", kCountingChoices, &GroupByTuning::counting),
      choice_knob("upload", kUploadChoices, &GroupByTuning::upload),
      choice_knob("placement", kPlacementChoices, &GroupByTuning::placement),
      number_knob("image", 1, 32'768, &GroupByTuning::image),
      number_knob("spread", 1, 1024, &GroupByTuning::spread),
      number_knob("radix_bits", 0, 16, &GroupByTuning::radix_bits, -1),
      number_knob("slice_rows", 1, 1 << 24, &GroupByTuning::slice_rows),
      number_knob("lanes", 1, 256, &GroupByTuning::lanes),
      number_knob("chunk_rows", 1, 1 << 30, &GroupByTuning::chunk_rows),
  };
  return all;
}

std::string_view to_string(Grouping grouping) noexcept {
  for (auto const& choice : kGroupings)
    if (choice.value == static_cast<int>(grouping)) return choice.name;
  return "unknown";
}

Result<GroupByTuning> parse_group_by_tuning(std::string_view text) {
  return operators::parse_tuning(operators::group_by_knobs(), text);
}

std::string to_string(GroupByTuning const& tuning) {
  return operators::print_tuning(operators::group_by_knobs(), tuning);
}

}  // namespace garuda
