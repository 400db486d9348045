#include "core/os/cpuinfo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace garuda::os {
namespace {

/// The implementer's and the core's number of the register MIDR_EL1.
struct Part {
  std::uint32_t implementer;
  std::uint32_t part;
  std::string_view name;
};

/// Cores of 64 bits of servers, laptops and boards; numbers as Linux has them, arch/arm64/include/asm/cputype.h.
constexpr std::array kParts{
    Part{0x41, 0xd03, "Cortex-A53"},
    Part{0x41, 0xd05, "Cortex-A55"},
    Part{0x41, 0xd07, "Cortex-A57"},
    Part{0x41, 0xd08, "Cortex-A72"},
    Part{0x41, 0xd09, "Cortex-A73"},
    Part{0x41, 0xd0a, "Cortex-A75"},
    Part{0x41, 0xd0b, "Cortex-A76"},
    Part{0x41, 0xd0c, "Neoverse-N1"},
    Part{0x41, 0xd0d, "Cortex-A77"},
    Part{0x41, 0xd40, "Neoverse-V1"},
    Part{0x41, 0xd41, "Cortex-A78"},
    Part{0x41, 0xd42, "Cortex-A78AE"},
    Part{0x41, 0xd44, "Cortex-X1"},
    Part{0x41, 0xd46, "Cortex-A510"},
    Part{0x41, 0xd47, "Cortex-A710"},
    Part{0x41, 0xd48, "Cortex-X2"},
    Part{0x41, 0xd49, "Neoverse-N2"},
    Part{0x41, 0xd4b, "Cortex-A78C"},
    Part{0x41, 0xd4d, "Cortex-A715"},
    Part{0x41, 0xd4e, "Cortex-X3"},
    Part{0x41, 0xd4f, "Neoverse-V2"},
    Part{0x41, 0xd80, "Cortex-A520"},
    Part{0x41, 0xd81, "Cortex-A720"},
    Part{0x41, 0xd82, "Cortex-X4"},
    Part{0x41, 0xd84, "Neoverse-V3"},
    Part{0x41, 0xd85, "Cortex-X925"},
    Part{0x41, 0xd87, "Cortex-A725"},
    Part{0x41, 0xd8e, "Neoverse-N3"},
    Part{0x46, 0x001, "A64FX"},
    Part{0x48, 0xd01, "TaiShan v110"},
    Part{0x4e, 0x004, "Carmel"},
    Part{0x51, 0x001, "Oryon"},
    Part{0x61, 0x022, "Apple M1 Icestorm"},
    Part{0x61, 0x023, "Apple M1 Firestorm"},
    Part{0x61, 0x032, "Apple M2 Blizzard"},
    Part{0x61, 0x033, "Apple M2 Avalanche"},
    Part{0x6d, 0xd49, "Azure Cobalt 100"},
    Part{0xc0, 0xac3, "Ampere-1"},
    Part{0xc0, 0xac4, "Ampere-1a"},
};

std::string part_name(std::uint32_t implementer, std::uint32_t part) {
  auto const known =
      std::ranges::find_if(kParts, [&](Part const& one) { return one.implementer == implementer && one.part == part; });
  if (known != kParts.end()) return std::string(known->name);
  return fmt::format("arm64 implementer {:#04x} part {:#05x}", implementer, part);
}

/// The number of a value such as 0x41.
std::uint32_t number_of(std::string const& value) {
  return static_cast<std::uint32_t>(std::strtoul(value.c_str(), nullptr, 0));
}

}  // namespace

std::string processor_in(std::istream& cpuinfo) {
  std::vector<std::string> cores;
  std::uint32_t implementer = 0;
  std::string line;
  while (std::getline(cpuinfo, line)) {
    auto const colon = line.find(": ");
    if (colon == std::string::npos || colon + 2 == line.size()) continue;
    auto const value = line.substr(colon + 2);
    if (line.starts_with("model name")) return value;
    if (line.starts_with("CPU implementer")) implementer = number_of(value);
    if (!line.starts_with("CPU part")) continue;
    auto name = part_name(implementer, number_of(value));
    if (std::ranges::find(cores, name) == cores.end()) cores.push_back(std::move(name));
  }
  return cores.empty() ? "unknown processor" : fmt::format("{}", fmt::join(cores, " + "));
}

}  // namespace garuda::os
