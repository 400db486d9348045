// How compute passes are cut to a device: sizes that change speed, never results.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "vk_runtime/device/device_traits.hpp"

namespace garuda::compute {

/// Plain values; every workgroup size is a multiple of `subgroup_size`.
struct ComputeTuning {
  std::uint32_t subgroup_size = 32;
  bool require_subgroup_size = false;  ///< of each pipeline; where the device has a choice
  bool full_subgroups = false;         ///< asked of each pipeline; where the device knows it

  std::uint32_t shared_bytes = 32768;  ///< shared memory of a workgroup, at most
  std::uint32_t group_size = 256;      ///< of passes that have no size of their own

  std::uint32_t scan_items = 16;    ///< elements an invocation: a multiple of 4
  std::uint32_t scan_spins = 1024;  ///< readings of a missing state before its tile is summed again

  std::uint32_t partition_group_size = 1024;
  std::uint32_t partition_items = 12;
  /// Of passes in any order that move elements of two words or more.
  std::uint32_t wide_group_size = 512;
  std::uint32_t wide_items = 8;
  std::uint32_t wide_rounds = 1;
  std::uint32_t count_group_size = 1024;
  std::uint32_t count_items = 16;      ///< keys that an invocation of a counting pass has under way, at most
  std::uint32_t count_groups = 1024;   ///< workgroups at least, before one counts several chunks
  std::uint32_t partition_tiles = 8;   ///< a chunk that need not keep the order of rows, at most
  std::uint32_t partition_rounds = 2;  ///< in which a scatter pass stages a tile in shared memory
  std::uint32_t partition_bits = 10;   ///< of one pass, at most
  std::uint32_t stable_bits = 9;       ///< of one in stable order
  /// Stable partitions keep counters for each subgroup and bin in shared memory, so that many bins or small subgroups
  /// take smaller tiles: see scatter_tile.
  std::uint32_t stable_group_size = 512;
  std::uint32_t stable_items = 8;
  std::uint32_t stable_rounds = 1;
  /// Bits of a digit by which rows of a subgroup find their equals in shared memory, the others by ballots.
  std::uint32_t stable_mask_bits = 0;
  bool full_tiles_apart = true;  ///< a path that tests no bounds: fewer instructions, longer to compile
  bool packed_places = true;     ///< places of a tile's rows are kept as half words: fewer registers, more instructions
  bool wide_packed = false;      ///< the same of passes that move elements of two words or more

  std::uint32_t join_group_size = 256;
  std::uint32_t join_items = 3;  ///< rows of a chunk an invocation
  std::uint32_t join_log2_slots = 11;
  std::uint32_t join_tasks = 8;      ///< that a workgroup joins, each while the next is on its way, at most
  std::uint32_t join_groups = 4096;  ///< workgroups at least, before one joins several tasks
  JoinMethod join_method = JoinMethod::automatic;  ///< of joins of resident tables
  /// Of partitioned joins of resident tables: moves payload with the keys, or row numbers, to fetch payload once the
  /// rows are known.
  Payload join_payload = Payload::automatic;
  /// Of bitmaps of keys: leading bits by which keys are dealt out first, about; 0: none, -1: whichever takes less.
  std::int32_t bitmap_bits = -1;
  /// Slices of a join whose memory the device reads in place are dealt out by the host: its passes run on the host's
  /// cores and cannot be faster.
  bool deals_on_host = false;
  bool stable_join = false;  ///< sides are partitioned by the stable passes, else by the faster ones

  std::uint32_t group_by_size = 1024;  ///< workgroup of passes that group rows in tables
  std::uint32_t group_by_items = 8;
  std::uint64_t group_by_shared_bytes = 32'768;                 ///< of their tables
  std::uint64_t group_by_window_rows = std::uint64_t{1} << 19;  ///< of a workgroup, at most
  bool group_by_in_shared = true;  ///< tables in shared memory are faster than in device memory

  bool operator==(ComputeTuning const&) const = default;
};

/// The tuning of a device by its limits. `subgroup_size`: forced, where given.
/// Errors: no_device, with the reason, for a device without buffer addresses or the subgroup operations that the passes
/// use, and for a subgroup size that it cannot give.
Result<ComputeTuning> compute_tuning(vk::DeviceTraits const& traits,
                                     std::optional<std::uint32_t> subgroup_size = std::nullopt);

/// Changes members of `tuning` by name: "method=global,partition_items=32"; the empty text changes nothing. The names
/// are those of the table in compute_tuning.cpp; method and payload mean what they mean in JoinTuning. Errors: usage
/// for an unknown name or value, and for sizes that the limits or the passes do not allow.
Result<void> apply_tuning(std::string_view text, vk::DeviceLimits const& limits, ComputeTuning& tuning);

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
/// A tile of a scatter pass: group_size × items rows.
struct ScatterTile {
  std::uint32_t group_size = 0;
  std::uint32_t items = 0;
  std::uint32_t rounds = 0;     ///< in which it is staged in shared memory
  std::uint32_t mask_bits = 0;  ///< see stable_mask_bits
  bool packed = true;           ///< see packed_places
};
/// The tile for digits of `bits` bits: smaller than the tuning says where stable counters would not fit shared memory.
/// `wide`: elements of two words or more move.
ScatterTile scatter_tile(ComputeTuning const& tuning, std::uint32_t bits, bool stable, bool wide = false) noexcept;
/// Words of shared memory for a round of a scatter pass, and for what ranks its rows before.
std::uint32_t scatter_scratch_words(ComputeTuning const& tuning, std::uint32_t bits, bool stable,
                                    bool wide = false) noexcept;
/// Bytes of shared memory that a scatter pass takes.
std::uint64_t scatter_shared_bytes(ComputeTuning const& tuning, std::uint32_t bits, bool stable,
                                   bool wide = false) noexcept;

}  // namespace garuda::compute
