// Which path runs on which device, of what the paths offer: the same rules for every operator.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "garuda/error.hpp"
#include "garuda/plan.hpp"
#include "garuda/run.hpp"
#include "operators/contract/device_set.hpp"
#include "operators/contract/machine.hpp"
#include "operators/contract/offer.hpp"
#include "operators/contract/path_row.hpp"
#include "operators/plan/paths.hpp"

namespace garuda::plan {

/// `threads`: that the query runs on.
contract::Machine machine_of(contract::DeviceSet& devices, std::uint32_t threads);

/// The device that the options ask a path that needs one to use; nullopt when that is left open or the path that is
/// asked for needs none. A path of CUDA takes a CUDA device, which may also be asked for as the Vulkan device of the
/// same GPU; the others take a Vulkan one, `automatic` a CUDA device where no Vulkan device has the name. Errors:
/// no_device, usage for a name that fits several devices.
Result<std::optional<std::size_t>> requested_device(std::span<contract::DeviceFacts const> devices,
                                                    RunOptions const& options);

/// `resident_on`: the device that the tables live on; nullopt: the host. Errors: no_device for a path that is not part
/// of the library; usage for a device with a path that needs none, for placement=device, or tables on a device, of a
/// path that takes no tables whole, and for slices of tables on a device.
Result<void> check_path(RunOptions const& options, Placement placement, std::optional<std::size_t> resident_on = {});

/// Whether tables might be taken whole by a path on one of the devices: known before calibrations are looked up, which
/// takes as long as a query of a few rows.
bool may_take_tables(RunOptions const& options, Placement placement, std::span<DeviceInfo const> devices);

/// Returns the position of the cheapest of `offers` that the options and the device rules allow: a software device is
/// never taken unless it is `requested`; `automatic` takes a path that asks for permission when it has that, or when
/// no other path has a usable GPU. Pure. Errors: no_device.
Result<std::size_t> choose(std::span<contract::Offer const* const> offers,
                           std::span<contract::DeviceFacts const> devices, RunOptions const& options,
                           std::optional<std::size_t> requested);

/// The plan of the chosen offer, all candidates in it: the cheapest first, those that cannot run last.
Plan plan_of(contract::Offer const& chosen, std::span<contract::Offer const* const> offers,
             contract::Machine const& machine, RunOptions const& options);

/// Why a path is not asked about tables on a device.
inline constexpr char const* kElsewhere = "the tables live on a device that it does not take them on";

/// All that the paths offer, or the one that was asked for (`named_alone`). `row_of(path)` gives the operator's row.
/// Errors: what the path or device that was asked for says against it.
template <class Offer, class Shape, class Options, class RowOf>
Result<contract::Offers<Offer>> list_offers(contract::Inquiry<Shape, Options> inquiry, bool named_alone,
                                            RowOf const& row_of) {
  auto const& options = inquiry.options;
  auto const& requested = inquiry.requested;
  contract::Offers<Offer> all;
  auto const take = [&](contract::PathRow const& path) -> Result<void> {
    auto offers = row_of(path).offers(inquiry);
    if (!offers) return propagate(std::move(offers));
    for (auto& offer : offers->list) {
      offer.asks_permission = path.asks_permission;
      if (inquiry.device && inquiry.is_idle()) offer.candidate.reason = "a software device: not taken unless asked for";
      all.list.push_back(std::move(offer));
    }
    for (auto& note : offers->notes) all.notes.push_back(std::move(note));
    return {};
  };
  auto const is_listed = [&](contract::PathRow const& path) {
    return row_of(path).offers != nullptr && (!named_alone || path.path == options.path);
  };
  auto const& resident_on = inquiry.shape.resident_on;
  auto const refuse = [&](contract::PathRow const& path, std::string const& device, std::string reason) {
    Offer refused;
    refused.candidate = {path.path, device, "", 0, std::move(reason), {}};
    refused.device = inquiry.device;
    refused.can_run = false;
    all.list.push_back(std::move(refused));
  };
  inquiry.device.reset();
  for (auto const* path : paths()) {
    if (path->api || !is_listed(*path)) continue;
    if (resident_on) {
      refuse(*path, std::string(path->name), kElsewhere);
      continue;
    }
    // What the host refuses is no one's business when a device was asked for.
    auto taken = take(*path);
    if (!taken && !requested) return propagate(std::move(taken));
  }
  for (std::size_t i = 0; i < inquiry.machine.devices.size(); ++i) {
    auto const& info = *inquiry.machine.devices[i].info;
    inquiry.device = i;
    bool is_first = true;
    for (auto const* path : paths()) {
      if (path->api != info.api || !is_listed(*path)) continue;
      bool const is_elsewhere = resident_on && (resident_on != i || !path->takes_whole_tables);
      auto taken = is_elsewhere  ? fail(ErrorCode::no_device, kElsewhere)
                   : info.usable ? take(*path)
                                 : fail(ErrorCode::no_device, info.reason);
      bool const is_front = std::exchange(is_first, false);
      if (taken) continue;
      // What was asked for and cannot run is an error; another path of the device may still take its place otherwise.
      bool const is_asked = resident_on ? !is_elsewhere
                                        : requested == i && (options.path == path->path ||
                                                             (is_front && taken.error().code() == ErrorCode::usage));
      if (info.usable && is_asked) return propagate(std::move(taken));
      refuse(*path, info.name, taken.error().message());
    }
  }
  return all;
}

/// The same offers without what is an operator's own.
template <class Offer>
std::vector<contract::Offer const*> plain_offers(std::vector<Offer> const& offers) {
  std::vector<contract::Offer const*> plain;
  for (auto const& offer : offers) plain.push_back(&offer);
  return plain;
}

/// What was chosen, and its plan, at first as far as it is that of any query.
template <class Offer>
struct Chosen : Offer {
  Plan plan;
};

/// Offers as the paths made them.
struct AsOffered {
  void operator()(auto& /*offer*/) const noexcept {}
};

/// Takes the cheapest of all offers, or of those of what was asked for, once `complete` has added to each what the
/// operator does beside the path. For a shape whose keys were not looked at, of a path that was asked for, nothing else
/// is listed. `row_of`: see list_offers. Errors: those of check_path,
/// requested_device and choose; usage for another device than that of the tables.
template <class Offer, class Shape, class Options, class RowOf, class Complete = AsOffered>
Result<Chosen<Offer>> choose_offer(Shape const& shape, contract::Machine const& machine, Options const& options,
                                   RowOf const& row_of, Complete const& complete = {}) {
  GARUDA_TRY(check_path(options, options.tuning.placement, shape.resident_on));
  GARUDA_TRY_ASSIGN(auto requested, requested_device(machine.devices, options));
  if (shape.resident_on && options.device && requested != shape.resident_on)
    return fail(ErrorCode::usage, fmt::format("the tables are on device {}, not on the one that was asked for: {}",
                                              *shape.resident_on, *options.device));
  if (shape.resident_on) requested = shape.resident_on;
  auto const host = machine.host(shape.threads);
  contract::Inquiry<Shape, Options> const inquiry{shape, options, machine, host, std::nullopt, requested};
  bool const named_alone = shape.is_unseen && options.path != Path::automatic;
  GARUDA_TRY_ASSIGN(auto offers, list_offers<Offer>(inquiry, named_alone, row_of));
  for (auto& offer : offers.list) complete(offer);
  auto const plain = plain_offers(offers.list);
  GARUDA_TRY_ASSIGN(auto const best, choose(plain, machine.devices, options, requested));
  Chosen<Offer> chosen{offers.list[best], plan_of(*plain[best], plain, machine, options)};
  chosen.plan.tuning = to_string(chosen.tuning);
  chosen.plan.notes.insert(chosen.plan.notes.end(), offers.notes.begin(), offers.notes.end());
  return chosen;
}

}  // namespace garuda::plan
