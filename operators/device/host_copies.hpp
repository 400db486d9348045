// Tables of a device whose query does not run where they live, in the host's memory.
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

namespace garuda::device {

/// Tables that were brought down for one query; they stay where they are when this moves.
class HostCopies {
 public:
  /// Copies columns of a table that lives on a device, in the order of its schema; blocks. The view is valid as long as
  /// this. Errors: out_of_memory, device_failure, cancelled.
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

}  // namespace garuda::device
