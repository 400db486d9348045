// `garuda devices`: what Vulkan and CUDA offer here, and what garuda makes of it; `garuda calibrate`: measures devices
// and host, for better plans.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "cli/arguments/run_arguments.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal.hpp"
#include "core/os/process.hpp"
#include "garuda/calibration.hpp"
#include "garuda/engine.hpp"
#include "report/report.hpp"

namespace garuda::cli {
namespace {

std::string number(double value) {
  constexpr std::string_view kPrefixes = " kMGTP";
  std::size_t prefix = 0;
  while (value >= 1000 && prefix + 1 < kPrefixes.size()) {
    value /= 1000;
    ++prefix;
  }
  return prefix == 0 ? fmt::format("{:.4g}", value) : fmt::format("{:.4g} {}", value, kPrefixes[prefix]);
}

std::string value_text(RateInfo const& rate) {
  if (rate.unit == "ns") return fmt::format("{:.0f} ns", rate.value);
  if (rate.points.empty()) return fmt::format("{}{}{}", number(rate.value), rate.value >= 1000 ? "" : " ", rate.unit);
  std::string text;
  for (auto const& [size, per_s] : rate.points)
    text += fmt::format("{}{}{}{} at {}", text.empty() ? "" : ", ", number(per_s), per_s >= 1000 ? "" : " ", rate.unit,
                        size);
  return fmt::format("{} {}", text, rate.size);
}

/// "measured, FILE" or "assumed by type of device; garuda calibrate measures it", and why a file was ignored.
std::string calibration_state(CalibrationInfo const& info) {
  auto const* const state = info.measured ? "measured" : "assumed by type; garuda calibrate measures it";
  return fmt::format("{}{}{}{}{}", state, info.file.empty() ? "" : ", ", info.file, info.note.empty() ? "" : "; ",
                     info.note);
}

/// A line a rate, indented.
std::string calibration_text(CalibrationInfo const& info) {
  std::string text;
  for (auto const& rate : info.rates) text += fmt::format("   {:<26}  {}\n", rate.name, value_text(rate));
  return text;
}

/// {"measured", "file", "note", "rates": {NAME: {"unit", "value" | "size", "points"}}}
nlohmann::ordered_json calibration_json(CalibrationInfo const& info) {
  auto rates = nlohmann::ordered_json::object();
  for (auto const& rate : info.rates) {
    nlohmann::ordered_json entry{{"unit", rate.unit}};
    if (rate.points.empty()) {
      entry["value"] = rate.value;
    } else {
      entry["size"] = rate.size;
      entry["points"] = rate.points;
    }
    rates[rate.name] = std::move(entry);
  }
  return {{"measured", info.measured}, {"file", info.file}, {"note", info.note}, {"rates", std::move(rates)}};
}

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

struct CalibrateArguments {
  std::string device;
  std::uint32_t threads = 0;
  bool missing = false;
  bool show = false;
  bool json = false;
  bool quiet = false;
};

Result<std::vector<CalibrationInfo>> measure(Engine& engine, CalibrateArguments const& arguments) {
  CalibrateOptions options;
  if (!arguments.device.empty()) options.device = arguments.device;
  options.threads = arguments.threads;
  options.control.cancelled = &interrupted();
  if (!arguments.quiet)
    options.control.on_progress = [last = std::string()](Progress const& progress) mutable {
      if (std::exchange(last, progress.phase) != progress.phase)
        write_error(fmt::format("garuda: measuring {}\n", progress.phase));
    };
  return engine.calibrate(options);
}

/// Measures what other commands found missing. They start it and do not wait, so it makes way for other work.
Result<void> calibrate_missing(Engine& engine) {
  // Without it the rates are the same on an idle machine.
  os::lower_priority();
  Control control;
  control.cancelled = &interrupted();
  return engine.calibrate_missing(control);
}

Result<void> calibrate(CalibrateArguments const& arguments) {
  ThreadLimit const thread_limit(arguments.threads);
  GARUDA_TRY_ASSIGN(auto engine, Engine::create());
  if (arguments.missing) return calibrate_missing(engine);
  auto infos =
      arguments.show ? Result<std::vector<CalibrationInfo>>(engine.calibrations()) : measure(engine, arguments);
  if (!infos) return propagate(std::move(infos));
  auto array = nlohmann::ordered_json::array();
  std::string text;
  for (auto const& info : *infos) {
    nlohmann::ordered_json object{{"device", info.device ? nlohmann::ordered_json(*info.device) : nullptr},
                                  {"name", info.name},
                                  {"driver", info.driver}};
    object.update(calibration_json(info));
    array.push_back(std::move(object));
    text += fmt::format("{}  {} ({})\n   {:<26}  {}\n{}\n", info.device ? fmt::to_string(*info.device) : "host",
                        info.name, info.driver, "rates", calibration_state(info), calibration_text(info));
  }
  if (!arguments.json) return write_output(text);
  return write_output(array.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n');
}

}  // namespace

void add_devices_command(CLI::App& app, Context& context) {
  auto& command = *app.add_subcommand("devices", "list the Vulkan and CUDA devices, usable or not, and their traits");
  auto const json = std::make_shared<bool>(false);
  command.add_flag("--json", *json, "a JSON array");
  command.footer("Example:\n  garuda devices --json");
  command.callback([json, &context] { context.run = [json] { return report(list_devices(*json)); }; });
}

void add_calibrate_command(CLI::App& app, Context& context) {
  auto& command = *app.add_subcommand("calibrate", "measure devices and host, for better plans");
  auto const arguments = std::make_shared<CalibrateArguments>();
  command
      .add_option("--device", arguments->device,
                  "an index or part of a name of `garuda devices`, or host (default: the host and every usable device)")
      ->type_name("DEVICE");
  command.add_option("--threads", arguments->threads, "threads that the host is measured with (default: all)")
      ->check(CLI::Range(1U, kMostThreads))
      ->type_name("N");
  command.add_flag("--missing", arguments->missing,
                   "measure GPUs, and the host beside them, that have no calibration, as `--path auto` does by itself");
  command.add_flag("--show", arguments->show, "show what is known; measure nothing");
  command.add_flag("--json", arguments->json, "a JSON array");
  command.add_flag("--quiet", arguments->quiet, "no progress");
  command.footer(
      "Takes ten seconds at most for the host and each device; nothing else should run meanwhile. The rates are\n"
      "kept in $XDG_CACHE_HOME/garuda/calibration or ~/.cache/garuda/calibration, by device, driver and version of "
      "garuda.\n"
      "Examples:\n  garuda calibrate\n  garuda calibrate --device 0\n  garuda calibrate --show --json");
  command.callback([arguments, &context] { context.run = [arguments] { return report(calibrate(*arguments)); }; });
}

}  // namespace garuda::cli
