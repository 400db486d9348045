// Strings and binary of a table, and views that refer to their bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/variable_value.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "operators/materialize/gather_rows.hpp"

namespace garuda {

struct GatherColumn;
struct GatherOutput;

/// Bytes that a short value is copied with, whatever its length, where that much may be read and written.
inline constexpr std::int64_t kWideCopy = 16;

/// The strings of one batch, from its row 0 on.
struct StringPart {
  void const* entries = nullptr;         ///< offsets or views
  std::byte const* values = nullptr;     ///< what offsets count from
  void const* const* buffers = nullptr;  ///< what views refer to
  std::int64_t num_bytes = 0;            ///< of `values`, to the end of the last value
  std::int64_t last_wide = 0;            ///< last offset from which kWideCopy bytes may be read
  /// The bytes behind it, from which as many may be read, too; `values` from `tail_begin` on.
  std::array<std::byte, 2 * kWideCopy> tail{};
  std::int64_t tail_begin = 0;
  std::int32_t first_buffer = 0;  ///< of ReferredBytes: the first that is this part's

  StringPart(ArrayView const& array, ValueLayout layout);
};

/// The memory of a table that the views of its gathered columns refer to. Shared with results, which outlive the
/// gatherer.
struct ReferredBytes {
  std::vector<void const*> buffers;
  std::vector<std::int64_t> bytes;
  std::vector<std::shared_ptr<void const>> owners;  ///< of the table's batches, as far as these have one
  ViewBuffers list;                                 ///< of the above
};

/// Memory that views of a column's values refer to; numbers the buffers of its parts in `strings`, which have `owners`.
std::shared_ptr<ReferredBytes const> referred_bytes(std::span<ArrayView const> parts, std::span<StringPart> strings,
                                                    ValueLayout layout,
                                                    std::span<std::shared_ptr<void const> const> owners);

/// Gathers views of `num_rows` rows of a column, whose bytes stay where they are; returns num_rows. Errors:
/// out_of_memory; limit_exceeded for values that no view can tell the length of.
template <class RowId>
Result<std::int64_t> gather_referring_views(GatherColumn const& column, RowSelection<RowId> const& rows,
                                            std::int64_t num_rows, GatherOutput& output);

}  // namespace garuda
