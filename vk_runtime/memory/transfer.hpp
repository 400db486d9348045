// Copies between host and device memory, any size, in the ways a device offers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "garuda/error.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/memory/memory.hpp"
#include "vk_runtime/timeline.hpp"

namespace garuda::vk {

enum class UploadMode : std::uint8_t {
  map,         ///< the destination is mapped: the host writes it in place
  stage,       ///< through a ring of staging segments, copied by the transfer queue (or the lane's own)
  import_host  ///< the source's pages become a buffer that the device copies from; no copy by the host
};

std::string_view to_string(UploadMode mode) noexcept;

/// The way a device takes by default: map where all device memory is mappable and unified with the host's, else stage.
/// (Importing pins pages: it pays for large page-aligned sources only and is asked for explicitly.)
UploadMode default_upload_mode(DeviceTraits const& traits) noexcept;

struct TransferOptions {
  std::optional<UploadMode> mode;                        ///< nothing: default_upload_mode of the device
  std::uint64_t segment_bytes = std::uint64_t{8} << 20;  ///< of the staging ring, at most
  std::uint32_t segments = 3;                            ///< at least 2, so that host and device copies overlap
  /// Whether downloads are staged even from memory that the host reads at full speed in place.
  bool stage_downloads = false;
  /// Copies to and from pinned memory (see PinnedRegistry) by the device alone, in any mode but map. Such a source
  /// stays unchanged until the upload's ticket is reached.
  bool use_pinned = false;
  std::size_t queue = 0;  ///< of the device's transfer-only queues, taken modulo their number
};

/// Uploads and downloads of one lane, over its own staging ring and timeline. Not thread-safe, does not move.
/// Copies run on the device's transfer-only queue where there is one, so that they overlap the lane's passes.
class Transfer {
 public:
  /// `fallback_queue`: used where the device has no transfer-only queue.
  /// Errors: no_device when the mode needs what the device lacks (mapped device memory, import of host memory).
  static Result<std::unique_ptr<Transfer>> create(Device& device, Queue& fallback_queue,
                                                  TransferOptions const& options);
  Transfer(Transfer const&) = delete;
  Transfer& operator=(Transfer const&) = delete;
  /// Waits for copies under way.
  ~Transfer();

  /// Copies `source` to `destination` at `offset`, split into regions as needed; offset and size are any number of
  /// bytes. Returns a ticket that the submission reading `destination` waits for (already reached in mode map).
  /// `after`: the last submission that uses the old contents. In modes map and stage `source` is free on return; in
  /// mode import_host it stays alive, unchanged, until the ticket is reached. Parts of it that cannot be imported (the
  /// unaligned edges, pages the driver refuses) are staged. In mode map a destination that is not mapped is staged.
  /// Blocks while every segment of the ring is in use (map: until `after` is reached).
  /// Errors: cancelled, out_of_memory, device_failure.
  Result<Ticket> upload(Buffer const& destination, std::uint64_t offset, std::span<std::byte const> source,
                        Ticket after = {}, WaitOptions const& wait = {});

  /// Copies `destination.size()` bytes of `source` from `offset` to the host, after ticket `after`. Blocks until done.
  /// Mapped host-cached sources are read in place. Errors: cancelled, out_of_memory, device_failure.
  Result<void> download(Buffer const& source, std::uint64_t offset, std::span<std::byte> destination, Ticket after = {},
                        WaitOptions const& wait = {});

  /// Blocks until a ticket that upload() returned is reached. Errors: cancelled, device_failure.
  Result<void> wait(Ticket ticket, WaitOptions const& options = {}) { return timeline_.wait(ticket, options); }

  /// Lets go of imported pages whose copies are complete; called by upload() too.
  Result<void> release_imports();

  /// Blocks until every copy is complete. Errors: device_failure.
  Result<void> drain();

  UploadMode mode() const noexcept { return *options_.mode; }
  /// Bytes that the device copied from imported pages so far.
  std::uint64_t imported_bytes() const noexcept { return imported_bytes_; }
  /// Bytes copied each way so far.
  std::uint64_t uploaded_bytes() const noexcept { return uploaded_bytes_; }
  std::uint64_t downloaded_bytes() const noexcept { return downloaded_bytes_; }

 private:
  struct Segment {
    Buffer buffer;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    Ticket busy;  // the copy that uses buffer and commands
  };
  struct Ring {
    std::vector<Segment> segments;
    std::size_t next = 0;
  };
  struct PendingRead {
    Segment const* segment = nullptr;
    std::span<std::byte> destination;
  };

  Transfer(Device& device, Queue& queue, TransferOptions const& options);

  Result<VkCommandBuffer> take_commands();
  void grow(Segment& segment, MemoryUse use);
  Result<void> add_segment(Ring& ring, MemoryUse use, std::uint64_t bytes);
  /// `bytes`: that are left to copy, of which a segment may hold fewer.
  Result<Segment*> next_segment(Ring& ring, MemoryUse use, std::uint64_t bytes, WaitOptions const& wait);
  Result<Ticket> submit_copy(VkCommandBuffer commands, BufferView source, BufferView destination, Ticket after,
                             bool to_host);
  Result<Ticket> stage(Buffer const& destination, std::uint64_t offset, std::span<std::byte const> source, Ticket after,
                       WaitOptions const& wait);
  Result<Ticket> upload_imported(Buffer const& destination, std::uint64_t offset, std::span<std::byte const> source,
                                 Ticket after, WaitOptions const& wait);
  Result<Ticket> copy_pages(Buffer const& destination, std::uint64_t offset, std::span<std::byte const> pages,
                            Ticket after, WaitOptions const& wait);
  Result<Ticket> upload_pinned(Buffer const& destination, std::uint64_t offset, std::span<std::byte const> source,
                               Ticket after, WaitOptions const& wait);
  Result<Ticket> copy_direct(BufferView source, BufferView destination, Ticket after, bool to_host);
  Result<void> download_pinned(Buffer const& source, std::uint64_t offset, std::span<std::byte> destination,
                               Ticket after, WaitOptions const& wait);
  Result<Ticket> submit_import(Segment& import, BufferView destination, Ticket after);
  Result<void> download_staged(Buffer const& source, std::uint64_t offset, std::span<std::byte> destination,
                               Ticket after, WaitOptions const& wait);
  Result<void> finish_read(PendingRead const& read, WaitOptions const& wait);

  Device& device_;
  TransferOptions options_;
  MemoryArena arena_;
  Timeline timeline_;
  Unique<VkCommandPool> command_pool_;
  Ring upload_ring_;
  Ring download_ring_;
  std::vector<Segment> imports_;  // buffers over the pages of sources; of pinned memory the commands alone
  std::vector<VkCommandBuffer> free_commands_;
  std::uint64_t uploaded_bytes_ = 0;
  std::uint64_t downloaded_bytes_ = 0;
  std::uint64_t imported_bytes_ = 0;
};

}  // namespace garuda::vk
