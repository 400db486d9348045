// Plans a join, of all that the paths offer: a pure function of shape, machine and options.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "garuda/plan.hpp"
#include "operators/contract/offer.hpp"

namespace garuda::plan {

/// The decision, with what the driver needs beside the printable part.
struct JoinPlan {
  Plan plan;
  JoinTuning tuning;
  std::optional<std::size_t> device;                 ///< index into the devices
  std::vector<std::size_t> carried;                  ///< positions in JoinShape::output: moved along with the keys
  std::optional<rates::DeviceRates> rates;           ///< of the device, where it was measured
  contract::StartWhole<resolve::JoinRequest> start;  ///< see JoinOffer
};

/// Takes the cheapest of all offers, or of those of what was asked for. For a shape whose keys were not looked at, of a
/// path that was asked for, nothing else is listed.
/// Errors: no_device when the path or device asked for cannot run (the sentence says why); limit_exceeded when the keys
/// do not fit the memory limit; usage for tunings that contradict each other.
Result<JoinPlan> plan_join(contract::JoinShape const& shape, contract::Machine const& machine,
                           JoinOptions const& options);

}  // namespace garuda::plan
