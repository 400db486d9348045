// Traits of a device: a plain value, so that every choice made from it is tested without a device.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "garuda/device_info.hpp"

namespace garuda::vk {

using DeviceType = DeviceKind;

/// Formats that garuda draws into or reads.
enum class PixelFormat : std::uint8_t {
  r32_uint,
  r32g32_uint,
  r32g32b32a32_uint,
  r32_sfloat,
  r32g32_sfloat,
  r32g32b32a32_sfloat,
};
inline constexpr std::size_t kPixelFormatCount = 6;

/// The Vulkan name without prefix: "R32G32_UINT".
std::string_view to_string(PixelFormat format) noexcept;

/// The uses that optimal-tiling images of a format may have.
struct FormatSupport {
  bool color_attachment = false;
  bool blend = false;  ///< only meaningful for the float formats; integers are never blended
  bool sampled = false;
  bool storage = false;
  bool operator==(FormatSupport const&) const = default;
};

struct QueueFamily {
  std::uint32_t index = 0;
  std::uint32_t count = 0;
  bool graphics = false;
  bool compute = false;
  bool transfer = false;  ///< set for graphics and compute families too: they imply it
  bool video = false;     ///< decodes or encodes video; not taken for copies
  std::uint32_t timestamp_valid_bits = 0;
  bool operator==(QueueFamily const&) const = default;
};

struct MemoryHeap {
  std::uint64_t bytes = 0;
  bool device_local = false;
  bool operator==(MemoryHeap const&) const = default;
};

struct MemoryType {
  std::uint32_t heap = 0;
  bool device_local = false;
  bool host_visible = false;
  bool host_coherent = false;
  bool host_cached = false;
  bool special = false;  ///< protected, lazily allocated, uncached by the device: never used
  bool operator==(MemoryType const&) const = default;
};

/// Limits that garuda sizes by. Names and units follow VkPhysicalDeviceLimits and its extensions.
struct DeviceLimits {
  std::uint32_t max_image_2d = 0;
  std::uint32_t max_image_array_layers = 0;
  std::uint32_t max_framebuffer_width = 0;
  std::uint32_t max_framebuffer_height = 0;
  std::array<std::uint32_t, 2> max_viewport{};
  std::uint32_t max_color_attachments = 0;
  std::uint64_t max_storage_buffer_range = 0;
  std::uint64_t max_memory_allocation_size = 0;
  std::uint64_t max_buffer_size = 0;
  std::uint32_t max_memory_allocation_count = 0;
  std::uint64_t min_storage_buffer_offset_alignment = 1;
  std::uint64_t buffer_image_granularity = 1;
  std::uint64_t non_coherent_atom_size = 1;
  std::uint64_t min_imported_host_pointer_alignment = 0;  ///< 0 without VK_EXT_external_memory_host
  std::array<std::uint32_t, 3> max_workgroup_count{};
  std::uint32_t max_workgroup_invocations = 0;  ///< of a group along x, as all of garuda's are
  std::uint32_t max_compute_shared_memory_bytes = 0;
  std::uint32_t max_push_constants_bytes = 0;
  std::uint32_t max_per_stage_storage_buffers = 0;
  std::uint32_t max_per_stage_sampled_images = 0;
  std::uint32_t max_per_stage_storage_images = 0;
  std::uint32_t max_per_stage_resources = 0;
  double timestamp_period_ns = 0;  ///< nanoseconds per tick; 0 when the device has no timestamps
  std::array<float, 2> point_size_range{};
  bool operator==(DeviceLimits const&) const = default;
};

/// Features that garuda needs, uses when present, or only reports: no shader has 64-bit integers or stores outside
/// compute.
struct DeviceFeatures {
  bool dynamic_rendering = false;
  bool synchronization2 = false;
  bool maintenance4 = false;
  bool timeline_semaphore = false;

  bool buffer_device_address = false;
  bool independent_blend = false;
  bool subgroup_size_control = false;
  bool compute_full_subgroups = false;
  bool pipeline_executable_properties = false;
  bool external_memory_host = false;  ///< VK_EXT_external_memory_host
  bool memory_budget = false;         ///< VK_EXT_memory_budget
  bool global_priority = false;       ///< VK_KHR_global_priority or the EXT: queues of low priority

  bool scalar_block_layout = false;
  bool vertex_pipeline_stores_and_atomics = false;
  bool fragment_stores_and_atomics = false;
  bool storage_image_extended_formats = false;  ///< storage images of two channels (rg32ui)
  bool shader_int64 = false;
  bool shader_float64 = false;
  /// A module may declare of float64 alone that it is rounded to nearest even, and that zeros keep their signs and
  /// infinities and NaNs are what they are (VkPhysicalDeviceVulkan12Properties).
  bool rounds_float64 = false;
  bool shader_int16 = false;
  bool shader_int8 = false;
  bool shader_buffer_int64_atomics = false;

