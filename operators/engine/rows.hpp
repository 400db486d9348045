// The tables of the C ABI and of the Python package.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <variant>
#include <vector>

#include "garuda/arrow_c.hpp"
#include "garuda/control.hpp"
#include "garuda/engine.hpp"
#include "garuda/group_by.hpp"
#include "garuda/join.hpp"

namespace garuda::engine {

/// Columns by name; nullopt: all.
using ColumnNames = std::optional<std::set<std::string_view>>;

/// Columns that a group-by, or a join of one of its tables, reads. Refers to the names of the specification.
ColumnNames columns_of(GroupBySpec const& spec);
ColumnNames columns_of(JoinSpec const& spec, Side side);

/// The rows of a table, wherever they are. Offsets and views of strings that were deferred are checked when a call
/// first reads their column. Thread-safe.
class Rows {
 public:
  using Place = std::variant<Table, DeviceTable>;

  Rows(Place place, Offsets offsets);

  Place& place() noexcept { return place_; }
  Place const& place() const noexcept { return place_; }
  TableView view() const;

  /// The rows, of which `columns` are right. `threads`: that may look at them; 0: all of the machine. Names of no
  /// column are for others to complain of. Errors: invalid_input, naming batch and column; cancelled.
  Result<TableView> checked(std::uint32_t threads, ColumnNames const& columns = {}, Control const* control = nullptr);
  /// Whether there is a column that no call has read yet.
  Offsets offsets() const;

 private:
  Place place_;
  mutable std::mutex mutex_;
  std::vector<bool> is_checked_;  ///< a column each
};

}  // namespace garuda::engine
