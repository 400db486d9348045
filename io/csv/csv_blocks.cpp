#include "io/csv/csv_blocks.hpp"

#include <cstring>
#include <utility>

namespace garuda::io {
namespace {

/// A quote that somebody forgot to close must not gather the whole file in memory.
constexpr std::int64_t kMostRecordBytes = 64 << 20;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool ends_value(char c) noexcept { return c == ',' || c == '\n' || c == '\r'; }

}  // namespace

arrow::Status CsvBlocks::scan(std::string_view text) {
  while (scanned_ < text.size()) {
    auto const quote = text.find('"', scanned_);
    if (!quoted_) {
      auto const line_break = text.substr(scanned_, quote - scanned_).find_last_of("\n\r");
      if (line_break != std::string_view::npos) record_end_ = scanned_ + line_break + 1;
      // Within a value that does not start with one, a quote is a character like any other.
      quoted_ = quote != std::string_view::npos && (quote == 0 || ends_value(text[quote - 1]));
      scanned_ = quote == std::string_view::npos ? text.size() : quote + 1;
      continue;
    }
    if (quote == std::string_view::npos) {
      scanned_ = text.size();
      return arrow::Status::OK();
    }
    auto const after = quote + 1;
    if (after == text.size() && !at_end_) {
      scanned_ = quote;  // closes the value, or is the first half of a doubled one
      return arrow::Status::OK();
    }
    bool const doubled = after < text.size() && text[after] == '"';
    if (!doubled && after < text.size() && !ends_value(text[after]))
      return arrow::Status::Invalid("text follows a closing quote");
    quoted_ = doubled;
    scanned_ = doubled ? after + 1 : after;
  }
  return arrow::Status::OK();
}

arrow::Status CsvBlocks::read_more(arrow::ResizableBuffer& buffer, std::int64_t& size) {
  if (cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed))
    return arrow::Status::Cancelled("interrupted while reading");
  ARROW_RETURN_NOT_OK(buffer.Resize(size + kCsvBlockBytes, false));
  ARROW_ASSIGN_OR_RAISE(auto const read, file_->ReadAt(position_, kCsvBlockBytes, buffer.mutable_data() + size));
  auto* const first = buffer.mutable_data();
  bool const marked = position_ == 0 && read >= 3 && std::memcmp(first, kByteOrderMark.data(), 3) == 0;
  if (marked) std::memmove(first, first + 3, static_cast<std::size_t>(read - 3));
  if (marked) text_position_ = 3;
  position_ += read;
  size += marked ? read - 3 : read;
  at_end_ = read < kCsvBlockBytes;
  return arrow::Status::OK();
}

arrow::Result<std::optional<CsvBlock>> CsvBlocks::next() {
  if (at_end_ && rest_.text.empty()) return std::nullopt;
  auto size = static_cast<std::int64_t>(rest_.text.size());
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::ResizableBuffer> buffer,
                        arrow::AllocateResizableBuffer(size + kCsvBlockBytes, memory_pool()));
  if (size > 0) std::memcpy(buffer->mutable_data(), rest_.text.data(), rest_.text.size());
  rest_ = CsvBlock{};
  scanned_ = record_end_ = 0;
  quoted_ = false;
  auto const text = [&] {
    return std::string_view(reinterpret_cast<char const*>(buffer->data()), static_cast<std::size_t>(size));
  };
  while (record_end_ == 0 && !at_end_) {
    if (size > kMostRecordBytes) return arrow::Status::Invalid("a record is longer than 64 MiB");
    ARROW_RETURN_NOT_OK(read_more(*buffer, size));
    ARROW_RETURN_NOT_OK(scan(text()));
  }
  if (at_end_ && quoted_) return arrow::Status::Invalid("a quote is not closed");
  auto const end = at_end_ ? text().size() : record_end_;
  if (end == 0) return std::nullopt;
  auto const first = text_position_;
  text_position_ += static_cast<std::int64_t>(end);
  rest_ = CsvBlock{buffer, text().substr(end), text_position_};
  return CsvBlock{buffer, text().substr(0, end), first};
}

}  // namespace garuda::io
