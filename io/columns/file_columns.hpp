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

}  // namespace garuda::io
