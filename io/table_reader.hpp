// Reads Parquet, Arrow IPC and CSV files into tables, one or many into one.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/os/temporary_folder.hpp"
#include "garuda/error.hpp"
#include "garuda/row_test.hpp"
#include "garuda/table.hpp"
#include "io/table_files.hpp"

namespace garuda::io {

struct ReadOptions {
  /// Names of the columns to read; nullopt: all. Others are not decoded, so their types need not be supported.
  std::optional<std::vector<std::string>> columns;
  /// CSV files only: the type of a column that has no value at all, by name. Otherwise such a column is utf8.
  std::vector<std::pair<std::string, DataType>> types_without_values;
  /// Parquet files: columns come as they are stored (stored_types.hpp), but for those called `plain_columns`: strings
  /// and binary whose pages refer to dictionaries throughout as such, decimals of at most 18 digits in 32 or 64 bits.
  bool as_stored = false;
  std::vector<std::string> plain_columns;
  /// Parquet files: row groups are left out whose statistics say that none of their rows passes. Pages are not: Arrow
  /// C++ reads their statistics, but its readers take no ranges of rows, in which columns would have to agree.
  RowTest wanted;
  std::uint32_t threads = 0;                         ///< 0: all
  std::atomic<std::uint64_t>* bytes_read = nullptr;  ///< of files, added up: of Parquet those of the columns alone
  FilesRead* files_read = nullptr;                   ///< read_table adds what it reads of its files
  /// Where read_table puts rows, in files without names that it maps: they are read piece by piece, as what they stand
  /// for, and take no memory. nullopt: rows are in memory.
  std::optional<os::TemporaryFolder> spill_folder{};
  std::atomic<bool> const* cancelled = nullptr;  ///< looked at between row groups, batches or blocks
};

/// A column of a file, of a supported type or not.
struct FileField {
  std::string name;
  std::string type;             ///< as Arrow spells it
  std::optional<Field> field;   ///< nullopt: garuda does not have the type
  bool without_values = false;  ///< CSV: no value seen in the first block, so the type is a guess
};

/// Reads the columns' names and types, of the first file and of folders. A CSV file's types are those that its first
/// block suggests. Errors: usage (unknown extension); invalid_input (missing, not readable, or not what its
/// extension says).
Result<std::vector<FileField>> read_fields(TableFiles const& files);

/// Reads files into a table of `options.columns`, in the order of the first file, then those of its folders (int64
/// where all their values are integers, else utf8); all files have the same columns, in any order, of the same types.
/// The table owns its memory, but for buffers of Arrow IPC files that are not compressed, which are mapped, and the
/// files are closed: who shortens or overwrites a mapped file while the table lives ends the process or changes the
/// table. The batches are the file's row groups (Parquet), batches (IPC) or blocks (CSV); everything in them has been
/// validated. The dictionaries of a column are unified where Arrow can do that; columns of views (utf8_view,
/// binary_view) become large_utf8 and large_binary. In CSV files an unquoted empty value is null, and columns are
/// int64, uint64, decimal128, boolean, date32, time32, timestamp, float64 or utf8, whatever their values allow;
/// integers too long for a decimal are utf8. Errors: usage (unknown extension); invalid_input, naming the file:
/// missing, not readable, damaged (a page of Parquet that contradicts its checksum, a CSV line with a wrong number of
/// columns, an open quote or text that is not UTF-8), a column unknown, ambiguous, or of a type that garuda does not
/// have, files whose columns differ; out_of_memory; cancelled; output for
/// `spill_folder` (missing, not writable, full).
Result<Table> read_table(TableFiles const& files, ReadOptions const& options = {});

/// The fields that the columns of a table of read_table stand for, where they came as they are stored; others are as
/// they were. Errors: invalid_input.
Result<Schema> decoded_fields(Schema const& stored);

/// Sets the threads of Arrow C++ in this process, 1 or more, and returns how many it had; those of oneTBB are its
/// global_control's.
Result<std::uint32_t> set_arrow_threads(std::uint32_t threads);

}  // namespace garuda::io
