#include "report/host_state.hpp"

#include <fmt/format.h>
#include <tbb/info.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "core/buffer.hpp"
#include "core/os/processor.hpp"
#include "core/parallel_blocks.hpp"
#include "operators/run/query_run.hpp"

namespace garuda::report {
namespace {

namespace fs = std::filesystem;

/// The first line of a small file; empty where there is none.
std::string line_of(fs::path const& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

std::optional<std::int64_t> number_of(fs::path const& file) {
  auto const line = line_of(file);
  std::int64_t number = 0;
  auto const [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc() || end != line.data() + line.size()) return std::nullopt;
  return number;
}

/// The folders in `folder` whose names begin with `prefix`, sorted.
std::vector<fs::path> folders_of(fs::path const& folder, std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().filename().string().starts_with(prefix)) found.push_back(entry->path());
  std::ranges::sort(found);
  return found;
}

/// Machines with a battery say whether it feeds them; others have mains, if they say anything.
Json power_of(fs::path const& sys) {
  bool has_mains = false;
  for (auto const& supply : folders_of(sys / "class/power_supply", "")) {
    auto const type = line_of(supply / "type");
    // Batteries of mice and phones do not feed the host.
    if (line_of(supply / "scope") == "Device") continue;
    if (type == "Battery" && line_of(supply / "status") == "Discharging") {
      auto const capacity = number_of(supply / "capacity");
      return capacity ? fmt::format("battery, {} %", *capacity) : "battery";
    }
    has_mains = has_mains || type == "Battery" || (type != "UPS" && number_of(supply / "online") == 1);
  }
  return has_mains ? Json("mains") : Json(nullptr);
}

Json text_or_null(std::string text) { return text.empty() ? Json(nullptr) : Json(std::move(text)); }

}  // namespace

HostState read_host_state(fs::path const& sys) {
  constexpr double kMillidegrees = 1000;
  HostState state;
  for (auto const& zone : folders_of(sys / "class/thermal", "thermal_zone"))
    state.hottest_celsius =
        std::max(state.hottest_celsius, static_cast<double>(number_of(zone / "temp").value_or(0)) / kMillidegrees);
  for (auto const& cpu : folders_of(sys / "devices/system/cpu", "cpu")) {
    auto const events = number_of(cpu / "thermal_throttle/core_throttle_count");
    if (!events) continue;
    state.knows_throttling = true;
    state.throttle_events += static_cast<std::uint64_t>(*events);
  }
  return state;
}

Json host_json(std::string const& processor, HostState const& before, fs::path const& sys) {
  auto const after = read_host_state(sys);
  auto const system = os::system();
  auto const celsius = [](double degrees) { return degrees > 0 ? Json(degrees) : Json(nullptr); };
  return {{"system", system ? Json(fmt::format("{} {}", system->name, system->release)) : Json(nullptr)},
          {"architecture", system ? Json(system->machine) : Json(nullptr)},
          {"processor", processor},
          {"threads", tbb::info::default_concurrency()},
          {"memory_bytes", run::total_host_bytes()},
          {"power", power_of(sys)},
          {"governor", text_or_null(line_of(sys / "devices/system/cpu/cpu0/cpufreq/scaling_governor"))},
          {"hottest_celsius", {celsius(before.hottest_celsius), celsius(after.hottest_celsius)}},
          {"throttle_events",
           after.knows_throttling ? Json(after.throttle_events - before.throttle_events) : Json(nullptr)}};
}

void touch_host_memory(std::uint64_t bytes) {
  constexpr std::uint64_t kShareOfFree = 4;
  constexpr std::size_t kBlockBytes = std::size_t{64} << 20;
  auto const count = static_cast<std::size_t>(std::min(bytes, run::free_host_bytes() / kShareOfFree)) / kBlockBytes;
  // All at once, so that each is another part of the memory.
  std::vector<Result<AlignedBuffer>> blocks(count);
  static_cast<void>(for_each_block(count, nullptr, [&](std::size_t i) {
    blocks[i] = AlignedBuffer::allocate(kBlockBytes);
    if (blocks[i]) std::memset(blocks[i]->data(), 1, kBlockBytes);
  }));
}

}  // namespace garuda::report
