// A lane of a CUDA device: a stream with its share of memory, which reports to a run.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/run.hpp"
#include "operators/contract/stats_sink.hpp"
#include "operators/cuda/cuda_device.hpp"

namespace garuda::cuda {

/// What lanes are opened with; `control` and `stats` may be null, and outlive the lanes.
struct CudaLaneOptions {
  std::uint32_t lanes = 1;
  std::uint64_t device_memory_limit_bytes = 0;  ///< of all lanes together; 0: what is free
  Upload upload = Upload::automatic;
  Control const* control = nullptr;
  contract::StatsSink* stats = nullptr;
};

/// What the options of a join's or a group-by's backend ask of its lanes.
template <class BackendOptions>
CudaLaneOptions cuda_lane_options(BackendOptions const& options) {
  CudaLaneOptions lanes;
  lanes.lanes = options.lanes;
  lanes.device_memory_limit_bytes = options.device_memory_limit_bytes;
  lanes.upload = options.tuning.upload;
  lanes.control = options.control;
  lanes.stats = options.stats;
  return lanes;
}

/// Used by one thread at a time. Does not move: the plug-in keeps its address.
class CudaLane {
 public:
  /// Opens `options.lanes` lanes with equal shares of the memory. `device` outlives them.
  /// Errors: no_device for an upload that CUDA does not have; out_of_memory, device_failure.
  static Result<std::vector<std::unique_ptr<CudaLane>>> open(CudaDevice& device, CudaLaneOptions const& options);
  CudaLane(CudaLane const&) = delete;
  CudaLane& operator=(CudaLane const&) = delete;
  ~CudaLane();

  CudaDevice& device() const noexcept { return device_; }
  GarudaCudaApi const& api() const noexcept { return device_.api(); }
  GarudaCudaLane* handle() const noexcept { return handle_; }

 private:
  CudaLane(CudaDevice& device, CudaLaneOptions const& options)
      : device_(device), control_(options.control), stats_(options.stats) {}
  Result<void> start(GarudaCudaLaneOptions const& options);

  CudaDevice& device_;
  Control const* control_;
  contract::StatsSink* stats_;
  GarudaCudaLane* handle_ = nullptr;
};

}  // namespace garuda::cuda
