// Plans a group-by, of all that the paths offer: a pure function of shape, machine and options.
#pragma once

#include <cstdint>

#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/plan.hpp"
#include "operators/contract/offers/offer.hpp"
#include "operators/plan/path_choice.hpp"

namespace garuda::plan {

/// The decision, with what the driver needs beside the printable part.
struct GroupByPlan {
  contract::GroupByOffer offer;
  Plan plan;
  std::uint64_t slice_groups = 0;  ///< groups that a slice has, about
};

/// Takes what choose_offer takes. Errors: no_device when the path or device asked for cannot run (the sentence says
/// why); limit_exceeded when the keys do not fit the memory limit; usage for a grouping that the keys do not allow.
Result<GroupByPlan> plan_group_by(contract::GroupByShape const& shape, contract::Machine const& machine,
                                  GroupByOptions const& options);

}  // namespace garuda::plan
