#include "vk_runtime/memory/transfer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>

#include "vk_runtime/memory/pinned_memory.hpp"

namespace garuda::vk {
namespace {

constexpr std::uint64_t kLeastSegmentBytes = 4'096;
/// A ring gets a segment of this size where a small copy asks for it.
constexpr std::uint64_t kFirstSegmentBytes = std::uint64_t{64} << 10;

/// Part of `bytes` between the first and the last multiple of `alignment`; empty when it holds no whole unit.
std::span<std::byte const> aligned_middle(std::span<std::byte const> bytes, std::uint64_t alignment) {
  auto const address = reinterpret_cast<std::uintptr_t>(bytes.data());
  std::uint64_t const skip = (alignment - address % alignment) % alignment;
  if (skip >= bytes.size()) return {};
  return bytes.subspan(skip, (bytes.size() - skip) / alignment * alignment);
}

/// Largest part of an import: within the device's limits, in whole pages, and small enough that one copy stays short.
std::uint64_t largest_import(DeviceLimits const& limits) {
  constexpr std::uint64_t kLargest = std::uint64_t{256} << 20;
  std::uint64_t const alignment = limits.min_imported_host_pointer_alignment;
  std::uint64_t const bytes = std::min({kLargest, limits.max_buffer_size, limits.max_memory_allocation_size});
  return std::max(bytes / alignment * alignment, alignment);
}

}  // namespace

std::string_view to_string(UploadMode mode) noexcept {
  switch (mode) {
    case UploadMode::map:
      return "map";
    case UploadMode::stage:
      return "stage";
    case UploadMode::import_host:
      break;
  }
  return "import";
}

UploadMode default_upload_mode(DeviceTraits const& traits) noexcept {
  return traits.unified_memory && traits.device_memory_mappable() ? UploadMode::map : UploadMode::stage;
}

Transfer::Transfer(Device& device, Queue& queue, TransferOptions const& options)
    : device_(device),
      options_(options),
      arena_(device, options.segment_bytes * options.segments),
      timeline_(device, queue, "transfer") {}

Result<std::unique_ptr<Transfer>> Transfer::create(Device& device, Queue& fallback_queue,
                                                   TransferOptions const& options) {
  GARUDA_EXPECTS(options.segments >= 2 && options.segment_bytes >= 1);
  TransferOptions chosen = options;
  chosen.mode = options.mode.value_or(default_upload_mode(device.traits()));
  if (chosen.mode == UploadMode::import_host && !device.traits().features.external_memory_host) {
    return fail(ErrorCode::no_device, fmt::format("{} cannot import host memory", device.traits().name));
  }
  if (chosen.mode == UploadMode::map && !device.traits().device_memory_mappable()) {
    return fail(ErrorCode::no_device, fmt::format("{} cannot map its device memory", device.traits().name));
  }
  auto* const own_queue = device.transfer_queue(options.queue);
  Queue& queue = own_queue != nullptr ? *own_queue : fallback_queue;
  auto transfer = std::unique_ptr<Transfer>(new Transfer(device, queue, chosen));
  GARUDA_TRY_ASSIGN(transfer->command_pool_, make_command_pool(device, queue.family()));
  return transfer;
}

Transfer::~Transfer() {
  // Fails on a lost device only, which uses nothing any more.
  static_cast<void>(drain());
}

Result<void> Transfer::drain() { return timeline_.wait(timeline_.last()); }

Result<VkCommandBuffer> Transfer::take_commands() {
  if (free_commands_.empty()) return allocate_commands(device_, command_pool_.get());
  VkCommandBuffer const commands = free_commands_.back();
  free_commands_.pop_back();
  return commands;
}

/// Drivers pin host memory page by page, so copies of `bytes` do not take a whole segment where they need none.
Result<void> Transfer::add_segment(Ring& ring, MemoryUse use, std::uint64_t bytes) {
  // Whole before it joins the ring, so that a failure leaves no half segment.
  Segment segment;
  auto const first = bytes <= kFirstSegmentBytes ? kFirstSegmentBytes : options_.segment_bytes;
  // Smaller where heaps hold less than they say: copies go in more pieces.
  for (auto size = std::min(first, options_.segment_bytes);; size /= 4) {
    auto made = arena_.buffer({.bytes = size, .use = use, .name = "staging segment"});
    if (!made && made.error().code() == ErrorCode::out_of_memory && size / 4 >= kLeastSegmentBytes) continue;
    GARUDA_TRY_ASSIGN(segment.buffer, std::move(made));
    break;
  }
  GARUDA_TRY_ASSIGN(segment.commands, take_commands());
  ring.segments.reserve(options_.segments);  // segments are pointed to
  ring.segments.push_back(std::move(segment));
  return {};
}

/// Grows a segment to its full size for copies that are larger than it, unless there is no memory for that.
void Transfer::grow(Segment& segment, MemoryUse use) {
  auto made = arena_.buffer({.bytes = options_.segment_bytes, .use = use, .name = "staging segment"});
  if (!made) {
    options_.segment_bytes = segment.buffer.bytes();
    return;
  }
  auto small = std::exchange(segment.buffer, std::move(*made));
  small.destroy();
}

Result<Transfer::Segment*> Transfer::next_segment(Ring& ring, MemoryUse use, std::uint64_t bytes,
                                                  WaitOptions const& wait) {
  if (ring.segments.size() < options_.segments) {
    GARUDA_TRY(add_segment(ring, use, bytes));
    return &ring.segments.back();
  }
  Segment& segment = ring.segments[ring.next];
  GARUDA_TRY(timeline_.wait(segment.busy, wait));
  if (segment.buffer.bytes() < std::min(bytes, options_.segment_bytes)) grow(segment, use);
  ring.next = (ring.next + 1) % ring.segments.size();
  return &segment;
}

Result<Ticket> Transfer::submit_copy(VkCommandBuffer commands, BufferView source, BufferView destination, Ticket after,
                                     bool to_host) {
  VolkDeviceTable const& fn = device_.fn();
  VkCommandBufferBeginInfo const begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                       .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  GARUDA_TRY(check(fn.vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer"));
  if (destination.buffer != VK_NULL_HANDLE) {
    VkBufferCopy const region{source.offset, destination.offset, source.bytes};
    fn.vkCmdCopyBuffer(commands, source.buffer, destination.buffer, 1, &region);
  }
  if (to_host) {
    // Producer: this copy, or whatever `after` stands for. Consumer: the host, once it has waited for the ticket.
    VkMemoryBarrier2 const barrier{.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                   .srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                                   .srcAccessMask = VK_ACCESS_2_MEMORY_WRITE_BIT,
                                   .dstStageMask = VK_PIPELINE_STAGE_2_HOST_BIT,
                                   .dstAccessMask = VK_ACCESS_2_HOST_READ_BIT};
    VkDependencyInfo const dependency{
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &barrier};
    fn.vkCmdPipelineBarrier2(commands, &dependency);
  }
  GARUDA_TRY(check(fn.vkEndCommandBuffer(commands), "vkEndCommandBuffer"));
  return timeline_.submit({&commands, 1}, {&after, 1});
}

// ---- uploads ----

Result<Ticket> Transfer::upload(Buffer const& destination, std::uint64_t offset, std::span<std::byte const> source,
                                Ticket after, WaitOptions const& wait) {
  GARUDA_EXPECTS(offset <= destination.bytes() && source.size() <= destination.bytes() - offset);
  if (source.empty()) return Ticket{};
  uploaded_bytes_ += source.size();
  if (options_.use_pinned && mode() != UploadMode::map) return upload_pinned(destination, offset, source, after, wait);
  if (mode() == UploadMode::import_host) return upload_imported(destination, offset, source, after, wait);
  if (mode() == UploadMode::stage || destination.mapped() == nullptr) {
    return stage(destination, offset, source, after, wait);
  }
  GARUDA_TRY(timeline_.wait(after, wait));
  std::memcpy(destination.mapped() + offset, source.data(), source.size());
  GARUDA_TRY(destination.flush(offset, source.size()));
  return Ticket{};
}

Result<Ticket> Transfer::upload_pinned(Buffer const& destination, std::uint64_t offset,
                                       std::span<std::byte const> source, Ticket after, WaitOptions const& wait) {
  GARUDA_TRY(release_imports());
  Ticket last;
  while (!source.empty()) {
    auto const pinned = device_.pinned().find(source.data(), source.size());
    if (!pinned) {
      return mode() == UploadMode::import_host ? upload_imported(destination, offset, source, after, wait)
                                               : stage(destination, offset, source, after, wait);
    }
    GARUDA_TRY_ASSIGN(last, copy_direct(*pinned, destination.view(offset, pinned->bytes), after, false));
    source = source.subspan(pinned->bytes);
    offset += pinned->bytes;
  }
  return last;
}

Result<Ticket> Transfer::copy_direct(BufferView source, BufferView destination, Ticket after, bool to_host) {
  Segment copy;
  GARUDA_TRY_ASSIGN(copy.commands, take_commands());
  GARUDA_TRY_ASSIGN(copy.busy, submit_copy(copy.commands, source, destination, after, to_host));
  auto const busy = copy.busy;
  imports_.push_back(std::move(copy));
  return busy;
}

Result<Ticket> Transfer::stage(Buffer const& destination, std::uint64_t offset, std::span<std::byte const> source,
                               Ticket after, WaitOptions const& wait) {
  Ticket last;
  while (!source.empty()) {
    GARUDA_TRY_ASSIGN(Segment* const segment, next_segment(upload_ring_, MemoryUse::upload, source.size(), wait));
    auto const piece = source.first(std::min<std::uint64_t>(source.size(), segment->buffer.bytes()));
    std::memcpy(segment->buffer.mapped(), piece.data(), piece.size());
    GARUDA_TRY(segment->buffer.flush(0, piece.size()));
    GARUDA_TRY_ASSIGN(last, submit_copy(segment->commands, segment->buffer.view(0, piece.size()),
                                        destination.view(offset, piece.size()), after, false));
    segment->busy = last;
    source = source.subspan(piece.size());
    offset += piece.size();
  }
  return last;
}

Result<Ticket> Transfer::upload_imported(Buffer const& destination, std::uint64_t offset,
                                         std::span<std::byte const> source, Ticket after, WaitOptions const& wait) {
  GARUDA_TRY(release_imports());
  DeviceLimits const& limits = device_.traits().limits;
  std::span<std::byte const> pages = aligned_middle(source, limits.min_imported_host_pointer_alignment);
  if (pages.empty()) return stage(destination, offset, source, after, wait);

  auto const head = source.first(static_cast<std::size_t>(pages.data() - source.data()));
  auto const tail = source.subspan(head.size() + pages.size());
  GARUDA_TRY_ASSIGN(Ticket last, stage(destination, offset, head, after, wait));
  offset += head.size();
  while (!pages.empty()) {
    auto const piece = pages.first(std::min<std::uint64_t>(pages.size(), largest_import(limits)));
    GARUDA_TRY_ASSIGN(last, copy_pages(destination, offset, piece, after, wait));
    pages = pages.subspan(piece.size());
    offset += piece.size();
  }
  if (tail.empty()) return last;
  return stage(destination, offset, tail, after, wait);
}

Result<Ticket> Transfer::copy_pages(Buffer const& destination, std::uint64_t offset, std::span<std::byte const> pages,
                                    Ticket after, WaitOptions const& wait) {
  // The device only reads these pages; Vulkan has no import of const memory.
  std::span<std::byte> const writable{const_cast<std::byte*>(pages.data()), pages.size()};
  auto imported = arena_.import_host(writable);
  if (!imported) return stage(destination, offset, pages, after, wait);
  Segment import;
  import.buffer = std::move(*imported);
  auto submitted = submit_import(import, destination.view(offset, pages.size()), after);
  if (!submitted) {
    // The pages are the caller's again.
    import.buffer.destroy();
    return submitted;
  }
  import.busy = *submitted;
  imported_bytes_ += pages.size();
  imports_.push_back(std::move(import));
  return submitted;
}

Result<Ticket> Transfer::submit_import(Segment& import, BufferView destination, Ticket after) {
  GARUDA_TRY_ASSIGN(import.commands, take_commands());
  return submit_copy(import.commands, import.buffer.view(), destination, after, false);
}

Result<void> Transfer::release_imports() {
  auto import = imports_.begin();
  while (import != imports_.end()) {
    GARUDA_TRY_ASSIGN(bool const done, timeline_.reached(import->busy));
    if (!done) break;
    free_commands_.push_back(import->commands);
    import->buffer.destroy();
    ++import;
  }
  imports_.erase(imports_.begin(), import);
  return {};
}

// ---- downloads ----

Result<void> Transfer::download(Buffer const& source, std::uint64_t offset, std::span<std::byte> destination,
                                Ticket after, WaitOptions const& wait) {
  GARUDA_EXPECTS(offset <= source.bytes() && destination.size() <= source.bytes() - offset);
  if (destination.empty()) return {};
  if (options_.use_pinned && device_.pinned().covers(destination.data(), destination.size())) {
    GARUDA_TRY(download_pinned(source, offset, destination, after, wait));
  } else if (options_.stage_downloads || !source.host_cached()) {
    GARUDA_TRY(download_staged(source, offset, destination, after, wait));
  } else {
    GARUDA_TRY_ASSIGN(Segment* const segment, next_segment(download_ring_, MemoryUse::download, 0, wait));
    GARUDA_TRY_ASSIGN(segment->busy, submit_copy(segment->commands, {}, {}, after, true));
    GARUDA_TRY(timeline_.wait(segment->busy, wait));
    GARUDA_TRY(source.invalidate(offset, destination.size()));
    std::memcpy(destination.data(), source.mapped() + offset, destination.size());
  }
  downloaded_bytes_ += destination.size();
  return {};
}

Result<void> Transfer::download_pinned(Buffer const& source, std::uint64_t offset, std::span<std::byte> destination,
                                       Ticket after, WaitOptions const& wait) {
  GARUDA_TRY(release_imports());
  Ticket last;
  while (!destination.empty()) {
    auto const pinned = device_.pinned().find(destination.data(), destination.size());
    GARUDA_EXPECTS(pinned.has_value());
    GARUDA_TRY_ASSIGN(last, copy_direct(source.view(offset, pinned->bytes), *pinned, after, true));
    destination = destination.subspan(pinned->bytes);
    offset += pinned->bytes;
  }
  return timeline_.wait(last, wait);
}

Result<void> Transfer::download_staged(Buffer const& source, std::uint64_t offset, std::span<std::byte> destination,
                                       Ticket after, WaitOptions const& wait) {
  // The host empties a segment while the device fills the others.
  std::deque<PendingRead> pending;
  while (!destination.empty() || !pending.empty()) {
    if (destination.empty() || pending.size() == options_.segments) {
      GARUDA_TRY(finish_read(pending.front(), wait));
      pending.pop_front();
      continue;
    }
    GARUDA_TRY_ASSIGN(Segment* const segment,
                      next_segment(download_ring_, MemoryUse::download, destination.size(), wait));
    auto const piece = destination.first(std::min<std::uint64_t>(destination.size(), segment->buffer.bytes()));
    GARUDA_TRY_ASSIGN(segment->busy, submit_copy(segment->commands, source.view(offset, piece.size()),
                                                 segment->buffer.view(0, piece.size()), after, true));
    pending.push_back({segment, piece});
    destination = destination.subspan(piece.size());
    offset += piece.size();
  }
  return {};
}

Result<void> Transfer::finish_read(PendingRead const& read, WaitOptions const& wait) {
  GARUDA_TRY(timeline_.wait(read.segment->busy, wait));
  GARUDA_TRY(read.segment->buffer.invalidate(0, read.destination.size()));
  std::memcpy(read.destination.data(), read.segment->buffer.mapped(), read.destination.size());
  return {};
}

}  // namespace garuda::vk
