// The options of --tuning that joins and group-bys have in common.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "operators/resolve/tuning_text.hpp"

namespace garuda::resolve {

inline constexpr std::array kAddressChoices{Choice{"auto", 0}, Choice{"hash", 1}, Choice{"direct", 2}};
inline constexpr std::array kUploadChoices{Choice{"auto", 0}, Choice{"map", 1}, Choice{"stage", 2},
                                           Choice{"import", 3}};
inline constexpr std::array kPlacementChoices{Choice{"auto", 0}, Choice{"device", 1}, Choice{"slices", 2}};

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

}  // namespace garuda::resolve
