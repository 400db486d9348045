#include "spill/memory_share.hpp"

#include <fmt/format.h>

namespace garuda::spill {

Result<void> MemoryShare::keep_dictionaries(std::string_view what, std::uint64_t bytes) {
  if (bytes > limit_bytes / 2)
    return fail(ErrorCode::limit_exceeded,
                fmt::format("the dictionaries of {}, which stay in memory, take {} bytes, over half the limit: {}",
                            what, bytes, limit_bytes));
  limit_bytes -= bytes;
  return {};
}

std::int64_t batch_rows_for(std::uint64_t limit_bytes) {
  constexpr std::int64_t kMostBatchRows = 1 << 16;
  constexpr std::int64_t kFewestBatchRows = 64;
  constexpr std::uint64_t kBytesOfARow = 64;
  constexpr std::uint64_t kBatches = 64;
  return std::clamp(static_cast<std::int64_t>(std::min<std::uint64_t>(limit_bytes / kBytesOfARow / kBatches, 1 << 30)),
                    kFewestBatchRows, kMostBatchRows);
}

}  // namespace garuda::spill
