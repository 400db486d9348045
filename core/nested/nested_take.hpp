// Rows of arrays of nested types, copied into an array of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "core/nested/nested_layout.hpp"
#include "garuda/arrow_c.hpp"
#include "garuda/error.hpp"

namespace garuda {

/// An array that owns its buffers and children; `array` refers to them and is not to be released.
struct NestedArray {
  ArrowArray array{};
  std::vector<AlignedBuffer> owned;
  std::vector<void const*> buffers;
  std::vector<std::unique_ptr<NestedArray>> children;
  std::vector<ArrowArray*> child_pointers;
  std::unique_ptr<NestedArray> dictionary;
};

/// A row of one of several arrays, by its position in the buffers of that array; a negative one is null.
struct NestedRow {
  std::uint32_t part = 0;
  std::int64_t position = -1;
};

/// Copies `rows` of `parts`, which were validated as of type `type`. Blocks, on the calling thread.
/// Errors: limit_exceeded when offsets of 32 bits, indices or run ends of the type do not reach over all rows;
/// out_of_memory.
Result<std::unique_ptr<NestedArray>> take_nested(NestedType const& type, std::span<ArrowArray const* const> parts,
                                                 std::span<NestedRow const> rows);

}  // namespace garuda
