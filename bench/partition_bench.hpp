// `garuda bench partition`: how near partitioning comes to merely copying memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/generators.hpp"
#include "bench/record.hpp"
#include "bench/sampling.hpp"
#include "garuda/error.hpp"

namespace garuda::bench {

/// Where the row ids come from that are moved with the keys.
///   made:   they are the keys' numbers, as in a table without null keys
///   stored: read from memory beside the keys, as after rows with null keys are left out
enum class RowIds { made, stored };

std::string_view to_string(RowIds row_ids);
/// Errors: usage.
Result<RowIds> parse_row_ids(std::string_view text);

struct PartitionRequest {
  std::uint64_t rows = 0;
  std::uint32_t bits = 10;
  KeyType key_type = KeyType::i32;
  std::uint32_t payload = 0;                                  ///< columns of the key's type that are moved along
  bool mixed = false;                                         ///< partition by hash digits, not by the lowest bits
  std::vector<RowIds> row_ids{RowIds::made, RowIds::stored};  ///< measured one after the other
  std::string instructions;                                   ///< empty: the fastest that the machine has
  std::vector<std::uint32_t> threads{1, 0};                   ///< one measurement each; 0: all
  std::uint32_t repeat = 7;
  std::uint64_t seed = 1;
  std::atomic<bool> const* cancelled = nullptr;
};

/// Copies by as many threads, before and after each sample.
struct CopiesBetween {
  double bytes_per_s = 0;  ///< read and written; the median
  RatioSummary share;      ///< bytes that samples move a second over those of the copies around each
};

/// One number of threads, one kind of row ids.
struct PartitionOutcome {
  /// op "partition"; bytes: keys read twice (count, move), stored row ids and payload once, everything written once.
  Record record;
  CopiesBetween past_caches;  ///< as partitioning writes
  CopiesBetween by_memcpy;
};

/// Partitions random keys with their row ids, compares the whole result with what a stable partitioning gives, then
/// partitions under the clock, with copies of 256 MiB of either kind (HostCopy) before and after each sample. Blocks.
/// Errors: usage (rows or repeat 0, no threads or row ids, bits above 16, an instruction set that is not there);
/// out_of_memory; cancelled; device_failure when a row is in the wrong place.
Result<std::vector<PartitionOutcome>> run_partition_bench(PartitionRequest const& request);

}  // namespace garuda::bench
