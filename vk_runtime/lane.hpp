// A lane: everything one partition in flight needs on a device, and the recorder of its submissions: barriers, passes,
// dispatches and copies that read like the algorithm. Several lanes run side by side, each on one thread.
#pragma once

#include <volk.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "garuda/error.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/memory/memory.hpp"
#include "vk_runtime/memory/transfer.hpp"
#include "vk_runtime/pipelines.hpp"
#include "vk_runtime/timeline.hpp"

namespace garuda::vk {

/// Stages and accesses of a use, and the layout an image has in it. Uses combine with `|`; those of one image have to
/// agree in the layout.
struct ResourceUse {
  VkPipelineStageFlags2 stages = VK_PIPELINE_STAGE_2_NONE;
  VkAccessFlags2 access = VK_ACCESS_2_NONE;
  VkImageLayout layout = VK_IMAGE_LAYOUT_UNDEFINED;  ///< of images; buffers ignore it

  friend constexpr ResourceUse operator|(ResourceUse a, ResourceUse b) {
    GARUDA_EXPECTS(a.layout == b.layout || a.layout == VK_IMAGE_LAYOUT_UNDEFINED ||
                   b.layout == VK_IMAGE_LAYOUT_UNDEFINED);
    return {a.stages | b.stages, a.access | b.access, a.layout == VK_IMAGE_LAYOUT_UNDEFINED ? b.layout : a.layout};
  }
  bool operator==(ResourceUse const&) const = default;
};

/// The uses garuda has. "Read" and "Write" in the names of storage uses mean storage buffers and storage images;
/// sampled ones mean texelFetch.
namespace use {

/// Nothing came before: the resource is new, or its contents are not wanted. Only for producers.
inline constexpr ResourceUse kUndefined{};

inline constexpr ResourceUse kHostRead{VK_PIPELINE_STAGE_2_HOST_BIT, VK_ACCESS_2_HOST_READ_BIT};

inline constexpr ResourceUse kTransferRead{VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT, VK_ACCESS_2_TRANSFER_READ_BIT,
                                           VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL};
inline constexpr ResourceUse kTransferWrite{VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT,
                                            VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL};

/// Drawn into, blended or not, cleared or loaded.
inline constexpr ResourceUse kColorAttachment{
    VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT,
    VK_ACCESS_2_COLOR_ATTACHMENT_READ_BIT | VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT,
    VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};

inline constexpr ResourceUse kVertexRead{VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT, VK_ACCESS_2_SHADER_STORAGE_READ_BIT,
                                         VK_IMAGE_LAYOUT_GENERAL};
inline constexpr ResourceUse kVertexSampled{VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT, VK_ACCESS_2_SHADER_SAMPLED_READ_BIT,
                                            VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};

inline constexpr ResourceUse kComputeRead{VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT, VK_ACCESS_2_SHADER_STORAGE_READ_BIT,
                                          VK_IMAGE_LAYOUT_GENERAL};
/// Written, or read and written (atomics), by compute.
inline constexpr ResourceUse kComputeWrite{VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
                                           VK_ACCESS_2_SHADER_STORAGE_READ_BIT | VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT,
                                           VK_IMAGE_LAYOUT_GENERAL};
inline constexpr ResourceUse kComputeSampled{VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
                                             VK_ACCESS_2_SHADER_SAMPLED_READ_BIT,
                                             VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};

}  // namespace use

/// The resource at one binding of set 0: a range of a buffer or an image view. Does not own.
struct BoundResource {
  std::uint32_t binding = 0;
  BufferView buffer;
  VkImageView image = VK_NULL_HANDLE;

  static BoundResource of(std::uint32_t binding, Buffer const& buffer) { return {binding, buffer.view(), {}}; }
  static BoundResource of(std::uint32_t binding, BufferView buffer) { return {binding, buffer, {}}; }
  static BoundResource of(std::uint32_t binding, VkImageView image) { return {binding, {}, image}; }
};

/// Descriptor sets of one lane: pools grow as needed and are reset together.
class DescriptorArena {
 public:
  explicit DescriptorArena(Device& device) : device_(&device) {}
  /// A set of `layout`, not yet written; valid until reset().
  Result<VkDescriptorSet> allocate(VkDescriptorSetLayout layout);
  /// Takes all sets back; no submission uses one any more.
  Result<void> reset();

