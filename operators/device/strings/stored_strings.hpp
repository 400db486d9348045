// Strings and binary in device memory, which columns of tables there refer to by number.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "garuda/table.hpp"
#include "operators/compute/strings/device_strings.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::device {

/// Most bytes of strings that lie together: offsets are u32, on the host int32.
inline constexpr std::uint64_t kMostStringBytes = (std::uint64_t{1} << 31) - 16;

/// Strings that lie together; they never change.
struct StringBytes {
  std::unique_ptr<vk::MemoryArena> arena;  // before the buffers: destroyed after them
  vk::Buffer offsets;                      ///< (count + 1) × u32
  vk::Buffer bytes;                        ///< and a word more
  vk::Buffer valid;                        ///< a bit a string, of a dictionary with nulls
  std::uint64_t count = 0;
  std::uint64_t num_bytes = 0;  ///< of the strings; of outlines, which have no buffers, about

  std::uint64_t device_bytes() const noexcept { return offsets.bytes() + bytes.bytes() + (valid ? valid.bytes() : 0); }
};

/// The strings of a column, numbered through its pieces. Pieces are shared by the tables whose rows come from the same
/// ones: rows move as numbers, bytes stay.
struct Strings {
  std::vector<std::shared_ptr<StringBytes const>> pieces;
  std::shared_ptr<ArrayView const> dictionary{};  ///< of a dictionary column: these strings, on the host

  std::uint64_t count() const noexcept;
};

/// The strings of `first`, and behind them the pieces of `second` that it does not have. Errors: limit_exceeded beyond
/// compute::kMostStrings, or compute::kMostStringPieces.
Result<std::shared_ptr<Strings const>> strings_of_both(std::shared_ptr<Strings const> const& first,
                                                       std::shared_ptr<Strings const> const& second);

/// A view for passes that read `strings`, with their numbers among `among`, which has all their pieces.
Result<compute::DeviceStrings> view_of(compute::ComputeContext& context, Strings const& strings, Strings const& among);

}  // namespace garuda::device
