#include "vk_runtime/executables.hpp"

#include "vk_runtime/device/driver.hpp"

namespace garuda::vk {
namespace {

double number_of(VkPipelineExecutableStatisticKHR const& statistic) {
  switch (statistic.format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
      return statistic.value.b32 == VK_TRUE ? 1 : 0;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
      return static_cast<double>(statistic.value.i64);
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR:
      return static_cast<double>(statistic.value.u64);
    default:
      return statistic.value.f64;
  }
}

Result<std::map<std::string, double>> statistics_of(Device const& device, VkPipeline pipeline, std::uint32_t index) {
  VkPipelineExecutableInfoKHR const info{
      .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR, .pipeline = pipeline, .executableIndex = index};
  auto const get = [&](std::uint32_t& count, VkPipelineExecutableStatisticKHR* into) {
    return check(device.fn().vkGetPipelineExecutableStatisticsKHR(device.handle(), &info, &count, into),
                 "vkGetPipelineExecutableStatisticsKHR");
  };
  std::uint32_t count = 0;
  GARUDA_TRY(get(count, nullptr));
  std::vector<VkPipelineExecutableStatisticKHR> found(count,
                                                      {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR});
  GARUDA_TRY(get(count, found.data()));
  std::map<std::string, double> statistics;
  for (auto const& statistic : found) statistics[statistic.name] = number_of(statistic);
  return statistics;
}

}  // namespace

Result<std::vector<Executable>> executables(Device const& device, Pipeline const& pipeline) {
  GARUDA_EXPECTS(device.traits().features.pipeline_executable_properties);
  VkPipelineInfoKHR const info{.sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, .pipeline = pipeline.handle()};
  auto const get = [&](std::uint32_t& count, VkPipelineExecutablePropertiesKHR* into) {
    return check(device.fn().vkGetPipelineExecutablePropertiesKHR(device.handle(), &info, &count, into),
                 "vkGetPipelineExecutablePropertiesKHR");
  };
  std::uint32_t count = 0;
  GARUDA_TRY(get(count, nullptr));
  std::vector<VkPipelineExecutablePropertiesKHR> found(count,
                                                       {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR});
  GARUDA_TRY(get(count, found.data()));
  std::vector<Executable> programs;
  for (std::uint32_t i = 0; i < count; ++i) {
    GARUDA_TRY_ASSIGN(auto statistics, statistics_of(device, pipeline.handle(), i));
    programs.push_back({found[i].name, found[i].stages, found[i].subgroupSize, std::move(statistics)});
  }
  return programs;
}

}  // namespace garuda::vk
