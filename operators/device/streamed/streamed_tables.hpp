// The tables of a join whose probe side goes to a device in ranges: which columns go there, and which the host gathers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "expr/sides.hpp"
#include "garuda/device_table.hpp"
#include "garuda/error.hpp"
#include "operators/device/device_table.hpp"
#include "operators/device/join/moved_sides.hpp"
#include "operators/resolve/join_columns.hpp"

namespace garuda::device {

/// One table of such a join.
struct StreamedSide {
  TableView host;
  DeviceTable table;                  ///< its columns on the device, the key first, in the words that keys have
  std::vector<UploadColumn> columns;  ///< these, as they go up
  std::vector<std::size_t> gathered;  ///< columns of `host` that are fetched there, by row numbers that come down

  std::uint64_t rows() const noexcept { return table.num_rows(); }
  bool numbers_rows() const noexcept { return !gathered.empty(); }
};

/// Both tables, and the columns of the result as they come down: those that were joined, then the row numbers of the
/// left side and of the right, where these have gathered columns.
class StreamedTables {
 public:
  /// Lays both out; takes device memory that is written in the way `upload`, or with nullopt none. Requires:
  /// streamed_key_type(). Errors: limit_exceeded for a side beyond 2^31 rows; out_of_memory.
  static Result<StreamedTables> create(resolve::JoinRequest const& request, TableDevice const& device,
                                       std::optional<Upload> upload);

  StreamedSide const& of(Side side) const { return tables_[side_index(side)]; }
  Side build() const noexcept { return build_; }
  Side probe() const noexcept { return other_side(build_); }
  MovedSides const& sides() const noexcept { return *sides_; }
  /// Rows of a side that passes move, their numbers among them where these come down.
  compute::DeviceRows rows(Side side) const;
  /// A result without memory; its stored columns are those of MovedSides, then row numbers.
  std::unique_ptr<DeviceTableState> result() const;
  /// The stored columns of a result that passes write for a side, in their order.
  std::vector<std::size_t> stored_of(Side side) const;

  std::uint64_t device_bytes() const noexcept;
  std::uint64_t moved_row_bytes(Side side) const;   ///< that passes move
  std::uint64_t result_row_bytes() const noexcept;  ///< on the device
  std::uint64_t arriving_row_bytes() const;         ///< that come down

 private:
  std::vector<StreamedSide> tables_;  // by side
  Side build_ = Side::left;
  std::unique_ptr<MovedSides> sides_;  // refers to the tables
  std::vector<Field> schema_;          // of the result as it comes down
  std::vector<DeviceTableState::Column> columns_;
};

}  // namespace garuda::device
