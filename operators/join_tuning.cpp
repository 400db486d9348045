// The text form of JoinTuning, for --tuning and for plans.
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "garuda/join.hpp"
#include "operators/tuning_text.hpp"

namespace garuda {
namespace {

using operators::Choice;
using operators::choice_knob;
using operators::number_knob;

constexpr std::array kStorage{Choice{"auto", 0}, Choice{"stack", 1}, Choice{"runs", 2}};
constexpr std::array kProbe{Choice{"auto", 0}, Choice{"instanced", 1}, Choice{"output", 2}, Choice{"atomic", 3}};
constexpr std::array kMatching{Choice{"auto", 0}, Choice{"draw", 1}, Choice{"compute", 2}};
constexpr std::array kBuild{Choice{"auto", 0}, Choice{"left", 1}, Choice{"right", 2}};
constexpr std::array kMethod{Choice{"auto", 0}, Choice{"partitioned", 1}, Choice{"global", 2}, Choice{"sorted", 3}};
constexpr std::array kPayload{Choice{"auto", 0}, Choice{"carry", 1}, Choice{"gather", 2}};

}  // namespace

std::span<operators::Knob<JoinTuning> const> operators::join_knobs() {
  static std::array const all{
      choice_knob("address", kAddressChoices, &JoinTuning::address),
      choice_knob("storage", kStorage, &JoinTuning::storage),
      choice_knob("probe", kProbe, &JoinTuning::probe),
      choice_knob("build", kBuild, &JoinTuning::build),
      choice_knob("payload", kPayload, &JoinTuning::payload),
      choice_knob("method", kMethod, &JoinTuning::method),
      choice_knob("placement", kPlacementChoices, &JoinTuning::placement),
      choice_knob("counting", kCountingChoices, &JoinTuning::counting),
      choice_knob("matching", kMatching, &JoinTuning::matching),
      choice_knob("upload", kUploadChoices, &JoinTuning::upload),
      number_knob("image", 1, 32'768, &JoinTuning::image),
      number_knob("result", 1, 16'384, &JoinTuning::result),
      number_knob("sh_limit", 1, 24, &JoinTuning::sh_limit),
      number_knob("radix_bits", 0, 16, &JoinTuning::radix_bits, -1),
      number_knob("slice_rows", 1, 1 << 24, &JoinTuning::slice_rows),
      number_knob("lanes", 1, 256, &JoinTuning::lanes),
      number_knob("chunk_rows", 1, 1 << 30, &JoinTuning::chunk_rows),
  };
  return all;
}

Result<JoinTuning> parse_join_tuning(std::string_view text) {
  return operators::parse_tuning(operators::join_knobs(), text);
}

std::string to_string(JoinTuning const& tuning) { return operators::print_tuning(operators::join_knobs(), tuning); }

}  // namespace garuda
