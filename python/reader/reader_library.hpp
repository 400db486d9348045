// The reader of Parquet files of the Python package: a library of its own over io/, which needs pyarrow's Arrow C++.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/row_test.hpp"
#include "garuda/table.hpp"
#include "io/table_files.hpp"
#include "io/table_reader.hpp"

namespace garuda::python {

/// The files of a table, and what is read of them.
struct FilesToRead {
  io::TableFiles files;
  std::vector<std::string> columns;
  RowTest rows;
};

/// The rows of files, as these store them.
struct ReadFiles {
  Table table;
  Schema fields;  ///< The columns of the table stand for these (ScannedTable::fields).
  FilesRead files;
};

/// The functions of the library. It is made of the same sources as the extension that loads it.
struct ReaderLibrary {
  char const* version;  ///< of garuda
  /// Reads tables as io::read_table does, strings as codes and decimals in few bits where the files have them so: side
  /// by side, so that no thread waits for the last column of one, and one after the other where rows go to mapped
  /// files. Freed memory is kept for later calls, as engines keep theirs. Thread-safe. Errors: those of io::read_table.
  Result<std::vector<ReadFiles>> (*read)(std::vector<FilesToRead> const& tables, io::ReadOptions const& options);
  /// Gives back the memory that is kept. Thread-safe.
  void (*release_memory)();
};

/// The name and the type of the function that the library exports.
inline constexpr char const* kReaderFunction = "garuda_reader";
using ReaderFunction = ReaderLibrary const* (*)();

}  // namespace garuda::python
