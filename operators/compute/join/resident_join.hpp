// The join of tables in device memory, by any method; the result is left there.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "garuda/join.hpp"
#include "operators/compute/join/indexed_join.hpp"
#include "operators/compute/join/rows_join.hpp"
#include "operators/compute/join/unmatched_rows.hpp"
#include "operators/compute/primitives/late_gather.hpp"
#include "operators/compute/primitives/radix_side.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::compute {

/// Columns of a result on the device.
struct ResidentResult {
  std::uint64_t rows = 0;
  vk::Buffer const* keys = nullptr;
  std::vector<vk::Buffer const*> left;   ///< the left side's payload, in its order, or its row numbers
  std::vector<vk::Buffer const*> right;  ///< the right side's
};

/// The columns of a result, owned by the arena that they were asked from.
struct OwnedResult {
  std::uint64_t rows = 0;
  std::uint64_t capacity = 0;  ///< rows that the columns have room for
  vk::Buffer keys;
  std::vector<vk::Buffer> left;
  std::vector<vk::Buffer> right;
};

/// The parts of which the rows of a join are made.
enum class JoinedParts : std::uint8_t {
  columns,  ///< the key, and the payload of both sides
  numbers,  ///< the row numbers of both sides
  none,     ///< rows are counted only
  marks,    ///< not even that: rows that have a match are marked
};

/// The sides whose rows are marked when they have a match.
struct MarkedSides {
  bool left = false;
  bool right = false;

  bool any() const noexcept { return left || right; }
  bool of(Side side) const noexcept { return side == Side::left ? left : right; }
  friend bool operator==(MarkedSides const&, MarkedSides const&) = default;
};

/// How such a join runs.
struct ResidentJoinStrategy {
  JoinMethod method = JoinMethod::partitioned;  ///< not automatic
  bool gathers = false;                         ///< of partitioned: payload is fetched once the rows are known
  std::optional<Side> build = std::nullopt;     ///< nullopt: the smaller side
  JoinedParts parts = JoinedParts::columns;     ///< numbers: of sides without payload
  MarkedSides marks{};
  std::uint32_t scattered_by = 0;  ///< of bitmap: leading bits by which keys are scattered first, see piece_bits()

  friend bool operator==(ResidentJoinStrategy const&, ResidentJoinStrategy const&) = default;
};

/// The inner join of two sides, run as often as wanted. `partitioned`: payload moves with the keys, so that the result
/// is gathered from neighbours ("GFTR" of Wu et al. 2025, §4.2), or is fetched by row number once the rows are known
/// ("GFUR"); rows come in any order. `global`: the build side in an index; rows in the order of the probe rows, then of
/// the build rows.
class ResidentJoin {
 public:
  /// For sides of up to 2^31 rows (without partitions: of up to 2^28 probe rows) with keys of the same width.
  /// `expected_rows`: room for the result at first; more is taken when it turns out larger; of rows that are counted
  /// only their estimate, 0 without. `results`: where the
  /// result's columns go, this join's alone until they are taken; without it, to the context's lane.
  /// Errors: limit_exceeded, out_of_memory.
  static Result<ResidentJoin> create(ComputeContext& context, DeviceRows left, DeviceRows right,
                                     std::uint64_t expected_rows, ResidentJoinStrategy const& way,
                                     vk::MemoryArena* results = nullptr);

  /// Joins sides that are partitioned already, both in as many partitions: their rows' numbers, or how many rows
  /// there are. Requires: way.method is partitioned, without gathers and marks.
  static Result<ResidentJoin> create(ComputeContext& context, PartitionedSide left, PartitionedSide right,
                                     std::uint64_t expected_rows, ResidentJoinStrategy const& way);

  /// Records the whole join. Its result is good when finish() says so.
  Result<void> record(ComputeContext& context);
  /// Waits; returns how many rows the join has, whether they fit or not.
  Result<std::uint64_t> count(ComputeContext& context);
  /// Waits, and runs the join again with more room when the result, or as many rows behind it, did not fit.
  /// Errors: limit_exceeded for a result of 2^32 - 1 rows or more.
  Result<ResidentResult> finish(ComputeContext& context, std::uint64_t rows_behind = 0);
  /// Hands the columns over after finish(), which returned `rows` rows. The join is at its end.
  OwnedResult take(std::uint64_t rows);

  /// Rows of a side that way.marks names, in the order in which they lie: marked once record() has run, and once more
  /// waited for if its tasks did not suffice (count()). Errors: limit_exceeded, out_of_memory.
  Result<MarkedRows> marked_rows(ComputeContext& context, Side side);

  /// The index that it searched, for the rows that have a match; nullptr: partitioned, or a side without rows.
  IndexedJoin* indexed() noexcept { return indexed_ ? &*indexed_ : nullptr; }

 private:
  Result<vk::Buffer> column_buffer(ComputeContext& context, std::uint64_t bytes, char const* name);
  Result<void> start_partitioned(ComputeContext& context, DeviceRows build, DeviceRows probe, bool gathers);
  Result<void> take_columns(ComputeContext& context, std::uint64_t capacity);
  JoinedRows targets() const;
  Result<void> record_gathers(ComputeContext& context);
  Result<void> record_rows(ComputeContext& context);
  Result<void> take_marks(ComputeContext& context, Side side);
  Result<void> record_marks(ComputeContext& context);
  /// Whether pairs make rows.
  bool writes() const noexcept { return parts_ == JoinedParts::columns || parts_ == JoinedParts::numbers; }
  bool is_build(Side side) const noexcept { return (side == Side::left) == build_is_left_; }

  bool build_is_left_ = true;
  JoinedParts parts_ = JoinedParts::columns;
  MarkedSides marked_;
  vk::MemoryArena* results_ = nullptr;
  DeviceRows left_;  ///< as they were given
  DeviceRows right_;
  vk::Buffer left_marks_;
  vk::Buffer right_marks_;
  std::optional<IndexedJoin> indexed_;  ///< the join, or the members down to join_; none of a side without rows
  std::optional<PartitionedSide> build_;
  std::optional<PartitionedSide> probe_;
  std::optional<LateGather> build_gather_;  ///< where payload does not move with the keys
  std::optional<LateGather> probe_gather_;
  std::vector<std::uint32_t> build_words_;
  std::vector<std::uint32_t> probe_words_;
  std::optional<RowsJoin> join_;
  std::uint32_t key_words_ = 1;
  std::uint64_t capacity_ = 0;
  std::uint64_t expected_ = 0;         ///< rows of a key are listed where this says so
  std::optional<std::uint64_t> rows_;  ///< of the recorded join, once they are counted
  vk::Buffer keys_out_;
  std::vector<vk::Buffer> build_out_;
  std::vector<vk::Buffer> probe_out_;
};

/// Every pipeline of joins with this tuning, those of their partitions and sums included.
std::vector<vk::ComputePipelineSpec> join_compute_pipelines(ComputeTuning const& tuning);

}  // namespace garuda::compute
