#include "spill/memory_share.hpp"

namespace garuda::spill {

std::int64_t batch_rows_for(std::uint64_t limit_bytes) {
  constexpr std::int64_t kMostBatchRows = 1 << 16;
  constexpr std::int64_t kFewestBatchRows = 64;
  constexpr std::uint64_t kBytesOfARow = 64;
  constexpr std::uint64_t kBatches = 64;
  return std::clamp(static_cast<std::int64_t>(std::min<std::uint64_t>(limit_bytes / kBytesOfARow / kBatches, 1 << 30)),
                    kFewestBatchRows, kMostBatchRows);
}

std::uint64_t numbering_bytes(std::span<DataType const> key_types) {
  constexpr std::uint64_t kNumberingBytes = 64;
  std::uint64_t words = 0;
  bool is_numbered = false;
  for (auto const& type : key_types) {
    bool const is_integer = byte_width(type) <= 16 && !is_variable_width(type) && type.id != TypeId::fixed_size_binary;
    is_numbered = is_numbered || !is_integer;
    words += is_integer ? static_cast<std::uint64_t>(std::max(byte_width(type), 1)) : 4;
  }
  return is_numbered || words > 8 ? kNumberingBytes + words : 0;
}

}  // namespace garuda::spill
