// Values of a column for the rows of a slice, as kernels take them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/buffer.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "keys/column_order.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "operators/group_by/derived_values.hpp"
#include "operators/resolve/group_by_columns.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::group_by {

/// Reads one state column. Safe to use from several threads. Borrows the table.
class ValueReader {
 public:
  /// Puts the column's values in order where they are compared by their bytes; that blocks, in parallel on the calling
  /// task arena. Errors: invalid_input for a column in device memory; those of ColumnOrder::create.
  static Result<ValueReader> create(TableView table, resolve::StateColumn const& state, Control const& control);

  /// Gathers the values of `rows` in the calling task arena; borrows consecutive ones that need no widening.
  /// Errors: out_of_memory, cancelled.
  Result<contract::SliceValues> read(contract::SliceRows const& rows, Control const& control) const;

  /// Has products made of values that move with their keys: position among the columns that do, of each factor's.
  void use_payload(std::array<std::optional<std::size_t>, 2> const& payload) { payload_ = payload; }

  /// The columns that a product is made of; none of other values.
  std::array<std::optional<std::size_t>, 2> factors() const noexcept {
    return derived_ ? derived_->factors() : std::array<std::optional<std::size_t>, 2>{};
  }

  bool may_have_nulls() const noexcept;

  /// See TableValues::in_place.
  std::vector<partition::PayloadColumn::Part> in_place() const;

  /// See TableValues::reads_row_ids.
  bool reads_row_ids() const noexcept;

  /// The order of values that are compared by their bytes; else nullptr.
  keys::ColumnOrder const* order() const noexcept { return order_.get(); }

  /// Host memory held, in bytes.
  std::uint64_t bytes() const noexcept;

 private:
  ValueReader(TableView table, resolve::StateColumn const& state) : table_(table), state_(state) {}

  /// A row of a part.
  struct Place {
    std::size_t part = 0;
    std::int64_t row = 0;
  };

  ArrayView const& array(std::size_t part) const noexcept;
  std::size_t part_of(std::int64_t row) const noexcept;
  bool is_null(std::size_t part, std::int64_t row) const noexcept;
  std::optional<Place> place_of(contract::SliceRows const& rows, std::uint64_t begin, std::uint64_t end) const noexcept;
  std::uint32_t const* borrowed(contract::SliceRows const& rows) const noexcept;
  template <class Visit>
  void visit(contract::SliceRows const& rows, std::uint64_t begin, std::uint64_t end, Visit visit) const;
  std::optional<FactorValues> factor_values(contract::SliceRows const& rows, std::uint64_t first,
                                            std::uint64_t count) const noexcept;
  void make_values(contract::SliceRows const& rows, std::uint64_t begin, std::uint64_t end, std::byte* out) const;
  void copy_values(contract::SliceRows const& rows, std::uint64_t begin, std::uint64_t end, std::byte* out) const;
  std::uint64_t copy_validity(contract::SliceRows const& rows, std::uint64_t begin, std::uint64_t end,
                              std::uint32_t* out) const;

  TableView table_;
  resolve::StateColumn state_;
  std::vector<std::size_t> parts_;        ///< batches with rows
  bool is_null_free_ = true;              ///< no value, nor one of the second column's, may be null
  std::vector<std::int64_t> first_rows_;  ///< of the parts, then the number of rows
  std::unique_ptr<keys::ColumnOrder const> order_;
  std::optional<DerivedValues> derived_;  ///< of values that do not lie in the table
  std::array<std::optional<std::size_t>, 2> payload_;
};

/// Tells products, of readers of `states`, which of their factors move along where the table is partitioned: state
/// columns that lie in place do, in their order (WholeGroupBy).
void place_factors(std::vector<ValueReader>& readers, std::vector<resolve::StateColumn> const& states);

}  // namespace garuda::group_by
