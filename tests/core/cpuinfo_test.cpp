#include "core/os/cpuinfo.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace garuda::os {
namespace {

std::string name_in(std::string const& text) {
  std::istringstream cpuinfo(text);
  return processor_in(cpuinfo);
}

/// A core of /proc/cpuinfo on arm64.
std::string core_text(std::string const& implementer, std::string const& part) {
  return "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd evtstrm aes\nCPU implementer\t: " + implementer +
         "\nCPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: " + part + "\nCPU revision\t: 1\n\n";
}

TEST(Cpuinfo, IsTheModelWhereOneIsNamed) {
  EXPECT_EQ(name_in("processor\t: 0\nmodel\t\t: 17\nmodel name\t: AMD EPYC 9B45\nmodel name\t: another\n"),
            "AMD EPYC 9B45");
}

TEST(Cpuinfo, IsOfTheCoresOnArm64) {
  EXPECT_EQ(name_in(core_text("0x41", "0xd0c") + core_text("0x41", "0xd0c")), "Neoverse-N1");
  EXPECT_EQ(name_in(core_text("0x41", "0xd05") + core_text("0x41", "0xd0b") + core_text("0x41", "0xd05")),
            "Cortex-A55 + Cortex-A76");
  EXPECT_EQ(name_in(core_text("0x61", "0x022")), "Apple M1 Icestorm");
  EXPECT_EQ(name_in(core_text("0x41", "0x022")), "arm64 implementer 0x41 part 0x022")
      << "a number of another implementer";
  EXPECT_EQ(name_in(core_text("0xfe", "0xfff")), "arm64 implementer 0xfe part 0xfff");
}

TEST(Cpuinfo, IsUnknownWithoutEither) {
  EXPECT_EQ(name_in(""), "unknown processor");
  EXPECT_EQ(name_in("processor : 0\nhart : 0\nisa : rv64imafdc\nmodel name\t:\n"), "unknown processor");
}

}  // namespace
}  // namespace garuda::os
