// A lane: one stream with its memory budget, staging memory and timed phases. Used by one thread at a time.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cuda_backend/device.hpp"
#include "cuda_backend/plugin.h"
#include "garuda/error.hpp"

namespace garuda::cuda_backend {

class Lane;

/// Device memory of a lane. Freed in the order of the lane's stream.
class Buffer {
 public:
  Buffer() = default;
  void reset() noexcept { memory_.reset(); }

  template <class T>
  T* as() const noexcept {
    return static_cast<T*>(memory_.get());
  }
  std::uint64_t address() const noexcept { return reinterpret_cast<std::uint64_t>(memory_.get()); }
  std::uint64_t bytes() const noexcept { return memory_ == nullptr ? 0 : memory_.get_deleter().bytes; }
  explicit operator bool() const noexcept { return memory_ != nullptr; }

 private:
  friend class Lane;
  struct Release {
    Lane* lane;
    std::uint64_t bytes;
    void operator()(void* memory) const noexcept;
  };
  Buffer(Lane* lane, void* memory, std::uint64_t bytes) : memory_(memory, {lane, bytes}) {}

  std::unique_ptr<void, Release> memory_;
};

class Lane {
 public:
  /// `device` outlives the lane; `host`'s functions are called until it is gone. Errors: out_of_memory,
  /// device_failure.
  static Result<std::unique_ptr<Lane>> create(Device& device, GarudaCudaLaneOptions const& options,
                                              GarudaCudaHost const& host);
  Lane(Lane const&) = delete;
  Lane& operator=(Lane const&) = delete;
  /// Waits for the stream.
  ~Lane();

  Device& device() const noexcept { return device_; }
  cudaStream_t stream() const noexcept { return stream_; }
  std::uint64_t budget_bytes() const noexcept { return options_.memory_budget_bytes; }

  /// At least one byte. Errors: limit_exceeded when the lane's budget does not allow it; out_of_memory.
  Result<Buffer> allocate(std::uint64_t bytes, char const* name);

  /// Copies `source` to the device; through staging memory, or from where it is when the lane registers. `source` may
  /// change only after the next wait() if it registers, at once otherwise. Errors: out_of_memory, device_failure.
  Result<void> upload(void* target, std::span<std::byte const> source);
  /// Copies to `target`, and waits for it. Errors: device_failure, cancelled.
  Result<void> download(std::span<std::byte> target, void const* source);

  /// Starts a step: what runs on the stream until the next step or wait() is timed as phase `name`.
  /// Errors: cancelled, device_failure.
  Result<void> step(char const* name, std::uint64_t bytes = 0, std::uint64_t items = 0);
  /// Whether the launch before was accepted, by the step that it is of. Errors: device_failure, out_of_memory.
  Result<void> launched() const;
  /// Waits for the stream and reports the phases. Errors: device_failure, cancelled.
  Result<void> wait();
  /// Waits for the stream, reports nothing: for destructors.
  void drain() noexcept;

  void add_counter(char const* name, std::uint64_t value) const { host_.add_counter(host_.context, name, value); }

 private:
  friend struct Buffer::Release;
  struct Phase {
    char const* name;
    std::uint64_t bytes;
    std::uint64_t items;
    cudaEvent_t start;
  };
  struct Segment {
    PinnedMemory memory;
    cudaEvent_t done = nullptr;  ///< the copy out of it
    bool in_flight = false;
  };

  Lane(Device& device, GarudaCudaLaneOptions const& options, GarudaCudaHost const& host)
      : device_(device), options_(options), host_(host) {}
  Result<void> check_cancelled() const;
  Result<cudaEvent_t> record_event();
  Result<void> stage(std::byte* target, std::span<std::byte const> source);
  void unregister() noexcept;

  Device& device_;
  GarudaCudaLaneOptions options_;
  GarudaCudaHost host_;
  cudaStream_t stream_ = nullptr;
  std::uint64_t held_bytes_ = 0;
  std::array<Segment, 2> segments_;
  std::size_t next_segment_ = 0;
  std::vector<void*> registered_;
  std::vector<Phase> phases_;
  std::vector<cudaEvent_t> events_;  // not in use
};

}  // namespace garuda::cuda_backend
