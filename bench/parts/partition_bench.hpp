// `garuda bench partition`: how near partitioning comes to merely copying memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/gpu/contest.hpp"
#include "bench/workloads/generators.hpp"
#include "garuda/error.hpp"

namespace garuda::bench {

/// Where the row ids come from that are moved with the keys.
///   made:   they are the keys' numbers, as in a table without null keys
///   stored: read from memory beside the keys, as after rows with null keys are left out
enum class RowIds : std::uint8_t { made, stored };
/// Errors: usage.
Result<RowIds> parse_row_ids(std::string_view text);

struct PartitionRequest : Sampling {
  std::uint64_t rows = 0;
  std::uint32_t bits = 10;
  KeyType key_type = KeyType::i32;
  std::uint32_t payload = 0;                                  ///< columns of the key's type that are moved along
  bool mixed = false;                                         ///< partition by hash digits, not by the lowest bits
  std::vector<RowIds> row_ids{RowIds::made, RowIds::stored};  ///< measured one after the other
  std::string instructions;                                   ///< empty: the fastest that the machine has
  std::vector<std::uint32_t> threads{1, 0};                   ///< one measurement each; 0: all
};

/// Partitions random keys with their row ids, compares the whole result with what a stable partitioning gives, then
/// partitions under the clock, with copies of 256 MiB (calibrate::HostCopy) by as many threads before and after each
/// sample. One outcome a number of threads and kind of row ids: op "partition"; bytes: keys read twice (count,
/// move), stored row ids and payload once, everything written once; ratios: bytes that samples move a second over those
/// of the copies around each. Blocks. Errors: usage (rows or repeat 0, no threads or row ids, bits above 16, an
/// instruction set that is not there); out_of_memory; cancelled; device_failure when a row is in the wrong place.
Result<std::vector<Outcome>> run_partition_bench(PartitionRequest const& request);

}  // namespace garuda::bench
