// Gathers rows of a table by their row ids: the last step of a join, from row indices to the columns of the result.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "garuda/types.hpp"

namespace garuda {

/// Bounds on one result of Gatherer::gather. A result has at least one row, even when that row alone passes them.
struct GatherLimits {
  /// Most bytes of values in a column with 32-bit offsets. Lower values serve tests.
  std::int64_t max_offset_32 = std::numeric_limits<std::int32_t>::max();
  /// Most bytes of values in any variable-width column.
  std::int64_t max_variable_bytes = std::numeric_limits<std::int64_t>::max();
};

/// The leading rows of a request.
struct GatherResult {
  Batch batch;                  ///< one column a gathered column, in memory of its own, aligned for import by a device
  std::int64_t rows_taken = 0;  ///< how many leading row ids `batch` holds; the caller goes on behind them
};

struct GatherColumn;

/// Copies chosen columns of chosen rows. What depends only on the table is done once, in create: batches without rows
/// are left out, dictionaries that differ between batches are unified. Safe to use from several threads. Borrows the
/// table: valid while the table's columns are.
class Gatherer {
 public:
  /// `columns`: positions in the table's schema, in the order of the result; a column may appear more than once.
  /// `strings`: how strings and binary come out; views refer to the table, whose batches they keep alive.
  /// The table is trusted to be valid, as import_arrow leaves it.
  /// Requires: positions in range, columns in memory that the host can read.
  /// Errors: out_of_memory. Cost: linear in the sizes of the dictionaries, which are copied.
  static Result<Gatherer> create(TableView const& table, std::span<std::size_t const> columns,
                                 StringForm strings = StringForm::utf8, GatherLimits limits = {});

  Gatherer(Gatherer&&) noexcept;
  Gatherer& operator=(Gatherer&&) noexcept;
  ~Gatherer();

  /// Fields of the gathered columns. As in the table, except for strings as views and for dictionaries that were
  /// unified: their indices are wider when the union needs it, and their values have 64-bit offsets when 32 bits do not
  /// reach.
  Schema const& schema() const noexcept { return schema_; }

  /// Copies the rows that `row_ids` names, in that order, until a limit is reached. Row ids count over the whole table;
  /// -1 stands for a row of nulls (outer joins). A column has a validity bitmap only if one of its values is null; the
  /// values behind -1 are zero bytes. Results outlive the gatherer, and the table unless they are views of its strings.
  /// Works in the calling thread's TBB arena; blocks until done.
  /// Requires: -1 <= row id < rows of the table. Errors: out_of_memory; limit_exceeded for values too long for views.
  Result<GatherResult> gather(std::span<std::int64_t const> row_ids) const;
  /// gather() for tables of at most 2^32 rows and without null rows.
  Result<GatherResult> gather(std::span<std::uint32_t const> row_ids) const;

 private:
  Gatherer();

  Schema schema_;
  GatherLimits limits_;
  std::vector<GatherColumn> columns_;
  std::vector<std::int64_t> first_rows_;  ///< of each batch that has rows, then the rows of the table
};

}  // namespace garuda
