// Host memory that a device reads and writes in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace garuda {

/// Pages of host memory that are locked for one device, which copies from and to them at the full rate of its bus and
/// without help of the host. Made by Engine::allocate_pinned. Move-only; may outlive its engine, and is then ordinary
/// memory. Tables over it are recognised by their addresses: views of them need nothing else.
class PinnedBuffer {
 public:
  PinnedBuffer(PinnedBuffer&&) noexcept;
  PinnedBuffer& operator=(PinnedBuffer&&) noexcept;
  ~PinnedBuffer();

  /// The bytes asked for, at a multiple of the page size; contents unspecified at first.
  std::span<std::byte> bytes() noexcept;

  /// The library's own.
  struct Impl;
  explicit PinnedBuffer(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace garuda
