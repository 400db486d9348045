// Buffers and images in few large blocks: a linear arena per lane, rewound or reset when their work is done.
#pragma once

#include <volk.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "garuda/error.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/memory/memory_pool.hpp"
#include "vk_runtime/unique.hpp"

namespace garuda::vk {

class MemoryArena;

/// The use of memory, which decides its type.
enum class MemoryUse : std::uint8_t {
  device,         ///< fastest for the device; mapped only where all device memory is (unified memory)
  upload,         ///< host writes in order, device reads: host-visible
  download,       ///< device writes, host reads: host-visible and cached where there is such a type
  device_mapped,  ///< device-local and host-visible; out_of_memory where the device has none
};

struct BufferSpec {
  std::uint64_t bytes = 0;  ///< > 0
  MemoryUse use = MemoryUse::device;
  /// Storage, transfer in both directions, and (where the device has it) device address are always included.
  VkBufferUsageFlags extra_usage = 0;
  char const* name = "buffer";  ///< for captures and messages; need not outlive the call
};

struct ImageSpec {
  VkFormat format = VK_FORMAT_UNDEFINED;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t layers = 1;
  /// Transfer in both directions is always included.
  VkImageUsageFlags usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_SAMPLED_BIT;
  char const* name = "image";
};

/// The handles and the memory of its own (dedicated, imported) that a buffer or an image has.
struct ArenaResource {
  MemoryBlock own_memory;
  Unique<VkBuffer> buffer;
  Unique<VkImage> image;
  Unique<VkImageView> array_view;
  std::vector<Unique<VkImageView>> layer_views;
  bool is_import = false;  ///< of host memory, which is its owner's again at once
};

/// Owner of an ArenaResource on behalf of Buffer and Image. Its destruction hands the handles to the arena, which keeps
/// them until it is reset or rewound: so a function that returns early, with an error, destroys nothing that the device
/// may still be using. Imports of host memory are destroyed at once: who drops one knows that the device is done.
class ArenaOwner {
 public:
  ArenaOwner() = default;
  ArenaOwner(MemoryArena& arena, ArenaResource resource) noexcept;
  ArenaOwner(ArenaOwner&& other) noexcept;
  ArenaOwner& operator=(ArenaOwner&& other) noexcept;
  ~ArenaOwner() { release(); }

  ArenaResource const& operator*() const noexcept { return resource_; }
  ArenaResource const* operator->() const noexcept { return &resource_; }
  /// Destroys the handles at once.
  void destroy() noexcept;

 private:
  void release() noexcept;
  MemoryArena* arena_ = nullptr;
  ArenaResource resource_;
};

/// A range of a buffer, as descriptors and copies take it. Does not own.
struct BufferView {
  VkBuffer buffer = VK_NULL_HANDLE;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// Owner of a VkBuffer whose memory belongs to an arena (or to itself when dedicated or imported). Move-only. Gone
/// before its arena is reset or rewound past it; the device may still be using it when it goes, unless it is host
/// memory. An empty one owns nothing.
class Buffer {
 public:
  Buffer() = default;

  explicit operator bool() const noexcept { return static_cast<bool>(owner_->buffer); }
  VkBuffer handle() const noexcept { return owner_->buffer.get(); }
  /// The size asked for; the VkBuffer itself is a multiple of 16 bytes long.
  std::uint64_t bytes() const noexcept { return bytes_; }
  /// Where the device sees it; 0 where the device has no buffer addresses.
  VkDeviceAddress address() const noexcept { return address_; }

  /// The host's view, bytes() long, or nullptr when not mapped.
  std::byte* mapped() const noexcept { return mapped_; }
  /// Whether the host reads it through its cache, so at the speed of its own memory.
  bool host_cached() const noexcept { return host_cached_; }
  /// The host's view as values of T. The buffer is mapped and T's alignment divides its offset (16 always does).
  template <class T>
  std::span<T> mapped_as() const {
    GARUDA_EXPECTS(mapped_ != nullptr);
    return {reinterpret_cast<T*>(mapped_), static_cast<std::size_t>(bytes_ / sizeof(T))};
  }

  /// Makes host writes visible to submissions that follow, and device writes (made available by a barrier to the host,
  /// the submission waited for) visible to the host. Nothing to do on coherent memory. `offset + bytes <= bytes()`.
  Result<void> flush(std::uint64_t offset, std::uint64_t bytes) const;
  Result<void> invalidate(std::uint64_t offset, std::uint64_t bytes) const;

