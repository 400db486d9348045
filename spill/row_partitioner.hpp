// Splits rows into spill files by the hash of their keys.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/run.hpp"
#include "io/arrow_bridge.hpp"
#include "operators/run/query_run.hpp"
#include "spill/dictionary_columns.hpp"
#include "spill/memory_share.hpp"
#include "spill/spill_file.hpp"

namespace garuda::spill {

/// Most bits of one splitting: every partition of both sides keeps a file open.
inline constexpr std::uint32_t kMostBits = 6;

struct SplitRequest {
  DictionaryColumns const& dictionaries;   ///< of the rows, which have its spilled schema
  std::vector<int> const& keys;            ///< positions of the key columns
  std::vector<DataType> const& key_types;  ///< as which they are compared: those of both sides of a join
  bool drop_null_keys = false;             ///< leave out rows with a null key, which match nothing
  std::uint32_t bits = 1;                  ///< partitions = 2^bits, 0…kMostBits
  std::uint32_t level = 0;                 ///< splittings of one level share a hash, those of other levels have others
};

/// Splits rows of one operator's run. All members must outlive this.
struct RowSplitter {
  MemoryShare const& share;  ///< says how many rows are held before they are written; twice as much memory is taken
  TemporaryFolder const& folder;
  RunOptions const& options;
  run::RunRecorder& recorder;

  /// Reads `next` to its end and returns the partitions' files, finished, which the folder must outlive; rows of a
  /// partition keep their order. `volume`: of the rows, about. Tells progress and statistics: phase, bytes, rows and
  /// the deepest level. Blocks. Errors: those of `next`, SpillFile and keys::hash_key_column; cancelled.
  Result<std::vector<SpillFile>> split(NextBatch const& next, SplitRequest const& request,
                                       RowVolume const& volume) const;
};

/// Returns the rows of `batch`, of any types, that `positions` names: `count` × uint32, each below the batch's rows.
/// Runs on the calling thread. Errors: out_of_memory, invalid_input.
Result<std::shared_ptr<arrow::RecordBatch>> take_rows(arrow::RecordBatch const& batch,
                                                      std::shared_ptr<arrow::Buffer> positions, std::int64_t count);

}  // namespace garuda::spill
