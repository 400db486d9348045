// Splits rows into spill files by the hash of their keys.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "io/arrow_bridge.hpp"
#include "operators/run/query_run.hpp"
#include "spill/spill_file.hpp"

namespace garuda::spill {

/// Most bits of one splitting: every partition of both sides keeps a file open.
inline constexpr std::uint32_t kMostBits = 6;

struct PartitionRequest {
  std::shared_ptr<arrow::Schema> schema;  ///< of the rows, without dictionaries
  std::vector<int> keys;                  ///< positions of the key columns
  std::vector<DataType> key_types;        ///< as which they are compared: those of both sides of a join
  /// Hashes of the values that a key column's indices refer to, for each column; nullptr: it has its values itself.
  std::vector<std::vector<std::uint64_t> const*> dictionary_hashes;
  bool drop_null_keys = false;     ///< leave out rows with a null key, which match nothing
  std::uint32_t bits = 1;          ///< partitions = 2^bits, 0…kMostBits
  std::uint32_t level = 0;         ///< splittings of one level share a hash, those of other levels have others
  std::uint64_t window_bytes = 0;  ///< rows held before they are written, about; twice as much memory is taken
  std::uint32_t threads = 0;       ///< 0: all
};

/// Reads `next` to its end and returns the partitions' files, finished; rows of a partition keep their order. Blocks.
/// `folder` must outlive the files. `on_rows` is called now and then with the rows read since.
/// Errors: those of `next`, SpillFile and keys::hash_key_column; cancelled.
Result<std::vector<SpillFile>> partition_rows(NextBatch const& next, PartitionRequest const& request,
                                              TemporaryFolder const& folder, Control const& control,
                                              std::function<void(std::uint64_t)> const& on_rows);

/// split_rows() that tells progress and statistics: phase, bytes, rows and the deepest level. `volume`: of the rows,
/// about.
Result<std::vector<SpillFile>> split_rows(NextBatch const& next, PartitionRequest const& request,
                                          RowVolume const& volume, TemporaryFolder const& folder,
                                          Control const& control, run::RunRecorder& recorder);

/// Returns the rows of `batch`, of any types, that `positions` names: `count` × uint32, each below the batch's rows.
/// Runs on the calling thread. Errors: out_of_memory, invalid_input.
Result<std::shared_ptr<arrow::RecordBatch>> take_rows(arrow::RecordBatch const& batch,
                                                      std::shared_ptr<arrow::Buffer> positions, std::int64_t count);

}  // namespace garuda::spill
