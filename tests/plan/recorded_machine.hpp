// Machines whose calibrations were recorded: files of the folder `calibrations`.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <string>
#include <utility>

#include "operators/plan/path_choice.hpp"
#include "operators/rates/calibrations.hpp"
#include "tests/engine/fake_device.hpp"

namespace garuda::testing {

inline constexpr std::array kGpus{"h200", "consumer", "integrated"};
inline constexpr std::array kSoftware{"lavapipe", "swiftshader"};

inline std::filesystem::path recorded(std::string const& name) {
  return std::filesystem::path(GARUDA_TEST_CALIBRATIONS) / (name + ".json");
}

/// A file that cannot be read fails the test.
inline rates::DeviceRates device_rates(std::string const& name) {
  auto rates = rates::read_recorded<rates::DeviceRates>(recorded(name));
  EXPECT_TRUE(rates) << rates.error().describe();
  return rates.value_or(rates::DeviceRates{});
}

/// Likewise. `host`: two threads; those beside an H200: sixteen.
inline rates::HostRates host_rates(std::string const& name = "host") {
  auto rates = rates::read_recorded<rates::HostRates>(recorded(name));
  EXPECT_TRUE(rates) << rates.error().describe();
  return rates.value_or(rates::HostRates{});
}

inline vk::DeviceType type_of(std::string const& name) {
  if (name == "integrated") return vk::DeviceType::integrated;
  return name.starts_with("h200") || name == "consumer" ? vk::DeviceType::discrete : vk::DeviceType::cpu;
}

/// A host and one device with recorded rates.
struct RecordedMachine {
  explicit RecordedMachine(std::string const& name, std::string const& host = "host") : device(type_of(name)) {
    auto facts = device.facts();
    facts.measured = device_rates(name);
    device.traits.features.external_memory_host = true;
    device.info.unified_memory = type_of(name) != vk::DeviceType::discrete;
    machine.devices.push_back(std::move(facts));
    machine.measured_host = host_rates(host);
  }
  RecordedMachine(RecordedMachine const&) = delete;

  FakeDevice device;
  contract::Machine machine;
};

}  // namespace garuda::testing
