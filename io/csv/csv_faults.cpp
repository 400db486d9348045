#include "io/csv/csv_faults.hpp"

#include <arrow/util/utf8.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "io/csv/csv_blocks.hpp"

namespace garuda::io {
namespace {

using Fault = std::optional<std::string>;

/// Splits CSV text into records and values, counting lines.
class FaultFinder {
 public:
  explicit FaultFinder(std::vector<int> const& columns) : checked_(columns) {}

  /// Returns the first fault that shows in `text`, which continues the text of the previous call.
  Fault feed(std::string_view text) {
    for (char const c : text) {
      auto found = next(c);
      if (found) return found;
    }
    return std::nullopt;
  }

  Fault finish() {
    if (quoted_ && !closing_) return fmt::format("the quote opened in line {} is not closed", quote_line_);
    return record_is_empty_ ? std::nullopt : end_record();
  }

 private:
  Fault next(char c) {
    bool const line_break = c == '\n' || c == '\r';
    // "\r\n" is one break; the '\n' of it neither ends a record nor starts a line.
    bool const second_half = c == '\n' && previous_ == '\r';
    previous_ = c;
    if (second_half && (!quoted_ || closing_)) return std::nullopt;
    line_ += line_break && !second_half ? 1 : 0;
    if (quoted_ && closing_ && c != '"') {
      if (!line_break && c != ',')
        return fmt::format("in line {} text follows the quote that closes the value opened in line {}", line_,
                           quote_line_);
      quoted_ = closing_ = false;
    } else if (quoted_) {
      // A quote closes the value unless another one follows.
      closing_ = c == '"' && !closing_;
      value_ += c;
      return std::nullopt;
    }
    if (line_break && !record_is_empty_) return end_record();
    if (line_break) {
      record_line_ = line_;
      return std::nullopt;
    }
    return c == ',' ? end_value() : inside_value(c);
  }

  Fault inside_value(char c) {
    if (c == '"' && value_is_empty_) {
      quoted_ = true;
      quote_line_ = line_;
    }
    value_is_empty_ = record_is_empty_ = false;
    value_ += c;
    return std::nullopt;
  }

  Fault end_value() {
    bool const is_header = expected_ == 0;
    bool const checked = is_header || std::binary_search(checked_.begin(), checked_.end(), static_cast<int>(columns_));
    auto const value = std::exchange(value_, {});
    ++columns_;
    value_is_empty_ = true;
    record_is_empty_ = false;
    if (!checked) return std::nullopt;
    if (!arrow::util::ValidateUTF8(value)) return not_utf8(is_header);
    if (is_header) names_.push_back(value);
    return std::nullopt;
  }

  std::string not_utf8(bool is_header) const {
    if (is_header) return fmt::format("the name of column {} is not UTF-8", columns_);
    return fmt::format("column {} of line {} is not UTF-8", names_[static_cast<std::size_t>(columns_ - 1)],
                       record_line_);
  }

  Fault end_record() {
    auto in_value = end_value();
    auto const columns = std::exchange(columns_, 0);
    auto const line = std::exchange(record_line_, line_);
    if (expected_ == 0) expected_ = columns;
    record_is_empty_ = true;
    if (columns != expected_)
      return fmt::format("line {} has {} column{} instead of {}", line, columns, columns == 1 ? "" : "s", expected_);
    return in_value;
  }

  std::vector<int> const& checked_;
  std::vector<std::string> names_;
  std::string value_;  ///< its quotes included
  std::int64_t line_ = 1;
  std::int64_t record_line_ = 1;
  std::int64_t quote_line_ = 0;
  std::int64_t columns_ = 0;  ///< ended in this record
  std::int64_t expected_ = 0;
  char previous_ = 0;
  bool quoted_ = false;
  bool closing_ = false;  ///< in quotes: the character before was a quote that closes, or the first of two
  bool value_is_empty_ = true;
  bool record_is_empty_ = true;
};

}  // namespace

arrow::Result<Fault> find_csv_fault(arrow::io::ReadableFile& file, std::vector<int> const& columns,
                                    std::atomic<bool> const* cancelled) {
  arrow::util::InitializeUTF8();
  FaultFinder finder(columns);
  std::int64_t position = 0;
  while (true) {
    if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed))
      return arrow::Status::Cancelled("interrupted while reading");
    ARROW_ASSIGN_OR_RAISE(auto const block, file.ReadAt(position, kCsvBlockBytes));
    if (block->size() == 0) return finder.finish();
    auto text = std::string_view(*block);
    if (position == 0 && text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    position += block->size();
    auto found = finder.feed(text);
    if (found) return found;
  }
}

}  // namespace garuda::io
