// The context that the compute passes of one kernel share (lane, pipelines, submissions, tuning), and a lane opened for
// the passes of one call. Buffers go to shaders by address.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "operators/compute/primitives/compute_tuning.hpp"
#include "operators/contract/stats_sink.hpp"
#include "operators/vulkan/pass_context.hpp"
#include "operators/vulkan/submissions.hpp"
#include "vk_runtime/device/device.hpp"
#include "vk_runtime/lane.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda::compute {

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
  static Result<std::unique_ptr<ComputeLane>> open(vk::Device& device, vk::PipelineStore& pipelines,
                                                   Control const& control, contract::StatsSink* stats,
                                                   std::uint64_t memory_limit_bytes = 0);
  ComputeLane(ComputeLane const&) = delete;
  ComputeLane& operator=(ComputeLane const&) = delete;
  ~ComputeLane();

  ComputeContext& context() noexcept { return context_; }
  vulkan::Submissions& submissions() noexcept { return submissions_; }

 private:
  ComputeLane(std::unique_ptr<vk::Lane> lane, vk::PipelineStore& pipelines, ComputeTuning const& tuning,
              Control const& control, contract::StatsSink* stats, std::uint64_t memory_budget_bytes);

  ComputeTuning tuning_;
  std::unique_ptr<vk::Lane> lane_;
  vulkan::Submissions submissions_;
  ComputeContext context_;
};

}  // namespace garuda::compute
