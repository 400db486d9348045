// The tables of the C ABI.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <variant>
#include <vector>

#include "garuda/arrow_c.hpp"
#include "garuda/engine.hpp"

namespace garuda::engine {

/// The rows of a table, wherever they are. Offsets and views of strings that were deferred are checked when a call
/// first reads their column. Thread-safe.
class Rows {
 public:
  using Place = std::variant<Table, DeviceTable>;

  Rows(Place place, Offsets offsets);

  Place& place() noexcept { return place_; }
  TableView view() const;

  /// The rows, of which the columns named, or all, are right. `threads`: that may look at them; 0: all of the machine.
  /// Names of no column are for others to complain of. Errors: invalid_input, naming batch and column.
  Result<TableView> checked(std::uint32_t threads, std::optional<std::set<std::string_view>> const& columns = {});

 private:
  Place place_;
  std::mutex mutex_;
  std::vector<bool> is_checked_;  ///< a column each
};

}  // namespace garuda::engine
