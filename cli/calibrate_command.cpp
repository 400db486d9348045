// `garuda calibrate`: measures devices and host, for better plans.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "cli/arguments/threads.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal/calibration_text.hpp"
#include "cli/terminal/terminal.hpp"
#include "core/os/process.hpp"
#include "garuda/engine.hpp"

namespace garuda::cli {
namespace {

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
