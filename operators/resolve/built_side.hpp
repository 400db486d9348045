// The build side of a join, made before the join: its keys as words, partitioned, and the tables of them.
#pragma once

#include <memory>

#include "keys/join_keys.hpp"
#include "operators/contract/join_kernel.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::resolve {

/// The right side of joins whose key columns are compared as the same types: made once, for all of them. Immutable once
/// it is made; borrows the table.
struct BuiltSide {
  std::unique_ptr<keys::BuildKeys const> keys;
  keys::EncodedKeys words;  ///< refers to `partitioned`; its row ids are there alone
  partition::RadixDigit digit;
  partition::PartitionedKeys partitioned;  ///< with row ids, where rows moved or have no key
  contract::KeptTables tables;
};

}  // namespace garuda::resolve
