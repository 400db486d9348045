// One slice of an equi-join on a lane: the contract of garuda::contract::JoinKernel.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "cuda_backend/join/matches.hpp"
#include "cuda_backend/lane.hpp"
#include "cuda_backend/plugin.h"
#include "garuda/error.hpp"

namespace garuda::cuda_backend {

/// Errors of every call: device_failure, out_of_memory, limit_exceeded, cancelled.
class Join {
 public:
  /// Starts uploads and matching; waits for none of it. `slice`'s keys and `lane` outlive the join.
  static Result<std::unique_ptr<Join>> begin(Lane& lane, GarudaCudaJoinSlice const& slice);
  Join(Join const&) = delete;
  Join& operator=(Join const&) = delete;
  ~Join() { lane_.drain(); }

  Result<std::uint64_t> count();
  /// Requires first + out.size() <= count().
  Result<void> pairs(std::uint64_t first, std::span<GarudaCudaRowPair> out);
  /// `words`: ceil(rows of the side / 64).
  Result<void> mark(bool is_left, std::span<std::uint64_t> words);

 private:
  /// Keys of a side in host memory.
  struct HostSide {
    void const* keys;
    std::uint32_t rows;
  };

  Join(Lane& lane, GarudaCudaJoinSlice const& slice);
  bool is_empty() const noexcept { return build_.rows == 0 || probe_.rows == 0; }
  Result<Buffer> upload(HostSide const& side);
  Result<void> start_window(std::uint64_t first);

  Lane& lane_;
  std::uint32_t key_bytes_;
  bool build_is_left_;
  HostSide build_;
  HostSide probe_;
  std::optional<Matches> matches_;
  std::uint64_t total_ = 0;
  bool counted_ = false;
  Buffer window_[2];
  std::uint64_t window_first_ = 0;
  std::uint64_t window_rows_ = 0;  // ready in window `ready_`
  std::uint64_t next_first_ = 0;
  std::uint64_t next_rows_ = 0;  // on its way into the other window
  std::size_t ready_ = 0;
};

}  // namespace garuda::cuda_backend
