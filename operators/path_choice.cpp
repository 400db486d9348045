#include "operators/path_choice.hpp"

#include <fmt/format.h>

#include "vk_runtime/device_choice.hpp"

namespace garuda::operators {
namespace {

bool is_software(DeviceFacts const& facts) { return facts.traits->type == vk::DeviceType::cpu; }

Error no_path(std::span<DeviceFacts const> devices) {
  return Error(ErrorCode::no_device,
               fmt::format("the graphics path cannot run: {}",
                           devices.empty() ? "no Vulkan device was found" : "no Vulkan device is usable"));
}

bool is_allowed(PathOption const& option, std::span<DeviceFacts const> devices, RunOptions const& options,
                std::optional<std::size_t> requested) {
  if (option.candidate.path == Path::cpu)
    return options.path == Path::cpu || (options.path == Path::automatic && !options.device);
  if (options.path == Path::cpu || !option.can_run) return false;
  if (requested) return requested == option.device;
  return !is_software(devices[*option.device]);
}

}  // namespace

std::vector<DeviceFacts> facts_of(DeviceSet& devices) {
  std::vector<DeviceFacts> facts;
  for (std::size_t i = 0; i < devices.devices().size(); ++i)
    facts.push_back({&devices.devices()[i], &devices.traits(i)});
  return facts;
}

DeviceRates default_rates(vk::DeviceType type) noexcept {
  switch (type) {
    case vk::DeviceType::discrete:
      return {0.59e9, 7e9, 20e9};
    case vk::DeviceType::cpu:
      return {2.4e6, 0.2e9, 5e9};
    case vk::DeviceType::integrated:
    case vk::DeviceType::virtual_gpu:
    case vk::DeviceType::other:
      break;
  }
  return {0.05e9, 1e9, 10e9};
}

void sum_phases(Candidate& candidate) {
  candidate.estimated_ns = 0;
  for (auto const& [name, ns] : candidate.phases_ns) candidate.estimated_ns += ns;
}

PathOption refused(DeviceFacts const& facts, std::size_t index, std::string reason) {
  return {{Path::graphics, facts.info->name, "", 0, std::move(reason), {}}, index, false};
}

Result<std::optional<std::size_t>> requested_device(std::span<DeviceFacts const> devices, RunOptions const& options) {
  if (options.path == Path::cpu || (options.path == Path::automatic && !options.device)) return std::nullopt;
  if (devices.empty()) return tl::unexpected<Error>(no_path(devices));
  std::vector<vk::DeviceTraits> traits;
  for (auto const& facts : devices) traits.push_back(*facts.traits);
  auto choice = vk::choose_device(traits, vk::parse_device_request(options.device.value_or("auto")));
  if (!choice) return propagate(std::move(choice));
  return choice->index;
}

Result<void> check_path(RunOptions const& options, bool built_in) {
  if (options.path != Path::automatic && !built_in)
    return fail(ErrorCode::no_device, fmt::format("path {} is not part of this build", to_string(options.path)));
  if (options.path == Path::cpu && options.device)
    return fail(ErrorCode::usage, fmt::format("the CPU path takes no device: {}", *options.device));
  return {};
}

Result<std::size_t> choose_option(std::span<PathOption const> all, std::span<DeviceFacts const> devices,
                                  RunOptions const& options, std::optional<std::size_t> requested) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (is_allowed(all[i], devices, options, requested) &&
        (!best || all[i].candidate.estimated_ns < all[*best].candidate.estimated_ns))
      best = i;
  if (!best) return tl::unexpected<Error>(no_path(devices));
  return *best;
}

void describe_choice(PathOption const& chosen, std::span<DeviceFacts const> devices, RunOptions const& options,
                     Plan& plan) {
  plan.path = chosen.candidate.path;
  plan.device = chosen.candidate.device;
  if (chosen.device) plan.driver = devices[*chosen.device].info->driver;
  plan.reason = options.path != Path::automatic ? fmt::format("path {} was asked for", to_string(options.path))
                : options.device                ? "the device was asked for"
                                                : "the least estimated time of all candidates";
  if (chosen.device && is_software(devices[*chosen.device]))
    plan.notes.push_back("the device is a software rasteriser: results are right, speed says nothing about a GPU");
}

}  // namespace garuda::operators
