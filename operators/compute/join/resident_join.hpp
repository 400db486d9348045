// The join of tables in device memory, by any method; the result is left there.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "expr/sides.hpp"
#include "garuda/join.hpp"
#include "operators/compute/join/indexed_join.hpp"
#include "operators/compute/join/rows_join.hpp"
#include "operators/compute/join/unmatched_rows.hpp"
#include "operators/compute/primitives/late_gather.hpp"
#include "operators/compute/primitives/radix_side.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::compute {

/// A result on the device: columns from the arena that they were asked from.
struct ResidentResult {
  std::uint64_t rows = 0;
  std::uint64_t capacity = 0;  ///< rows that the columns have room for
  vk::Buffer keys;
  std::vector<vk::Buffer> left;   ///< the left side's payload, in its order, or its row numbers
  std::vector<vk::Buffer> right;  ///< the right side's

  std::vector<vk::Buffer>& of(Side side) noexcept { return side == Side::left ? left : right; }
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
  Result<void> finish(ComputeContext& context, std::uint64_t rows_behind = 0);
  /// The result, good after finish(). Who takes it ends the join.
  ResidentResult& result() noexcept { return result_; }

  /// Rows of a side that way.marks names, in the order in which they lie: marked once record() has run, and once more
  /// waited for if its tasks did not suffice (count()). Errors: limit_exceeded, out_of_memory.
  Result<MarkedRows> marked_rows(ComputeContext& context, Side side);

  /// The index that it searched, for the rows that have a match; nullptr: partitioned, or a side without rows.
  IndexedJoin* indexed() noexcept { return indexed_ ? &*indexed_ : nullptr; }

 private:
  /// One side's part in it.
  struct JoinedSide {
    DeviceRows given;                            ///< as it was given; nothing where it came in partitions
    std::vector<std::uint32_t> words;            ///< of its columns in the result
    vk::Buffer marks;                            ///< of rows that have a match, if they are asked for
    std::optional<PartitionedSide> partitioned;  ///< none of a side that is searched by an index
    std::optional<LateGather> gather;            ///< where payload does not move with the keys
  };

  ResidentJoin(ResidentJoinStrategy const& way, std::uint64_t left_rows, std::uint64_t right_rows,
               std::uint32_t key_words);
  Result<vk::Buffer> column_buffer(ComputeContext& context, std::uint64_t bytes, char const* name);
  Result<void> start_partitioned(ComputeContext& context, std::array<DeviceRows, 2> rows, bool gathers);
  Result<void> take_room(ComputeContext& context, std::uint64_t expected_rows);
  Result<void> take_columns(ComputeContext& context, std::uint64_t capacity);
  JoinedRows targets();
  Result<void> record_gathers(ComputeContext& context);
  Result<void> record_rows(ComputeContext& context);
  /// Whether pairs make rows.
  bool writes() const noexcept { return parts_ == JoinedParts::columns || parts_ == JoinedParts::numbers; }
  JoinedSide& of(Side side) noexcept { return sides_[side_index(side)]; }
  JoinedSide& build() noexcept { return of(build_side_); }
  JoinedSide& probe() noexcept { return of(other_side(build_side_)); }

  Side build_side_;
  JoinedParts parts_;
  MarkedSides marked_;
  std::uint32_t key_words_;
  vk::MemoryArena* results_ = nullptr;
  std::array<JoinedSide, 2> sides_;     ///< by Side
  std::optional<IndexedJoin> indexed_;  ///< the join by an index; neither this nor `join_` of a side without rows
  std::optional<RowsJoin> join_;        ///< the join of partitions
  std::uint64_t expected_ = 0;          ///< rows of a key are listed where this says so
  std::optional<std::uint64_t> rows_;   ///< of the recorded join, once they are counted
  ResidentResult result_;
};

/// Every pipeline of joins with this tuning, those of their partitions and sums included.
std::vector<vk::ComputePipelineSpec> join_compute_pipelines(ComputeTuning const& tuning);

}  // namespace garuda::compute