 private:
  Result<void> add_pool();
  Device* device_;
  std::vector<Unique<VkDescriptorPool>> pools_;
  std::size_t current_ = 0;
};

/// An attachment of a render pass.
struct ColorAttachment {
  VkImageView view = VK_NULL_HANDLE;
  /// Cleared at the start to `clear_value`, or else loaded.
  bool clear = false;
  VkClearColorValue clear_value{};
};

/// Colours to clear to.
VkClearColorValue clear_uint(std::uint32_t r, std::uint32_t g = 0, std::uint32_t b = 0, std::uint32_t a = 0) noexcept;
VkClearColorValue clear_float(float r, float g = 0, float b = 0, float a = 0) noexcept;

/// Records one command buffer. Made by Lane::begin, ended by Lane::submit. Move-only, not thread-safe.
///
/// Errors in bind() leave the recording incomplete: return them, the lane takes the command buffer back.
class CommandRecorder {
 public:
  CommandRecorder(Device& device, VkCommandBuffer commands, DescriptorArena& descriptors, PhaseTimer& timer) noexcept;
  CommandRecorder(CommandRecorder&&) = default;
  CommandRecorder& operator=(CommandRecorder&&) = default;

  VkCommandBuffer handle() const noexcept { return commands_; }

  /// Starts and ends a named phase: a debug label with timestamps around. Phases do not nest.
  void begin_phase(char const* name);
  void end_phase();
  /// A label alone; labels nest.
  void begin_label(char const* name);
  void end_label();

  /// Orders the use of a whole buffer: what `producer` wrote is visible to `consumer`, and `consumer`'s writes come
  /// after `producer`'s reads.
  void barrier(Buffer const& buffer, ResourceUse producer, ResourceUse consumer);
  /// Orders the use of an image, all layers (or `layer_count` from `first_layer`), and takes it from the producer's
  /// layout to the consumer's. Producer use::kUndefined drops the contents.
  void barrier(Image const& image, ResourceUse producer, ResourceUse consumer);
  void barrier(Image const& image, std::uint32_t first_layer, std::uint32_t layer_count, ResourceUse producer,
               ResourceUse consumer);
  /// Orders the use of all memory at once, without layout changes.
  void barrier(ResourceUse producer, ResourceUse consumer);

  /// Fills `view` (offset and size multiples of 4) with a word. Use: kTransferWrite.
  void fill(BufferView view, std::uint32_t word);
  /// Writes `bytes` (4 to 65536, a multiple of 4) at the start of `view`, from the command itself. Use: kTransferWrite.
  void update(BufferView view, std::span<std::byte const> bytes);
  /// Copies bytes between buffers (kTransferRead → kTransferWrite); `source.bytes == destination.bytes`.
  void copy(BufferView source, BufferView destination);
  /// Copies the texels of `area` of one layer to or from tightly packed rows (kTransferRead / kTransferWrite). The
  /// buffer's offset is a multiple of 16.
  void copy(Image const& source, std::uint32_t layer, VkRect2D area, BufferView destination);
  void copy(BufferView source, Image const& destination, std::uint32_t layer, VkRect2D area);
  /// Clears all layers (kTransferWrite).
  void clear(Image const& image, VkClearColorValue value);

  /// Binds `pipeline` with resources for each of its bindings, by number, and its push constants (push_bytes() long).
  /// Errors: out_of_memory for descriptor sets.
  Result<void> bind(Pipeline const& pipeline, std::span<BoundResource const> resources,
                    std::span<std::byte const> push = {});
  template <class Push>
  requires std::is_trivially_copyable_v<Push> &&(!std::is_convertible_v<Push const&, std::span<std::byte const>>)
      Result<void> bind(Pipeline const& pipeline, std::span<BoundResource const> resources, Push const& push) {
    return bind(pipeline, resources, std::as_bytes(std::span<Push const, 1>(&push, 1)));
  }
  /// New push constants for the pipeline bound.
  void push(Pipeline const& pipeline, std::span<std::byte const> push);

  /// Begins drawing into `area` of the attachments: render area, viewport and scissor are all `area`, so that NDC [-1,
  /// 1] spans it. Attachments are in use::kColorAttachment.
  void begin_rendering(VkRect2D area, std::span<ColorAttachment const> attachments);
  void begin_rendering(VkExtent2D extent, std::span<ColorAttachment const> attachments) {
    begin_rendering(VkRect2D{{0, 0}, extent}, attachments);
  }
  void end_rendering();

  /// gl_VertexIndex runs from `first_vertex`, gl_InstanceIndex from `first_instance`. Instances are drawn one after
  /// another.
  void draw(std::uint32_t vertices, std::uint32_t instances = 1, std::uint32_t first_vertex = 0,
            std::uint32_t first_instance = 0);

