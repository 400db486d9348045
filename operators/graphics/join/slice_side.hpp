// One side of a slice on the device: its keys, where they are drawn, and how they clash there.
#pragma once

#include <cstdint>
#include <optional>

#include "garuda/error.hpp"
#include "operators/contract/join_kernel.hpp"
#include "operators/graphics/join/kernel_context.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::graphics {

/// Owned by the kernel; destroyed before its lane's arena is reset.
class SliceSide {
 public:
  /// `keys` outlive this.
  SliceSide(Side side, contract::KeySpan const& keys) : side_(side), keys_(&keys) {}

  Side side() const noexcept { return side_; }
  std::uint32_t rows() const noexcept { return static_cast<std::uint32_t>(keys_->size()); }
  vk::Buffer const& keys() const noexcept { return buffer_; }

  /// Where the rows are drawn when this is the build side; nothing when it cannot be.
  std::optional<SideAddress> const& address() const noexcept { return address_; }
  void set_address(std::optional<SideAddress> address) { address_ = address; }

  /// Starts the upload of the keys; what is submitted next waits for it. The host's time is the phase's time.
  Result<void> upload(KernelContext& context);

  /// Records the statistics pass (GARUDA §3.4.3) and its reduction: one point a row added into an R32_SFLOAT image, or
  /// by compute where `limits.blend` is false. Needs an address. At most once.
  Result<void> record_statistics(KernelContext& context);
  bool has_recorded_statistics() const noexcept { return static_cast<bool>(statistics_buffer_); }

  /// Waits for the statistics. Errors: cancelled, device_failure.
  Result<shaders::ClashStatistics const*> statistics(KernelContext& context);

  /// Rows per pixel as the statistics pass left them: one of the two, read by compute.
  vk::Image const& clash_image() const noexcept { return clash_image_; }
  vk::Buffer const& clash_counts() const noexcept { return clash_counts_; }

 private:
  Result<void> draw_clashes(KernelContext& context);
  Result<void> count_clashes(KernelContext& context);

  Side side_;
  contract::KeySpan const* keys_;
  vk::Buffer buffer_;
  std::optional<SideAddress> address_;
  vk::Image clash_image_;
  vk::Buffer clash_counts_;
  vk::Buffer statistics_buffer_;
  std::optional<shaders::ClashStatistics> statistics_;
};

}  // namespace garuda::graphics
