// Which columns of a join's result are carried through the partitioning, and which are gathered by row id afterwards.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "garuda/join.hpp"
#include "garuda/table.hpp"
#include "operators/join_columns.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::operators {

/// True when values of `column` are copied as they are, `byte_width` bytes each: a type of 1, 2, 4, 8 or 16 bytes other
/// than booleans and dictionaries, and no nulls.
bool is_plain(TableView table, std::size_t column);

/// The values of a plain column, by row.
partition::PayloadColumn payload_column(TableView table, std::size_t column);

/// What the rule looks at, of one side.
struct PayloadShape {
  std::uint64_t rows = 0;       ///< with a key that is not null
  std::uint32_t key_bytes = 4;  ///< of a word
  double matches = 0;           ///< expected result rows
};

/// True when moving a column of `width` bytes along with the keys moves fewer bytes than fetching its values for the
/// result from wherever they lie: the one rule of GFTR against GFUR (Wu et al. 2025, §4). Carrying reads and writes
/// every value once and reads the keys again, of two columns at a time; gathering fetches a cache line a result row
/// unless the column stays in the last-level cache.
bool carrying_pays(PayloadShape const& shape, std::uint32_t width) noexcept;

/// The columns of one side of the result that are carried when the side is partitioned, each once: the plain ones, but
/// for the key, which is there anyway, as `payload` asks or, when it leaves that open, as carrying_pays says.
std::vector<std::size_t> carried_columns(TableView table, ResolvedJoin const& columns, Side side,
                                         PayloadShape const& shape, Payload payload);

/// Bytes of a row of these columns.
std::uint64_t row_bytes_of(TableView table, std::vector<std::size_t> const& columns);

}  // namespace garuda::operators
