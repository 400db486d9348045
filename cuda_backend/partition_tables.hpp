// Memory for the lists of keys that group_partition_rows() makes of partitions.
#pragma once

#include <cstdint>

#include "cuda_backend/join_kernels.hpp"
#include "cuda_backend/lane.hpp"
#include "cuda_backend/status.hpp"
#include "garuda/error.hpp"

namespace garuda::cuda_backend {

class PartitionTableMemory {
 public:
  PartitionTableMemory() = default;
  /// For `rows` rows in 2^bits partitions that begin at `starts`, which outlive this.
  /// Errors: limit_exceeded, out_of_memory, device_failure.
  template <class Key>
  static Result<PartitionTableMemory> create(Lane& lane, Buffer const& starts, std::uint32_t bits, std::uint32_t rows) {
    PartitionTableMemory memory;
    memory.lane_ = &lane;
    auto const partitions = std::uint64_t{1} << bits;
    GARUDA_TRY_ASSIGN(memory.keys_, lane.allocate(std::uint64_t{rows} * sizeof(Key), "keys of partitions"));
    GARUDA_TRY_ASSIGN(memory.words_, lane.allocate((2 * std::uint64_t{rows} + partitions) * 4, "runs of partitions"));
    GARUDA_TRY_ASSIGN(memory.overflow_, lane.allocate(4, "overflow"));
    GARUDA_CUDA_TRY(cudaMemsetAsync(memory.overflow_.as<void>(), 0, 4, lane.stream()));
    auto& tables = memory.tables_;
    tables.starts = starts.as<std::uint32_t>();
    tables.bits = bits;
    tables.keys = memory.keys_.as<void>();
    tables.runs = memory.words_.as<std::uint32_t>();
    tables.counts = tables.runs + rows;
    tables.distinct = tables.counts + rows;
    tables.overflow = memory.overflow_.as<std::uint32_t>();
    return memory;
  }

  PartitionTables const& tables() const noexcept { return tables_; }
  /// Whether a partition had more keys than its table has slots. Waits for the lane. Errors: device_failure, cancelled.
  Result<bool> has_overflown() const {
    std::uint32_t overflow = 0;
    GARUDA_TRY(lane_->download(std::as_writable_bytes(std::span(&overflow, 1)), overflow_.as<void>()));
    return overflow != 0;
  }

 private:
  Lane* lane_ = nullptr;
  PartitionTables tables_;
  Buffer keys_;
  Buffer words_;
  Buffer overflow_;
};

}  // namespace garuda::cuda_backend
