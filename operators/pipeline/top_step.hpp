// The first rows of an order, as far as one column tells them.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>
#include <vector>

#include "operators/pipeline/step.hpp"

namespace garuda::pipeline {

/// The first column of an order.
struct TopColumn {
  bool descending = false;
  bool nulls_first = false;
};

/// Keeps rows that may be among the first `rows` of an order: those whose value in its first column is not behind that
/// of so many other rows. Rows with equal values all stay. The result has a few times as many rows, which a sort then
/// orders; columns that the steps before do not read are read for these alone.
class TopStep final : public Step {
 public:
  /// `key`: a slot that expressions compute with (expr::kind_of). Requires: rows > 0.
  TopStep(Slot key, TopColumn column, std::uint64_t rows) : key_(key), column_(column), rows_(rows) {}

  std::vector<Slot> reads() const override { return {key_}; }
  bool takes_rows() const noexcept override { return true; }
  void set_live(Live live) override { live_ = std::move(live); }
  Result<void> push(Chunk chunk, std::size_t lane, Next const& next) const override;

 private:
  using Words = std::vector<std::uint64_t>;

  void add(Words words) const;

  Slot key_;
  TopColumn column_;
  std::uint64_t rows_;
  Live live_;
  mutable std::mutex mutex_;
  mutable Words least_;  ///< The least words so far, at most `rows_`, the greatest of them first (a heap).
  mutable std::atomic<std::uint64_t> last_{std::numeric_limits<std::uint64_t>::max()};  ///< Greater words are too many.
};

}  // namespace garuda::pipeline