  /// Whether shaders may compute with float64 where its bits matter.
  bool exact_float64() const noexcept { return shader_float64 && rounds_float64; }
  bool operator==(DeviceFeatures const&) const = default;
};

/// Shader stages as a set, for subgroup operations.
struct StageSet {
  bool vertex = false;
  bool fragment = false;
  bool compute = false;
  bool operator==(StageSet const&) const = default;
};

struct Subgroup {
  std::uint32_t size = 0;      ///< default size
  std::uint32_t min_size = 0;  ///< equal to `size` where the size cannot be chosen
  std::uint32_t max_size = 0;
  StageSet stages;
  bool basic = false;
  bool vote = false;
  bool arithmetic = false;
  bool ballot = false;
  bool shuffle = false;
  bool selectable_in_compute = false;  ///< the size may be required of compute pipelines
  bool operator==(Subgroup const&) const = default;
};

/// A flaw of a named driver version that garuda works around, with its reason in words.
struct DriverQuirk {
  std::string what;    ///< what is affected: kTimestampQuirk, kSpecializationQuirk
  std::string reason;  ///< one sentence with driver and versions
  bool operator==(DriverQuirk const&) const = default;
};

/// `what` of the quirk that makes GPU timestamps useless.
inline constexpr std::string_view kTimestampQuirk = "timestamps";
/// `what` of the quirk that makes modules with specialization constants slow to compile.
inline constexpr std::string_view kSpecializationQuirk = "specialization constants";

/// Everything that choices about a device are made from. Plain, comparable, copyable.
struct DeviceTraits {
  std::string name;
  std::uint32_t vendor_id = 0;
  std::uint32_t device_id = 0;
  std::string driver_name;      ///< "llvmpipe", "NVIDIA", …
  std::string driver_info;      ///< the driver's own version text: "Mesa 22.3.6 (LLVM 15.0.6)"
  std::uint32_t driver_id = 0;  ///< VkDriverId
  std::uint32_t driver_version = 0;
  std::array<std::uint8_t, 16> uuid{};
  std::array<std::uint8_t, 16> pipeline_cache_uuid{};
  DeviceType type = DeviceType::other;
  std::uint32_t api_version = 0;  ///< VK_MAKE_API_VERSION encoding
  /// Every memory heap is device-local: host and device share one memory. Integrated and software devices.
  bool unified_memory = false;
  Subgroup subgroup;
  DeviceLimits limits;
  DeviceFeatures features;
  std::array<FormatSupport, kPixelFormatCount> formats{};
  std::vector<QueueFamily> queue_families;
  std::vector<MemoryHeap> heaps;
  std::vector<MemoryType> memory_types;
  /// Optional features this device lacks, by Vulkan name, in the order of DeviceFeatures and formats.
  std::vector<std::string> missing_optional;
  std::vector<DriverQuirk> quirks;
  /// False when GPU timestamps cannot be trusted (see quirks) or do not exist; phases then take host time.
  bool timestamps_reliable = false;
  /// Points that one submission may draw so that none is expected to exceed about 100 ms, until its passes were seen
  /// (Pace): a default by device type (default_max_points_per_submission).
  std::uint64_t max_points_per_submission = 0;

  bool has_quirk(std::string_view what) const noexcept;
  FormatSupport const& format(PixelFormat f) const noexcept { return formats[static_cast<std::size_t>(f)]; }
  /// Bytes of the largest device-local heap.
  std::uint64_t device_local_bytes() const noexcept;
  /// Memory that is device-local and host-visible covers the whole device-local heap (unified memory, resizable BAR).
  bool device_memory_mappable() const noexcept;
  /// Whether host memory can be made the device's without a copy: it is the same memory, and may be imported.
  bool imports_in_place() const noexcept { return unified_memory && features.external_memory_host; }
  /// Whether the processor's memory is the device's, whatever its heaps are called: an integrated GPU's small heap of
  /// its own is cut from it.
  bool shares_memory() const noexcept { return unified_memory || type == DeviceType::integrated; }
  /// Whether pipelines are compiled when they first run, as those of software drivers are (lavapipe, SwiftShader).
  bool compiles_when_run() const noexcept { return type == DeviceType::cpu; }
  /// Largest width or height of an image that garuda renders into: image, framebuffer and viewport limits together.
  std::uint32_t max_render_extent() const noexcept;
  /// "1.3.230".
  std::string api_version_text() const;

  bool operator==(DeviceTraits const&) const = default;
};

/// Points per submission before anything was seen: 2^25 for discrete GPUs (0.6 G points/s measured on an H200, a
/// data-centre part that rasterises slowly for its class), 2^22 for integrated and virtual ones (assumed 50 M points/s
/// at worst), 2^18 for software rasterisers (2.3–3.4 M points/s measured on lavapipe, 1.2–1.6 on SwiftShader).
std::uint64_t default_max_points_per_submission(DeviceType type) noexcept;

/// Fills the derived members (missing_optional, quirks, timestamps_reliable, max_points_per_submission, unified_memory)
/// from the queried ones. Pure.
void derive_traits(DeviceTraits& traits);

/// Why garuda cannot run on a device at all, or nothing when it can: Vulkan 1.3, the required features, a queue family
/// with graphics and compute, the formats of the graphics path, required limits.
std::optional<std::string> unusable_reason(DeviceTraits const& traits);

}  // namespace garuda::vk
