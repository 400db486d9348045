// The text form of GroupByTuning, for --tuning and for plans.
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "garuda/group_by.hpp"
#include "operators/resolve/tuning_text.hpp"

namespace garuda {
namespace {

using resolve::Choice;
using resolve::choice_knob;
using resolve::number_knob;

constexpr std::array kKeys{Choice{"auto", 0}, Choice{"packed", 1}, Choice{"words", 2}, Choice{"rowid", 3}};

constexpr std::array kGroupings{Choice{"auto", 0}, Choice{"slices", 1}, Choice{"direct", 2}, Choice{"local", 3},
                                Choice{"partitioned", 4}};

constexpr std::array kMethods{Choice{"auto", 0}, Choice{"hash", 1}, Choice{"partitioned", 2}, Choice{"sorted", 3},
                              Choice{"shared", 4}};

}  // namespace

std::span<resolve::Knob<GroupByTuning> const> resolve::group_by_knobs() {
  static std::array const all{
      choice_knob<GroupByTuning>("address", resolve::kAddressChoices, &GroupByTuning::address, "graphics, compute",
                                 "how a key finds its slot: by a hash, or as a number"),
      choice_knob<GroupByTuning>("keys", kKeys, &GroupByTuning::keys, "all",
                                 "the form of keys: packed in one word, several words, or row ids that stand for them"),
      choice_knob<GroupByTuning>("grouping", kGroupings, &GroupByTuning::grouping, "cpu",
                                 "how rows of a group are brought together on threads"),
      choice_knob<GroupByTuning>("method", kMethods, &GroupByTuning::method, "compute",
                                 "how rows of a group are brought together on the device"),
      choice_knob<GroupByTuning>("counting", resolve::kCountingChoices, &GroupByTuning::counting, "graphics",
                                 "how aggregates are accumulated: blending, or compute passes"),
      choice_knob<GroupByTuning>("upload", resolve::kUploadChoices, &GroupByTuning::upload, "graphics, compute, cuda",
                                 "how bytes reach the device"),
      choice_knob<GroupByTuning>("placement", resolve::kPlacementChoices, &GroupByTuning::placement, "compute",
                                 "whether the table goes to the device whole, or slice by slice"),
      number_knob<GroupByTuning>("image", 1, 32'768, &GroupByTuning::image, "graphics",
                                 "greatest width and height of a hash image, pixels"),
      number_knob<GroupByTuning>("spread", 1, 1024, &GroupByTuning::spread, "graphics, compute",
                                 "accumulators that the rows of a group are spread over"),
      number_knob<GroupByTuning>("radix_bits", 0, 16, &GroupByTuning::radix_bits, "all",
                                 "partitions are 2 to this power", -1),
      number_knob<GroupByTuning>("slice_rows", 1, 1 << 24, &GroupByTuning::slice_rows, "all", "most rows in one pass"),
      number_knob<GroupByTuning>("lanes", 1, 256, &GroupByTuning::lanes, "all", "partitions in flight"),
      number_knob<GroupByTuning>("chunk_rows", 1, 1 << 30, &GroupByTuning::chunk_rows, "all",
                                 "rows of a batch of the result"),
  };
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
