// What the machine code of pipelines takes, by family of pipelines, where the driver says it (RADV does).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "tests/unwrap.hpp"
#include "vk_runtime/executables.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda::testing {

/// Compiles pipelines and keeps the most that any of a family takes. A spill fails the test that it happened in, but
/// where it is known.
class PipelineFigures {
 public:
  PipelineFigures(vk::Device& device, vk::PipelineStore& store)
      : device_(&device), store_(&store), are_known_(device.traits().features.pipeline_executable_properties) {
    if (are_known_) store.keep_statistics();
  }
  PipelineFigures(PipelineFigures const&) = delete;
  PipelineFigures& operator=(PipelineFigures const&) = delete;

  /// A line a family, for the table of docs/portability.md.
  ~PipelineFigures() {
    for (auto const& [family, most] : most_) {
      std::printf("figures: %s | %s | %s |", device_->traits().name.c_str(), driver(), family.c_str());
      for (auto const& [name, value] : most) std::printf(" %s %.0f |", name.c_str(), value);
      std::printf("\n");
    }
  }

  /// The compiled pipeline of a description.
  template <class Spec>
  vk::Pipeline const* compile(std::string const& family, Spec const& spec) {
    auto const compiled = store_->compile(spec);
    EXPECT_TRUE(compiled) << compiled.error().describe();
    if (!compiled) return nullptr;
    if (are_known_) add(family, **compiled);
    return *compiled;
  }
  template <class... Specs>
  vk::Pipeline const* compile(std::string const& family, std::variant<Specs...> const& spec) {
    return std::visit([&](auto const& concrete) { return compile(family, concrete); }, spec);
  }

 private:
  /// By the names of RADV's statistics.
  static constexpr std::string_view kKept[] = {"VGPRs", "SGPRs", "LDS size", "Spilled VGPRs"};
  static constexpr std::string_view kSpills[] = {"Spilled VGPRs", "Spilled SGPRs"};

  /// The one that is known to spill on RADV (Mesa 22.3.6), whatever the group's size and the rows of an invocation.
  static bool is_known_to_spill(vk::Pipeline const& pipeline) {
    return pipeline.name().starts_with("compute/group_by/aggregate_rows.comp");
  }

  static char const* driver() {
    auto const* const name = std::getenv("GARUDA_TEST_DRIVER");
    return name == nullptr ? "" : name;
  }

  void add(std::string const& family, vk::Pipeline const& pipeline) {
    for (auto const& program : value_of(vk::executables(*device_, pipeline))) {
      auto const number = [&](std::string_view name) {
        auto const found = program.statistics.find(std::string(name));
        EXPECT_NE(found, program.statistics.end()) << name << " of " << pipeline.name() << " is not known";
        return found == program.statistics.end() ? 0.0 : found->second;
      };
      auto& most = most_[family + ", subgroups of " + std::to_string(program.subgroup_size)];
      ++most["programs"];
      for (auto const name : kKept) most[std::string(name)] = std::max(most[std::string(name)], number(name));
      for (auto const name : kSpills) {
        if (is_known_to_spill(pipeline)) continue;
        EXPECT_EQ(number(name), 0) << name << " in " << program.name << " of " << pipeline.name();
      }
    }
  }

  vk::Device* device_;
  vk::PipelineStore* store_;
  bool are_known_;
  std::map<std::string, std::map<std::string, double>> most_;
};

}  // namespace garuda::testing
