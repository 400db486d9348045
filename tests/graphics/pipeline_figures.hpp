// Sizes of the machine code of pipelines, where the driver says them (RADV does).
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <variant>

#include "tests/unwrap.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda::testing {

/// Compiles pipelines; one that spills registers or takes scratch memory fails the test that it happened in, but for
/// what exemption() names. What each takes is a JSON line of the file that GARUDA_TEST_REGISTERS names, for
/// bench/registers.py.
class PipelineFigures {
 public:
  PipelineFigures(vk::Device& device, vk::PipelineStore& store)
      : device_(&device), store_(&store), are_known_(device.traits().features.pipeline_executable_properties) {
    if (are_known_) store.keep_statistics();
  }

  /// The compiled pipeline of a description.
  template <class Spec>
  vk::Pipeline const* compile(std::string_view family, Spec const& spec) {
    auto const compiled = store_->compile(spec);
    EXPECT_TRUE(compiled) << compiled.error().describe();
    if (!compiled) return nullptr;
    if (are_known_) add(family, **compiled);
    return *compiled;
  }
  template <class... Specs>
  vk::Pipeline const* compile(std::string_view family, std::variant<Specs...> const& spec) {
    return std::visit([&](auto const& concrete) { return compile(family, concrete); }, spec);
  }

 private:
  struct Figure {
    char const* statistic;  ///< as RADV names it
    char const* key;
    bool is_spill;
  };
  static constexpr std::array kFigures{
      Figure{"SGPRs", "sgprs", false},
      Figure{"VGPRs", "vgprs", false},
      Figure{"LDS size", "lds_bytes", false},
      Figure{"Scratch size", "scratch_bytes", true},
      Figure{"Spilled SGPRs", "spilled_sgprs", true},
      Figure{"Spilled VGPRs", "spilled_vgprs", true},
      Figure{"Code size", "code_bytes", false},
  };

  /// Why a pipeline may spill; nothing where it must not.
  std::string_view exemption(vk::Pipeline const& pipeline) const {
    bool const is_old = device_->traits().driver_info.starts_with("Mesa 22.");
    bool const is_heavy = pipeline.name().starts_with("compute/group_by/aggregate_rows.comp");
    if (pipeline.name().starts_with("compute/expressions/evaluate.comp") ||
        pipeline.name().starts_with("rows/draw_rows.vert"))
      return "values of an expression are addressed by number, which registers are not";
    return is_old && is_heavy ? "RADV of Mesa 22 spills it, that of Mesa 25 does not" : "";
  }

  static std::string_view variable(char const* name) {
    auto const* const value = std::getenv(name);
    return value == nullptr ? "" : value;
  }

  /// The file to which this process writes figures.
  static std::ofstream& file() {
    static std::ofstream out(std::string(variable("GARUDA_TEST_REGISTERS")));
    return out;
  }

  void add(std::string_view family, vk::Pipeline const& pipeline) {
    auto const may_spill = exemption(pipeline);
    for (auto const& program : value_of(vk::executables(*device_, pipeline))) {
      file() << R"({"driver": ")" << variable("GARUDA_TEST_DRIVER") << R"(", "version": ")"
             << device_->traits().driver_info << R"(", "family": ")" << family << R"(", "pipeline": ")"
             << pipeline.name() << R"(", "program": ")" << program.name << R"(", "may_spill": ")" << may_spill
             << R"(", "subgroup": )" << program.subgroup_size;
      for (auto const& figure : kFigures) {
        auto const found = program.statistics.find(figure.statistic);
        ASSERT_NE(found, program.statistics.end()) << figure.statistic << " of " << pipeline.name() << " is not known";
        file() << R"(, ")" << figure.key << R"(": )" << static_cast<std::int64_t>(found->second);
        if (figure.is_spill && may_spill.empty()) {
          EXPECT_EQ(found->second, 0) << figure.statistic << " in " << program.name << " of " << pipeline.name();
        }
      }
      file() << "}\n";
    }
  }

  vk::Device* device_;
  vk::PipelineStore* store_;
  bool are_known_;
};

}  // namespace garuda::testing
