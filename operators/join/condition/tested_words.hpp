// Words of a condition that move with the keys, so that those of a partition lie together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "expr/condition.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::join {

/// Whether the words of a side are moved rather than fetched by row: there are some, without nulls, whose bits do not
/// move, and pairs enough, of `rows` rows of the side.
bool are_words_moved(std::span<expr::OrderWords const> columns, double pairs, std::uint64_t rows);

/// The words as columns to be partitioned. Borrows them.
std::vector<partition::PayloadColumn> words_as_payload(std::span<expr::OrderWords const> columns);

/// Makes `columns` those of the payload of `keys` from `first` on, which outlives them.
void take_moved_words(partition::PartitionedKeys const& keys, std::size_t first, std::span<expr::OrderWords> columns);

}  // namespace garuda::join
