// A CSV file in blocks of whole records.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "io/arrow_bridge.hpp"

namespace garuda::io {

inline constexpr std::int64_t kCsvBlockBytes = 4 << 20;

/// Whole records, the last of them with its line break unless it ends the file.
struct CsvBlock {
  std::shared_ptr<arrow::Buffer> bytes;
  std::string_view text;      ///< within `bytes`
  std::int64_t position = 0;  ///< of the text in the file
};

/// Cuts a file into blocks of about kCsvBlockBytes. Only quotes are looked at, which tell the line breaks between
/// records from those inside values (RFC 4180). Not thread-safe.
class CsvBlocks {
 public:
  CsvBlocks(std::shared_ptr<arrow::io::ReadableFile> file, std::atomic<bool> const* cancelled)
      : file_(std::move(file)), cancelled_(cancelled) {}

  /// Returns the next block, nullopt after the last; a byte order mark is left out. Fails with Cancelled; with Invalid
  /// for a quote that is not closed, or followed by text that is neither a comma nor a line break, and for a record of
  /// more than 64 MiB.
  arrow::Result<std::optional<CsvBlock>> next();

  std::int64_t bytes_read() const noexcept { return position_; }

 private:
  arrow::Status scan(std::string_view text);
  arrow::Status read_more(arrow::ResizableBuffer& buffer, std::int64_t& size);

  std::shared_ptr<arrow::io::ReadableFile> file_;
  std::atomic<bool> const* cancelled_;
  std::int64_t position_ = 0;
  std::int64_t text_position_ = 0;  // of what is not in a block yet
  bool at_end_ = false;
  CsvBlock rest_;  // what follows the last whole record of the block before
  // How far the text that is being cut has been looked at:
  std::size_t scanned_ = 0;
  std::size_t record_end_ = 0;
  bool quoted_ = false;
};

}  // namespace garuda::io
