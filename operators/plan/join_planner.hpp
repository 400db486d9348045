// Plans a join, of all that the paths offer: a pure function of shape, machine and options.
#pragma once

#include <optional>

#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "garuda/plan.hpp"
#include "operators/contract/offers/offer.hpp"
#include "operators/contract/offers/path_row.hpp"
#include "operators/plan/path_choice.hpp"

namespace garuda::plan {

/// The decision, with what the driver needs beside the printable part.
struct JoinPlan {
  contract::JoinOffer offer;
  Plan plan;
  std::optional<rates::DeviceRates> rates;  ///< of the device, where it was measured
};

/// Takes what choose_offer takes. Errors: no_device when the path or device asked for cannot run (the sentence says
/// why); limit_exceeded when the keys do not fit the memory limit; usage for tunings that contradict each other.
Result<JoinPlan> plan_join(contract::JoinShape const& shape, contract::Machine const& machine,
                           JoinOptions const& options);

/// How the driver feeds the kernels of `path` for joins with keys, or without.
inline contract::JoinFeeding const& feeding_of(contract::PathRow const& path, bool is_non_equi) {
  return is_non_equi ? path.condition_join.feeding : path.join.feeding;
}

}  // namespace garuda::plan
