#include "operators/plan/path_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <string>
#include <variant>

#include "operators/plan/paths.hpp"
#include "vk_runtime/device_choice.hpp"

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

std::vector<vk::DeviceTraits> traits_of(std::span<contract::DeviceFacts const> devices) {
  std::vector<vk::DeviceTraits> traits;
  for (auto const& facts : devices) traits.push_back(*facts.traits);
  return traits;
}

bool has_name(contract::DeviceFacts const& facts, std::string name) {
  auto const lower = [](std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
  };
  return lower(facts.info->name).find(lower(std::move(name))) != std::string::npos;
}

bool is_cuda_choice(contract::DeviceFacts const& facts, std::size_t index, vk::DeviceRequest const& request) {
  if (!is_cuda(facts)) return false;
  if (auto const* const asked = std::get_if<std::uint32_t>(&request))
    return *asked == index || facts.info->same_gpu == *asked;
  auto const* const name = std::get_if<std::string>(&request);
  return name == nullptr || has_name(facts, *name);
}

Result<std::size_t> choose_cuda(std::span<contract::DeviceFacts const> devices, vk::DeviceRequest const& request) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (!is_cuda_choice(devices[i], i, request)) continue;
    auto const& info = *devices[i].info;
    if (!found || (!devices[*found].info->usable && info.usable)) found = i;
    if (std::holds_alternative<std::string>(request) && info.name != devices[*found].info->name)
      return fail(ErrorCode::usage, fmt::format("device name fits both \"{}\" and \"{}\": {}",
                                                devices[*found].info->name, info.name, std::get<std::string>(request)));
  }
  if (!found) return fail(ErrorCode::no_device, "no CUDA device like the one asked for; see: garuda devices");
  if (devices[*found].info->usable) return *found;
  return fail(ErrorCode::no_device,
              fmt::format("CUDA device {} cannot be used: {}", *found, devices[*found].info->reason));
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
    contract::DeviceFacts facts{&devices.devices()[i], &devices.traits(i)};
    // A GPU is as fast under CUDA as it was measured to be under Vulkan.
    auto const measured_as = is_cuda(facts) ? facts.info->same_gpu : static_cast<std::uint32_t>(i);
    if (measured_as)
      if (auto const rates = known.device(*measured_as); rates.measured) facts.measured = rates.rates;
    machine.devices.push_back(std::move(facts));
  }
  if (auto host = known.host(threads); host.measured) machine.measured_host = std::move(host.rates);
  machine.notes = known.notes();
  return machine;
}

Result<std::optional<std::size_t>> requested_device(std::span<contract::DeviceFacts const> devices,
                                                    RunOptions const& options) {
  auto const* const named = find_path(options.path);
  if (named != nullptr ? !named->api : !options.device) return std::nullopt;
  if (devices.empty()) return tl::unexpected<Error>(no_path(devices, options.path));
  auto const request = vk::parse_device_request(options.device.value_or("auto"));
  if (named != nullptr && named->api == DeviceApi::cuda) return choose_cuda(devices, request);
  auto const num_vulkan = static_cast<std::size_t>(std::ranges::count_if(devices, std::not_fn(is_cuda)));
  auto choice = vk::choose_device(traits_of(devices.first(num_vulkan)), request);
  if (choice) return choice->index;
  bool const may_be_cuda =
      options.path == Path::automatic && choice.error().code() == ErrorCode::no_device && num_vulkan < devices.size();
  if (may_be_cuda)
    if (auto const cuda = choose_cuda(devices, request)) return *cuda;
  return propagate(std::move(choice));
}

Result<void> check_path(RunOptions const& options, Placement placement) {
  auto const* const path = find_path(options.path);
  if (options.path != Path::automatic && path == nullptr)
    return fail(ErrorCode::no_device, fmt::format("path {} is not part of this build", to_string(options.path)));
  if (path != nullptr && !path->api && options.device)
    return fail(ErrorCode::usage, fmt::format("path {} takes no device: {}", path->name, *options.device));
  if (placement != Placement::device || (path != nullptr && path->takes_whole_tables)) return {};
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
      "rates", fmt::format("of the host {}{}", machine.measured_host ? "measured" : "assumed, not calibrated",
                           facts != nullptr ? "; of the device: " + contract::source_of(*facts) : ""));
  plan.notes = machine.notes;
  if (facts != nullptr && facts->is_software())
    plan.notes.push_back("the device is a software rasteriser: results are right, speed says nothing about a GPU");
  return plan;
}

}  // namespace garuda::plan
