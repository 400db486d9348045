#include "operators/graphics/kernel_context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace garuda::operators {
namespace {

constexpr std::uint64_t kReadBackBytes = 4096;

}  // namespace

std::uint64_t KernelContext::bytes_left() const noexcept {
  auto const used = lane_.arena().used_bytes();
  return used < budget_bytes_ ? budget_bytes_ - used : 0;
}

Result<void> KernelContext::check_budget(std::uint64_t bytes, char const* name) const {
  if (bytes <= bytes_left()) return {};
  return fail(ErrorCode::limit_exceeded,
              fmt::format("{} of {} bytes does not fit into a lane's share of device memory, {} of {} bytes left", name,
                          bytes, bytes_left(), budget_bytes_));
}

Result<vk::Buffer> KernelContext::buffer(std::uint64_t bytes, char const* name, vk::MemoryUse use) {
  GARUDA_TRY(check_budget(bytes, name));
  vk::BufferSpec spec;
  spec.bytes = std::max<std::uint64_t>((bytes + 3) / 4 * 4, 4);
  spec.use = use;
  spec.name = name;
  return lane_.arena().buffer(spec);
}

Result<vk::Buffer> KernelContext::zeroed_buffer(std::uint64_t bytes, char const* name, char const* phase) {
  GARUDA_TRY_ASSIGN(auto zeroed, buffer(bytes, name));
  GARUDA_TRY_ASSIGN(auto* recorder, submissions_.record(phase));
  recorder->fill(zeroed.view(), 0);
  recorder->barrier(zeroed, vk::use::kTransferWrite, vk::use::kComputeWrite | vk::use::kVertexWrite);
  return zeroed;
}

Result<vk::Image> KernelContext::image(VkFormat format, ImageShape const& shape, std::uint32_t layers,
                                       char const* name) {
  auto const texel_bytes = format == VK_FORMAT_R32G32B32A32_UINT ? 16U : format == VK_FORMAT_R32G32_UINT ? 8U : 4U;
  GARUDA_TRY(check_budget(shape.pixels() * texel_bytes * layers, name));
  vk::ImageSpec spec;
  spec.format = format;
  spec.width = shape.width();
  spec.height = shape.height;
  spec.layers = layers;
  spec.name = name;
  return lane_.arena().image(spec);
}

Result<void> KernelContext::dispatch(char const* phase, char const* label, JoinPass pass, bool direct,
                                     std::span<vk::BoundResource const> resources, std::span<std::byte const> push,
                                     std::uint64_t invocations) {
  GARUDA_TRY_ASSIGN(auto const* pipeline, pipelines_.get(pass, direct));
  auto const groups = (invocations + shaders::kGroupSize - 1) / shaders::kGroupSize;
  return submissions_.dispatch(phase, label, *pipeline, resources, push, groups);
}

Result<void> KernelContext::order(char const* phase, vk::ResourceUse producer, vk::ResourceUse consumer) {
  GARUDA_TRY_ASSIGN(auto* recorder, submissions_.record(phase));
  recorder->barrier(producer, consumer);
  return {};
}

Result<void> KernelContext::read_back(char const* phase, vk::Buffer const& source, std::uint64_t offset,
                                      std::span<std::byte> values) {
  GARUDA_EXPECTS(values.size() <= kReadBackBytes);
  if (!staging_) {
    GARUDA_TRY_ASSIGN(staging_, buffer(kReadBackBytes, "read back", vk::MemoryUse::download));
  }
  GARUDA_TRY_ASSIGN(auto* recorder, submissions_.record(phase));
  recorder->barrier(source, vk::use::kComputeWrite, vk::use::kTransferRead);
  recorder->copy(source.view(offset, values.size()), staging_.view(0, values.size()));
  recorder->barrier(staging_, vk::use::kTransferWrite, vk::use::kHostRead);
  GARUDA_TRY(submissions_.finish());
  GARUDA_TRY(staging_.invalidate(0, values.size()));
  std::memcpy(values.data(), staging_.mapped(), values.size());
  return {};
}

Result<void> KernelContext::download(vk::Buffer const& source, std::span<std::byte> destination) {
  GARUDA_TRY(submissions_.finish());
  return lane_.transfer().download(source, 0, destination, submissions_.last(), submissions_.wait_options());
}

}  // namespace garuda::operators
