// Memory of the strings that a block's steps make.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace garuda::expr {

/// Hands out memory until it is cleared, and keeps it for the next block. Throws: std::bad_alloc.
class TextArena {
 public:
  /// Room for `bytes` bytes, of which keep() takes the first ones; the next call may give the rest to others.
  char* room(std::size_t bytes) {
    while (chunk_ < chunks_.size() && chunks_[chunk_].size - used_ < bytes) next_chunk();
    if (chunk_ == chunks_.size()) {
      auto const size = std::max(bytes, kChunkBytes);
      chunks_.push_back({std::make_unique_for_overwrite<char[]>(size), size});
      used_ = 0;
    }
    return chunks_[chunk_].bytes.get() + used_;
  }
  /// Keeps the first `bytes` bytes of the last room.
  std::string_view keep(std::size_t bytes) noexcept {
    std::string_view const kept(chunks_[chunk_].bytes.get() + used_, bytes);
    used_ += bytes;
    return kept;
  }
  void clear() noexcept { chunk_ = used_ = 0; }

 private:
  static constexpr std::size_t kChunkBytes = std::size_t{64} << 10;

  struct Chunk {
    std::unique_ptr<char[]> bytes;
    std::size_t size = 0;
  };

  void next_chunk() noexcept {
    ++chunk_;
    used_ = 0;
  }

  std::vector<Chunk> chunks_;
  std::size_t chunk_ = 0;
  std::size_t used_ = 0;
};

}  // namespace garuda::expr
