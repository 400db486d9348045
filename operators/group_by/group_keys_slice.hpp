// The keys of a partitioned table, cut into slices as kernels take them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/buffer.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "keys/group_keys.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "operators/group_by/value_reader.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::group_by {

/// Rows [begin, end) of the partitioned order.
struct GroupTask {
  std::uint32_t partition = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool is_whole = true;  ///< all rows of its partition

  std::uint64_t size() const noexcept { return end - begin; }
  friend bool operator==(GroupTask const&, GroupTask const&) = default;
};

/// Cuts every partition with rows into slices of at most `slice_rows` rows, in order. `offsets`: partitions + 1.
std::vector<GroupTask> cut_group_tasks(std::vector<std::uint64_t> const& offsets, std::uint64_t slice_rows);

/// Keys in the order of partitions. Not movable while slices refer to it.
class PartitionedGroupKeys {
 public:
  /// No keys: all `num_rows` rows are one group.
  static PartitionedGroupKeys without_keys(std::uint64_t num_rows);

  /// Partitions `keys` by `digit` in the calling task arena and takes them over. Errors: out_of_memory, cancelled.
  static Result<PartitionedGroupKeys> partition(keys::EncodedGroupKeys keys, partition::RadixDigit digit,
                                                Control const& control);

  /// Memory that a slice refers to.
  struct Slice {
    std::vector<AlignedBuffer> words;
    contract::GroupSlice keys;
  };
  /// The keys of `task`'s rows; gathers words in the calling task arena. Errors: out_of_memory, cancelled.
  Result<Slice> slice(GroupTask const& task, Control const& control) const;

  contract::SliceRows rows(GroupTask const& task) const noexcept { return {task.begin, task.size(), &order_}; }
  std::vector<std::uint64_t> const& offsets() const noexcept { return order_.offsets; }
  /// Words of 32 bits of a row's keys in slices; 0: they are packed, or there are none.
  std::uint32_t num_words() const noexcept { return static_cast<std::uint32_t>(2 * keys_.words.size()); }

 private:
  enum class Form : std::uint8_t { none, packed, words };

  Form form_ = Form::none;
  keys::EncodedGroupKeys keys_;
  partition::RadixDigit digit_;
  partition::PartitionedKeys order_;
};

}  // namespace garuda::group_by
