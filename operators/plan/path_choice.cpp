#include "operators/plan/path_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "operators/plan/device_choice.hpp"
#include "operators/plan/paths.hpp"

namespace garuda::plan {
namespace {

bool is_cuda(contract::DeviceFacts const& facts) { return facts.info->api == DeviceApi::cuda; }

Error no_path(std::span<contract::DeviceFacts const> devices, Path path) {
  return Error(ErrorCode::no_device,
               fmt::format("the {} path cannot run: {}", to_string(path == Path::automatic ? Path::graphics : path),
                           devices.empty() ? "no Vulkan device was found" : "no Vulkan device is usable"));
}

/// Whether there is a usable GPU for a path that needs no permission.
bool has_free_gpu(std::span<contract::DeviceFacts const> devices) {
  return std::ranges::any_of(devices, [](contract::DeviceFacts const& facts) {
    return facts.info->usable && !facts.is_software() &&
           std::ranges::any_of(paths(), [&](contract::PathRow const* path) {
             return path->api == facts.info->api && !path->asks_permission;
           });
  });
}

bool is_allowed(contract::Offer const& offer, std::span<contract::DeviceFacts const> devices, RunOptions const& options,
                std::optional<std::size_t> requested) {
  bool const is_open = options.path == Path::automatic;
  if (!offer.can_run || (!is_open && options.path != offer.candidate.path)) return false;
  if (!offer.device) return !is_open || !options.device;
  if (requested) return requested == offer.device;
  if (is_open && offer.asks_permission) return options.allow_cuda || !has_free_gpu(devices);
  return !devices[*offer.device].is_software();
}

}  // namespace

contract::Machine machine_of(contract::DeviceSet& devices, std::uint32_t threads) {
  contract::Machine machine;
  auto const& known = devices.calibrations();
  for (std::size_t i = 0; i < devices.devices().size(); ++i) {
    contract::DeviceFacts facts{&devices.devices()[i], devices.vulkan_traits(i)};
    // A GPU is as fast under CUDA as it was measured to be under Vulkan.
    auto const measured_as = is_cuda(facts) ? facts.info->same_gpu : static_cast<std::uint32_t>(i);
    if (measured_as)
      if (auto const rates = known.device(*measured_as); rates.measured) facts.measured = rates.rates;
    machine.devices.push_back(std::move(facts));
  }
  if (auto host = known.host(threads); host.measured) machine.measured_host = std::move(host.rates);
  machine.is_being_measured = known.is_being_measured();
  machine.notes = known.notes();
  return machine;
}

Result<std::optional<std::size_t>> requested_device(std::span<contract::DeviceFacts const> devices,
                                                    RunOptions const& options) {
  auto const* const named = find_path(options.path);
  if (named != nullptr ? !named->api : !options.device) return std::nullopt;
  if (devices.empty()) return tl::unexpected<Error>(no_path(devices, options.path));
  std::vector<DeviceInfo const*> infos;
  for (auto const& facts : devices) infos.push_back(facts.info);
  auto const request = options.device.value_or("auto");
  auto choice = choose_device(infos, request, named != nullptr ? *named->api : DeviceApi::vulkan);
  if (choice || named != nullptr || choice.error().code() != ErrorCode::no_device) return choice;
  if (auto const cuda = choose_device(infos, request, DeviceApi::cuda)) return *cuda;
  return choice;
}

Result<void> check_path(RunOptions const& options, Placement placement, std::optional<std::size_t> resident_on) {
  auto const* const path = find_path(options.path);
  if (options.path != Path::automatic && path == nullptr)
    return fail(ErrorCode::no_device, fmt::format("path {} is not part of this build", to_string(options.path)));
  if (path != nullptr && !path->api && options.device)
    return fail(ErrorCode::usage, fmt::format("path {} takes no device: {}", path->name, *options.device));
  if (resident_on && placement == Placement::slices)
    return fail(ErrorCode::usage,
                fmt::format("placement=slices takes tables of the host, not of device {}", *resident_on));
  if (resident_on && path != nullptr && !path->takes_whole_tables)
    return fail(ErrorCode::usage,
                fmt::format("path {} takes tables of the host, not of device {}", path->name, *resident_on));
  bool const takes_whole = path != nullptr ? path->takes_whole_tables : resident_on.has_value();
  if (placement != Placement::device || takes_whole) return {};
  std::string names;
  for (auto const* row : paths())
    if (row->takes_whole_tables) names += fmt::format("{}{}", names.empty() ? "" : ", ", row->name);
  return fail(ErrorCode::usage, fmt::format("placement=device is of path {}", names));
}

bool may_take_tables(RunOptions const& options, Placement placement, std::span<DeviceInfo const> devices) {
  if (placement == Placement::slices) return false;
  bool const is_open = options.path == Path::automatic;
  return std::ranges::any_of(paths(), [&](contract::PathRow const* path) {
    if (!path->takes_whole_tables || (!is_open && path->path != options.path)) return false;
    return !is_open || std::ranges::any_of(devices, [&](DeviceInfo const& info) {
      return info.usable && info.api == path->api && info.kind != DeviceKind::cpu;
    });
  });
}

Result<std::size_t> choose(std::span<contract::Offer const* const> offers,
                           std::span<contract::DeviceFacts const> devices, RunOptions const& options,
                           std::optional<std::size_t> requested) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < offers.size(); ++i)
    if (is_allowed(*offers[i], devices, options, requested) &&
        (!best || offers[i]->candidate.estimated_ns < offers[*best]->candidate.estimated_ns))
      best = i;
  if (!best) return tl::unexpected<Error>(no_path(devices, options.path));
  return *best;
}

Plan plan_of(contract::Offer const& chosen, std::span<contract::Offer const* const> offers,
             contract::Machine const& machine, RunOptions const& options) {
  auto const* const facts = chosen.device ? &machine.devices[*chosen.device] : nullptr;
  Plan plan;
  plan.path = chosen.candidate.path;
  plan.device = chosen.candidate.device;
  if (facts != nullptr) plan.driver = facts->info->driver;
  plan.reason = options.path != Path::automatic ? fmt::format("path {} was asked for", to_string(options.path))
                : options.device                ? "the device was asked for"
                                                : "the least estimated time of all candidates";
  plan.key_bits = chosen.key_bits;
  plan.radix_bits = chosen.radix_bits;
  plan.slice_rows = chosen.slice_rows;
  plan.lanes = chosen.lanes;
  plan.chunk_rows = chosen.chunk_rows;
  plan.device_bytes = chosen.device_bytes;
  plan.host_bytes = chosen.host_bytes;
  plan.estimated = chosen.candidate;
  for (auto const* offer : offers) plan.candidates.push_back(offer->candidate);
  std::ranges::stable_sort(plan.candidates, {}, [](Candidate const& candidate) {
    return std::pair(candidate.estimated_ns == 0, candidate.estimated_ns);
  });
  plan.details.emplace_back(
      "rates", fmt::format("of the host {}{}{}", machine.measured_host ? "measured" : "assumed, not calibrated",
                           facts != nullptr ? "; of the device: " + contract::source_of(*facts) : "",
                           machine.is_being_measured ? "; what is assumed is being measured in the background" : ""));
  plan.notes = machine.notes;
  if (facts != nullptr && facts->is_software())
    plan.notes.emplace_back("the device is a software rasteriser: results are right, speed says nothing about a GPU");
  return plan;
}

}  // namespace garuda::plan
