// Large host memory that freed buffers leave behind, for later buffers.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

namespace garuda {

/// Mappings of AlignedBuffers that were destroyed, kept for buffers of about their size: fresh memory is zeroed page by
/// page by the operating system, and under a hypervisor may have to be found first, which can take longer than filling
/// it. One a process, because buffers outlive engines and each other in any order. Thread-safe.
class KeptMemory {
 public:
  /// The process's; never destroyed.
  static KeptMemory& instance();

  /// Bytes kept at most unless told.
  static constexpr std::size_t kDefaultLimit = std::size_t{1} << 30;

  struct Mapping {
    std::byte* address = nullptr;
    std::size_t bytes = 0;
  };

  /// Returns the smallest kept mapping of `bytes` to 1.25 × `bytes` bytes, contents unspecified; no address when there
  /// is none.
  Mapping take(std::size_t bytes);
  /// Keeps a mapping, in place of the ones kept longest; gives it back to the operating system when it is beyond the
  /// limit.
  void keep(Mapping mapping) noexcept;
  /// Keeps at most `bytes` bytes from now on; gives back what is more. 0: everything.
  void set_limit(std::size_t bytes) noexcept;
  /// Gives back everything that is kept now.
  void give_back_all() noexcept;
  std::size_t kept_bytes() const noexcept;

 private:
  void shrink_to(std::size_t bytes) noexcept;

  mutable std::mutex mutex_;
  std::vector<Mapping> mappings_;  ///< the one kept longest first
  std::size_t bytes_ = 0;
  std::size_t limit_ = kDefaultLimit;
};

}  // namespace garuda
