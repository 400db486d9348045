// The text form of JoinTuning, for --tuning and for plans.
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "garuda/join.hpp"
#include "operators/resolve/run_knobs.hpp"

namespace garuda {
namespace {

using resolve::Choice;
using resolve::choice_knob;
using resolve::number_knob;

constexpr std::array kStorage{Choice{"auto", 0}, Choice{"stack", 1}, Choice{"runs", 2}};
constexpr std::array kProbe{Choice{"auto", 0}, Choice{"instanced", 1}, Choice{"output", 2}};
constexpr std::array kMatching{Choice{"auto", 0}, Choice{"draw", 1}, Choice{"compute", 2}};
constexpr std::array kBuild{Choice{"auto", 0}, Choice{"left", 1}, Choice{"right", 2}};

}  // namespace

std::span<resolve::Knob<JoinTuning> const> resolve::join_knobs() {
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
      number_knob<JoinTuning>("hash_bits", 4, 64, &JoinTuning::hash_bits, "all",
                              "bits of the hash that keys are numbered by: few show that numbers do not depend on it",
                              64),
  });
  return all;
}

Result<JoinTuning> parse_join_tuning(std::string_view text) {
  return resolve::parse_tuning(resolve::join_knobs(), text);
}

std::string to_string(JoinTuning const& tuning) { return resolve::print_tuning(resolve::join_knobs(), tuning); }

}  // namespace garuda
