#include "io/csv/csv_source.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <string_view>
#include <utility>

namespace garuda::io {
namespace {

class ThrowingPool final : public arrow::ProxyMemoryPool {
 public:
  ThrowingPool() : arrow::ProxyMemoryPool(memory_pool()) {}

  using arrow::ProxyMemoryPool::Allocate;
  arrow::Status Allocate(std::int64_t size, std::int64_t alignment, std::uint8_t** out) override {
    return thrown(arrow::ProxyMemoryPool::Allocate(size, alignment, out));
  }
  using arrow::ProxyMemoryPool::Reallocate;
  arrow::Status Reallocate(std::int64_t old_size, std::int64_t new_size, std::int64_t alignment,
                           std::uint8_t** memory) override {
    return thrown(arrow::ProxyMemoryPool::Reallocate(old_size, new_size, alignment, memory));
  }

 private:
  static arrow::Status thrown(arrow::Status status) {
    if (status.IsOutOfMemory()) throw std::bad_alloc();
    return status;
  }
};

/// A quote that somebody forgot to close must not gather the whole file in memory.
constexpr std::int64_t kMostRecordBytes = 64 << 20;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool ends_value(char c) noexcept { return c == ',' || c == '\n' || c == '\r'; }

/// The type of each CsvKind.
std::vector<std::shared_ptr<arrow::DataType>> types() {
  using arrow::TimeUnit;
  return {arrow::null(),
          arrow::int64(),
          arrow::uint64(),
          arrow::decimal128(arrow::Decimal128Type::kMaxPrecision, 0),
          arrow::utf8(),
          arrow::boolean(),
          arrow::date32(),
          arrow::time32(TimeUnit::SECOND),
          arrow::timestamp(TimeUnit::SECOND),
          arrow::timestamp(TimeUnit::NANO),
          arrow::timestamp(TimeUnit::SECOND, "UTC"),
          arrow::timestamp(TimeUnit::NANO, "UTC"),
          arrow::float64(),
          arrow::utf8()};
}

bool is_integer(std::string_view text) {
  auto const first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return false;
  text = text.substr(first, text.find_last_not_of(" \t") - first + 1);
  if (text.front() == '-') text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Returns OK if values of `column` may be of `kind`, by their form. Arrow's decimals are numbers with points and
/// exponents, too; those are floats here. Longer values than kMostBytes are text: Arrow's error repeats the value
/// several times, which a memory limit does not foresee.
arrow::Status check_form(arrow::csv::BlockParser const& rows, int column, CsvKind kind) {
  constexpr std::uint32_t kMostBytes = 4 << 10;
  if (kind == CsvKind::text) return arrow::Status::OK();
  bool const integers = kind == CsvKind::integer || kind == CsvKind::digits;
  return rows.VisitColumn(column, [&](std::uint8_t const* data, std::uint32_t size, bool quoted, bool) {
    if (size > kMostBytes && kind != CsvKind::digits) return arrow::Status::Invalid("a value of text");
    bool const is_null = size == 0 && !quoted;
    bool const fits = !integers || is_null || is_integer({reinterpret_cast<char const*>(data), size});
    return fits ? arrow::Status::OK() : arrow::Status::Invalid("not an integer");
  });
}

}  // namespace

std::shared_ptr<arrow::DataType> CsvConverter::type_of(CsvKind kind) { return types()[static_cast<std::size_t>(kind)]; }

arrow::csv::ParseOptions csv_parse_options() {
  auto options = arrow::csv::ParseOptions::Defaults();
  options.newlines_in_values = true;
  return options;
}

arrow::Result<std::shared_ptr<CsvConverter const>> CsvConverter::make() {
  auto converter = std::make_shared<CsvConverter>();
  auto& options = converter->options_;
  options = arrow::csv::ConvertOptions::Defaults();
  // Only what the writer makes of a null is one: `NA` and `null` are words, `""` is an empty string.
  options.null_values = {""};
  options.strings_can_be_null = true;
  options.quoted_strings_can_be_null = false;
  for (auto const& type : types()) {
    ARROW_ASSIGN_OR_RAISE(auto of_kind, arrow::csv::Converter::Make(type, options, memory_pool()));
    converter->converters_.push_back(std::move(of_kind));
  }
  return converter;
}

arrow::Result<CsvValues> CsvConverter::convert(arrow::csv::BlockParser const& rows, int column, CsvKind kind) const {
  while (true) {
    auto const fits = check_form(rows, column, kind);
    auto values = fits.ok() ? converters_[static_cast<std::size_t>(kind)]->Convert(rows, column)
                            : arrow::Result<std::shared_ptr<arrow::Array>>(fits);
    if (values.ok()) return CsvValues{*std::move(values), kind};
    if (kind == CsvKind::text || values.status().IsOutOfMemory()) return values.status();
    kind = static_cast<CsvKind>(static_cast<std::uint8_t>(kind) + 1);
  }
}

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

arrow::MemoryPool* parser_pool() {
  static ThrowingPool pool;
  return &pool;
}

arrow::Result<std::optional<CsvPiece>> CsvSource::next() {
  ARROW_ASSIGN_OR_RAISE(auto block, blocks_.next());
  if (!block) return std::nullopt;
  if (std::exchange(at_header_, false)) {
    arrow::csv::BlockParser header(parser_pool(), csv_parse_options(), -1, -1, 1);
    std::uint32_t bytes = 0;
    ARROW_RETURN_NOT_OK(header.ParseFinal(block->text, &bytes));
    block->text.remove_prefix(bytes);
    block->position += bytes;
  }
  CsvPiece piece;
  piece.block = *std::move(block);
  return piece;
}

arrow::Status CsvSource::parse(CsvPiece& piece) const {
  piece.rows = std::make_unique<arrow::csv::BlockParser>(parser_pool(), csv_parse_options(), num_columns_, -1,
                                                         std::numeric_limits<std::int32_t>::max());
  std::uint32_t bytes = 0;
  ARROW_RETURN_NOT_OK(piece.rows->ParseFinal(piece.block.text, &bytes));
  piece.position = piece.block.position;
  piece.bytes = static_cast<std::int64_t>(piece.block.text.size());
  piece.num_rows = piece.rows->num_rows();
  piece.block = CsvBlock{};
  return arrow::Status::OK();
}

arrow::Status CsvSource::convert(CsvPiece& piece, std::vector<int> const& columns,
                                 std::vector<CsvKind> const& kinds) const {
  ARROW_RETURN_NOT_OK(parse(piece));
  piece.columns.resize(columns.size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    ARROW_ASSIGN_OR_RAISE(piece.columns[c], converter_->convert(*piece.rows, columns[c], kinds[c]));
  }
  piece.rows.reset();
  return arrow::Status::OK();
}

arrow::Status CsvSource::convert_to(CsvPiece& piece, std::vector<int> const& columns,
                                    std::vector<CsvKind> const& kinds) const {
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (piece.columns[c].kind >= kinds[c]) continue;
    if (piece.rows == nullptr) ARROW_RETURN_NOT_OK(read_again(piece));
    ARROW_ASSIGN_OR_RAISE(piece.columns[c], converter_->convert(*piece.rows, columns[c], kinds[c]));
  }
  piece.rows.reset();
  return arrow::Status::OK();
}

arrow::Status CsvSource::read_again(CsvPiece& piece) const {
  auto const rows = piece.num_rows;
  ARROW_ASSIGN_OR_RAISE(piece.block.bytes, file_->ReadAt(piece.position, piece.bytes));
  piece.block.text = std::string_view(*piece.block.bytes);
  piece.block.position = piece.position;
  ARROW_RETURN_NOT_OK(parse(piece));
  return piece.num_rows == rows ? arrow::Status::OK() : arrow::Status::IOError("the file changes while it is read");
}

}  // namespace garuda::io
