// Host memory that a device reads and writes in place: its pages are locked once and used as often as wanted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/buffer.hpp"
#include "garuda/error.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::vk {

class PinnedRegistry;

/// Pages of host memory that a device copies from and to without help of the host. Move-only. It may outlive the
/// device, and is then ordinary memory. Gone when the device is done with it.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  PinnedMemory(PinnedMemory&&) noexcept = default;
  PinnedMemory& operator=(PinnedMemory&& other) noexcept;
  ~PinnedMemory();

  std::byte* data() noexcept { return memory_.data(); }
  std::byte const* data() const noexcept { return memory_.data(); }
  /// Bytes reserved, at least those asked for.
  std::uint64_t bytes() const noexcept { return static_cast<std::uint64_t>(memory_.capacity_bytes()); }

 private:
  friend class PinnedRegistry;
  void release() noexcept;

  AlignedBuffer memory_;
  std::shared_ptr<PinnedRegistry> registry_;
};

/// The pinned memory of one device (VK_EXT_external_memory_host). Memory that comes back is kept for later requests:
/// locking pages takes longer than copying them. Thread-safe.
class PinnedRegistry : public std::enable_shared_from_this<PinnedRegistry> {
 public:
  /// `device` outlives the registry's use; it calls close() before it goes.
  static std::shared_ptr<PinnedRegistry> create(Device& device);
  PinnedRegistry(PinnedRegistry const&) = delete;
  PinnedRegistry& operator=(PinnedRegistry const&) = delete;

  /// Whether the device can be given pinned memory at all.
  bool is_supported() const noexcept { return is_supported_; }

  /// Gives `bytes` bytes (> 0), contents unspecified. Blocks for as long as locking them takes.
  /// Errors: no_device where the device cannot import host memory; out_of_memory when host or driver have no more.
  Result<PinnedMemory> allocate(std::uint64_t bytes);

  /// The device's view of host memory from `address` on, as much of `bytes` as one buffer covers; nothing when it is
  /// not pinned. Good while the memory lives.
  std::optional<BufferView> find(std::byte const* address, std::uint64_t bytes) const;
  /// Whether all of it is pinned.
  bool covers(std::byte const* address, std::uint64_t bytes) const;

  /// Keeps at most `bytes` bytes of what comes back, at once of what is kept already.
  void set_kept_limit(std::uint64_t bytes);
  /// Gives kept memory back to the operating system.
  void trim();
  std::uint64_t kept_bytes() const;

  /// Takes the device's hands off all memory. Called by the device, idle.
  void close() noexcept;

 private:
  friend class PinnedMemory;
  struct Import {
    Buffer buffer;
    std::uint64_t bytes = 0;
  };

  explicit PinnedRegistry(Device& device);
  Result<void> import_pages(AlignedBuffer& memory);
  void forget(AlignedBuffer const& memory) noexcept;
  std::optional<AlignedBuffer> take_kept(std::uint64_t bytes);
  void shrink_to(std::uint64_t bytes) noexcept;
  void give_back(AlignedBuffer memory) noexcept;

  bool is_supported_;
  mutable std::mutex mutex_;
  std::unique_ptr<MemoryArena> arena_;          // of the imports; gone when closed
  std::map<std::byte const*, Import> imports_;  // by address
  std::vector<AlignedBuffer> kept_;             // oldest first
  std::uint64_t kept_bytes_ = 0;
  std::uint64_t kept_limit_ = std::uint64_t{1} << 30;
};

}  // namespace garuda::vk
