// CSV after RFC 4180: a header line, quotes doubled inside quotes, line breaks allowed inside quotes. Blocks of whole
// records are parsed and converted side by side.
#include <arrow/util/utf8.h>
#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/task_threads.hpp"
#include "io/arrow_bridge.hpp"
#include "io/csv/csv_source.hpp"
#include "io/file_reader.hpp"

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

/// Reads the file from its start and returns the first fault as the end of a sentence: a line with another number of
/// columns than the header, a quote that is not closed or has text behind it, a value of one of `columns` (positions,
/// ascending) that is not UTF-8. nullopt: none. Slow; fails with Cancelled and with what reading fails with.
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

/// A column without any value has no type of its own.
std::shared_ptr<arrow::DataType> type_without_values(std::string const& name, ReadOptions const& options) {
  auto const given = std::find_if(options.types_without_values.begin(), options.types_without_values.end(),
                                  [&](auto const& entry) { return entry.first == name; });
  if (given == options.types_without_values.end()) return arrow::utf8();
  auto const schema = to_arrow_schema({Field{name, given->second}});
  return schema ? (*schema)->field(0)->type() : arrow::utf8();
}

/// Columns of one file: positions, and the kinds found so far, which only grow.
struct CsvColumns {
  std::vector<int> positions;
  std::vector<std::string> names;
  std::vector<CsvKind> kinds;
};

/// Raises `kinds` to those of `piece`.
void raise_kinds(CsvPiece const& piece, std::vector<CsvKind>& kinds) {
  for (std::size_t c = 0; c < kinds.size(); ++c) kinds[c] = std::max(kinds[c], piece.columns[c].kind);
}

/// Converts all pieces of `source` from `kinds` on, at most `in_flight` at a time, and hands them, in order and on one
/// thread at a time, to `take`.
template <class Take>
arrow::Status walk(CsvSource& source, std::vector<int> const& columns, std::vector<CsvKind> const& kinds,
                   std::size_t in_flight, Take const& take) {
  arrow::Status read;
  arrow::Status taken;
  std::atomic<bool> failed{false};
  auto const next = [&](tbb::flow_control& control) -> std::shared_ptr<CsvPiece> {
    auto piece = failed.load() ? std::optional<CsvPiece>() : [&]() -> std::optional<CsvPiece> {
      auto result = source.next();
      read = result.status();
      return result.ok() ? *std::move(result) : std::nullopt;
    }();
    if (!piece) {
      control.stop();
      return nullptr;
    }
    return std::make_shared<CsvPiece>(*std::move(piece));
  };
  auto const convert = [&](std::shared_ptr<CsvPiece> const& piece) {
    piece->status = source.convert(*piece, columns, kinds);
    if (!piece->status.ok()) failed.store(true);
    return piece;
  };
  auto const hand_over = [&](std::shared_ptr<CsvPiece> const& piece) {
    if (taken.ok()) taken = piece->status;
    if (taken.ok()) take(std::move(*piece));
  };
  using tbb::filter_mode;
  tbb::parallel_pipeline(
      in_flight,
      tbb::make_filter<void, std::shared_ptr<CsvPiece>>(filter_mode::serial_in_order, next) &
          tbb::make_filter<std::shared_ptr<CsvPiece>, std::shared_ptr<CsvPiece>>(filter_mode::parallel, convert) &
          tbb::make_filter<std::shared_ptr<CsvPiece>, void>(filter_mode::serial_in_order, hand_over));
  return taken.ok() ? read : taken;
}

arrow::Status check_stop(ReadOptions const& options) {
  bool const stop = options.cancelled != nullptr && options.cancelled->load(std::memory_order_relaxed);
  return stop ? arrow::Status::Cancelled("interrupted while reading") : arrow::Status::OK();
}

/// Says what is wrong with the file where, when that is what `status` is about.
Error explain(InputFile const& input, arrow::Status const& status, std::vector<int> const& columns,
              std::atomic<bool> const* cancelled) {
  if (!status.IsInvalid()) return to_error(status, ErrorCode::invalid_input, input.sentence());
  auto const fault = find_csv_fault(*input.file, columns, cancelled);
  if (fault.ok() && *fault) return Error(ErrorCode::invalid_input, **fault).wrap(input.sentence());
  return to_error(fault.ok() ? status : fault.status(), ErrorCode::invalid_input, input.sentence());
}

