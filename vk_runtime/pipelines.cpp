#include "vk_runtime/pipelines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <new>
#include <span>

#include "vk_runtime/device/instance.hpp"
#include "vk_runtime/pipeline_cache.hpp"

namespace garuda::vk {
namespace {

VkDescriptorType descriptor_type(BindingKind kind) {
  switch (kind) {
    case BindingKind::storage_buffer:
      return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    case BindingKind::sampled_image:
      return VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE;
    case BindingKind::storage_image:
      break;
  }
  return VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
}

/// Specialisation constants in the form that Vulkan takes; points into the span it was made from.
class Specialization {
 public:
  explicit Specialization(std::span<SpecConstant const> constants) {
    for (std::size_t i = 0; i < constants.size(); ++i) {
      auto const offset = static_cast<std::uint32_t>(i * sizeof(SpecConstant) + offsetof(SpecConstant, value));
      entries_.push_back({constants[i].id, offset, sizeof(std::uint32_t)});
    }
    info_ = {static_cast<std::uint32_t>(entries_.size()), entries_.data(), constants.size_bytes(), constants.data()};
  }
  Specialization(Specialization const&) = delete;
  Specialization& operator=(Specialization const&) = delete;
  VkSpecializationInfo const* info() const { return &info_; }

 private:
  std::vector<VkSpecializationMapEntry> entries_;
  VkSpecializationInfo info_{};
};

/// Bytes that tell one description from every other.
class Key {
 public:
  Key& add(std::uint64_t value) {
    text_.append(reinterpret_cast<char const*>(&value), sizeof value);
    return *this;
  }
  Key& add(ShaderCode const& code) {
    add(reinterpret_cast<std::uintptr_t>(code.words.data())).add(code.words.size()).add(code.name.size());
    text_.append(code.name);
    return *this;
  }
  Key& add(std::vector<SpecConstant> const& constants) {
    add(constants.size());
    for (SpecConstant const& constant : constants) add(constant.id).add(constant.value);
    return *this;
  }
  Key& add(std::vector<BindingSpec> const& bindings) {
    add(bindings.size());
    for (BindingSpec const& binding : bindings) add(binding.binding).add(static_cast<std::uint64_t>(binding.kind));
    return *this;
  }
  std::string take() && { return std::move(text_); }

