// An output stream into memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "io/arrow_bridge.hpp"

namespace garuda::io {

/// Bytes in pieces of one size, so that none move as they grow: Arrow's stream into one buffer copies them each time
/// that it doubles, into memory that is fresh. Not thread-safe.
class BytesInMemory final : public arrow::io::OutputStream {
 public:
  using arrow::io::OutputStream::Write;
  arrow::Status Write(void const* data, std::int64_t bytes) override;
  arrow::Status Close() override;
  arrow::Result<std::int64_t> Tell() const override { return size_; }
  bool closed() const override { return closed_; }

  /// Writes `bytes` bytes from `first` on, which have been written here, to `sink`.
  arrow::Status copy(std::int64_t first, std::int64_t bytes, arrow::io::OutputStream& sink) const;

 private:
  std::vector<std::shared_ptr<arrow::Buffer>> pieces_;
  std::int64_t size_ = 0;
  bool closed_ = false;
};

}  // namespace garuda::io
