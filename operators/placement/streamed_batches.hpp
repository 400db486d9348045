// Batches of a join whose tables went to the device whole, from the words that came down.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <oneapi/tbb/task_arena.h>

#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "operators/materialize/gather.hpp"
#include "operators/placement/streamed_plan.hpp"
#include "operators/resolve/join_request.hpp"

namespace garuda::placement {

/// Words of some rows of the result, on the host.
struct ArrivedRows {
  std::uint64_t rows = 0;
  std::uint64_t probe_first = 0;      ///< row of the probe table that its row numbers count from
  std::vector<std::byte*> words;      ///< by StreamedPlan::arriving; row numbers of the probe side are changed
  std::shared_ptr<void const> owner;  ///< of the words: batches refer to them, in any order
};

/// Narrow values are cut to their width, null bits become bitmaps, and what did not go to the device is gathered from
/// the tables by row number; other columns stay where they arrived. Borrows tables and plan; used by one thread.
class StreamedBatches {
 public:
  /// Errors: those of Gatherer::create.
  static Result<StreamedBatches> create(resolve::JoinRequest const& request, StreamedPlan const& plan);

  Schema const& schema() const noexcept { return schema_; }
  /// One batch; several when 32-bit offsets of strings do not reach over all rows; none without rows.
  /// Errors: out_of_memory.
  Result<std::vector<Batch>> assemble(ArrivedRows arrived) const;

 private:
  struct Arrays;

  Result<std::unique_ptr<Arrays>> convert(ArrivedRows& arrived) const;
  Result<std::int64_t> gather(bool from_probe, ArrivedRows const& arrived, std::int64_t first, Arrays& arrays) const;

  std::vector<StreamedOutput> output_;
  std::optional<Gatherer> build_gatherer_;
  std::optional<Gatherer> probe_gatherer_;
  std::optional<std::size_t> build_numbers_;  ///< among the arriving words
  std::optional<std::size_t> probe_numbers_;
  std::unique_ptr<oneapi::tbb::task_arena> arena_;
  Schema schema_;
};

}  // namespace garuda::placement
