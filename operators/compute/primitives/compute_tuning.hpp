// How compute passes are cut to a device: sizes that change speed, never results.
#pragma once

#include <cstdint>
#include <optional>

#include "garuda/error.hpp"
#include "vk_runtime/device/device_traits.hpp"

namespace garuda::compute {

/// A tile of a scatter pass: group_size × items rows.
struct ScatterTile {
  std::uint32_t group_size = 0;
  std::uint32_t items = 0;
  std::uint32_t rounds = 0;  ///< in which it is staged in shared memory
  /// Bits of a digit by which rows of a subgroup find their equals in shared memory, the others by ballots; of passes
  /// in stable order.
  std::uint32_t mask_bits = 0;
  bool packed = true;      ///< places of its rows are kept as half words: fewer registers, more instructions
  bool full_apart = true;  ///< a path that tests no bounds: fewer instructions, longer to compile

  friend bool operator==(ScatterTile const&, ScatterTile const&) = default;
};

/// The passes that join partitions.
struct JoinTile {
  std::uint32_t group_size = 256;
  std::uint32_t items = 3;  ///< rows of a chunk an invocation
  std::uint32_t log2_slots = 11;
  std::uint32_t tasks = 8;      ///< that a workgroup joins, each while the next is on its way, at most
  std::uint32_t groups = 4096;  ///< workgroups at least, before one joins several tasks

  friend bool operator==(JoinTile const&, JoinTile const&) = default;
};

/// Traits of a device that shape its passes, and shapes that tests change. Every workgroup size is a multiple of
/// `subgroup_size`.
struct ComputeTuning {
  std::uint32_t subgroup_size = 32;
  bool require_subgroup_size = false;    ///< of each pipeline; where the device has a choice
  bool full_subgroups = false;           ///< asked of each pipeline; where the device knows it
  std::uint32_t shared_bytes = 49'152;   ///< shared memory of a workgroup, at most
  std::uint32_t most_group_size = 1024;  ///< invocations of a workgroup, at most
  /// Shared memory is memory like any other, barriers are expensive, unrolled items take long to compile, and the
  /// device's passes run on the host's cores.
  bool is_software = false;
  std::uint32_t group_size = 256;   ///< of passes that have no size of their own
  std::uint32_t scan_spins = 1024;  ///< readings of a missing state of a prefix sum before its tile is summed again
  JoinTile join;
  std::optional<ScatterTile> tile;  ///< of every scatter pass; nullopt: as scatter_tile() says

  bool operator==(ComputeTuning const&) const = default;
};

/// The tuning of a device by its limits. `subgroup_size`: forced, where given.
/// Errors: no_device, with the reason, for a device without buffer addresses or the subgroup operations that the passes
/// use, and for a subgroup size that it cannot give.
Result<ComputeTuning> compute_tuning(vk::DeviceTraits const& traits,
                                     std::optional<std::uint32_t> subgroup_size = std::nullopt);

/// Workgroup size of passes that fill tables in shared memory.
std::uint32_t table_group_size(ComputeTuning const& tuning) noexcept;

/// Words of the columns that the pass which writes a join's rows reads together with the keys, 0 to 2 each.
struct ColumnsAhead {
  std::uint32_t build_words = 0;
  std::uint32_t probe_words = 0;
};
/// Words of shared memory for the table over a build chunk, and for what takes its place once it has been read, of the
/// pass that writes the rows of a join: its table chains rows, or lists those of a key (`listed`).
std::uint32_t join_rows_scratch_words(ComputeTuning const& tuning, std::uint32_t key_words, ColumnsAhead const& ahead,
                                      bool listed) noexcept;
/// Bytes of shared memory that the pass takes.
std::uint64_t join_rows_shared_bytes(ComputeTuning const& tuning, std::uint32_t key_words, ColumnsAhead const& ahead,
                                     bool listed) noexcept;

/// Bits of one pass in stable order, at most.
inline constexpr std::uint32_t kStableBits = 9;
/// Bits of one pass in any order, at most: as many as its counters fit shared memory beside a tile.
std::uint32_t partition_bits(ComputeTuning const& tuning) noexcept;
/// The tile for digits of `bits` bits. Passes in stable order keep counters for each subgroup and bin in shared memory,
/// so that many bins or small subgroups take smaller tiles. `wide`: elements of two words or more move.
ScatterTile scatter_tile(ComputeTuning const& tuning, std::uint32_t bits, bool stable, bool wide = false) noexcept;
/// Words of shared memory for a round of a scatter pass, and for what ranks its rows before.
std::uint32_t scatter_scratch_words(ComputeTuning const& tuning, std::uint32_t bits, bool stable,
                                    bool wide = false) noexcept;
/// Bytes of shared memory that a scatter pass takes.
std::uint64_t scatter_shared_bytes(ComputeTuning const& tuning, std::uint32_t bits, bool stable,
                                   bool wide = false) noexcept;

}  // namespace garuda::compute
