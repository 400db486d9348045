// The contract between the join driver and a path: fixed-width keys in, pairs of row indices out. A path for joins
// without keys takes a condition and rows of two tables instead, and gives pairs through the same kernels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "expr/condition.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "garuda/join.hpp"
#include "operators/contract/key_span.hpp"
#include "operators/contract/row_marks.hpp"
#include "operators/contract/stats_sink.hpp"
#include "operators/rates/rates.hpp"

namespace garuda::contract {

/// One build × probe slice of a partition. Both sides have the same width. The spans outlive the kernel.
/// `shared_low_bits`: the lowest bits of the keys, equal in all keys of the slice (the raw radix digit), so that direct
/// addressing may use (key - min) >> shared_low_bits. 0 when the digit was mixed.
/// `build`: the side to build on where the path has that choice, because slices that follow have the same rows there;
/// those keys then outlive the backend. nullopt: the path decides.
struct JoinSlice {
  KeySpan left;   ///< at most kMaxPassRows
  KeySpan right;  ///< at most kMaxPassRows
  std::uint32_t shared_low_bits = 0;
  std::optional<Side> build = std::nullopt;
};

/// Indices into the two sides of a slice.
struct RowPair {
  std::uint32_t left = 0;
  std::uint32_t right = 0;

  friend auto operator<=>(RowPair const&, RowPair const&) = default;
};

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

  /// When it is known after `count` that no probe row has several matches, in the order of these rows the build row of
  /// each, + 1, or 0 without a match: what `pairs` would enumerate, without the pairs. Empty when it is not known.
  /// Valid as long as the kernel.
  virtual std::span<std::uint32_t const> unique_matches() const { return {}; }

  /// Returns the rows of `side` that have a match, found without enumerating pairs: ceil(rows / 64) words, unused bits
  /// 0.
  virtual Result<MarkBitmap> mark(Side side) = 0;

  /// Adds mark() to the marks of the whole side, in which row 0 of the slice is row `first`. Kernels of several
  /// lanes may add to the same marks.
  virtual Result<void> add_marks(Side side, RowMarks& marks, std::uint64_t first) {
    GARUDA_TRY_ASSIGN(auto const bitmap, mark(side));
    marks.add(bitmap, first);
    return {};
  }
};

/// One path on one device, opened for one join. `begin` is called by several lanes at once, each with its own index.
class JoinBackend {
 public:
  virtual ~JoinBackend() = default;

  /// Starts on a slice: may return while uploads are under way. At most one kernel lives per lane at a time.
  virtual Result<std::unique_ptr<JoinKernel>> begin(JoinSlice const& slice, std::uint32_t lane) = 0;
};

/// Tables that a path made of pieces of a build side before any join, known again by where the keys of a piece lie.
class KeptTables {
 public:
  /// `bytes`: host memory that the table takes.
  void add(KeySpan const& keys, std::shared_ptr<void const> table, std::uint64_t bytes) {
    tables_[place_of(keys)] = std::move(table);
    bytes_ += bytes;
  }
  std::uint64_t bytes() const noexcept { return bytes_; }
  /// nullptr: there is none of exactly these keys.
  std::shared_ptr<void const> find(KeySpan const& keys) const {
    auto const found = tables_.find(place_of(keys));
    return found == tables_.end() ? nullptr : found->second;
  }

 private:
  using Place = std::pair<void const*, std::uint64_t>;
  static Place place_of(KeySpan const& keys) {
    return std::visit([](auto const& words) { return Place{words.data(), words.size()}; }, keys.words);
  }

  std::map<Place, std::shared_ptr<void const>> tables_;
  std::uint64_t bytes_ = 0;
};

/// Options of a backend. References outlive the backend.
struct BackendOptions {
  JoinTuning tuning;  ///< after planning; `automatic` means: choose per slice from its statistics
  std::uint32_t lanes = 1;
  std::uint64_t max_left_rows = 0;   ///< of any slice
  std::uint64_t max_right_rows = 0;  ///< of any slice
  std::uint32_t key_bits = 32;
  bool keeps_matches = true;  ///< more than one call of a kernel will ask for matches, so the first may keep them
  bool pairs_wanted = true;   ///< pairs will be asked for, so that counting may keep what it finds
  double pairs_of_row = 1;    ///< of the larger side, expected on average
  std::uint64_t device_memory_limit_bytes = 0;  ///< 0: the device's budget
  std::optional<rates::DeviceRates> rates;      ///< of the device, where it was measured
  KeptTables const* kept = nullptr;             ///< of build sides that slices name; nullptr: there are none
  Control const* control = nullptr;
  StatsSink* stats = nullptr;
};

/// Rows [first, first + rows) of a table.
struct RowSpan {
  std::uint64_t first = 0;
  std::uint64_t rows = 0;

  friend bool operator==(RowSpan const&, RowSpan const&) = default;
};

/// Rows of both tables, at most kMaxPassRows of each, every one of which is compared with every other. `build`: the
/// side that slices which follow share, where they do; nullopt: the path decides. Pairs and marks count from the
/// spans' first rows.
struct ConditionSlice {
  RowSpan left;
  RowSpan right;
  std::optional<Side> build = std::nullopt;

  RowSpan const& of(Side side) const noexcept { return side == Side::left ? left : right; }
};

/// One path on one device, opened for one join. `begin` is called by several lanes at once, each with its own index.
class ConditionBackend {
 public:
  virtual ~ConditionBackend() = default;

  /// Starts on a slice: may return while uploads are under way. At most one kernel lives per lane at a time.
  virtual Result<std::unique_ptr<JoinKernel>> begin(ConditionSlice const& slice, std::uint32_t lane) = 0;
};

/// The pairs from number `first` on that the host has: the row numbers of both sides, in memory of the kernel.
struct PairWindow {
  std::uint64_t first = 0;
  std::span<std::uint32_t const> left{};
  std::span<std::uint32_t const> right{};
};

/// Writes the pairs [first, first + out.size()) as JoinKernel::pairs does. `load(position)` fills the window from a
/// position on; it is called where the window does not have the next pair. Errors: those of `load`.
template <class Load>
Result<void> read_pairs(PairWindow const& window, std::uint64_t first, std::span<RowPair> out, Load const& load) {
  for (std::size_t done = 0; done < out.size();) {
    auto const position = first + done;
    bool const is_here = position >= window.first && position - window.first < window.left.size();
    if (!is_here) GARUDA_TRY(load(position));
    auto const offset = position - window.first;
    auto const taken = std::min<std::uint64_t>(window.left.size() - offset, out.size() - done);
    for (std::uint64_t i = 0; i < taken; ++i) out[done + i] = {window.left[offset + i], window.right[offset + i]};
    done += taken;
  }
  return {};
}

}  // namespace garuda::contract
