// Values that do not lie in a table: numbers of rows, ranks of values, parts of exact products.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "operators/group_by/numbers/exact_numbers.hpp"
#include "operators/resolve/group_by_columns.hpp"

namespace garuda::group_by {

/// The values of both factors of a product for some rows, one after the other and none null; nullptr: look them up.
using FactorValues = std::array<std::byte const*, 2>;

struct DerivedRow {
  RowPlace place;
  std::uint64_t row = 0;  ///< of the table
};

/// Makes the values of a state column. Safe to use from several threads. Borrows the table.
class DerivedValues {
 public:
  static constexpr std::size_t kMostRows = 256;

  /// Ranks values by sorting them where an ordered word does not hold them: bytes and decimals of over 64 bits. Blocks,
  /// in parallel on the calling task arena. Requires: the state is not of the table. Errors: out_of_memory, cancelled.
  static Result<DerivedValues> create(TableView table, resolve::StateColumn const& state, Control const& control);

  /// Writes the values of `rows`, of which there are at most kMostRows, in the state's kind.
  void make(std::span<DerivedRow const> rows, std::byte* out) const;
  /// Writes products from the values of each factor that the state has.
  void make(FactorValues const& values, std::size_t count, std::byte* out) const;

  /// The columns that products are made of, none of 256 bits; none of other values.
  std::array<std::optional<std::size_t>, 2> factors() const noexcept;

  /// Host memory held, in bytes.
  std::uint64_t bytes() const noexcept { return ranks_.size() * sizeof(std::uint64_t); }

 private:
  DerivedValues(TableView table, resolve::StateColumn const& state)
      : table_(table),
        state_(state),
        is_wide_(is_wide(table.schema()[*state.column].type) ||
                 (state.second && is_wide(table.schema()[*state.second].type))) {}

  Result<void> rank(Control const& control);
  std::array<std::optional<std::size_t>, 2> packed_factors() const noexcept;
  void make_packed(std::span<DerivedRow const> rows, std::byte* out) const;
  void make_rows(std::span<DerivedRow const> rows, std::byte* out) const;
  void make_ranked(std::span<DerivedRow const> rows, std::byte* out) const;
  template <class Read>
  void make_products(std::size_t count, std::byte* out, Read const& read) const;

  TableView table_;
  resolve::StateColumn state_;
  bool is_wide_;                      ///< of numbers: one has 256 bits
  std::vector<std::uint64_t> ranks_;  ///< of the table's rows
};

}  // namespace garuda::group_by
