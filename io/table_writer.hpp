// Writes batches to Parquet, Arrow IPC and CSV files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "core/os/output_file.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "io/file_format.hpp"

namespace garuda::io {

struct WriteOptions {
  std::int64_t row_group_rows = 1 << 19;     ///< Parquet: most rows of a row group, at least 1
  std::int64_t row_group_bytes = 32 << 20;   ///< Parquet: most bytes, as in memory, gathered for a row group
  bool writes_behind = true;                 ///< rows may wait in memory while others are encoded
  std::uint32_t threads = 0;                 ///< that encode; 0: all
  std::optional<Compression> compression{};  ///< nullopt: the format's usual one
  bool packs_integers = true;                ///< Parquet: as differences, where that is shorter
};

/// Writes one file, batch by batch, in the format of its extension. The file appears on commit, whole; without it, or
/// after an error, nothing is left behind. CSV: a header line, text quoted as in RFC 4180, nulls empty. Stored columns
/// (stored_types.hpp) are written as what they stand for. The same batches make the same
/// file on any number of threads. Move-only.
class TableWriter {
 public:
  /// Prepares for writing to `path` while the caller waits for something else: a row is written to nowhere, which sets
  /// up what Arrow needs when it first writes such a format (CSV: 1.5 ms). A failure is told when writing fails again.
  static void prepare(std::filesystem::path const& path);

  /// Errors: usage (unknown extension, a compression that the format does not have); output, naming the file;
  /// invalid_input, naming a type that the format cannot hold.
  static Result<TableWriter> open(std::filesystem::path const& path, Schema const& schema,
                                  WriteOptions const& options = {});
  /// Writes into a file that has been created before.
  static Result<TableWriter> open(os::OutputFile file, Schema const& schema, WriteOptions const& options = {});

  TableWriter(TableWriter&&) noexcept;
  TableWriter& operator=(TableWriter&&) noexcept;
  ~TableWriter();

  /// Appends the rows of `batch`, which has the columns of the schema. They may be encoded later, while others come; a
  /// row group of Parquet stays in memory until it is complete. Errors, also of batches before: output (disk full, …);
  /// invalid_input, for a value that the format cannot hold; out_of_memory. The writer is then of no more use.
  Result<void> write(Batch batch);

  /// Writes the rest and closes the file. Returns its size in bytes. To be called once. Errors: those of write.
  Result<std::uint64_t> finish();

  /// Gives the file its name. To be called once, after finish. Allocates nothing where it succeeds, so a caller can say
  /// beforehand all that may fail. Errors: output.
  Result<void> commit();

 private:
  struct State;
  explicit TableWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace garuda::io
