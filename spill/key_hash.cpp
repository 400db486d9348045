#include "spill/key_hash.hpp"

#include <cstring>
#include <vector>

#include "partition/hash_bytes.hpp"
#include "partition/mix.hpp"
#include "partition/value_bytes.hpp"

namespace garuda::spill {
namespace {

/// Nulls hash to one value, which no other has to be different from.
constexpr std::uint64_t kNullHash = 0x6A09'E667'F3BC'C908;

void add(std::uint64_t& hash, std::uint64_t value_hash) noexcept { hash = partition::mix(hash ^ value_hash); }

/// Integers of any width as 64 bits, `Word` being the low part of a value of `stride` words.
template <class Word>
void hash_integers(ArrayView const& column, std::size_t stride, std::span<std::uint64_t> hashes) {
  auto const* const bytes = static_cast<std::byte const*>(column.values);
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    auto const row = static_cast<std::int64_t>(i);
    Word word{};
    std::memcpy(&word, bytes + (static_cast<std::size_t>(column.offset) + i) * stride * sizeof(Word), sizeof(Word));
    // Signed words are sign-extended.
    add(hashes[i], column.is_null(row) ? kNullHash : partition::mix(static_cast<std::uint64_t>(word)));
  }
}

/// True when `type` was read as integers.
bool hash_as_integers(ArrayView const& column, DataType const& type, std::span<std::uint64_t> hashes) {
  switch (type.id) {
    case TypeId::int8:
      hash_integers<std::int8_t>(column, 1, hashes);
      return true;
    case TypeId::int16:
      hash_integers<std::int16_t>(column, 1, hashes);
      return true;
    case TypeId::uint8:
      hash_integers<std::uint8_t>(column, 1, hashes);
      return true;
    case TypeId::uint16:
      hash_integers<std::uint16_t>(column, 1, hashes);
      return true;
    case TypeId::uint32:
      hash_integers<std::uint32_t>(column, 1, hashes);
      return true;
    case TypeId::int32:
    case TypeId::date32:
    case TypeId::decimal32:
      hash_integers<std::int32_t>(column, 1, hashes);
      return true;
    case TypeId::int64:
    case TypeId::uint64:
    case TypeId::date64:
    case TypeId::timestamp:
    case TypeId::decimal64:
      hash_integers<std::int64_t>(column, 1, hashes);
      return true;
    case TypeId::decimal128:
      // A value within 64 bits is its low word, as in the narrower types; others may share hashes.
      hash_integers<std::int64_t>(column, 2, hashes);
      return true;
    default:
      return false;
  }
}

/// One hash a value of `column`.
Result<std::vector<std::uint64_t>> value_hashes(ArrayView const& column, DataType const& type) {
  std::vector<std::uint64_t> hashes(static_cast<std::size_t>(column.length));
  GARUDA_TRY_ASSIGN(auto const values, partition::ValueBytes::create({column}, type));
  values.for_each(0, values.size(), [&](std::uint64_t i, auto const& bytes) {
    hashes[i] = bytes ? partition::hash_bytes(*bytes) : kNullHash;
  });
  return hashes;
}

}  // namespace

Result<void> hash_key_column(ArrayView const& column, DataType const& type, std::span<std::uint64_t> hashes) {
  GARUDA_EXPECTS(type.id != TypeId::dictionary && hashes.size() == static_cast<std::size_t>(column.length));
  if (column.length == 0) return {};
  if (hash_as_integers(column, type, hashes)) return {};
  GARUDA_TRY_ASSIGN(auto const of_value, value_hashes(column, type));
  for (std::size_t i = 0; i < hashes.size(); ++i) add(hashes[i], of_value[i]);
  return {};
}

}  // namespace garuda::spill
