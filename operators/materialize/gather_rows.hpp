// Row ids of a gather, resolved to batches once for all columns.
#pragma once

#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "garuda/error.hpp"

namespace garuda {

/// Rows of one parallel task: a multiple of 64, so that tasks share no word of a bitmap.
inline constexpr std::int64_t kGatherBlockRows = 16'384;

inline std::int64_t num_gather_blocks(std::int64_t num_rows) {
  return (num_rows + kGatherBlockRows - 1) / kGatherBlockRows;
}

/// Copies `bytes` bytes of a run in steps of a fixed size, which reach behind its end where `to_end` and `from_end`,
/// up to which memory may be written and read, allow it: what is written there has to be overwritten by what follows.
inline void copy_run(std::byte* to, std::byte const* to_end, std::byte const* from, std::byte const* from_end,
                     std::int64_t bytes) {
  constexpr std::int64_t kStep = 32;
  constexpr std::int64_t kLongRun = 512;
  if (bytes > kLongRun || to_end - to < bytes + kStep || from_end - from < bytes + kStep) {
    if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return;
  }
  for (std::int64_t b = 0; b < bytes; b += kStep) std::memcpy(to + b, from + b, kStep);
}

/// Fewest rows of a run, on average: shorter ones are copied row by row as fast.
inline constexpr std::int64_t kFewestRunRows = 4;

/// Finds the batch of a row: a table from the leading bits of the row id to the few batches that can hold it.
class BatchIndex {
 public:
  /// `first_rows`: first row of each batch, rising, then the number of rows. Borrowed. Requires: at least two batches.
  explicit BatchIndex(std::span<std::int64_t const> first_rows) : first_rows_(first_rows) {
    auto const num_batches = static_cast<std::int64_t>(first_rows.size()) - 1;
    auto const num_rows = first_rows.back();
    while ((num_rows >> shift_) > 4 * num_batches) ++shift_;
    std::uint32_t batch = 0;
    for (std::int64_t bucket = 0; bucket <= (num_rows - 1) >> shift_; ++bucket) {
      while (first_rows[batch + 1] <= bucket << shift_) ++batch;
      buckets_.push_back(batch);
    }
    buckets_.push_back(static_cast<std::uint32_t>(num_batches - 1));
  }

  /// Requires: 0 <= row < number of rows.
  std::uint32_t batch_of(std::int64_t row) const noexcept {
    auto const bucket = static_cast<std::size_t>(row >> shift_);
    auto const* first = first_rows_.data();
    auto const batch = buckets_[bucket];
    auto const last = buckets_[bucket + 1];
    // Batches of about the same length: a bucket holds the end of one at most, and no branch depends on the row.
    if (last - batch <= 1) return batch + (first[batch + 1] <= row ? 1U : 0U);
    return static_cast<std::uint32_t>(std::upper_bound(first + batch + 1, first + last + 1, row) - first - 1);
  }

 private:
  std::span<std::int64_t const> first_rows_;
  std::vector<std::uint32_t> buckets_;  ///< batch of the first row of each bucket, then the last batch
  int shift_ = 0;
};

/// The rows of one call. Null rows have the id -1, which only a signed RowId can be.
template <class RowId>
class RowSelection {
 public:
  /// Checks the row ids and finds their batches. `first_rows` as in BatchIndex, but with any number of batches.
  static Result<RowSelection> resolve(std::span<RowId const> ids, std::span<std::int64_t const> first_rows) {
    RowSelection rows;
    rows.ids_ = ids;
    rows.first_rows_ = first_rows;
    rows.blocks_.resize(static_cast<std::size_t>(num_gather_blocks(rows.size())));
    std::atomic<bool> in_range{true};
    std::atomic<bool> has_null_rows{false};
    for_each_block(rows.size(), [&](std::int64_t begin, std::int64_t end) {
      auto& block = rows.blocks_[static_cast<std::size_t>(begin / kGatherBlockRows)];
      std::array<std::int32_t, kGatherBlockRows> ends;
      auto const runs = rows.find_runs(begin, end, ends, block);
      auto const num_runs = static_cast<std::int64_t>(runs.size());
      block.is_run = num_runs == 1 && block.least >= 0;
      if (block.least >= 0 && num_runs * kFewestRunRows <= end - begin) block.run_ends.assign(runs.begin(), runs.end());
      if (block.least < -1 || block.greatest >= first_rows.back()) in_range.store(false, std::memory_order_relaxed);
      if (block.least < 0) has_null_rows.store(true, std::memory_order_relaxed);
    });
    auto const row_ids_in_range = in_range.load();
    GARUDA_EXPECTS(row_ids_in_range);
    rows.has_null_rows_ = has_null_rows.load();
    GARUDA_TRY(rows.find_batches());
    return rows;
  }

  std::int64_t size() const noexcept { return static_cast<std::int64_t>(ids_.size()); }
  bool has_null_rows() const noexcept { return has_null_rows_; }

