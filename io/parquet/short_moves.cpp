// Snappy's decoder moves 64 bytes at a time by a call into the C library for each, which costs more than the move. The
// command is linked with `--wrap=memmove` (cmake/GarudaDependencies.cmake), so these calls come here. TPC-H 1, two
// cores: lineitem by l_orderkey from Parquet 116 ms as the library does it, 106 so.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

constexpr std::size_t kMovedBytes = 64;

/// The content of a vector register.
using Piece [[gnu::vector_size(16)]] = std::int64_t;

}  // namespace

extern "C" {

// Names that the linker makes.
void* __real_memmove(void* to, void const* from, std::size_t bytes);  // NOLINT(bugprone-reserved-identifier)

void* __wrap_memmove(void* to, void const* from, std::size_t bytes) {  // NOLINT(bugprone-reserved-identifier)
  if (bytes != kMovedBytes) return __real_memmove(to, from, bytes);
  // All are read before the first is written: the ranges may overlap.
  std::array<Piece, kMovedBytes / sizeof(Piece)> pieces;
  for (std::size_t p = 0; p < pieces.size(); ++p)
    std::memcpy(&pieces[p], static_cast<std::byte const*>(from) + p * sizeof(Piece), sizeof(Piece));
  for (std::size_t p = 0; p < pieces.size(); ++p)
    std::memcpy(static_cast<std::byte*>(to) + p * sizeof(Piece), &pieces[p], sizeof(Piece));
  return to;
}

}  // extern "C"
