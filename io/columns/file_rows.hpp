// The rows of one of a table's files, made to fit those of the others.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "garuda/error.hpp"
#include "io/arrow_bridge.hpp"
#include "io/table_files.hpp"
#include "io/table_reader.hpp"

namespace garuda::io {

/// Checks that folders' names, which become columns' names and values, are UTF-8. Errors: invalid_input.
Result<void> check_folder_names(TableFiles const& files);

/// Columns that folders give, and what is left to be read of the files.
class FolderColumns {
 public:
  /// Takes the columns that `options` names, all where it names none. `files` must outlive this. Errors: invalid_input,
  /// when a file's column has the name of a folder's; those of read_fields and check_folder_names.
  static Result<FolderColumns> make(TableFiles const& files, ReadOptions const& options);

  /// How each file is read.
  ReadOptions const& file_options() const noexcept { return file_options_; }
  /// The columns of a file with schema `file`, then the folders'.
  std::shared_ptr<arrow::Schema> schema(arrow::Schema const& file) const;
  /// Rows of file `index` with the folders' columns. Errors: out of memory.
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> complete(arrow::RecordBatch const& rows, std::size_t index) const;

 private:
  struct Column {
    std::size_t key = 0;  ///< of the files' keys
    std::shared_ptr<arrow::Field> field;
  };

  TableFiles const* files_ = nullptr;
  ReadOptions file_options_;
  bool drops_columns_ = false;  ///< what is read of the files only says how many rows there are
  std::vector<Column> columns_;
};

/// Where the columns of `wanted`, the schema of the table's first file, are in `schema`, that of another one; names are
/// in the same order or another one. Errors: invalid_input, naming column and both files, where one lacks it or the
/// types differ.
Result<std::vector<int>> fit_schema(arrow::Schema const& wanted, std::string const& wanted_path,
                                    arrow::Schema const& schema, std::string const& path);

/// Checks that two files have the same columns, those that nobody reads included, whose types are not known in CSV.
/// Errors: as fit_schema.
Result<void> check_all_columns(arrow::Schema const& wanted, std::filesystem::path const& wanted_path,
                               arrow::Schema const& schema, std::filesystem::path const& path);

}  // namespace garuda::io
