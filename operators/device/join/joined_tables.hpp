// The tables of a join on a device by side, and what passes read of their columns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "expr/sides.hpp"
#include "operators/compute/primitives/non_null_rows.hpp"
#include "operators/compute/primitives/radix_side.hpp"
#include "operators/device/device_table.hpp"
#include "operators/resolve/join_request.hpp"

namespace garuda::device {

/// Refers to tables that live on one device, or to outlines of such.
class JoinedTables {
 public:
  /// Requires: both tables live there.
  explicit JoinedTables(resolve::JoinRequest const& request)
      : tables_{request.left.resident(), request.right.resident()} {}
  JoinedTables(DeviceTableState const& left, DeviceTableState const& right) : tables_{&left, &right} {}

  /// Whether values can be looked at: outlines have none.
  bool are_there() const noexcept { return tables_[0]->device.open.device != nullptr; }
  DeviceTableState const& of(Side side) const noexcept { return *tables_[side_index(side)]; }
  Field const& field(Side side, std::size_t column) const { return of(side).schema[column]; }
  DeviceTableState::Column const& column(Side side, std::size_t column) const { return of(side).columns[column]; }
  /// Its stored words; of strings their numbers.
  compute::DeviceColumn words(Side side, std::size_t column) const {
    auto const& stored = of(side).stored[this->column(side, column).stored];
    return {stored.buffer.address(), stored.words};
  }
  /// Which rows are null; nothing: none is.
  std::optional<compute::NullFlags> nulls(Side side, std::size_t column) const {
    auto const& from = this->column(side, column);
    if (!from.nulls) return std::nullopt;
    return compute::NullFlags{of(side).stored[*from.nulls].buffer.address(), from.null_bit};
  }

 private:
  std::array<DeviceTableState const*, 2> tables_;
};

}  // namespace garuda::device
