// Opens files and picks their columns: what reading a whole file and reading it piece by piece have in common.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "garuda/error.hpp"
#include "io/arrow_bridge.hpp"
#include "io/file_reader.hpp"

namespace garuda::io {

/// Opens a file in the format of its extension.
/// Errors: usage (unknown extension); invalid_input (missing, not readable, or not what its extension says).
Result<std::unique_ptr<FileReader>> open_reader(std::filesystem::path const& path);

/// Positions of the columns that `options` name, ascending, each once; all without names.
/// Errors: invalid_input for names that are unknown or ambiguous, and when there is no column.
Result<std::vector<int>> chosen_columns(arrow::Schema const& schema, ReadOptions const& options);

/// Field and batch as garuda takes them: an extension type is its storage; metadata of files is not carried on.
std::shared_ptr<arrow::Field> plain_field(arrow::Field const& field);
std::shared_ptr<arrow::RecordBatch> plain_batch(arrow::RecordBatch const& batch);

/// Plain fields at the positions `columns`, columns of views in the layout with offsets.
std::shared_ptr<arrow::Schema> select(arrow::Schema const& schema, std::vector<int> const& columns);

/// Fails on the first column whose type garuda does not have; columns of type null are let pass.
Result<void> check_types(arrow::Schema const& schema, std::string const& sentence);

/// A file and the columns that are wanted of it.
struct ChosenColumns {
  std::string sentence;
  std::unique_ptr<FileReader> reader;
  std::vector<int> columns;
  std::shared_ptr<arrow::Schema> schema;  ///< of the columns
};

/// Opens a file and picks the columns that `options` name. Errors: those of open_reader, chosen_columns, check_types.
Result<ChosenColumns> choose_columns(std::filesystem::path const& path, ReadOptions const& options);

/// Adds the share of the file that is read to what `options` count. Files are read side by side.
void count_read(ChosenColumns const& file, ReadOptions const& options);

struct FileRows {
  std::shared_ptr<arrow::Schema> file;    ///< of all columns of the file, as its reader has it
  std::shared_ptr<arrow::Schema> schema;  ///< with the types that stored columns stand for
  ArrowBatches batches;
};

/// Makes batches of the file what read_table promises: everything in them has been validated, dictionaries are without
/// nulls. Errors: invalid_input, cancelled, out_of_memory.
Result<FileRows> checked_rows(ChosenColumns const& file, ArrowBatches batches, ReadOptions const& options);

}  // namespace garuda::io