 private:
  std::string text_;
};

std::string key_of(ComputePipelineSpec const& spec) {
  Key key;
  key.add(std::uint64_t{'c'}).add(spec.compute).add(spec.constants).add(spec.bindings);
  return std::move(key.add(spec.push_bytes).add(spec.required_subgroup_size).add(spec.full_subgroups ? 1U : 0U)).take();
}

std::string key_of(GraphicsPipelineSpec const& spec) {
  Key key;
  key.add(std::uint64_t{'g'}).add(spec.vertex).add(spec.fragment);
  key.add(spec.constants).add(spec.bindings).add(spec.push_bytes);
  for (ColorTarget const& target : spec.targets) {
    key.add(static_cast<std::uint64_t>(target.format)).add(static_cast<std::uint64_t>(target.blend));
  }
  return std::move(key).take();
}

VkPipelineColorBlendAttachmentState blend_state(Blend blend) {
  VkBlendOp const operation = blend == Blend::max ? VK_BLEND_OP_MAX : VK_BLEND_OP_ADD;
  return {.blendEnable = blend != Blend::none ? VK_TRUE : VK_FALSE,
          .srcColorBlendFactor = VK_BLEND_FACTOR_ONE,
          .dstColorBlendFactor = VK_BLEND_FACTOR_ONE,
          .colorBlendOp = operation,
          .srcAlphaBlendFactor = VK_BLEND_FACTOR_ONE,
          .dstAlphaBlendFactor = VK_BLEND_FACTOR_ONE,
          .alphaBlendOp = operation,
          .colorWriteMask = VK_COLOR_COMPONENT_R_BIT | VK_COLOR_COMPONENT_G_BIT | VK_COLOR_COMPONENT_B_BIT |
                            VK_COLOR_COMPONENT_A_BIT};
}

VkPipelineShaderStageCreateInfo stage_info(VkShaderStageFlagBits stage, VkShaderModule module,
                                           Specialization const& constants) {
  return {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
          .stage = stage,
          .module = module,
          .pName = "main",
          .pSpecializationInfo = constants.info()};
}

Result<VkPipeline> create_graphics(Device const& device, VkPipelineCache cache, GraphicsPipelineSpec const& spec,
                                   VkPipelineCreateFlags flags, VkPipelineLayout layout, VkShaderModule vertex,
                                   VkShaderModule fragment) {
  Specialization const constants(spec.constants);
  std::array const stages{stage_info(VK_SHADER_STAGE_VERTEX_BIT, vertex, constants),
                          stage_info(VK_SHADER_STAGE_FRAGMENT_BIT, fragment, constants)};

  VkPipelineVertexInputStateCreateInfo const input{.sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
  VkPipelineInputAssemblyStateCreateInfo const assembly{
      .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
      .topology = VK_PRIMITIVE_TOPOLOGY_POINT_LIST};
  VkPipelineViewportStateCreateInfo const viewport{
      .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO, .viewportCount = 1, .scissorCount = 1};
  VkPipelineRasterizationStateCreateInfo const raster{
      .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
      .polygonMode = VK_POLYGON_MODE_FILL,
      .cullMode = VK_CULL_MODE_NONE,
      .lineWidth = 1.0F};
  VkPipelineMultisampleStateCreateInfo const samples{.sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
                                                     .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT};
  std::vector<VkPipelineColorBlendAttachmentState> attachments;
  std::vector<VkFormat> formats;
  for (ColorTarget const& target : spec.targets) {
    attachments.push_back(blend_state(target.blend));
    formats.push_back(target.format);
  }
  VkPipelineColorBlendStateCreateInfo const blend{.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
                                                  .attachmentCount = static_cast<std::uint32_t>(attachments.size()),
                                                  .pAttachments = attachments.data()};
  std::array<VkDynamicState, 2> const dynamic_states{VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR};
  VkPipelineDynamicStateCreateInfo const dynamic{.sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
                                                 .dynamicStateCount = dynamic_states.size(),
                                                 .pDynamicStates = dynamic_states.data()};
  VkPipelineRenderingCreateInfo const rendering{.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
                                                .colorAttachmentCount = static_cast<std::uint32_t>(formats.size()),
                                                .pColorAttachmentFormats = formats.data()};
  VkGraphicsPipelineCreateInfo const info{.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                          .pNext = &rendering,
                                          .flags = flags,
                                          .stageCount = static_cast<std::uint32_t>(stages.size()),
                                          .pStages = stages.data(),
                                          .pVertexInputState = &input,
                                          .pInputAssemblyState = &assembly,
                                          .pViewportState = &viewport,
                                          .pRasterizationState = &raster,
                                          .pMultisampleState = &samples,
                                          .pColorBlendState = &blend,
                                          .pDynamicState = &dynamic,
                                          .layout = layout};
  VkPipeline pipeline = VK_NULL_HANDLE;
  GARUDA_TRY(check(device.fn().vkCreateGraphicsPipelines(device.handle(), cache, 1, &info, nullptr, &pipeline),
                   "vkCreateGraphicsPipelines"));
  return pipeline;
}

Result<VkPipeline> create_compute(Device const& device, VkPipelineCache cache, ComputePipelineSpec const& spec,
                                  VkPipelineCreateFlags flags, VkPipelineLayout layout, VkShaderModule module) {
  Specialization const constants(spec.constants);
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo const subgroup{
      .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
      .requiredSubgroupSize = spec.required_subgroup_size};
  VkPipelineShaderStageCreateInfo stage = stage_info(VK_SHADER_STAGE_COMPUTE_BIT, module, constants);
  if (spec.required_subgroup_size != 0) stage.pNext = &subgroup;
  if (spec.full_subgroups) stage.flags |= VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
  VkComputePipelineCreateInfo const info{.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                         .flags = flags | VK_PIPELINE_CREATE_DISPATCH_BASE_BIT,
                                         .stage = stage,
                                         .layout = layout};
  VkPipeline pipeline = VK_NULL_HANDLE;
  GARUDA_TRY(check(device.fn().vkCreateComputePipelines(device.handle(), cache, 1, &info, nullptr, &pipeline),
                   "vkCreateComputePipelines"));
  return pipeline;
}

Result<void> check_shared_limits(DeviceLimits const& limits, std::string const& name,
                                 std::vector<BindingSpec> const& bindings, std::uint32_t push_bytes) {
  auto const over = [&](char const* what, std::uint64_t limit, std::uint64_t value) -> Result<void> {
    if (value <= limit) return {};
    return fail(ErrorCode::limit_exceeded,
                fmt::format("pipeline {} needs more {} than the device's {}: {}", name, what, limit, value));
  };
  auto const count = [&](BindingKind kind) {
    return static_cast<std::uint64_t>(std::ranges::count(bindings, kind, &BindingSpec::kind));
  };
  GARUDA_TRY(over("bytes of push constants", limits.max_push_constants_bytes, push_bytes));
  GARUDA_TRY(over("storage buffers", limits.max_per_stage_storage_buffers, count(BindingKind::storage_buffer)));
  GARUDA_TRY(over("sampled images", limits.max_per_stage_sampled_images, count(BindingKind::sampled_image)));
  GARUDA_TRY(over("storage images", limits.max_per_stage_storage_images, count(BindingKind::storage_image)));
  return over("resources", limits.max_per_stage_resources, bindings.size());
}

/// Says which pipeline a driver call failed for.
template <class T>
Result<T> in_pipeline(Result<T> result, std::string const& name) {
  if (result) return result;
  return tl::unexpected<Error>(std::move(result).error().wrap(fmt::format("cannot compile pipeline {}", name)));
}

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
  VkPipelineExecutableStatisticKHR const blank{.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR};
  auto const get = std::bind_front(device.fn().vkGetPipelineExecutableStatisticsKHR, device.handle(), &info);
  GARUDA_TRY_ASSIGN(auto const found, listed("vkGetPipelineExecutableStatisticsKHR", blank, get));
  std::map<std::string, double> statistics;
  for (auto const& statistic : found) statistics[statistic.name] = number_of(statistic);
  return statistics;
}

}  // namespace

Result<std::unique_ptr<PipelineStore>> PipelineStore::create(Device& device,
                                                             std::optional<std::filesystem::path> cache_folder) {
  auto store = std::unique_ptr<PipelineStore>(new PipelineStore(device));
  std::vector<std::byte> data;
  if (cache_folder) {
    store->cache_file_ = *cache_folder / pipeline_cache_file_name(device.traits());
    data = read_pipeline_cache(*store->cache_file_, device.traits());
  }
  store->loaded_bytes_ = data.size();
  VkPipelineCacheCreateInfo const info{.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                       .initialDataSize = data.size(),
                                       .pInitialData = data.data()};
  GARUDA_TRY_ASSIGN(store->cache_, make_object(device.owner(), &VolkDeviceTable::vkCreatePipelineCache, info,
                                               "vkCreatePipelineCache"));
  return store;
}

PipelineStore::~PipelineStore() {
  if (unsaved_ == 0) return;
  try {
    static_cast<void>(save());
  } catch (std::bad_alloc const&) {  // what has no memory to be saved is compiled once more
  }
}

void PipelineStore::keep_statistics() {
  GARUDA_EXPECTS(device_.traits().features.pipeline_executable_properties);
  flags_ = VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR;
}

Pipeline const* PipelineStore::find(std::string const& key) const {
  std::lock_guard const lock(mutex_);
  auto const found = pipelines_.find(key);
  return found == pipelines_.end() ? nullptr : found->second.get();
}

Pipeline const* PipelineStore::keep(std::string key, std::unique_ptr<Pipeline> pipeline) {
  std::lock_guard const lock(mutex_);
  auto const [kept, added] = pipelines_.try_emplace(std::move(key), std::move(pipeline));
  if (added) ++unsaved_;
  return kept->second.get();
}

Result<Unique<VkShaderModule>> PipelineStore::make_module(ShaderCode code,
                                                          std::vector<SpecConstant> const& constants) const {
  std::vector<std::uint32_t> specialized;
  if (device_.traits().has_quirk(kSpecializationQuirk)) {
    specialized = specialized_code(code, constants);
    code.words = specialized;
  }
  VkShaderModuleCreateInfo const info{.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                      .codeSize = code.words.size_bytes(),
                                      .pCode = code.words.data()};
  return make_object(device_.owner(), &VolkDeviceTable::vkCreateShaderModule, info, "vkCreateShaderModule");
}

Result<std::unique_ptr<Pipeline>> PipelineStore::make_layout(std::string name, std::vector<BindingSpec> const& bindings,
                                                             std::uint32_t push_bytes,
                                                             VkShaderStageFlags stages) const {
  GARUDA_EXPECTS(push_bytes % 4 == 0);
  GARUDA_TRY(check_shared_limits(device_.traits().limits, name, bindings, push_bytes));
  std::vector<VkDescriptorSetLayoutBinding> set_bindings;
  for (BindingSpec const& binding : bindings) {
    set_bindings.push_back({.binding = binding.binding,
                            .descriptorType = descriptor_type(binding.kind),
                            .descriptorCount = 1,
                            .stageFlags = stages});
  }
  VkDescriptorSetLayoutCreateInfo const set_info{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                                 .bindingCount = static_cast<std::uint32_t>(set_bindings.size()),
                                                 .pBindings = set_bindings.data()};
  auto pipeline = std::make_unique<Pipeline>();
  GARUDA_TRY_ASSIGN(pipeline->set_layout_, make_object(device_.owner(), &VolkDeviceTable::vkCreateDescriptorSetLayout,
                                                       set_info, "vkCreateDescriptorSetLayout"));
  VkDescriptorSetLayout const set_layout = pipeline->set_layout();
  VkPushConstantRange const range{.stageFlags = stages, .offset = 0, .size = push_bytes};
  VkPipelineLayoutCreateInfo const layout_info{.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                               .setLayoutCount = 1,
                                               .pSetLayouts = &set_layout,
                                               .pushConstantRangeCount = push_bytes > 0 ? 1U : 0U,
                                               .pPushConstantRanges = &range};
  GARUDA_TRY_ASSIGN(pipeline->layout_, make_object(device_.owner(), &VolkDeviceTable::vkCreatePipelineLayout,
                                                   layout_info, "vkCreatePipelineLayout"));
  pipeline->name_ = std::move(name);
  pipeline->stages_ = stages;
  pipeline->bindings_ = bindings;
  pipeline->push_bytes_ = push_bytes;
  return pipeline;
}

Result<void> PipelineStore::check_targets(GraphicsPipelineSpec const& spec, std::string const& name) const {
  DeviceTraits const& traits = device_.traits();
  auto const over = [&](char const* what, std::size_t limit, std::size_t value) {
    return fail(ErrorCode::limit_exceeded,
                fmt::format("pipeline {} needs more {} than the device's {}: {}", name, what, limit, value));
  };
  if (spec.targets.size() > traits.limits.max_color_attachments) {
    return over("colour attachments", traits.limits.max_color_attachments, spec.targets.size());
  }
  bool const mixed = std::ranges::any_of(
      spec.targets, [&](ColorTarget const& target) { return target.blend != spec.targets.front().blend; });
  if (mixed && !traits.features.independent_blend) {
    return over("kinds of blending at once", 1, spec.targets.size());
  }
  return {};
}

Result<Pipeline const*> PipelineStore::compile(GraphicsPipelineSpec const& spec) {
  std::string key = key_of(spec);
  if (Pipeline const* known = find(key)) return known;
  auto const name = fmt::format("{}+{}", spec.vertex.name, spec.fragment.name);
  GARUDA_TRY(check_targets(spec, name));
  GARUDA_TRY_ASSIGN(auto pipeline, in_pipeline(make_layout(name, spec.bindings, spec.push_bytes,
                                                           VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT),
                                               name));
  GARUDA_TRY_ASSIGN(auto const vertex, in_pipeline(make_module(spec.vertex, spec.constants), name));
  GARUDA_TRY_ASSIGN(auto const fragment, in_pipeline(make_module(spec.fragment, spec.constants), name));
  GARUDA_TRY_ASSIGN(VkPipeline const handle,
                    in_pipeline(create_graphics(device_, cache_.get(), spec, flags_, pipeline->layout(), vertex.get(),
                                                fragment.get()),
                                name));
  pipeline->pipeline_ = Unique<VkPipeline>(device_.owner(), handle);
  pipeline->bind_point_ = VK_PIPELINE_BIND_POINT_GRAPHICS;
  device_.set_name(handle, VK_OBJECT_TYPE_PIPELINE, name.c_str());
  return keep(std::move(key), std::move(pipeline));
}

Result<Pipeline const*> PipelineStore::compile(ComputePipelineSpec const& spec) {
  std::string key = key_of(spec);
  if (Pipeline const* known = find(key)) return known;
  Subgroup const& subgroup = device_.traits().subgroup;
  GARUDA_EXPECTS(spec.required_subgroup_size == 0 ||
                 (device_.traits().features.subgroup_size_control && subgroup.min_size <= spec.required_subgroup_size &&
                  spec.required_subgroup_size <= subgroup.max_size));
  std::string const name(spec.compute.name);
  GARUDA_TRY_ASSIGN(auto pipeline,
                    in_pipeline(make_layout(name, spec.bindings, spec.push_bytes, VK_SHADER_STAGE_COMPUTE_BIT), name));
  GARUDA_TRY_ASSIGN(auto const module, in_pipeline(make_module(spec.compute, spec.constants), name));
  GARUDA_TRY_ASSIGN(
      VkPipeline const handle,
      in_pipeline(create_compute(device_, cache_.get(), spec, flags_, pipeline->layout(), module.get()), name));
  pipeline->pipeline_ = Unique<VkPipeline>(device_.owner(), handle);
  pipeline->strides_ = strides_over_groups(spec.compute);
  device_.set_name(handle, VK_OBJECT_TYPE_PIPELINE, name.c_str());
  return keep(std::move(key), std::move(pipeline));
}

bool PipelineStore::save() {
  if (!cache_file_) return false;
  std::size_t added = 0;
  {
    std::lock_guard const lock(mutex_);
    added = unsaved_;
  }
  VolkDeviceTable const& fn = device_.fn();
  std::size_t bytes = 0;
  if (fn.vkGetPipelineCacheData(device_.handle(), cache_.get(), &bytes, nullptr) != VK_SUCCESS) return false;
  if (bytes == loaded_bytes_) {
    // Whatever was compiled came out of the file.
    std::lock_guard const lock(mutex_);
    unsaved_ -= added;
    return true;
  }
  std::vector<std::byte> data(bytes);
  // VK_INCOMPLETE: another thread compiled in between; the next save has it all.
  if (fn.vkGetPipelineCacheData(device_.handle(), cache_.get(), &bytes, data.data()) != VK_SUCCESS) return false;
  data.resize(bytes);
  if (!write_pipeline_cache(*cache_file_, device_.traits(), data)) return false;
  std::lock_guard const lock(mutex_);
  unsaved_ -= added;
  return true;
}

std::size_t PipelineStore::size() const {
  std::lock_guard const lock(mutex_);
  return pipelines_.size();
}

Result<std::vector<Executable>> executables(Device const& device, Pipeline const& pipeline) {
  GARUDA_EXPECTS(device.traits().features.pipeline_executable_properties);
  VkPipelineInfoKHR const info{.sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, .pipeline = pipeline.handle()};
  VkPipelineExecutablePropertiesKHR const blank{.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR};
  auto const get = std::bind_front(device.fn().vkGetPipelineExecutablePropertiesKHR, device.handle(), &info);
  GARUDA_TRY_ASSIGN(auto const found, listed("vkGetPipelineExecutablePropertiesKHR", blank, get));
  std::vector<Executable> programs;
  for (std::uint32_t i = 0; i < found.size(); ++i) {
    GARUDA_TRY_ASSIGN(auto statistics, statistics_of(device, pipeline.handle(), i));
    programs.push_back({found[i].name, found[i].stages, found[i].subgroupSize, std::move(statistics)});
  }
  return programs;
}

}  // namespace garuda::vk
