// Validates arrays of the Arrow C data interface and makes views of them.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "garuda/arrow_c.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "garuda/types.hpp"

namespace garuda {

inline tl::unexpected<Error> invalid_array(std::string message) {
  return fail(ErrorCode::invalid_input, std::move(message));
}

/// Memory that views of one imported array refer to, apart from the array's own buffers.
struct ImportStorage {
  std::deque<ArrayView> dictionaries;  ///< deques, because views point at their elements
  std::deque<ViewBuffers> view_buffers;
  std::vector<AlignedBuffer> realigned;   ///< copies of buffers that were not aligned to their type
  std::vector<AlignedBuffer> validities;  ///< of dictionary columns with nulls among the dictionary's values
};

/// A dictionary that was validated, and the array that it was made of, whose memory still lives: batches that share it
/// need not validate it again.
struct KnownDictionary {
  std::int64_t length = 0;
  std::int64_t offset = 0;
  std::int64_t null_count = 0;
  std::array<void const*, 3> buffers{};
  ArrayView view;

  bool is_same_memory(KnownDictionary const& other) const noexcept {
    return length == other.length && offset == other.offset && null_count == other.null_count &&
           buffers == other.buffers;
  }
};

/// Rows [first, first + length) of an array, counted from its offset.
struct RowWindow {
  std::int64_t first = 0;
  std::int64_t length = 0;
};

/// Checks what every array owes, whatever its type: not released; length and offset not negative and addressable; null
/// count in [-1, length]; as many buffers and children as given, and the lists of them present.
/// Errors: invalid_input; the sentence does not name the column.
Result<void> check_shape(ArrowArray const& array, std::int64_t num_buffers, std::int64_t num_children);

/// Counts the nulls among the rows of `window` in the validity bitmap of `array` (0 when it has none).
/// Requires: check_shape succeeded for at least one buffer; the window lies inside the array.
/// Errors: invalid_input, when the array's null count contradicts the bitmap.
Result<std::int64_t> check_validity(ArrowArray const& array, RowWindow window);

/// Validates the rows of `window` of a column and returns a view of them. Only memory that belongs to the window is
/// read. The interface carries no buffer sizes, so a buffer that is shorter than its length and offsets say is not
/// found here. The view refers to the buffers of `array` and to `storage`; both must outlive it. A view without rows
/// refers to no memory of the producer, except for its dictionary; one without nulls has no validity bitmap. An index
/// of a null value is a null of the view. `known`: the dictionary of the same column in the batch before, nullopt
/// without one; replaced by this one's. Errors: invalid_input, where the sentence does not name the column;
/// out_of_memory. `offsets`: of the array's own values; those of a dictionary are checked in any case.
Result<ArrayView> view_array(ArrowArray const& array, DataType const& type, RowWindow window, ImportStorage& storage,
                             std::optional<KnownDictionary>& known, Offsets offsets = Offsets::checked);

}  // namespace garuda
