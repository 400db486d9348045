// How compute passes are cut to a device, by sizes that change speed, never results; the context that the passes of one
// kernel share (lane, pipelines, submissions, tuning), and a lane opened for the passes of one call. Buffers go to
// shaders by address.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "operators/contract/stats_sink.hpp"
#include "operators/vulkan/pass_context.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/device/device_traits.hpp"
#include "vk_runtime/lane.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda::vulkan {
struct VulkanDevice;
}

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
  bool native_floats = false;       ///< expressions compute in the device's float64, where its bits are the host's
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

/// Pairs that a download brings to the host: two segments of a staging ring a side, so that one is emptied while the
/// other is filled.
inline constexpr std::uint64_t kWindowPairs = std::uint64_t{1} << 22;

/// Workgroups and invocations of a compute pass, and what it is specialised by beside them.
struct PassShape {
  std::string_view entry;        ///< of the shader
  std::uint32_t group_size = 0;  ///< 0: the tuning's
  std::uint32_t items = 1;       ///< elements an invocation
  std::uint32_t push_bytes = 0;
  std::vector<vk::SpecConstant> constants;
};

/// Description of a compute pass's pipeline.
vk::ComputePipelineSpec compute_pipeline(PassShape const& shape, ComputeTuning const& tuning);

/// Workgroups that `elements` need, `per_group` each.
constexpr std::uint64_t groups_for(std::uint64_t elements, std::uint64_t per_group) noexcept {
  return (elements + per_group - 1) / per_group;
}

/// Work is recorded in order, and everything recorded sees what came before: each pass begins with a barrier of all
/// memory, unless it is declared independent of the passes since the last one. References outlive the context; used by
/// one thread.
class ComputeContext : public vulkan::PassContext {
 public:
  ComputeContext(vk::Lane& lane, vk::PipelineStore& pipelines, vulkan::Submissions& submissions,
                 ComputeTuning const& tuning, std::uint64_t memory_budget_bytes)
      : vulkan::PassContext(lane, submissions, memory_budget_bytes), pipelines_(pipelines), tuning_(tuning) {}

  ComputeTuning const& tuning() const noexcept { return tuning_; }

  /// A buffer for the device, at least 16 bytes and a multiple of it, larger than a descriptor's range where need be.
  /// Errors: limit_exceeded past the lane's share; those of the arena.
  Result<vk::Buffer> device_buffer(std::uint64_t bytes, char const* name, vk::MemoryUse use = vk::MemoryUse::device);

  /// Fills a buffer with a word. `independent`: of everything since the last barrier, as of a pass.
  Result<void> fill(char const* phase, vk::Buffer const& buffer, std::uint32_t word, bool independent = false);
  /// Writes a few bytes (a multiple of 4, at most 65536) at the start of a buffer.
  Result<void> update(char const* phase, vk::Buffer const& buffer, std::span<std::byte const> bytes,
                      bool independent = false);

  /// Binds and dispatches `groups` workgroups, in parts where the pace asks for it; `items`: elements the pass works
  /// on, which price it. The shader does not stride over its workgroups (vk::strides_over_groups).
  template <class Push>
  Result<void> dispatch(char const* phase, PassShape const& shape, Push const& push, std::uint64_t groups,
                        std::uint64_t items, bool independent = false) {
    return dispatch_bytes(phase, shape, std::as_bytes(std::span<Push const, 1>(&push, 1)), groups, items, independent);
  }
  /// Dispatches a pass whose invocations take one of `items` elements each.
  template <class Push>
  Result<void> dispatch_each(char const* phase, PassShape const& shape, Push const& push, std::uint64_t items,
                             bool independent = false) {
    return dispatch(phase, shape, push, groups_for(items, tuning_.group_size), items, independent);
  }
  /// Dispatches in one piece a shader that may stride over its workgroups.
  template <class Push>
  Result<void> dispatch_striding(char const* phase, PassShape const& shape, Push const& push, std::uint64_t groups,
                                 std::uint64_t items, bool independent = false) {
    return dispatch_striding_bytes(phase, shape, std::as_bytes(std::span<Push const, 1>(&push, 1)), groups, items,
                                   independent);
  }
  /// Parts that a pass over `items` elements is to be dispatched in, see Submissions.
  std::uint32_t parts_of(char const* phase, std::uint64_t items, std::uint64_t most = vulkan::kMostParts);
  /// Dispatches what the three words at `offset` of `counts` say, a buffer made with the usage for it.
  template <class Push>
  Result<void> dispatch_indirect(char const* phase, PassShape const& shape, Push const& push, vk::Buffer const& counts,
                                 std::uint64_t offset, std::uint64_t items) {
    return dispatch_indirect_bytes(phase, shape, std::as_bytes(std::span<Push const, 1>(&push, 1)), counts, offset,
                                   items);
  }

  /// Orders everything recorded so far before everything that follows.
  Result<void> order_all(char const* phase, std::uint64_t items = 0);

  /// Reads the T with which `buffer` begins, once everything recorded so far is done.
  template <class T>
  Result<T> read_value(char const* phase, vk::Buffer const& buffer) {
    GARUDA_TRY(order_all(phase));
    T read{};
    GARUDA_TRY(read_back(phase, buffer, 0, std::as_writable_bytes(std::span(&read, 1))));
    return read;
  }

 private:
  Result<vk::Pipeline const*> compile(PassShape const& shape);
  /// Binds a pass and records `command`, of the recorder, under its label.
  template <class Command>
  Result<void> record_pass(char const* phase, std::string_view label, vk::Pipeline const& pipeline,
                           std::span<std::byte const> push, std::uint64_t items, bool independent,
                           Command const& command);
  Result<void> dispatch_bytes(char const* phase, PassShape const& shape, std::span<std::byte const> push,
                              std::uint64_t groups, std::uint64_t items, bool independent);
  Result<void> dispatch_striding_bytes(char const* phase, PassShape const& shape, std::span<std::byte const> push,
                                       std::uint64_t groups, std::uint64_t items, bool independent);
  Result<void> dispatch_indirect_bytes(char const* phase, PassShape const& shape, std::span<std::byte const> push,
                                       vk::Buffer const& counts, std::uint64_t offset, std::uint64_t items);

  vk::PipelineStore& pipelines_;
  ComputeTuning const& tuning_;
};

/// Owns a lane and the context of its passes; waits for its work when it goes. Used by one thread; does not move.
class ComputeLane {
 public:
  /// The arguments outlive the lane; `stats` may be null. `memory_limit_bytes`: most device memory that its context
  /// takes, 0: what there is. Errors: no_device for a device that cannot run compute passes; out_of_memory,
  /// device_failure.
  static Result<std::unique_ptr<ComputeLane>> open(vulkan::VulkanDevice const& opened, Control const& control,
                                                   contract::StatsSink* stats = nullptr,
                                                   std::uint64_t memory_limit_bytes = 0);
  ComputeLane(ComputeLane const&) = delete;
  ComputeLane& operator=(ComputeLane const&) = delete;

  ComputeContext& context() noexcept { return context_; }
  vulkan::Submissions& submissions() noexcept { return submissions_; }

 private:
  ComputeLane(std::unique_ptr<vk::Lane> lane, vk::PipelineStore& pipelines, ComputeTuning const& tuning,
              Control const& control, contract::StatsSink* stats, std::uint64_t memory_budget_bytes);

  ComputeTuning tuning_;
  std::unique_ptr<vk::Lane> lane_;
  vulkan::Submissions submissions_;
  ComputeContext context_;
  vulkan::DrainedLane const drained_{*lane_};
};

}  // namespace garuda::compute
