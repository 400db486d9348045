#include "core/buffer.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>

namespace garuda {

Result<AlignedBuffer> AlignedBuffer::allocate(std::int64_t size_bytes) {
  GARUDA_EXPECTS(size_bytes >= 0);
  AlignedBuffer buffer;
  if (size_bytes == 0) return buffer;
  if (size_bytes <= std::numeric_limits<std::int64_t>::max() - kBufferAlignment) {
    buffer.capacity_bytes_ = (size_bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
    buffer.bytes_.reset(static_cast<std::byte*>(std::aligned_alloc(static_cast<std::size_t>(kBufferAlignment),
                                                                   static_cast<std::size_t>(buffer.capacity_bytes_))));
  }
  if (!buffer.bytes_) {
    return fail(ErrorCode::out_of_memory, fmt::format("host memory exhausted, bytes asked for: {}", size_bytes));
  }
  buffer.size_bytes_ = size_bytes;
  std::memset(buffer.data() + size_bytes, 0, static_cast<std::size_t>(buffer.capacity_bytes_ - size_bytes));
  return buffer;
}

void AlignedBuffer::truncate(std::int64_t size_bytes) {
  GARUDA_EXPECTS(size_bytes >= 0 && size_bytes <= size_bytes_);
  size_bytes_ = size_bytes;
}

}  // namespace garuda