  /// The rows of a block that begins at `begin` when they follow each other in one batch: the batch, and the first row
  /// within it.
  std::optional<std::pair<std::uint32_t, std::int64_t>> run_from(std::int64_t begin, std::int64_t end) const {
    auto const& block = block_at(begin);
    if (!block.is_run || !block.batch || (begin == end)) return std::nullopt;
    return std::pair(*block.batch, id(begin) - first_rows_[*block.batch]);
  }

  /// Calls on_run(i, batch, row within the batch, count) for the positions [begin, end), a whole block, where they are
  /// runs of consecutive rows of one batch, several rows long on average. Returns whether they are.
  template <class OnRun>
  bool visit_runs(std::int64_t begin, std::int64_t end, OnRun on_run) const {
    if (begin == end) return true;
    auto const& block = block_at(begin);
    if (block.run_ends.empty() || !block.batch || block.run_ends.back() < end - begin) return false;
    auto const first_row = first_rows_[*block.batch];
    for (auto i = begin; auto const run_end : block.run_ends) {
      auto const last = std::min(begin + run_end, end);
      if (i >= last) break;
      on_run(i, *block.batch, id(i) - first_row, last - i);
      i = last;
    }
    return true;
  }

  /// Whether a processor's own prefetching reaches the rows of the block of position i: they lie about as close as in
  /// their table.
  bool is_dense_at(std::int64_t i) const noexcept { return block_at(i).is_dense(); }

  /// Calls on_row(i, batch, row within the batch) or on_null(i) for the positions i in [begin, end) of one block, in
  /// order.
  template <class OnRow, class OnNull>
  void visit(std::int64_t begin, std::int64_t end, OnRow on_row, OnNull on_null) const {
    if (begin == end) return;
    expect_one_block(begin, end);
    if (auto const batch = block_at(begin).batch) {
      visit_in(begin, end, on_row, on_null, [batch = *batch](std::int64_t) { return batch; });
    } else {
      auto const* batches = batches_.as<std::uint32_t>();
      visit_in(begin, end, on_row, on_null, [batches](std::int64_t i) { return batches[i]; });
    }
  }

  /// Calls on_row(i, batch, row within the batch, whether it is a row of nulls) likewise, without a branch on that: a
  /// row of nulls has the batch and row of some other one. Requires: the table has rows.
  template <class OnRow>
  void visit_all(std::int64_t begin, std::int64_t end, OnRow on_row) const {
    if (begin < end) expect_one_block(begin, end);
    auto const* const batches = batches_.as<std::uint32_t>();
    auto const only = begin < end ? block_at(begin).batch : std::nullopt;
    for (auto i = begin; i < end; ++i) {
      auto const batch = only ? *only : batches[i];
      auto const row = id(i);
      on_row(i, batch, std::max(row, first_rows_[batch]) - first_rows_[batch], row < 0);
    }
  }

  /// Writes bits [begin, end) of whole words, where begin is a multiple of 64: 0 for null rows. Returns the number of
  /// ones.
  std::int64_t write_present(std::int64_t begin, std::int64_t end, std::uint64_t* words) const {
    std::int64_t ones = 0;
    for (auto first = begin; first < end; first += 64) {
      std::uint64_t word = 0;
      for (auto i = first; i < std::min(first + 64, end); ++i)
        word |= std::uint64_t{id(i) >= 0 ? 1U : 0U} << (i - first);
      words[first / 64] = word;
      ones += std::popcount(word);
    }
    return ones;
  }

  /// Visits rows for loops that look up elements scattered over memory: calls ask(i, batch, row) some rows before
  /// on_row(i, batch, row).
  template <class Ask, class OnRow, class OnNull>
  void visit_ahead(std::int64_t begin, std::int64_t end, Ask ask, OnRow on_row, OnNull on_null) const {
    constexpr std::int64_t kRowsAhead = 32;  // more than a core looks ahead by itself
    if (begin == end || block_at(begin).is_dense()) return visit(begin, end, on_row, on_null);
    auto const after = [&](std::int64_t i) { return std::min(i + kRowsAhead, end); };
    visit(begin, after(begin), ask, [](std::int64_t) {});
    for (auto i = begin; i < end; i = after(i)) {
      visit(after(i), after(after(i)), ask, [](std::int64_t) {});
      visit(i, after(i), on_row, on_null);
    }
  }

  /// Runs body(begin, end) in parallel for the blocks of kGatherBlockRows positions that make up [0, num_rows).
  template <class Body>
  static void for_each_block(std::int64_t num_rows, Body body) {
    tbb::parallel_for(std::int64_t{0}, num_gather_blocks(num_rows), [&](std::int64_t block) {
      auto const begin = block * kGatherBlockRows;
      body(begin, std::min(begin + kGatherBlockRows, num_rows));
    });
  }