/// The columns of `piece` as a batch of `schema`; columns without values as the type they are given there.
arrow::Result<std::shared_ptr<arrow::RecordBatch>> to_batch(CsvPiece const& piece,
                                                            std::shared_ptr<arrow::Schema> const& schema) {
  arrow::ArrayVector arrays;
  auto const rows = piece.num_rows;
  for (std::size_t c = 0; c < piece.columns.size(); ++c) {
    arrays.push_back(piece.columns[c].values);
    auto const& type = schema->field(static_cast<int>(c))->type();
    if (arrays.back()->type_id() != arrow::Type::NA) continue;
    ARROW_ASSIGN_OR_RAISE(arrays.back(), arrow::MakeArrayOfNull(type, rows, memory_pool()));
  }
  return arrow::RecordBatch::Make(schema, rows, std::move(arrays));
}

std::shared_ptr<arrow::Schema> schema_of(CsvColumns const& columns, ReadOptions const& options) {
  arrow::FieldVector fields;
  for (std::size_t c = 0; c < columns.names.size(); ++c) {
    bool const valueless = columns.kinds[c] == CsvKind::null;
    fields.push_back(arrow::field(columns.names[c], valueless ? type_without_values(columns.names[c], options)
                                                              : CsvConverter::type_of(columns.kinds[c])));
  }
  return arrow::schema(std::move(fields));
}

class CsvCursor final : public BatchCursor {
 public:
  CsvCursor(InputFile input, std::int64_t file_bytes, CsvSource source, CsvColumns columns, ReadOptions const& options)
      : BatchCursor(schema_of(columns, options)),
        input_(std::move(input)),
        file_bytes_(file_bytes),
        source_(std::move(source)),
        columns_(std::move(columns)),
        cancelled_(options.cancelled) {}

  Result<std::shared_ptr<arrow::RecordBatch>> next() override {
    auto batch = read_next();
    if (!batch.ok()) return tl::unexpected(explain(input_, batch.status(), columns_.positions, cancelled_));
    return *std::move(batch);
  }

  double fraction_read() const noexcept override {
    return static_cast<double>(source_.bytes_read()) / static_cast<double>(file_bytes_);
  }

 private:
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> read_next() {
    ARROW_ASSIGN_OR_RAISE(auto piece, source_.next());
    if (!piece) return nullptr;
    ARROW_RETURN_NOT_OK(source_.convert(*piece, columns_.positions, columns_.kinds));
    auto kinds = columns_.kinds;
    raise_kinds(*piece, kinds);
    if (kinds != columns_.kinds) return arrow::Status::IOError("the file has changed since its types were found");
    return to_batch(*piece, schema_);
  }

  InputFile input_;
  std::int64_t file_bytes_;
  CsvSource source_;
  CsvColumns columns_;
  std::atomic<bool> const* cancelled_;
};

class CsvReader final : public FileReader {
 public:
  explicit CsvReader(InputFile input) : FileReader(std::move(input)) {}

  /// Reads the header and the first block.
  Result<void> open() {
    auto const opened = read_header();
    if (!opened.ok()) return tl::unexpected(explain(input_, opened, {}, nullptr));
    return {};
  }

  Result<ArrowBatches> read(std::vector<int> const& columns, ReadOptions const& options) override {
    auto batches = read_batches(columns, options);
    if (!batches.ok()) return tl::unexpected(explain(input_, batches.status(), columns, options.cancelled));
    return *std::move(batches);
  }

  Result<std::unique_ptr<BatchCursor>> stream(std::vector<int> const& columns, ReadOptions const& options,
                                              std::int64_t /*batch_rows*/) override {
    auto selected = select(columns);
    auto const found = find_kinds(selected, options);
    if (!found.ok()) return tl::unexpected(explain(input_, found, columns, options.cancelled));
    GARUDA_ARROW_TRY_ASSIGN(auto const bytes, input_.file->GetSize(), ErrorCode::invalid_input, input_.sentence());
    return std::make_unique<CsvCursor>(input_, bytes, source(options.cancelled), std::move(selected), options);
  }

 private:
  CsvSource source(std::atomic<bool> const* cancelled) const {
    return CsvSource(input_, static_cast<std::int32_t>(all_.names.size()), converter_, cancelled);
  }

  arrow::Status read_header() {
    ARROW_ASSIGN_OR_RAISE(converter_, CsvConverter::make());
    CsvBlocks blocks(input_.file, nullptr);
    ARROW_ASSIGN_OR_RAISE(auto const block, blocks.next());
    arrow::csv::BlockParser header(parser_pool(), csv_parse_options(), -1, -1, 1);
    std::uint32_t bytes = 0;
    if (block) ARROW_RETURN_NOT_OK(header.ParseFinal(block->text, &bytes));
    if (!block || header.num_rows() != 1) return arrow::Status::IOError("it is empty");
    ARROW_RETURN_NOT_OK(header.VisitLastRow([&](std::uint8_t const* data, std::uint32_t size, bool, bool) {
      all_.positions.push_back(static_cast<int>(all_.names.size()));
      all_.names.emplace_back(reinterpret_cast<char const*>(data), size);
      if (!arrow::util::ValidateUTF8(all_.names.back())) return arrow::Status::Invalid("a column's name is not UTF-8");
      return arrow::Status::OK();
    }));
    all_.kinds.assign(all_.names.size(), CsvKind::null);
    return suggest_types();
  }

