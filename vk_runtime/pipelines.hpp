// Graphics and compute pipelines, made once per description and kept with a cache on disk.
#pragma once

#include <volk.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "garuda/error.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/shader_code.hpp"
#include "vk_runtime/unique.hpp"

namespace garuda::vk {

enum class BindingKind : std::uint8_t {
  storage_buffer,
  sampled_image,  ///< texture2D / utexture2DArray …, read by texelFetch; there are no samplers
  storage_image,
};

/// One binding of descriptor set 0.
struct BindingSpec {
  std::uint32_t binding = 0;
  BindingKind kind = BindingKind::storage_buffer;
  bool operator==(BindingSpec const&) const = default;
};

/// How a fragment meets what the attachment holds.
enum class Blend : std::uint8_t {
  none,  ///< overwrite, in primitive order
  add,   ///< destination + source
  max,   ///< per channel
};

struct ColorTarget {
  VkFormat format = VK_FORMAT_UNDEFINED;
  Blend blend = Blend::none;
  bool operator==(ColorTarget const&) const = default;
};

/// Description of a graphics pipeline that draws points: no vertex buffers, no depth, no multisampling, no culling,
/// dynamic viewport and scissor. Bindings are visible to both stages.
struct GraphicsPipelineSpec {
  ShaderCode vertex;
  ShaderCode fragment;
  std::vector<SpecConstant> constants;  ///< given to both stages; a stage ignores ids it does not have
  std::vector<BindingSpec> bindings;
  std::uint32_t push_bytes = 0;      ///< multiple of 4, from offset 0, both stages
  std::vector<ColorTarget> targets;  ///< attachment i is location i
};

struct ComputePipelineSpec {
  ShaderCode compute;
  std::vector<SpecConstant> constants;
  std::vector<BindingSpec> bindings;
  std::uint32_t push_bytes = 0;
  /// 0: the driver's default; otherwise a power of two within [min_size, max_size] where subgroup_size_control is
  /// present.
  std::uint32_t required_subgroup_size = 0;
  /// Every subgroup has all its invocations; the workgroup's width is a multiple of the subgroup size.
  bool full_subgroups = false;
};

/// A compiled pipeline with its layout. Lives as long as its store; immutable but for is_new(), shared by threads.
class Pipeline {
 public:
  VkPipeline handle() const noexcept { return pipeline_.get(); }
  VkPipelineLayout layout() const noexcept { return layout_.get(); }
  VkDescriptorSetLayout set_layout() const noexcept { return set_layout_.get(); }
  VkPipelineBindPoint bind_point() const noexcept { return bind_point_; }
  VkShaderStageFlags stages() const noexcept { return stages_; }
  std::vector<BindingSpec> const& bindings() const noexcept { return bindings_; }
  std::uint32_t push_bytes() const noexcept { return push_bytes_; }
  /// Whether it cannot be dispatched in parts: strides_over_groups().
  bool strides() const noexcept { return strides_; }
  /// Whether this is the first time that it is recorded, which is when software drivers compile it.
  bool is_new() const noexcept { return !recorded_.exchange(true, std::memory_order_relaxed); }
  /// "join/build.vert+join/build.frag", for messages and labels.
  std::string const& name() const noexcept { return name_; }

