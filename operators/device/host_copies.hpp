// Queries that do not run whole on a device: of tables that live there, whose columns come to the host's memory, and of
// tables that do not fit there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/run.hpp"
#include "garuda/table.hpp"
#include "operators/contract/sizing.hpp"

namespace garuda::device {

/// Tables that were brought down for one query; they stay where they are when this moves.
class HostCopies {
 public:
  /// Copies columns of a table that lives on a device, in the order of its schema; blocks. The view is valid as long as
  /// this, and has the names of `table`. Errors: out_of_memory, device_failure, cancelled.
  Result<TableView> add(TableView table, std::vector<std::size_t> columns, Control const& control);

  /// A note for the plan: what was brought down, and why.
  std::string note(std::string const& reason) const;

  /// Puts the copies before what the query did.
  RunStats with_copies(RunStats stats) const;

 private:
  std::vector<std::unique_ptr<Table>> tables_;
  std::uint64_t bytes_ = 0;
  std::uint64_t elapsed_ns_ = 0;
};

/// The result of a query of copies, which it keeps. Its rows are made on the host.
std::unique_ptr<QueryResult> result_of_copies(HostCopies copies, std::unique_ptr<QueryResult> result);

/// Whether a query whose tables turned out not to fit the device whole runs in slices: the request says so, then. Where
/// `table`, one of them, lives there, or placement=device was asked for, it does not.
template <class Request>
bool take_slices(Request& request, TableView table, Error const& error) {
  auto& placement = request.options.tuning.placement;
  if (table.resident() != nullptr || placement == Placement::device || !contract::is_shortage(error)) return false;
  placement = Placement::slices;
  request.notes.push_back("placement=slices: " + error.message());
  return true;
}

}  // namespace garuda::device
