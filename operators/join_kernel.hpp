// The contract between the join driver and a path: fixed-width keys in, pairs of row indices out.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "garuda/plan.hpp"
#include "garuda/table.hpp"

namespace garuda::operators {

/// Most rows of a side in one pass: float counters stay exact.
inline constexpr std::uint64_t kMaxPassRows = std::uint64_t{1} << 24;

/// Keys of one side of a slice: every value is legal. min and max are over these keys (unspecified when empty).
struct KeySpan {
  std::variant<std::span<std::uint32_t const>, std::span<std::uint64_t const>> words;
  std::uint64_t min = 0;
  std::uint64_t max = 0;
  Location location;

  std::uint64_t size() const noexcept {
    return std::visit([](auto const& keys) { return static_cast<std::uint64_t>(keys.size()); }, words);
  }
};

/// One build × probe slice of a partition. Both sides have the same width. The spans outlive the kernel.
/// `shared_low_bits`: the lowest bits of the keys, equal in all keys of the slice (the raw radix digit), so that direct
/// addressing may use (key - min) >> shared_low_bits. 0 when the digit was mixed.
struct JoinSlice {
  KeySpan left;   ///< at most kMaxPassRows
  KeySpan right;  ///< at most kMaxPassRows
  std::uint32_t shared_low_bits = 0;
};

/// Indices into the two sides of a slice.
struct RowPair {
  std::uint32_t left = 0;
  std::uint32_t right = 0;

  friend auto operator<=>(RowPair const&, RowPair const&) = default;
};

/// Bit i of word i / 64: row i of the side has a match.
using MarkBitmap = std::vector<std::uint64_t>;

/// Joins one slice. Used by one thread at a time. Everything it holds is freed by its destructor.
/// Errors of every call: device_failure, out_of_memory, limit_exceeded, cancelled.
class JoinKernel {
 public:
  virtual ~JoinKernel() = default;

  /// Returns the number of matching pairs, exactly. Enumerates none.
  virtual Result<std::uint64_t> count() = 0;

  /// Writes pairs [first, first + out.size()) of a sequence that is the same for every call on this kernel, so that any
  /// position can be restarted. Requires first + out.size() <= count().
  virtual Result<void> pairs(std::uint64_t first, std::span<RowPair> out) = 0;

  /// Returns the rows of `side` that have a match, found without enumerating pairs: ceil(rows / 64) words, unused bits
  /// 0.
  virtual Result<MarkBitmap> mark(Side side) = 0;
};

/// What a kernel did, added up by the backend over all its kernels: thread-safe.
class StatsSink {
 public:
  virtual ~StatsSink() = default;
  virtual void add_phase(std::string_view name, std::uint64_t ns, std::uint64_t bytes, std::uint64_t items) = 0;
  virtual void add_counter(std::string_view name, std::uint64_t value) = 0;  ///< summed
  virtual void max_counter(std::string_view name, std::uint64_t value) = 0;  ///< greatest kept
  virtual void note(std::string text) = 0;  ///< a pass that ran differently, and why; duplicates are dropped
};

/// One path on one device, opened for one join. `begin` is called by several lanes at once, each with its own index.
class JoinBackend {
 public:
  virtual ~JoinBackend() = default;

  /// Starts on a slice: may return while uploads are under way. At most one kernel lives per lane at a time.
  virtual Result<std::unique_ptr<JoinKernel>> begin(JoinSlice const& slice, std::uint32_t lane) = 0;
};

/// What a backend is opened with. References outlive the backend.
struct BackendOptions {
  JoinTuning tuning;  ///< after planning; `automatic` means: choose per slice from its statistics
  std::uint32_t lanes = 1;
  std::uint64_t max_left_rows = 0;   ///< of any slice
  std::uint64_t max_right_rows = 0;  ///< of any slice
  std::uint32_t key_bits = 32;
  std::uint64_t device_memory_limit_bytes = 0;  ///< 0: the device's budget
  Control const* control = nullptr;
  StatsSink* stats = nullptr;
};

}  // namespace garuda::operators
