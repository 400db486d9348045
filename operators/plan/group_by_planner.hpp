// Plans a group-by, of all that the paths offer: a pure function of shape, machine and options.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/plan.hpp"
#include "operators/contract/offer.hpp"

namespace garuda::plan {

/// The decision, with what the driver needs beside the printable part.
struct GroupByPlan {
  Plan plan;
  GroupByTuning tuning;
  std::optional<std::size_t> device;                    ///< index into the devices
  std::uint64_t slice_groups = 0;                       ///< that a slice has, about
  Grouping grouping = Grouping::slices;                 ///< when not `slices`, the path takes the whole table
  contract::StartWhole<resolve::GroupByRequest> start;  ///< see GroupByOffer
};

/// Takes the cheapest of all offers, or of those of what was asked for. For a shape whose keys were not looked at, of a
/// path that was asked for, nothing else is listed.
/// Errors: no_device when the path or device asked for cannot run (the sentence says why); limit_exceeded when the keys
/// do not fit the memory limit; usage for a grouping that the keys do not allow.
Result<GroupByPlan> plan_group_by(contract::GroupByShape const& shape, contract::Machine const& machine,
                                  GroupByOptions const& options);

}  // namespace garuda::plan
