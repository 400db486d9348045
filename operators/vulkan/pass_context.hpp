// The context that all passes of one slice share, whatever the operator: the lane, its memory, submissions and budget.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "garuda/error.hpp"
#include "operators/vulkan/image_shape.hpp"
#include "operators/vulkan/submissions.hpp"
#include "vk_runtime/lane.hpp"

namespace garuda::vulkan {

/// References outlive the context; used by one thread.
class PassContext {
 public:
  PassContext(vk::Lane& lane, Submissions& submissions, std::uint64_t memory_budget_bytes)
      : lane_(lane), submissions_(submissions), budget_bytes_(memory_budget_bytes) {}

  vk::Lane& lane() noexcept { return lane_; }
  Submissions& submissions() noexcept { return submissions_; }

  /// Device memory that this lane may still take. Bytes.
  std::uint64_t bytes_left() const noexcept;

  /// A buffer for the device alone, at least one word. Errors: limit_exceeded past the lane's share, or past what a
  /// shader sees of one buffer (maxStorageBufferRange); those of the arena.
  Result<vk::Buffer> buffer(std::uint64_t bytes, char const* name, vk::MemoryUse use = vk::MemoryUse::device);
  /// A buffer filled with zeros by a command of `phase`; the commands that follow see them in compute and vertices.
  Result<vk::Buffer> zeroed_buffer(std::uint64_t bytes, char const* name, char const* phase);
  /// The use of memory that upload() writes: mapped where that is the lane's way.
  vk::MemoryUse upload_use() const noexcept;
  /// A buffer that upload() writes.
  Result<vk::Buffer> upload_buffer(std::uint64_t bytes, char const* name);
  /// An image to draw into and to read.
  Result<vk::Image> image(VkFormat format, ImageShape const& shape, std::uint32_t layers, char const* name);

  /// The result of `make(size)`, with `size` halved, not below `least`, while the device has no memory for it: heaps
  /// may hold less than they say. The caller does the rest in further passes. Counted as "images_halved".
  template <class Make>
  auto halved_until_it_fits(std::uint64_t& size, std::uint64_t least, Make const& make) -> decltype(make(size)) {
    while (true) {
      auto made = make(size);
      if (made || made.error().code() != ErrorCode::out_of_memory || size / 2 < least) return made;
      size /= 2;
      submissions_.add_counter("images_halved", 1);
    }
  }

  /// Starts the copy of `source` to `destination` at `offset`; what is submitted next waits for it. The host's time is
  /// the upload phase's time. In mode import_host `source` stays unchanged until then.
  Result<void> upload(vk::Buffer const& destination, std::uint64_t offset, std::span<std::byte const> source);

  /// What `source` (not empty) holds, for passes to read. On a lane that reads in place it is the host's memory itself,
  /// unless the driver refuses these pages or they do not lie at a multiple of `alignment` bytes (0: as descriptors
  /// need it); else a buffer that upload() writes. `source` stays alive and unchanged as long as the buffer, which is
  /// not dropped before the device is done.
  Result<vk::Buffer> input(std::span<std::byte const> source, char const* name, std::uint64_t alignment = 0);

  /// Fills a buffer of upload_buffer() with what `write` writes to a span of its words: in place where it is mapped.
  template <class Write>
  Result<void> make(vk::Buffer const& destination, Write const& write) {
    if (destination.mapped() != nullptr) {
      write(destination.mapped_as<std::uint32_t>());
      return destination.flush(0, destination.bytes());
    }
    std::vector<std::uint32_t> words(destination.bytes() / sizeof(std::uint32_t));
    write(std::span(words));
    GARUDA_TRY(upload(destination, 0, std::as_bytes(std::span(words))));
    return lane_.transfer().drain();
  }

  /// Binds and dispatches a compute pass, one invocation per `invocations`, each of which works on `items_each`
  /// elements. Its barriers are the caller's.
  Result<void> dispatch(char const* phase, char const* label, vk::Pipeline const& pipeline,
                        std::span<vk::BoundResource const> resources, std::span<std::byte const> push,
                        std::uint64_t invocations, std::uint64_t items_each = 1);

  /// Orders all accesses of one kind before all of another, in `phase`.
  Result<void> order(char const* phase, vk::ResourceUse producer, vk::ResourceUse consumer);

  /// Takes the memory that read_back needs, which it would else take at its first call.
  Result<void> reserve_read_back();
  /// Reads `values` (trivially copyable, at most 4096 bytes) from `buffer` at `offset`, written by compute; submits
  /// what was recorded and waits for it.
  Result<void> read_back(char const* phase, vk::Buffer const& buffer, std::uint64_t offset,
                         std::span<std::byte> values);

  /// Submits what was recorded, waits, and copies the bytes of `buffer` from `offset` on to the host.
  Result<void> download(vk::Buffer const& buffer, std::span<std::byte> destination, std::uint64_t offset = 0);

  /// `count` values that passes have written to `buffer` from byte `offset` on. Submits what was recorded and waits.
  /// In place where the host reads this memory as its own, else a copy in `room`: good as long as both, until the
  /// device writes there again.
  template <class T>
  Result<std::span<T const>> read(vk::Buffer const& buffer, std::uint64_t offset, std::size_t count,
                                  std::vector<T>& room) {
    GARUDA_TRY_ASSIGN(auto const* const bytes, written(buffer, offset, count * sizeof(T)));
    if (bytes != nullptr) return std::span(reinterpret_cast<T const*>(bytes), count);
    room.resize(count);
    GARUDA_TRY(download(buffer, std::as_writable_bytes(std::span(room)), offset));
    return std::span<T const>(room);
  }

 private:
  Result<void> check_budget(std::uint64_t bytes, char const* name) const;
  /// The host's view of what passes have written, once they are done; nullptr where it has none as fast as its own.
  Result<std::byte const*> written(vk::Buffer const& buffer, std::uint64_t offset, std::uint64_t bytes);

  vk::Lane& lane_;
  Submissions& submissions_;
  std::uint64_t budget_bytes_;
  vk::Buffer staging_;  // for read_back
};

}  // namespace garuda::vulkan
