// Strings in device memory: where they lie, for the passes that read them.
#pragma once

#include <cstdint>
#include <span>

#include "operators/compute/primitives/compute_context.hpp"
#include "shaders/compute/strings/strings_layout.h"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::compute {

/// Strings that lie together.
struct StringPiece {
  VkDeviceAddress offsets = 0;  ///< (strings + 1) × u32, not decreasing
  VkDeviceAddress bytes = 0;    ///< that they count, and a word more
  VkDeviceAddress valid = 0;    ///< a bit a string: rows may have it; 0: they may have all
  std::uint64_t strings = 0;
  std::uint64_t target = 0;  ///< of its first string, the number among those of several columns
};

/// Most pieces of a column, and most strings: their numbers are u32.
inline constexpr std::size_t kMostStringPieces = 2048;
inline constexpr std::uint64_t kMostStrings = std::uint64_t{1} << 31;

/// The strings of a column, those of one piece after another, by number. What the pieces view stays in place while
/// passes run.
class DeviceStrings {
 public:
  /// For at most kMostStringPieces pieces of kMostStrings strings in all. Errors: limit_exceeded, out_of_memory.
  static Result<DeviceStrings> create(ComputeContext& context, std::span<StringPiece const> pieces);

  std::uint64_t size() const noexcept { return view_.num_strings; }
  shaders::StringsView const& view() const noexcept { return view_; }

 private:
  vk::Buffer pieces_;
  shaders::StringsView view_{};
};

}  // namespace garuda::compute
