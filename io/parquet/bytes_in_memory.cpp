#include "io/parquet/bytes_in_memory.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace garuda::io {
namespace {

constexpr std::int64_t kPieceBytes = 1 << 18;

}  // namespace

arrow::Status BytesInMemory::Write(void const* data, std::int64_t bytes) {
  auto const* next = static_cast<std::uint8_t const*>(data);
  while (bytes > 0) {
    auto const used = size_ % kPieceBytes;
    if (used == 0) {
      ARROW_ASSIGN_OR_RAISE(auto piece, arrow::AllocateBuffer(kPieceBytes, memory_pool()));
      pieces_.push_back(std::move(piece));
    }
    auto const more = std::min(bytes, kPieceBytes - used);
    std::memcpy(pieces_.back()->mutable_data() + used, next, static_cast<std::size_t>(more));
    next += more;
    bytes -= more;
    size_ += more;
  }
  return arrow::Status::OK();
}

arrow::Status BytesInMemory::Close() {
  closed_ = true;
  return arrow::Status::OK();
}

arrow::Status BytesInMemory::copy(std::int64_t first, std::int64_t bytes, arrow::io::OutputStream& sink) const {
  while (bytes > 0) {
    auto const& piece = *pieces_[static_cast<std::size_t>(first / kPieceBytes)];
    auto const skipped = first % kPieceBytes;
    auto const more = std::min(bytes, kPieceBytes - skipped);
    ARROW_RETURN_NOT_OK(sink.Write(piece.data() + skipped, more));
    first += more;
    bytes -= more;
  }
  return arrow::Status::OK();
}

}  // namespace garuda::io
