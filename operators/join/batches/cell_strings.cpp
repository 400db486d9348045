#include "operators/join/batches/cell_strings.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace garuda::join {
namespace {

/// More than is expected, so that a column seldom has to grow.
constexpr double kSlack = 1.02;

}  // namespace

Result<void> CellStrings::start(std::uint64_t rows, double mean_bytes, bool large_offsets) {
  is_large_ = large_offsets;
  rows_ = 0;
  used_ = 0;
  auto const offset_bytes = large_offsets ? sizeof(std::int64_t) : sizeof(std::int32_t);
  GARUDA_TRY_ASSIGN(offsets_, AlignedBuffer::allocate(static_cast<std::int64_t>((rows + 1) * offset_bytes)));
  std::memset(offsets_.data(), 0, offset_bytes);
  auto const expected = static_cast<std::int64_t>(kSlack * mean_bytes * static_cast<double>(rows));
  GARUDA_TRY_ASSIGN(bytes_, AlignedBuffer::allocate(expected + materialize::kLargestCellBytes));
  return {};
}

/// Room for `rows` more values, and for a whole cell written at the last one's place.
void CellStrings::reserve_bytes(std::size_t rows) {
  auto const needed = used_ + static_cast<std::int64_t>((rows + 1) * materialize::kLargestCellBytes);
  if (needed <= bytes_.size_bytes()) return;
  auto larger = AlignedBuffer::allocate(std::max(needed, bytes_.size_bytes() + bytes_.size_bytes() / 8));
  if (!larger) throw std::bad_alloc();
  std::memcpy(larger->data(), bytes_.data(), static_cast<std::size_t>(used_));
  bytes_ = std::move(*larger);
}

void CellStrings::finish() noexcept {
  if (offsets_.size_bytes() == 0) return;
  bytes_.truncate(used_);
  offsets_.truncate(static_cast<std::int64_t>((rows_ + 1) * (is_large_ ? sizeof(std::int64_t) : sizeof(std::int32_t))));
}

ArrayView CellStrings::view(std::uint64_t first, std::int64_t rows) const noexcept {
  ArrayView view;
  view.length = rows;
  view.offset = static_cast<std::int64_t>(first);
  view.null_count = 0;
  view.offsets = offsets_.data();
  view.values = bytes_.data();
  return view;
}

}  // namespace garuda::join
