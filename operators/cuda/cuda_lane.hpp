// A lane of a CUDA device: a stream with its share of memory, which reports to a run.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/run.hpp"
#include "operators/contract/stats_sink.hpp"
#include "operators/cuda/cuda_device.hpp"

namespace garuda::cuda {

/// Options of lanes; `control` and `stats` may be null, and outlive the lanes.
struct CudaLaneOptions {
  std::uint32_t lanes = 1;
  std::uint64_t device_memory_limit_bytes = 0;  ///< of all lanes together; 0: what is free
  Upload upload = Upload::automatic;
  Control const* control = nullptr;
  contract::StatsSink* stats = nullptr;
};

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
  template <class Report>
  void tell(Report const& report) const noexcept;

  CudaDevice& device_;
  Control const* control_;
  contract::StatsSink* stats_;
  GarudaCudaLane* handle_ = nullptr;
};

/// Device memory of a lane, which outlives it.
class CudaMemory {
 public:
  CudaMemory() = default;
  /// Errors: limit_exceeded when the lane's share does not allow it; out_of_memory, device_failure, cancelled.
  static Result<CudaMemory> allocate(CudaLane const& lane, std::uint64_t bytes);
  /// Allocates memory with a copy of `values`; blocks. Errors: those of allocate().
  static Result<CudaMemory> upload(CudaLane const& lane, std::span<std::byte const> values);

  std::uint64_t address() const noexcept { return address_; }

 private:
  std::shared_ptr<GarudaCudaBuffer> buffer_;
  std::uint64_t address_ = 0;
};

/// The backend of joins or of group-bys: lanes as `Options` asks for them, on which `begin` starts on slices.
template <class Backend, class Kernel, class Slice, class Options>
class CudaBackend final : public Backend {
 public:
  using Begin = Result<std::unique_ptr<Kernel>>(CudaLane& lane, Options const& options, Slice const& slice);

  /// Errors: those of CudaLane::open().
  static Result<std::unique_ptr<Backend>> open(CudaDevice& device, Options const& options, Begin& begin) {
    CudaLaneOptions const lanes{options.lanes, options.device_memory_limit_bytes, options.tuning.upload,
                                options.control, options.stats};
    GARUDA_TRY_ASSIGN(auto opened, CudaLane::open(device, lanes));
    return std::unique_ptr<Backend>(new CudaBackend(options, begin, std::move(opened)));
  }

  Result<std::unique_ptr<Kernel>> begin(Slice const& slice, std::uint32_t lane) override {
    return begin_(*lanes_.at(lane), options_, slice);
  }

 private:
  CudaBackend(Options const& options, Begin& begin, std::vector<std::unique_ptr<CudaLane>> lanes)
      : options_(options), begin_(begin), lanes_(std::move(lanes)) {}

  Options options_;
  Begin& begin_;
  std::vector<std::unique_ptr<CudaLane>> lanes_;
};

}  // namespace garuda::cuda
