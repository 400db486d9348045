#include "operators/vulkan/pass_context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "operators/vulkan/submissions.hpp"

namespace garuda::vulkan {
namespace {

constexpr std::uint64_t kReadBackBytes = 4096;

/// Bytes of a texel of the formats that passes draw into.
std::uint64_t texel_bytes(VkFormat format) {
  switch (format) {
    case VK_FORMAT_R32G32B32A32_UINT:
    case VK_FORMAT_R32G32B32A32_SFLOAT:
      return 16;
    case VK_FORMAT_R32G32_UINT:
    case VK_FORMAT_R32G32_SFLOAT:
      return 8;
    default:
      return 4;
  }
}

}  // namespace

std::uint64_t PassContext::bytes_left() const noexcept {
  auto const& arena = lane_.arena();
  auto const used = arena.used_bytes();
  auto const left = used < budget_bytes_ ? budget_bytes_ - used : 0;
  auto const room = lane_.device().memory().room_after_refusal();
  return room ? std::min(left, *room + arena.reserved_bytes() - used) : left;
}

Result<void> PassContext::check_budget(std::uint64_t bytes, char const* name) const {
  if (bytes <= bytes_left()) return {};
  return fail(ErrorCode::limit_exceeded,
              fmt::format("no room in a lane's share of device memory for {} of {} bytes: {} of {} bytes left", name,
                          bytes, bytes_left(), budget_bytes_));
}

Result<vk::Buffer> PassContext::buffer(std::uint64_t bytes, char const* name, vk::MemoryUse use) {
  auto const& limits = lane_.device().traits().limits;
  bool const for_shaders = use == vk::MemoryUse::device || use == vk::MemoryUse::device_mapped;
  if (for_shaders && bytes > limits.max_storage_buffer_range) {
    return settled<vk::Buffer>(lane_, fail(ErrorCode::limit_exceeded,
                                           fmt::format("{} of {} bytes is larger than the device's storage buffers: {}",
                                                       name, bytes, limits.max_storage_buffer_range)));
  }
  GARUDA_TRY(settled(lane_, check_budget(bytes, name)));
  vk::BufferSpec spec;
  spec.bytes = std::max<std::uint64_t>((bytes + 3) / 4 * 4, 4);
  spec.use = use;
  spec.name = name;
  return settled(lane_, lane_.arena().buffer(spec));
}

Result<vk::Buffer> PassContext::zeroed_buffer(std::uint64_t bytes, char const* name, char const* phase) {
  GARUDA_TRY_ASSIGN(auto zeroed, buffer(bytes, name));
  GARUDA_TRY_ASSIGN(auto* recorder, submissions_.record(phase));
  recorder->fill(zeroed.view(), 0);
  recorder->barrier(zeroed, vk::use::kTransferWrite, vk::use::kComputeWrite | vk::use::kVertexRead);
  return zeroed;
}

Result<vk::Image> PassContext::image(VkFormat format, ImageShape const& shape, std::uint32_t layers, char const* name) {
  GARUDA_TRY(settled(lane_, check_budget(shape.pixels() * texel_bytes(format) * layers, name)));
  vk::ImageSpec spec;
  spec.format = format;
  spec.width = shape.width();
  spec.height = shape.height;
  spec.layers = layers;
  spec.name = name;
  return settled(lane_, lane_.arena().image(spec));
}

vk::MemoryUse PassContext::upload_use() const noexcept {
  bool const mapped = lane_.transfer().mode() == vk::UploadMode::map;
  return mapped && lane_.device().traits().device_memory_mappable() ? vk::MemoryUse::device_mapped
                                                                    : vk::MemoryUse::device;
}

Result<vk::Buffer> PassContext::upload_buffer(std::uint64_t bytes, char const* name) {
  return buffer(bytes, name, upload_use());
}

Result<void> PassContext::upload(vk::Buffer const& destination, std::uint64_t offset,
                                 std::span<std::byte const> source) {
  auto const start = std::chrono::steady_clock::now();
  GARUDA_TRY_ASSIGN(auto const ticket, settled(lane_, lane_.transfer().upload(destination, offset, source, {},
                                                                              submissions_.wait_options())));
  submissions_.start_after(ticket);
  auto const elapsed = std::chrono::steady_clock::now() - start;
  submissions_.count_time(phase::kUpload, static_cast<std::uint64_t>(std::chrono::nanoseconds(elapsed).count()));
  submissions_.count_bytes(phase::kUpload, source.size());
  return {};
}

Result<vk::Buffer> PassContext::input(std::span<std::byte const> source, char const* name, std::uint64_t alignment) {
  if (alignment == 0) alignment = lane_.device().traits().limits.min_storage_buffer_offset_alignment;
  if (lane_.reads_in_place() && reinterpret_cast<std::uintptr_t>(source.data()) % alignment == 0) {
    // The device only reads; Vulkan has no import of const memory.
    auto imported = lane_.arena().import_host({const_cast<std::byte*>(source.data()), source.size()}, 0, name);
    if (imported) return imported;
  }
  GARUDA_TRY_ASSIGN(auto copied, upload_buffer(source.size(), name));
  GARUDA_TRY(upload(copied, 0, source));
  return copied;
}

Result<void> PassContext::dispatch(char const* phase, char const* label, vk::Pipeline const& pipeline,
                                   std::span<vk::BoundResource const> resources, std::span<std::byte const> push,
                                   std::uint64_t invocations, std::uint64_t items_each) {
  auto const groups = (invocations + shaders::kGroupSize - 1) / shaders::kGroupSize;
  return submissions_.dispatch(phase, label, pipeline, resources, push, groups, items_each);
}

Result<void> PassContext::order(char const* phase, vk::ResourceUse producer, vk::ResourceUse consumer) {
  GARUDA_TRY_ASSIGN(auto* recorder, submissions_.record(phase));
  recorder->barrier(producer, consumer);
  return {};
}

Result<void> PassContext::reserve_read_back() {
  if (staging_) return {};
  GARUDA_TRY_ASSIGN(staging_, buffer(kReadBackBytes, "read back", vk::MemoryUse::download));
  return {};
}

Result<void> PassContext::read_back(char const* phase, vk::Buffer const& source, std::uint64_t offset,
                                    std::span<std::byte> values) {
  GARUDA_EXPECTS(values.size() <= kReadBackBytes);
  GARUDA_TRY(reserve_read_back());
  GARUDA_TRY_ASSIGN(auto* recorder, submissions_.record(phase));
  recorder->barrier(source, vk::use::kComputeWrite, vk::use::kTransferRead);
  recorder->copy(source.view(offset, values.size()), staging_.view(0, values.size()));
  recorder->barrier(staging_, vk::use::kTransferWrite, vk::use::kHostRead);
  GARUDA_TRY(submissions_.finish());
  GARUDA_TRY(staging_.invalidate(0, values.size()));
  std::memcpy(values.data(), staging_.mapped(), values.size());
  return {};
}

Result<std::byte const*> PassContext::written(vk::Buffer const& source, std::uint64_t offset, std::uint64_t bytes) {
  GARUDA_EXPECTS(offset <= source.bytes() && bytes <= source.bytes() - offset);
  if (lane_.transfer().mode() != vk::UploadMode::map || !source.host_cached()) return nullptr;
  GARUDA_TRY_ASSIGN(auto* recorder, submissions_.record(phase::kDownload));
  recorder->barrier(source, vk::use::kComputeWrite, vk::use::kHostRead);
  recorder->barrier(source, vk::use::kTransferWrite, vk::use::kHostRead);
  GARUDA_TRY(submissions_.finish());
  GARUDA_TRY(source.invalidate(offset, bytes));
  return source.mapped() + offset;
}

Result<void> PassContext::download(vk::Buffer const& source, std::span<std::byte> destination, std::uint64_t offset) {
  GARUDA_TRY(submissions_.finish());
  auto const start = std::chrono::steady_clock::now();
  GARUDA_TRY(settled(
      lane_, lane_.transfer().download(source, offset, destination, submissions_.last(), submissions_.wait_options())));
  auto const elapsed = std::chrono::steady_clock::now() - start;
  submissions_.count_time(phase::kDownload, static_cast<std::uint64_t>(std::chrono::nanoseconds(elapsed).count()));
  submissions_.count_bytes(phase::kDownload, destination.size());
  // A download may be the last that its kernel does.
  return submissions_.finish();
}

}  // namespace garuda::vulkan
