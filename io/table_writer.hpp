// Writes batches to Parquet, Arrow IPC and CSV files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "io/output_file.hpp"

namespace garuda::io {

struct WriteOptions {
  std::int64_t row_group_rows = 1 << 20;  ///< Parquet: most rows of a row group
  std::int64_t row_group_bytes =
      64 << 20;               ///< Parquet: most bytes, as in memory, gathered before a row group is written
  std::uint32_t threads = 0;  ///< 1: encode on the calling thread; else as Arrow likes
};

/// Writes one file, batch by batch, in the format of its extension. The file appears on finish, whole; without it, or
/// after an error, nothing is left behind. CSV: a header line, text quoted as in RFC 4180, nulls empty. Move-only.
class TableWriter {
 public:
  /// Errors: usage (unknown extension); output, naming the file; invalid_input, naming a type that the format cannot
  /// hold.
  static Result<TableWriter> open(std::filesystem::path const& path, Schema const& schema,
                                  WriteOptions const& options = {});
  /// The same with a file that has been created before.
  static Result<TableWriter> open(OutputFile file, Schema const& schema, WriteOptions const& options = {});

  TableWriter(TableWriter&&) noexcept;
  TableWriter& operator=(TableWriter&&) noexcept;
  ~TableWriter();

  /// Appends the rows of `batch`, which has the columns of the schema. Blocks until they are encoded; a row group of
  /// Parquet may stay in memory.
  /// Errors: output (disk full, …); invalid_input, for a value that the format cannot hold; out_of_memory. The writer
  /// is then of no more use.
  Result<void> write(Batch batch);

  /// Writes the rest, closes the file and gives it its name. Returns its size in bytes. To be called once.
  /// Errors: those of write.
  Result<std::uint64_t> finish();

 private:
  struct State;
  explicit TableWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace garuda::io