  BufferView view() const noexcept { return {handle(), view_offset_, bytes_}; }
  /// A part of it. `offset + bytes <= bytes()`; as a storage buffer the offset is a multiple of
  /// min_storage_buffer_offset_alignment.
  BufferView view(std::uint64_t offset, std::uint64_t bytes) const;

  /// Destroys it at once, and lets go of imported host memory. The device is done with it.
  void destroy() noexcept;

 private:
  friend class MemoryArena;
  VkMappedMemoryRange mapped_range(std::uint64_t offset, std::uint64_t bytes) const;

  ArenaOwner owner_;
  DeviceHandle device_;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  std::uint64_t memory_offset_ = 0;
  std::uint64_t memory_bytes_ = 0;
  std::uint64_t atom_bytes_ = 0;  // nonCoherentAtomSize, or 0 when the memory is coherent
  std::uint64_t bytes_ = 0;
  std::uint64_t view_offset_ = 0;  // in the VkBuffer, of host memory that begins within a unit of imports
  VkDeviceAddress address_ = 0;
  std::byte* mapped_ = nullptr;
  bool host_cached_ = false;
};

/// Owner of a 2D image with one or more layers, and of its views. Same life as Buffer.
class Image {
 public:
  Image() = default;

  explicit operator bool() const noexcept { return static_cast<bool>(owner_->image); }
  VkImage handle() const noexcept { return owner_->image.get(); }
  VkFormat format() const noexcept { return format_; }
  VkExtent2D extent() const noexcept { return extent_; }
  std::uint32_t layers() const noexcept { return layers_; }
  /// 2D view of one layer: attachment, texture2D, image2D.
  VkImageView layer_view(std::uint32_t layer = 0) const { return owner_->layer_views.at(layer).get(); }
  /// 2D array view of all layers: texture2DArray, image2DArray.
  VkImageView array_view() const noexcept { return owner_->array_view.get(); }
  /// Bytes of device memory it takes.
  std::uint64_t memory_bytes() const noexcept { return memory_bytes_; }

 private:
  friend class MemoryArena;
  ArenaOwner owner_;
  VkFormat format_ = VK_FORMAT_UNDEFINED;
  VkExtent2D extent_{};
  std::uint32_t layers_ = 0;
  std::uint64_t memory_bytes_ = 0;
};

/// A position of an arena to rewind to.
struct ArenaMark {
  struct Position {
    std::uint64_t block = 0;
    std::uint64_t offset = 0;
    bool image_last = false;
  };
  std::size_t live = 0;
  std::size_t buried = 0;
  std::vector<Position> positions;
};

/// Linear sub-allocation out of blocks of the device's MemoryPool. One per lane: not thread-safe, does not move.
///
/// Offsets respect the requirements of each resource, bufferImageGranularity between buffers and images, and
/// nonCoherentAtomSize in mapped memory. A resource that requires a dedicated allocation, or is larger than half a
/// block, gets memory of its own; the latter is kept as a block of the arena. Dedicated memory that a driver merely
/// prefers is not given: few blocks are worth more here.
class MemoryArena {
 public:
  /// `block_bytes`: size of an ordinary block; smaller ones are taken at first, each as large as all before it of its
  /// type, and when the pool cannot give that much.
  explicit MemoryArena(Device& device, std::uint64_t block_bytes = std::uint64_t{64} << 20);
  MemoryArena(MemoryArena const&) = delete;
  MemoryArena& operator=(MemoryArena const&) = delete;
  /// Every buffer and image is gone by then, and the device is done with them.
  ~MemoryArena();

  /// Creates a buffer; contents undefined.
  /// Errors: limit_exceeded for more than max_buffer_size or past the memory limit; out_of_memory.
  Result<Buffer> buffer(BufferSpec const& spec);

  /// Creates an image, layout undefined, contents undefined, with a view of every layer and one of all.
  /// Errors: limit_exceeded for an extent or number of layers past the device's limits; out_of_memory.
  Result<Image> image(ImageSpec const& spec);