 private:
  friend class PipelineStore;
  std::string name_;
  Unique<VkDescriptorSetLayout> set_layout_;
  Unique<VkPipelineLayout> layout_;
  Unique<VkPipeline> pipeline_;
  VkPipelineBindPoint bind_point_ = VK_PIPELINE_BIND_POINT_COMPUTE;
  VkShaderStageFlags stages_ = 0;
  std::vector<BindingSpec> bindings_;
  std::uint32_t push_bytes_ = 0;
  bool strides_ = false;
  mutable std::atomic<bool> recorded_ = false;
};

/// Folder of the pipeline cache: $XDG_CACHE_HOME/garuda or ~/.cache/garuda; nothing where neither variable is set.
std::optional<std::filesystem::path> default_cache_folder();

/// All pipelines of one device, found by their description. Thread-safe; threads compile different pipelines at once
/// (two that ask for the same one at the same moment may both compile it, one result is kept). Nothing is ever
/// submitted, so it works on devices that cannot execute (RADV's null device). Its device outlives it, and it outlives
/// the lanes that use its pipelines.
class PipelineStore {
 public:
  /// Reads the cache file of this device and driver from `cache_folder` when there is one. A file of another device or
  /// driver version, or a damaged one, is ignored. Nothing: no cache on disk.
  static Result<std::unique_ptr<PipelineStore>> create(Device& device,
                                                       std::optional<std::filesystem::path> cache_folder);
  PipelineStore(PipelineStore const&) = delete;
  PipelineStore& operator=(PipelineStore const&) = delete;
  /// Saves the cache when pipelines were added since the last save.
  ~PipelineStore();

  /// The pipeline of this description, compiled at the first call. The pointer is good for the life of the store.
  /// Errors: limit_exceeded when it needs more attachments, push constants or bindings than the device has;
  /// out_of_memory; device_failure with the pipeline's name.
  Result<Pipeline const*> compile(GraphicsPipelineSpec const& spec);
  Result<Pipeline const*> compile(ComputePipelineSpec const& spec);

  /// Has the driver keep the statistics of pipelines compiled from now on (vk::executables), which may take it longer.
  /// Before threads share the store. Precondition: the device has pipeline_executable_properties.
  void keep_statistics();

  /// Writes the cache file, through a temporary name, so that readers never see half of one. Returns whether the file
  /// is up to date now; a folder that cannot be written is no error.
  bool save();

  /// Where the cache is kept, if anywhere.
  std::optional<std::filesystem::path> const& cache_file() const noexcept { return cache_file_; }
  /// Bytes taken over from the file at creation; 0 when it was absent or ignored.
  std::size_t loaded_bytes() const noexcept { return loaded_bytes_; }
  /// Pipelines compiled so far.
  std::size_t size() const;

 private:
  explicit PipelineStore(Device& device) : device_(device) {}

  Pipeline const* find(std::string const& key) const;
  Pipeline const* keep(std::string key, std::unique_ptr<Pipeline> pipeline);
  Result<std::unique_ptr<Pipeline>> make_layout(std::string name, std::vector<BindingSpec> const& bindings,
                                                std::uint32_t push_bytes, VkShaderStageFlags stages) const;
  Result<Unique<VkShaderModule>> make_module(ShaderCode code, std::vector<SpecConstant> const& constants) const;
  Result<void> check_targets(GraphicsPipelineSpec const& spec, std::string const& name) const;

  Device& device_;
  std::optional<std::filesystem::path> cache_file_;
  std::size_t loaded_bytes_ = 0;
  Unique<VkPipelineCache> cache_;
  VkPipelineCreateFlags flags_ = 0;
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Pipeline>> pipelines_;
  std::size_t unsaved_ = 0;
};

/// One of a pipeline's programs: a stage, or several that the driver made one of.
struct Executable {
  std::string name;                 ///< the driver's: "Compute Shader"
  VkShaderStageFlags stages = 0;    ///< that it runs
  std::uint32_t subgroup_size = 0;  ///< 0 where the driver does not say
  /// Statistics by the driver's names: RADV has "VGPRs", "SGPRs", "Spilled VGPRs", "LDS size" in bytes, …
  std::map<std::string, double> statistics;
};

/// The executables of a pipeline, in the driver's order. `pipeline` comes from a store of `device` that keeps
/// statistics (PipelineStore::keep_statistics). Errors: device_failure, out_of_memory.
Result<std::vector<Executable>> executables(Device const& device, Pipeline const& pipeline);

}  // namespace garuda::vk
