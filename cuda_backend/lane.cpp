#include "cuda_backend/lane.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "cuda_backend/status.hpp"

namespace garuda::cuda_backend {
namespace {

/// Large enough that a copy takes far longer than starting it, small enough for a second-level cache.
constexpr std::uint64_t kSegmentBytes = std::uint64_t{4} << 20;

}  // namespace

void Buffer::Release::operator()(void* memory) const noexcept {
  lane->device_.release(memory, lane->stream_);
  lane->held_bytes_ -= bytes;
}

Result<std::unique_ptr<Lane>> Lane::create(Device& device, GarudaCudaLaneOptions const& options,
                                           GarudaCudaHost const& host) {
  GARUDA_TRY(device.enter());
  std::unique_ptr<Lane> lane(new Lane(device, options, host));
  GARUDA_CUDA_TRY(cudaStreamCreateWithFlags(&lane->stream_, cudaStreamNonBlocking));
  return lane;
}

Lane::~Lane() {
  drain();
  for (auto const& phase : phases_) (void)cudaEventDestroy(phase.start);
  for (auto* event : events_) (void)cudaEventDestroy(event);
  for (auto& segment : segments_) {
    if (segment.done != nullptr) (void)cudaEventDestroy(segment.done);
    device_.keep_pinned(std::move(segment.memory));
  }
  if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
}

Result<Buffer> Lane::allocate(std::uint64_t bytes, char const* name) {
  bytes = std::max<std::uint64_t>(bytes, 1);
  if (bytes > options_.memory_budget_bytes || held_bytes_ > options_.memory_budget_bytes - bytes)
    return fail(ErrorCode::limit_exceeded,
                std::string(name) + " of " + std::to_string(bytes) + " bytes beside " + std::to_string(held_bytes_) +
                    " exceed the lane's share of the device's memory: " + std::to_string(options_.memory_budget_bytes));
  auto memory = device_.allocate(bytes, stream_);
  if (!memory) return tl::unexpected<Error>(std::move(memory).error().wrap(std::string("device memory for ") + name));
  held_bytes_ += bytes;
  return Buffer(this, *memory, bytes);
}

Result<void> Lane::upload(void* target, std::span<std::byte const> source) {
  if (source.empty()) return {};
  if (options_.upload != GARUDA_CUDA_REGISTER) return stage(static_cast<std::byte*>(target), source);
  auto* const address = const_cast<std::byte*>(source.data());
  // Pages that two columns share are locked already: those are staged.
  auto const status = cudaHostRegister(address, source.size(), cudaHostRegisterDefault);
  if (status == cudaErrorHostMemoryAlreadyRegistered || status == cudaErrorNotSupported) {
    (void)cudaGetLastError();
    return stage(static_cast<std::byte*>(target), source);
  }
  GARUDA_TRY(check(status, "cudaHostRegister"));
  registered_.push_back(address);
  GARUDA_CUDA_TRY(cudaMemcpyAsync(target, address, source.size(), cudaMemcpyHostToDevice, stream_));
  return {};
}

/// While one segment is on its way the other is filled.
Result<void> Lane::stage(std::byte* target, std::span<std::byte const> source) {
  while (!source.empty()) {
    auto& segment = segments_[next_segment_];
    next_segment_ = (next_segment_ + 1) % segments_.size();
    if (segment.memory.bytes() == 0) {
      GARUDA_TRY_ASSIGN(segment.memory, device_.take_pinned(kSegmentBytes));
    }
    if (segment.done == nullptr) GARUDA_CUDA_TRY(cudaEventCreateWithFlags(&segment.done, cudaEventDisableTiming));
    if (segment.in_flight) GARUDA_CUDA_TRY(cudaEventSynchronize(segment.done));
    segment.in_flight = false;
    auto const piece = source.first(std::min<std::size_t>(source.size(), kSegmentBytes));
    std::memcpy(segment.memory.data(), piece.data(), piece.size());
    GARUDA_CUDA_TRY(cudaMemcpyAsync(target, segment.memory.data(), piece.size(), cudaMemcpyHostToDevice, stream_));
    GARUDA_CUDA_TRY(cudaEventRecord(segment.done, stream_));
    segment.in_flight = true;
    target += piece.size();
    source = source.subspan(piece.size());
  }
  return {};
}

Result<void> Lane::download(std::span<std::byte> target, void const* source) {
  if (!target.empty())
    GARUDA_CUDA_TRY(cudaMemcpyAsync(target.data(), source, target.size(), cudaMemcpyDeviceToHost, stream_));
  return wait();
}

Result<void> Lane::check_cancelled() const {
  if (host_.is_cancelled(host_.context) == 0) return {};
  return fail(ErrorCode::cancelled, "cancelled between CUDA steps");
}

Result<cudaEvent_t> Lane::record_event() {
  cudaEvent_t event = nullptr;
  if (events_.empty()) {
    GARUDA_CUDA_TRY(cudaEventCreate(&event));
  } else {
    event = events_.back();
    events_.pop_back();
  }
  auto const recorded = check(cudaEventRecord(event, stream_), "cudaEventRecord");
  if (!recorded) {
    events_.push_back(event);
    return tl::unexpected<Error>(recorded.error());
  }
  return event;
}

Result<void> Lane::step(char const* name, std::uint64_t bytes, std::uint64_t items) {
  GARUDA_TRY(check_cancelled());
  GARUDA_TRY_ASSIGN(auto* const event, record_event());
  phases_.push_back({name, bytes, items, event});
  return {};
}

Result<void> Lane::launched() const {
  auto const status = cudaGetLastError();
  if (status == cudaSuccess) return {};
  return check(status, ("a kernel of step " + std::string(phases_.empty() ? "none" : phases_.back().name)).c_str());
}

Result<void> Lane::wait() {
  cudaEvent_t end = nullptr;
  if (!phases_.empty()) {
    GARUDA_TRY_ASSIGN(end, record_event());
  }
  auto const waited = check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  for (std::size_t i = 0; i < phases_.size(); ++i) {
    auto const& phase = phases_[i];
    auto* const next = i + 1 < phases_.size() ? phases_[i + 1].start : end;
    float milliseconds = 0;
    if (waited && cudaEventElapsedTime(&milliseconds, phase.start, next) == cudaSuccess)
      host_.add_phase(host_.context, phase.name, static_cast<std::uint64_t>(std::llround(milliseconds * 1e6)),
                      phase.bytes, phase.items);
  }
  for (auto const& phase : phases_) events_.push_back(phase.start);
  if (end != nullptr) events_.push_back(end);
  phases_.clear();
  unregister();
  GARUDA_TRY(waited);
  return check_cancelled();
}

void Lane::drain() noexcept {
  if (stream_ != nullptr) (void)cudaStreamSynchronize(stream_);
  unregister();
}

void Lane::unregister() noexcept {
  for (auto* memory : registered_) (void)cudaHostUnregister(memory);
  registered_.clear();
}

}  // namespace garuda::cuda_backend
