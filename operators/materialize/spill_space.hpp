// Rows between the operators of a query: in memory as far as a share of its limit goes, else in mapped files.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/os/temporary_folder.hpp"
#include "garuda/error.hpp"
#include "garuda/run.hpp"
#include "garuda/table.hpp"

namespace garuda::materialize {

/// A column of rows that are to be kept, and what keeps its memory.
struct KeptColumn {
  ArrayView array;
  std::shared_ptr<void const> owner;
  bool is_shared = false;  ///< with a table that stays anyway: the column stays where it is, and is not counted
};

/// A dictionary that several batches in files have.
struct FiledDictionary;

/// Takes batches as operators make them and returns the same rows, in memory while all that are there weigh less than
/// the share, else in a file without a name that is mapped: its pages are the file's, which the system takes back when
/// memory is short. A file goes with its batch. Safe to use from several threads. Batches outlive the space.
class SpillSpace {
 public:
  /// `memory_bytes`: the share, of the columns that are not shared.
  SpillSpace(os::TemporaryFolder folder, std::uint64_t memory_bytes);
  SpillSpace(SpillSpace const&) = delete;
  SpillSpace& operator=(SpillSpace const&) = delete;
  ~SpillSpace();

  /// `schema`: of the columns. Errors: output, naming the folder (missing, not writable, full); limit_exceeded, naming
  /// a column of a nested type that memory has no room for; out_of_memory.
  Result<Batch> keep(Schema const& schema, std::int64_t num_rows, std::vector<KeptColumn> columns);
  /// Keeps a batch none of whose columns is shared. Errors: as above.
  Result<Batch> keep(Schema const& schema, Batch batch);
  /// Reads a result to its end. Errors: those of the result, and as above.
  Result<Table> collect(BatchStream& stream);

  /// Bytes of files so far, those that are gone included.
  std::uint64_t spilled_bytes() const noexcept { return spilled_bytes_; }

 private:
  /// A dictionary in a file of its own, which batches that come one after the other share.
  Result<std::shared_ptr<FiledDictionary const>> file_dictionary(ArrayView const& array, DataType const& type);
  Result<Batch> spill(Schema const& schema, std::int64_t num_rows, std::vector<KeptColumn> const& columns);

  os::TemporaryFolder folder_;
  std::uint64_t memory_bytes_;
  std::shared_ptr<std::atomic<std::uint64_t>> held_bytes_;
  std::atomic<std::uint64_t> spilled_bytes_{0};
  std::mutex mutex_;
  std::vector<std::shared_ptr<FiledDictionary const>> dictionaries_;  ///< the ones that were written last
};

/// Bytes of the rows of a column, about; those of views with the values that these refer to.
std::uint64_t bytes_of_rows(ArrayView const& array, DataType const& type) noexcept;
/// Bytes of a table's rows, about.
std::uint64_t bytes_of_rows(TableView table) noexcept;

}  // namespace garuda::materialize