  /// Makes host memory a buffer of the device, without a copy. `memory` (not empty) stays alive and in place as long as
  /// the Buffer; the units of min_imported_host_pointer_alignment around it are imported. Its contents are not changed
  /// by the import. Errors: no_device where the device cannot import host memory; out_of_memory when the driver refuses
  /// these pages.
  Result<Buffer> import_host(std::span<std::byte> memory, VkBufferUsageFlags extra_usage = 0,
                             char const* name = "imported");

  /// Position to rewind() to.
  ArenaMark mark() const;
  /// Frees what was taken since `mark`: none of it is alive, and the device is done with it. Blocks are kept for reuse.
  void rewind(ArenaMark const& mark);
  /// Frees everything: no buffer or image of this arena is alive, and the device is done with them. Blocks are kept for
  /// reuse.
  void reset();
  /// Gives unused blocks back to the pool.
  void trim();

  /// Bytes that were placed in another type of memory than the best one since the last call, because that had no room.
  std::uint64_t take_bytes_elsewhere() noexcept { return std::exchange(bytes_elsewhere_, 0); }

  /// Buffers and images alive.
  std::size_t live() const noexcept { return live_; }
  /// Bytes of the blocks held.
  std::uint64_t reserved_bytes() const noexcept;
  /// Bytes taken since the last reset, gaps for alignment included.
  std::uint64_t used_bytes() const noexcept;
  Device& device() noexcept { return device_; }

 private:
  friend class ArenaOwner;

  struct Block {
    std::uint64_t id = 0;
    MemoryBlock memory;
    std::uint64_t offset = 0;
    bool image_last = false;  // whether the last resource before `offset` is an image, for bufferImageGranularity
  };
  /// Where a resource goes: in a block of the arena, or at the start of memory of its own.
  struct Placement {
    MemoryBlock const* block = nullptr;
    MemoryBlock own_memory;
    std::uint64_t offset = 0;
    bool is_import = false;
  };

  /// Places a resource in the first of `types` that has room.
  Result<Placement> place(VkMemoryRequirements const& requirements, std::span<std::uint32_t const> types, bool image);
  Result<Placement> place(VkMemoryRequirements const& requirements, std::uint32_t type, bool image);
  /// Memory of its own in the first of `types` that has room; `request` says whose.
  Result<Placement> place_alone(BlockRequest request, std::span<std::uint32_t const> types);
  /// Calls `try_type` with one type after the other until one has room.
  template <class TryType>
  Result<Placement> first_with_room(std::uint64_t bytes, std::span<std::uint32_t const> types, TryType const& try_type);
  std::optional<Placement> place_in(Block& block, VkMemoryRequirements const& requirements, bool image) const;
  /// Size of the next block; blocks in host memory double what the arena has of their type.
  std::uint64_t ordinary_bytes(std::uint32_t type) const;
  Result<void> grow(std::uint64_t bytes, std::uint32_t type);
  /// The best first. Where the processor's memory is the GPU's, any type of it will do, however small the heap is that
  /// is called the device's own.
  Result<std::vector<std::uint32_t>> types_for(std::uint32_t allowed_types, MemoryUse use) const;
  Result<Unique<VkBuffer>> create_buffer(std::uint64_t bytes, VkBufferUsageFlags extra_usage, bool imported,
                                         char const* name) const;
  Result<Placement> place_buffer(VkBuffer buffer, MemoryUse use);
  Result<Unique<VkImage>> create_image(ImageSpec const& spec) const;
  Result<Placement> place_image(VkImage image);
  Result<Unique<VkImageView>> create_view(VkImage image, ImageSpec const& spec, VkImageViewType type,
                                          std::uint32_t first_layer, std::uint32_t layers) const;
  Result<std::uint32_t> import_type(std::span<std::byte> memory, VkBuffer buffer) const;
  Result<Buffer> bind(Unique<VkBuffer> handle, Placement placement, std::uint64_t bytes);

  /// Takes over the handles of a dropped resource; never allocates, since make_grave() has.
  void bury(ArenaResource resource) noexcept;
  void make_grave();

  Device& device_;
  std::uint64_t block_bytes_;
  std::vector<Block> blocks_;
  std::uint64_t next_block_id_ = 0;
  std::uint64_t bytes_elsewhere_ = 0;
  std::size_t live_ = 0;
  std::vector<ArenaResource> buried_;  // dropped, kept until the device is known to be done
};

}  // namespace garuda::vk
