#include "keys/key_hash.hpp"

#include "keys/attribute_reader.hpp"
#include "keys/hash_bytes.hpp"
#include "keys/mix.hpp"
#include "keys/value_bytes.hpp"

namespace garuda::keys {
namespace {

void add(std::uint64_t& hash, std::uint64_t value_hash) noexcept { hash = mix(hash ^ value_hash); }

/// Types without codes: by the bytes of their values, as their dictionary would compare them.
Result<void> hash_values(TableView table, std::size_t column, std::span<std::uint64_t> hashes) {
  std::vector<ArrayView> arrays;
  for (std::size_t b = 0; b < table.num_batches(); ++b) arrays.push_back(table.batch(b).columns[column]);
  GARUDA_TRY_ASSIGN(auto const values, ValueBytes::create(std::move(arrays), table.schema()[column].type));
  values.for_each(0, values.size(),
                  [&](std::uint64_t i, auto const& bytes) { add(hashes[i], bytes ? hash_bytes(*bytes) : kNullHash); });
  return {};
}

}  // namespace

Result<void> hash_key_column(TableView table, std::size_t column, DataType const& as, std::span<std::uint64_t> hashes) {
  GARUDA_EXPECTS(as.id != TypeId::dictionary && hashes.size() == static_cast<std::size_t>(table.num_rows()));
  if (!has_codes(as)) return hash_values(table, column, hashes);
  GARUDA_TRY_ASSIGN(auto const reader, AttributeReader::create(table, column, as, {}));
  AttributeCodes codes;
  for (auto const& block : cut_row_blocks(table)) {
    reader.read(block, codes);
    auto const of_block = hashes.subspan(block.first_row, codes.low.size());
    for (std::size_t i = 0; i < of_block.size(); ++i) add(of_block[i], codes.hash(i));
  }
  return {};
}

}  // namespace garuda::keys
