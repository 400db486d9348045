// Rows of a table in partitions by the hash of their keys, each of which is worked on alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "garuda/types.hpp"
#include "operators/materialize/gather.hpp"
#include "operators/pipeline/rows.hpp"
#include "operators/query/limited/query_limit.hpp"

namespace garuda::query {

/// A key column, and the type as which its values are hashed: CommonKeyType::compared where they meet those of others.
struct HashedKey {
  std::size_t column = 0;
  DataType as;
};

/// The column as a key that is compared with its own values alone.
HashedKey hashed_key(TableView table, std::size_t column);

/// Bits that bring rows which take `needed_bytes` to half of an operator's memory a partition, from 1 to
/// kMostSplitBits.
std::uint32_t split_bits(std::uint64_t needed_bytes, QueryLimit const& limit) noexcept;

/// Copies the rows, strings in the form `strings`, into 2^bits tables, which `limit` keeps. Rows with equal keys are in
/// one of them, the same for tables whose keys are hashed as the same types, and keep their order. Splittings of other
/// levels divide rows in other ways. Blocks; runs on the threads of the calling task arena. Errors: those of
/// hash_key_column, Gatherer and SpillSpace::keep; cancelled.
Result<std::vector<Table>> hash_partitions(TableView table, std::span<HashedKey const> keys, std::uint32_t level,
                                           std::uint32_t bits, StringForm strings, QueryLimit& limit,
                                           Control const& control);

/// Copies rows by their numbers, list after list, into batches that `limit` keeps, and appends those of each list to
/// its place in `to`: lists share a batch's memory, so that many short ones make few files. Blocks; runs on the threads
/// of the calling task arena. Errors: those of Gatherer::gather and SpillSpace::keep; cancelled.
Result<void> keep_lists(Gatherer const& gatherer, std::span<pipeline::RowNumbers const> lists, QueryLimit& limit,
                        Control const& control, std::span<std::vector<Batch>> to);

}  // namespace garuda::query