  /// Types of the first block, for those who ask before the file is read, and to start from when it is. A value that is
  /// not UTF-8 is a fault only of a column that is read.
  arrow::Status suggest_types() {
    auto first = source(nullptr);
    ARROW_ASSIGN_OR_RAISE(auto piece, first.next());
    if (piece) ARROW_RETURN_NOT_OK(first.parse(*piece));
    for (std::size_t c = 0; piece && c < all_.names.size(); ++c) {
      auto const converted = converter_->convert(*piece->rows, all_.positions[c], CsvKind::null);
      if (converted.status().IsOutOfMemory()) return converted.status();
      all_.kinds[c] = converted.ok() ? converted->kind : CsvKind::text;
    }
    arrow::FieldVector fields;
    for (std::size_t c = 0; c < all_.names.size(); ++c)
      fields.push_back(arrow::field(all_.names[c], CsvConverter::type_of(all_.kinds[c])));
    schema_ = arrow::schema(std::move(fields));
    return arrow::Status::OK();
  }

  CsvColumns select(std::vector<int> const& columns) const {
    CsvColumns selected;
    selected.positions = columns;
    for (int const column : columns) selected.names.push_back(all_.names[static_cast<std::size_t>(column)]);
    for (int const column : columns) selected.kinds.push_back(all_.kinds[static_cast<std::size_t>(column)]);
    return selected;
  }

  /// Walks through the file until one walk has found nothing new: a value far behind may need a type that values
  /// before it do not have.
  arrow::Status find_kinds(CsvColumns& columns, ReadOptions const& options) const {
    constexpr std::size_t kInFlight = 2;  // memory is limited
    while (true) {
      auto const before = columns.kinds;
      auto file = source(options.cancelled);
      ARROW_RETURN_NOT_OK(on_threads(options.threads, [&] {
        return walk(file, columns.positions, before, kInFlight,
                    [&](CsvPiece&& piece) { raise_kinds(piece, columns.kinds); });
      }));
      if (columns.kinds == before) return arrow::Status::OK();
    }
  }

  /// Converts the pieces whose kinds others have raised since.
  static arrow::Status unify(CsvSource const& file, std::deque<CsvPiece>& pieces, CsvColumns& columns,
                             ReadOptions const& options) {
    while (true) {
      auto const before = columns.kinds;
      tbb::parallel_for(std::size_t{0}, pieces.size(), [&](std::size_t i) {
        pieces[i].status = check_stop(options);
        if (pieces[i].status.ok()) pieces[i].status = file.convert_to(pieces[i], columns.positions, before);
      });
      for (auto const& piece : pieces) {
        ARROW_RETURN_NOT_OK(piece.status);
        raise_kinds(piece, columns.kinds);
      }
      if (columns.kinds == before) return arrow::Status::OK();
    }
  }

  arrow::Result<ArrowBatches> read_batches(std::vector<int> const& positions, ReadOptions const& options) const {
    auto columns = select(positions);
    auto file = source(options.cancelled);
    std::deque<CsvPiece> pieces;
    arrow::Status status;
    on_threads(options.threads, [&] {
      auto const in_flight = static_cast<std::size_t>(tbb::this_task_arena::max_concurrency()) * 2;
      status = walk(file, columns.positions, columns.kinds, in_flight, [&](CsvPiece&& piece) {
        raise_kinds(piece, columns.kinds);
        pieces.push_back(std::move(piece));
      });
      if (status.ok()) status = unify(file, pieces, columns, options);
    });
    ARROW_RETURN_NOT_OK(status);
    auto const schema = schema_of(columns, options);
    ArrowBatches batches;
    for (auto& piece : pieces) {
      if (piece.num_rows == 0) continue;
      ARROW_ASSIGN_OR_RAISE(auto batch, to_batch(piece, schema));
      batches.push_back(std::move(batch));
    }
    if (!batches.empty()) return batches;
    ARROW_ASSIGN_OR_RAISE(auto empty, arrow::RecordBatch::MakeEmpty(schema, memory_pool()));
    return ArrowBatches{std::move(empty)};
  }

  std::shared_ptr<CsvConverter const> converter_;
  CsvColumns all_;
};

}  // namespace

Result<std::unique_ptr<FileReader>> open_csv(InputFile input) {
  auto reader = std::make_unique<CsvReader>(std::move(input));
  GARUDA_TRY(reader->open());
  return reader;
}

}  // namespace garuda::io
