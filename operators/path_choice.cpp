#include "operators/path_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <variant>

#include "vk_runtime/device_choice.hpp"

namespace garuda::operators {
namespace {

constexpr std::array kVulkanPaths{Path::graphics, Path::compute};
constexpr std::array kCudaPaths{Path::cuda};

bool is_cuda(DeviceFacts const& facts) { return facts.info->api == DeviceApi::cuda; }

bool is_software(DeviceFacts const& facts) { return facts.traits->type == vk::DeviceType::cpu; }

Error no_path(std::span<DeviceFacts const> devices, Path path) {
  return Error(ErrorCode::no_device,
               fmt::format("the {} path cannot run: {}", to_string(path == Path::automatic ? Path::graphics : path),
                           devices.empty() ? "no Vulkan device was found" : "no Vulkan device is usable"));
}

/// Whether Vulkan has a usable GPU, so that CUDA needs permission.
bool has_vulkan_gpu(std::span<DeviceFacts const> devices) {
  return std::ranges::any_of(
      devices, [](DeviceFacts const& facts) { return !is_cuda(facts) && facts.info->usable && !is_software(facts); });
}

std::vector<vk::DeviceTraits> traits_of(std::span<DeviceFacts const> devices) {
  std::vector<vk::DeviceTraits> traits;
  for (auto const& facts : devices) traits.push_back(*facts.traits);
  return traits;
}

bool has_name(DeviceFacts const& facts, std::string name) {
  auto const lower = [](std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
  };
  return lower(facts.info->name).find(lower(std::move(name))) != std::string::npos;
}

bool is_cuda_choice(DeviceFacts const& facts, std::size_t index, vk::DeviceRequest const& request) {
  if (!is_cuda(facts)) return false;
  if (auto const* const asked = std::get_if<std::uint32_t>(&request))
    return *asked == index || facts.info->same_gpu == *asked;
  auto const* const name = std::get_if<std::string>(&request);
  return name == nullptr || has_name(facts, *name);
}

Result<std::size_t> choose_cuda(std::span<DeviceFacts const> devices, vk::DeviceRequest const& request) {
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

bool is_allowed(PathOption const& option, std::span<DeviceFacts const> devices, RunOptions const& options,
                std::optional<std::size_t> requested) {
  if (option.candidate.path == Path::cpu)
    return options.path == Path::cpu || (options.path == Path::automatic && !options.device);
  if (!option.can_run || (options.path != Path::automatic && options.path != option.candidate.path)) return false;
  if (requested) return requested == option.device;
  if (option.candidate.path == Path::cuda && options.path == Path::automatic)
    return options.allow_cuda || !has_vulkan_gpu(devices);
  return !is_software(devices[*option.device]);
}

}  // namespace

Machine machine_of(DeviceSet& devices, std::uint32_t threads) {
  Machine machine;
  auto const& known = devices.calibrations();
  for (std::size_t i = 0; i < devices.devices().size(); ++i) {
    DeviceFacts facts{&devices.devices()[i], &devices.traits(i)};
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

std::span<Path const> paths_of(DeviceFacts const& facts) noexcept {
  return is_cuda(facts) ? std::span<Path const>(kCudaPaths) : std::span<Path const>(kVulkanPaths);
}

void set_phases(Candidate& candidate, std::vector<std::pair<std::string, double>> phases_ns) {
  candidate.estimated_ns = 0;
  for (auto& [name, ns] : phases_ns) {
    candidate.estimated_ns += ns;
    if (ns > 0) candidate.phases_ns.emplace_back(std::move(name), ns);
  }
}

std::string source_of(DeviceFacts const& facts) {
  return facts.measured ? "measured rates"
                        : fmt::format("rates assumed of a {} device, not calibrated", to_string(facts.info->kind));
}

PathOption refused(Path path, DeviceFacts const& facts, std::size_t index, std::string reason) {
  return {{path, facts.info->name, "", 0, std::move(reason), {}}, index, false};
}

Result<std::optional<std::size_t>> requested_device(std::span<DeviceFacts const> devices, RunOptions const& options) {
  if (options.path == Path::cpu || (options.path == Path::automatic && !options.device)) return std::nullopt;
  if (devices.empty()) return tl::unexpected<Error>(no_path(devices, options.path));
  auto const request = vk::parse_device_request(options.device.value_or("auto"));
  if (options.path == Path::cuda) return choose_cuda(devices, request);
  auto const num_vulkan = static_cast<std::size_t>(std::ranges::count_if(devices, std::not_fn(is_cuda)));
  auto choice = vk::choose_device(traits_of(devices.first(num_vulkan)), request);
  if (choice) return choice->index;
  bool const may_be_cuda =
      options.path == Path::automatic && choice.error().code() == ErrorCode::no_device && num_vulkan < devices.size();
  if (may_be_cuda)
    if (auto const cuda = choose_cuda(devices, request)) return *cuda;
  return propagate(std::move(choice));
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
  if (!best) return tl::unexpected<Error>(no_path(devices, options.path));
  return *best;
}

void describe_choice(PathOption const& chosen, Machine const& machine, RunOptions const& options, Plan& plan) {
  auto const& devices = machine.devices;
  plan.path = chosen.candidate.path;
  plan.device = chosen.candidate.device;
  if (chosen.device) plan.driver = devices[*chosen.device].info->driver;
  plan.reason = options.path != Path::automatic ? fmt::format("path {} was asked for", to_string(options.path))
                : options.device                ? "the device was asked for"
                                                : "the least estimated time of all candidates";
  plan.details.emplace_back(
      "rates", fmt::format("of the host {}{}", machine.measured_host ? "measured" : "assumed, not calibrated",
                           chosen.device ? "; of the device: " + source_of(devices[*chosen.device]) : ""));
  for (auto const& note : machine.notes) plan.notes.push_back(note);
  if (chosen.device && is_software(devices[*chosen.device]))
    plan.notes.push_back("the device is a software rasteriser: results are right, speed says nothing about a GPU");
}

}  // namespace garuda::operators
