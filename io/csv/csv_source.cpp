#include "io/csv/csv_source.hpp"

#include <limits>
#include <new>
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

}  // namespace

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
