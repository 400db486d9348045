// Copies of host memory: what the CPU path is held against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/buffer.hpp"
#include "garuda/error.hpp"

namespace garuda::bench {

/// Copies `bytes` bytes, which must not overlap, a multiple of 256, both from multiples of 64 on. On x86-64 by stores
/// that go past the caches, the source asked for 4 KiB ahead: a copy then moves each byte twice. memcpy does so only
/// beyond a size that glibc derives from the last-level cache of a whole socket (288 MiB on an EPYC of 384 MiB);
/// below, every line is read before it is written over, which makes three, and copies a third slower. By memcpy
/// elsewhere. What is written is visible to whoever synchronises with the calling thread.
void copy_past_caches(std::byte* to, std::byte const* from, std::size_t bytes) noexcept;

enum class HostCopyBy : std::uint8_t {
  past_caches,  ///< copy_past_caches: the fastest
  memcpy,       ///< what a program that does nothing about it gets
};

/// Host memory to be copied to other host memory, of pages that have been touched.
class HostCopy {
 public:
  /// Requires: `bytes` is a multiple of 256. Errors: out_of_memory.
  static Result<HostCopy> create(std::int64_t bytes);

  std::uint64_t bytes() const noexcept { return static_cast<std::uint64_t>(source_.size_bytes()); }
  /// Copies all bytes once, on the threads of the calling task arena, 1 MiB at a time; returns the nanoseconds that it
  /// took.
  std::uint64_t run(HostCopyBy by = HostCopyBy::past_caches);

 private:
  HostCopy(AlignedBuffer source, AlignedBuffer destination) noexcept
      : source_(std::move(source)), destination_(std::move(destination)) {}

  AlignedBuffer source_;
  AlignedBuffer destination_;
};

}  // namespace garuda::bench
