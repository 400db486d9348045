// The side of a join without keys that other rows are compared with: its columns in the order in which they are read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "expr/condition_parts.hpp"
#include "garuda/error.hpp"
#include "operators/contract/condition_kernel.hpp"

namespace garuda::cpu {

/// Words and validity of a column by position. Borrowed.
struct PositionColumn {
  std::uint32_t const* words32 = nullptr;
  std::uint64_t const* words64 = nullptr;
  std::uint8_t const* valid = nullptr;  ///< a byte a position, 0 or 1; nullptr: all have a value

  bool is_wide() const noexcept { return words64 != nullptr; }
};

/// Rows that may match, by position: in the order of the table, or of a column. Read-only once made, by any threads.
class BuildRows {
 public:
  /// Of `rows` rows of the side from `first` on. `order`: their numbers, from `first`, in the order of positions;
  /// nullopt: all, as they are, so that columns without nulls are borrowed. `used`: the columns that will be read.
  /// Errors: out_of_memory.
  static Result<BuildRows> create(expr::PairCondition const& condition, Side side, contract::RowSpan span,
                                  std::optional<std::vector<std::uint32_t>> order,
                                  std::vector<std::uint32_t> const& used);

  std::uint64_t size() const noexcept { return size_; }
  std::uint32_t row(std::uint64_t position) const noexcept {
    return order_ ? (*order_)[position] : static_cast<std::uint32_t>(position);
  }
  PositionColumn const& column(std::uint32_t column) const { return columns_[column]; }

 private:
  template <class Word>
  Result<Word const*> in_order(Word const* words);
  Result<std::uint8_t const*> validity(expr::ColumnWords const& column);

  std::uint64_t size_ = 0;
  std::optional<std::vector<std::uint32_t>> order_;
  std::vector<PositionColumn> columns_;
  std::vector<AlignedBuffer> owned_;
};

}  // namespace garuda::cpu
