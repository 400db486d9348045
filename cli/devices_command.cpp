// `garuda devices`: what Vulkan and CUDA offer here, and what garuda makes of it.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/terminal/calibration_text.hpp"
#include "cli/terminal/terminal.hpp"
#include "garuda/engine.hpp"
#include "report/report.hpp"

namespace garuda::cli {
namespace {

/// `calibration`: null of a CUDA device, which is priced as its Vulkan device.
std::string to_text(DeviceInfo const& device, CalibrationInfo const* calibration) {
  constexpr double kMebibyte = 1 << 20;
  auto text = fmt::format("{}  {}\n", device.index, device.name);
  auto const line = [&](std::string_view name, std::string_view value) {
    text += fmt::format("   {:<26}  {}\n", name, value);
  };
  line("driver", device.driver);
  line(device.api == DeviceApi::cuda ? "CUDA" : "Vulkan", device.api_version);
  line("kind", to_string(device.kind));
  line("memory", fmt::format("{:.0f} MiB{}", static_cast<double>(device.memory_bytes) / kMebibyte,
                             device.unified_memory ? ", shared with the CPU" : ""));
  line("subgroup size", fmt::to_string(device.subgroup_size));
  line("usable", device.usable ? "yes" : "no");
  if (!device.reason.empty()) line("reason", device.reason);
  if (device.same_gpu) line("same GPU as device", fmt::to_string(*device.same_gpu));
  for (auto const& feature : device.missing_optional) line("missing", feature);
  for (auto const& [name, value] : device.traits) line(name, value);
  if (calibration == nullptr) return text;
  line("rates", calibration_state(*calibration));
  return text + calibration_text(*calibration);
}

nlohmann::ordered_json to_json(DeviceInfo const& device, CalibrationInfo const* calibration) {
  auto json = report::device_json(device);
  if (calibration != nullptr) json["calibration"] = calibration_json(*calibration);
  return json;
}

Result<void> list_devices(bool json) {
  GARUDA_TRY_ASSIGN(auto engine, Engine::create());
  auto const cuda = engine.find_cuda_devices();
  std::string text;
  auto array = nlohmann::ordered_json::array();
  auto const calibrations = engine.calibrations();
  for (auto const& device : engine.devices()) {
    // The host comes first.
    auto const* const calibration = device.api == DeviceApi::vulkan ? &calibrations.at(device.index + 1) : nullptr;
    array.push_back(to_json(device, calibration));
    text += to_text(device, calibration) + '\n';
  }
  if (json) return write_output(array.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n');
  if (text.empty()) text = "No Vulkan device was found. Joins run on the CPU path, which needs none.\n";
  if (!cuda) text += fmt::format("No CUDA device: {}\n", cuda.error().describe());
  return write_output(text);
}

}  // namespace

void add_devices_command(CLI::App& app, Context& context) {
  auto& command = *app.add_subcommand("devices", "list the Vulkan and CUDA devices, usable or not, and their traits");
  auto const json = std::make_shared<bool>(false);
  command.add_flag("--json", *json, "a JSON array");
  command.footer("Example:\n  garuda devices --json");
  command.callback([json, &context] { context.run = [json] { return report(list_devices(*json)); }; });
}

}  // namespace garuda::cli
