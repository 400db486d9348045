// Queries whose columns go to a device whole, beside those that it takes in slices: which of the two are offered.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "garuda/error.hpp"
#include "garuda/run.hpp"
#include "operators/contract/offer.hpp"
#include "vk_runtime/copy_team.hpp"

namespace garuda::placement {

/// An offer to take a query's tables whole, or the reason why there is none.
template <class Offer>
struct WholeOffer {
  std::optional<Offer> offer;
  std::string refusal;
  ErrorCode code = ErrorCode::usage;  ///< of the refusal, where placement=device was asked for
};

/// Bytes of host memory for batches under way, half of what the query may take; nullopt when that is not known.
std::optional<std::uint64_t> batch_budget(RunOptions const& options);

/// Why a query that may take slices as well leaves this device alone; empty when it does not. Errors: no_device, usage
/// for a device without the compute path.
Result<std::string> refuse_placement(contract::DeviceFacts const& facts, Placement asked);

/// Threads that copy each way: as many as lanes are asked for, or of the query's those that still help.
template <class Inquiry>
std::uint32_t copy_threads(Inquiry const& inquiry) {
  auto const asked = inquiry.options.tuning.lanes;
  return asked != 0 ? asked : std::min(inquiry.shape.threads, vk::kMostStreamingThreads);
}

/// Whether a query is offered to be taken whole: path automatic leaves integrated and software devices alone.
template <class Inquiry>
bool may_take_whole(Inquiry const& inquiry) {
  if (inquiry.options.tuning.placement == Placement::slices) return false;
  if (inquiry.options.path == Path::compute) return inquiry.requested == inquiry.device;
  return inquiry.options.path == Path::automatic && inquiry.facts().info->kind != DeviceKind::cpu &&
         (!inquiry.requested || inquiry.requested == inquiry.device);
}

/// The whole offer beside the slices, which add_slices(offers) adds. Where the path was asked for by name there are no
/// slices beside it: they would move every row up as well, after the host has encoded and partitioned it.
/// Errors: those of both; with the refusal's code, when placement=device is asked for and cannot be had.
template <class Offer, class Inquiry, class AddSlices>
Result<contract::Offers<Offer>> beside_slices(Inquiry const& inquiry, Result<WholeOffer<Offer>> whole,
                                              AddSlices const& add_slices) {
  bool const is_named = inquiry.options.path == Path::compute;
  contract::Offers<Offer> offers;
  if (!whole && is_named) return propagate(std::move(whole));
  bool const is_offered = whole && whole->offer;
  bool const is_refused = whole && !whole->refusal.empty();
  if (is_refused && inquiry.options.tuning.placement == Placement::device)
    return fail(whole->code, fmt::format("placement=device cannot be had: {}", whole->refusal));
  if (!is_offered || !is_named) GARUDA_TRY(add_slices(offers));
  if (is_offered) offers.list.push_back(std::move(*whole->offer));
  if (is_refused && is_named) offers.notes.push_back(fmt::format("placement=slices: {}", whole->refusal));
  return offers;
}

}  // namespace garuda::placement
