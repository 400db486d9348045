#include "operators/cuda/cuda_lane.hpp"

#include <algorithm>
#include <exception>

namespace garuda::cuda {
namespace {

/// Kept free of lanes' work: what the driver and other programs take meanwhile.
constexpr std::uint64_t kFreeShare = 16;

}  // namespace

Result<std::vector<std::unique_ptr<CudaLane>>> CudaLane::open(CudaDevice& device, CudaLaneOptions const& options) {
  GARUDA_EXPECTS(options.lanes > 0);
  if (options.upload == Upload::map)
    return fail(ErrorCode::no_device, "upload=map: the CUDA path uploads by stage or import");
  GARUDA_TRY_ASSIGN(auto const available, device.available_bytes());
  auto const usable = available - available / kFreeShare;
  auto const limit = options.device_memory_limit_bytes;
  GarudaCudaLaneOptions lane_options{};
  lane_options.memory_budget_bytes = (limit == 0 ? usable : std::min(limit, usable)) / options.lanes;
  lane_options.upload = options.upload == Upload::import ? GARUDA_CUDA_REGISTER : GARUDA_CUDA_STAGE;
  std::vector<std::unique_ptr<CudaLane>> lanes;
  for (std::uint32_t i = 0; i < options.lanes; ++i) {
    std::unique_ptr<CudaLane> lane(new CudaLane(device, options));
    GARUDA_TRY(lane->start(lane_options));
    lanes.push_back(std::move(lane));
  }
  return lanes;
}

Result<void> CudaLane::start(GarudaCudaLaneOptions const& options) {
  GarudaCudaHost host{};
  host.context = this;
  host.is_cancelled = [](void* context) -> std::int32_t {
    auto const* const control = static_cast<CudaLane*>(context)->control_;
    return control != nullptr && control->is_cancelled() ? 1 : 0;
  };
  host.add_phase = [](void* context, char const* name, std::uint64_t ns, std::uint64_t bytes, std::uint64_t items) {
    static_cast<CudaLane*>(context)->tell([&](auto& stats) { stats.add_phase(name, ns, bytes, items); });
  };
  host.add_counter = [](void* context, char const* name, std::uint64_t value) {
    static_cast<CudaLane*>(context)->tell([&](auto& stats) { stats.add_counter(name, value); });
  };
  return call(api().open_lane, device_.handle(), &options, &host, &handle_);
}

template <class Report>
void CudaLane::tell(Report const& report) const noexcept {
  try {
    if (stats_ != nullptr) report(*stats_);
  } catch (
      std::exception const&) {  // a number that memory has no room for is left out: nothing throws into the plug-in
  }
}

CudaLane::~CudaLane() {
  if (handle_ != nullptr) api().close_lane(handle_);
}

Result<CudaMemory> CudaMemory::allocate(CudaLane const& lane, std::uint64_t bytes) {
  CudaMemory memory;
  GarudaCudaBuffer* buffer = nullptr;
  GARUDA_TRY(call(lane.api().create_buffer, lane.handle(), bytes, &buffer, &memory.address_));
  memory.buffer_ = {buffer, lane.api().destroy_buffer};
  return memory;
}

Result<CudaMemory> CudaMemory::upload(CudaLane const& lane, std::span<std::byte const> values) {
  GARUDA_TRY_ASSIGN(auto memory, allocate(lane, values.size()));
  GARUDA_TRY(call(lane.api().upload, lane.handle(), memory.address_, values.data(), values.size()));
  return memory;
}

}  // namespace garuda::cuda