  /// Runs at least `groups` workgroups (0: none), laid out in x and y so that no axis exceeds its limit. The shader's
  /// linear workgroup is gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; it ignores those past the count it
  /// knows (fewer than gl_NumWorkGroups.y are surplus). `groups` is at most the product of the limits of x and y.
  void dispatch(std::uint64_t groups) { dispatch_part(groups, 0, 1); }
  /// Dispatches one of `parts` that may go into different submissions, the workgroups of part 0 first. Shaders see no
  /// difference unless they use gl_NumWorkGroups for more than their number. Where there are more parts than
  /// workgroups, or rows of them, some are empty, but not part 0.
  void dispatch_part(std::uint64_t groups, std::uint32_t part, std::uint32_t parts);
  /// Runs the VkDispatchIndirectCommand at `offset` of a buffer with VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT.
  void dispatch_indirect(Buffer const& buffer, std::uint64_t offset);

 private:
  Result<void> write_descriptors(Pipeline const& pipeline, std::span<BoundResource const> resources,
                                 VkDescriptorSet set) const;

  Device* device_;
  VkCommandBuffer commands_;
  DescriptorArena* descriptors_;
  PhaseTimer* timer_;
};

/// Workgroups in x and y for `groups` in all: x * y >= groups, both within the limits, as little surplus as possible.
/// Where they fill several rows, as many as there are `parts`, if the limit allows and each has a workgroup: parts are
/// whole rows.
struct GroupCounts {
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  bool operator==(GroupCounts const&) const = default;
};
GroupCounts split_groups(std::uint64_t groups, std::uint32_t max_x, std::uint32_t max_y, std::uint32_t parts = 1);

struct LaneOptions {
  TransferOptions transfer;
  /// Passes read the host's memory where it is, as far as the device can be given it: see PassContext::input().
  bool reads_in_place = false;
  std::uint64_t block_bytes = std::uint64_t{64} << 20;  ///< of the arena
  char const* name = "lane";
};

/// Owns an arena, command buffers, descriptors, a timeline, a transfer ring and a phase timer; borrows device and
/// queue. Used by one thread at a time; does not move. Its destructor waits for its submissions.
class Lane {
 public:
  static Result<std::unique_ptr<Lane>> create(Device& device, LaneOptions const& options);
  Lane(Lane const&) = delete;
  Lane& operator=(Lane const&) = delete;
  ~Lane();

  Device& device() noexcept { return device_; }
  Queue& queue() noexcept { return queue_; }
  MemoryArena& arena() noexcept { return arena_; }
  Transfer& transfer() noexcept { return *transfer_; }
  PhaseTimer& timer() noexcept { return timer_; }
  bool reads_in_place() const noexcept { return reads_in_place_; }

  /// Starts recording; one recorder at a time. A recorder that is dropped instead of submitted is taken back by the
  /// next begin(). Errors: out_of_memory, device_failure.
  Result<CommandRecorder> begin();

  /// Ends and submits what was recorded, to start after every ticket of `waits`. Does not block.
  Result<Ticket> submit(CommandRecorder recorder, std::span<Ticket const> waits = {});

  /// Blocks until `ticket` is reached. After Error(cancelled), call drain() before destroying what the device still
  /// uses.
  Result<void> wait(Ticket ticket, WaitOptions const& options = {});

  /// submit(), then wait().
  Result<void> submit_and_wait(CommandRecorder recorder, std::span<Ticket const> waits = {},
                               WaitOptions const& options = {});

  /// Blocks until every submission and copy of this lane is complete; not cancellable. Errors: device_failure.
  Result<void> drain();

  /// Drains, then takes command buffers and descriptor sets back and adds up phase times. For the arena see reset().
  Result<void> recycle();

  /// recycle(), then frees the arena: no buffer or image of it is alive. Between partitions.
  Result<void> reset();

 private:
  Lane(Device& device, Queue& queue, LaneOptions const& options, PhaseTimer timer);

  Result<VkCommandBuffer> next_command_buffer();

  Device& device_;
  Queue& queue_;
  bool reads_in_place_;
  MemoryArena arena_;
  Timeline timeline_;
  PhaseTimer timer_;
  DescriptorArena descriptors_;
  std::unique_ptr<Transfer> transfer_;
  Unique<VkCommandPool> command_pool_;
  std::vector<VkCommandBuffer> commands_;
  std::size_t next_commands_ = 0;
  bool recording_ = false;
};

}  // namespace garuda::vk
