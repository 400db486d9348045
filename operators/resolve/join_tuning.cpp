// The text form of JoinTuning, for --tuning and for plans.
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "garuda/join.hpp"
#include "operators/resolve/tuning_text.hpp"

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
  static std::array const all{
      choice_knob<JoinTuning>("address", resolve::kAddressChoices, &JoinTuning::address, "graphics",
                              "how a key finds its pixel: by a hash, or as a number"),
      choice_knob<JoinTuning>("storage", kStorage, &JoinTuning::storage, "graphics",
                              "how rows of one pixel are kept: in a stack of images, or in consecutive texels"),
      choice_knob<JoinTuning>("probe", kProbe, &JoinTuning::probe, "graphics",
                              "how matches are drawn: instances a probe row, or a point an output row"),
      choice_knob<JoinTuning>("build", kBuild, &JoinTuning::build, "all", "the side that the table is built of"),
      choice_knob<JoinTuning>("payload", resolve::kPayloadChoices, &JoinTuning::payload, "cpu, compute",
                              "whether payload moves with its keys, or is fetched by row id"),
      choice_knob<JoinTuning>("method", resolve::kJoinMethodChoices, &JoinTuning::method, "cpu, compute",
                              "how matches are found; nested_loops and sorted_ranges are of joins without keys, bitmap "
                              "of semi, anti and mark joins and of counts"),
      choice_knob<JoinTuning>("placement", resolve::kPlacementChoices, &JoinTuning::placement, "compute",
                              "whether tables go to the device whole, or slice by slice"),
      choice_knob<JoinTuning>("counting", resolve::kCountingChoices, &JoinTuning::counting, "graphics",
                              "what counts rows of pixels: blending, or compute passes"),
      choice_knob<JoinTuning>("matching", kMatching, &JoinTuning::matching, "graphics",
                              "what finds matches in the images: drawn points, or compute passes"),
      choice_knob<JoinTuning>("upload", resolve::kUploadChoices, &JoinTuning::upload, "graphics, compute, cuda",
                              "how bytes reach the device"),
      number_knob<JoinTuning>("image", 1, 32'768, &JoinTuning::image, "graphics",
                              "greatest width and height of a hash image, pixels"),
      number_knob<JoinTuning>("result", 1, 16'384, &JoinTuning::result, "graphics",
                              "width and height of the result image, texels"),
      number_knob<JoinTuning>("sh_limit", 1, 24, &JoinTuning::sh_limit, "graphics",
                              "images in a stack before it is probed and started again"),
      number_knob<JoinTuning>("hash_bits", 4, 64, &JoinTuning::hash_bits, "all",
                              "bits of the hash that keys are numbered by: few show that numbers do not depend on it",
                              64),
      number_knob<JoinTuning>("radix_bits", 0, 16, &JoinTuning::radix_bits, "all", "partitions are 2 to this power",
                              -1),
      number_knob<JoinTuning>("slice_rows", 1, 1 << 24, &JoinTuning::slice_rows, "all",
                              "most rows of a side in one pass"),
      number_knob<JoinTuning>("lanes", 1, 256, &JoinTuning::lanes, "all", "partitions in flight"),
      number_knob<JoinTuning>("chunk_rows", 1, 1 << 30, &JoinTuning::chunk_rows, "all",
                              "rows of a batch of the result"),
  };
  return all;
}

Result<JoinTuning> parse_join_tuning(std::string_view text) {
  return resolve::parse_tuning(resolve::join_knobs(), text);
}

std::string to_string(JoinTuning const& tuning) { return resolve::print_tuning(resolve::join_knobs(), tuning); }

}  // namespace garuda
