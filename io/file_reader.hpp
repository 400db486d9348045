// What the readers of the three formats owe to table_reader.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "garuda/error.hpp"
#include "io/arrow_bridge.hpp"
#include "io/table_reader.hpp"

namespace garuda::io {

/// One input file, opened, its schema read.
class FileReader {
 public:
  virtual ~FileReader() = default;

  /// All columns in the order of the file. Of a CSV file, the types are those of its first block.
  virtual std::shared_ptr<arrow::Schema> const& schema() const noexcept = 0;

  /// Reads the columns at the positions `columns`, ascending and not empty. Lengths, offsets and buffers of the batches
  /// have been checked against each other by Arrow. CSV: at least one batch, whose schema has the final types.
  /// Errors: invalid_input, out_of_memory, cancelled; the sentence names the file.
  virtual Result<ArrowBatches> read(std::vector<int> const& columns, ReadOptions const& options) = 0;
};

struct InputFile {
  std::string path;
  std::shared_ptr<arrow::io::ReadableFile> file;

  std::string sentence() const { return "cannot read " + path; }
};

Result<std::unique_ptr<FileReader>> open_parquet(InputFile input);
Result<std::unique_ptr<FileReader>> open_ipc(InputFile input);
Result<std::unique_ptr<FileReader>> open_csv(InputFile input);

/// Errors: cancelled.
inline Result<void> check_cancelled(ReadOptions const& options) {
  if (options.cancelled != nullptr && options.cancelled->load(std::memory_order_relaxed)) {
    return fail(ErrorCode::cancelled, "interrupted while reading");
  }
  return {};
}

}  // namespace garuda::io