 private:
  struct Block {
    std::int64_t least = 0;  ///< of its ids
    std::int64_t greatest = 0;
    bool is_run = false;                 ///< its ids follow each other
    std::optional<std::uint32_t> batch;  ///< that all of its rows are of
    std::vector<std::int32_t> run_ends;  ///< of runs of consecutive ids, counted from the block's begin; empty: short

    bool is_dense() const noexcept { return greatest - least < 2 * kGatherBlockRows; }
  };

  /// The batch of a block holds for no row of another block.
  static void expect_one_block(std::int64_t begin, std::int64_t end) {
    auto const is_one_block = begin / kGatherBlockRows == (end - 1) / kGatherBlockRows;
    GARUDA_EXPECTS(is_one_block);
  }

  Block const& block_at(std::int64_t i) const noexcept {
    return blocks_[static_cast<std::size_t>(i / kGatherBlockRows)];
  }

  std::int64_t id(std::int64_t i) const noexcept {
    return static_cast<std::int64_t>(ids_[static_cast<std::size_t>(i)]);
  }

  /// How far id `i` is from the one before it, modulo 2^64.
  static std::uint64_t step_to(RowId const* ids, std::int64_t i) noexcept {
    return static_cast<std::uint64_t>(ids[i]) - static_cast<std::uint64_t>(ids[i - 1]);
  }

  /// Sets the bounds of a block's ids, and writes where the runs of consecutive ones end, counted from `begin`. Where
  /// ids come as they please, no branch depends on them; within long runs several are looked at together.
  std::span<std::int32_t const> find_runs(std::int64_t begin, std::int64_t end,
                                          std::array<std::int32_t, kGatherBlockRows>& ends, Block& block) const {
    constexpr std::int32_t kAtOnce = 16;
    auto const* const ids = ids_.data() + begin;
    auto const count = static_cast<std::int32_t>(end - begin);
    std::size_t runs = 0;
    std::uint64_t steps = 0;  // has the sign of those that go back
    bool is_long = true;
    for (std::int32_t first = 1; first < count; first += kAtOnce) {
      auto const last = std::min(first + kAtOnce, count);
      if (is_long && last - first == kAtOnce) {
        std::uint64_t gaps = 0;
        for (std::int32_t i = 0; i < kAtOnce; ++i) gaps |= step_to(ids, first + i) - 1;
        if (gaps == 0) continue;
      }
      auto const before = runs;
      for (auto i = first; i < last; ++i) {
        auto const step = step_to(ids, i);
        ends[runs] = i;
        runs += step != 1 ? 1 : 0;
        steps |= step;
      }
      is_long = runs - before <= 2;
    }
    ends[runs++] = count;
    block.least = id(begin);
    block.greatest = id(end - 1);
    bool const ascend = static_cast<std::int64_t>(steps) >= 0;
    for (std::size_t r = 1; r < runs && !ascend; ++r) {
      block.least = std::min(block.least, id(begin + ends[r - 1]));
      block.greatest = std::max(block.greatest, id(begin + ends[r - 1] - 1));
    }
    return std::span(ends).first(runs);
  }

  Result<void> find_batches() {
    if (first_rows_.size() <= 2) {
      for (auto& block : blocks_) block.batch = 0;
      return {};
    }
    BatchIndex const index(first_rows_);
    bool is_mixed = false;
    for (auto& block : blocks_) {
      auto const batch = index.batch_of(std::max<std::int64_t>(block.least, 0));
      if (block.greatest < first_rows_[batch + 1]) block.batch = batch;
      is_mixed |= !block.batch;
    }
    if (!is_mixed) return {};
    GARUDA_TRY_ASSIGN(batches_, AlignedBuffer::allocate(size() * static_cast<std::int64_t>(sizeof(std::uint32_t))));
    auto* batches = batches_.as<std::uint32_t>();
    for_each_block(size(), [&](std::int64_t begin, std::int64_t end) {
      if (block_at(begin).batch) return;
      for (auto i = begin; i < end; ++i) batches[i] = id(i) < 0 ? 0 : index.batch_of(id(i));
    });
    return {};
  }

  template <class OnRow, class OnNull, class BatchOf>
  void visit_in(std::int64_t begin, std::int64_t end, OnRow on_row, OnNull on_null, BatchOf batch_of) const {
    for (auto i = begin; i < end; ++i) {
      auto const row = id(i);
      if (std::is_signed_v<RowId> && row < 0) {
        on_null(i);
        continue;
      }
      auto const batch = batch_of(i);
      on_row(i, batch, row - first_rows_[batch]);
    }
  }

  std::span<RowId const> ids_;
  std::span<std::int64_t const> first_rows_;
  std::vector<Block> blocks_;
  AlignedBuffer batches_;  ///< u32 a row, in blocks of several batches
  bool has_null_rows_ = false;
};

}  // namespace garuda
