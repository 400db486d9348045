#include "keys/group_keys.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "core/numbers/wide_integer.hpp"
#include "core/parallel_blocks.hpp"

namespace garuda::keys {
namespace {

GroupAttribute describe(AttributeReader const& reader, CodeRange const& range, CodeRange const& positions) {
  GroupAttribute attribute;
  attribute.has_nulls = range.has_nulls;
  attribute.is_dictionary = reader.is_dictionary();
  attribute.inverse = reader.inverse();
  attribute.bytes = reader.byte_coding();
  if (range.exceeds_64_bits()) {
    attribute.cardinality = 0;
    return attribute;
  }
  attribute.range = static_cast<std::uint64_t>(range.span());
  attribute.smallest = static_cast<std::uint64_t>(positions.min);
  attribute.cardinality = range.cardinality();
  return attribute;
}

void describe(SampledGroupKeys const& keys, KeyLayout const& layout, EncodedGroupKeys& out) {
  out.num_rows = static_cast<std::uint64_t>(keys.table().num_rows());
  out.is_packed = layout.is_packed;
  out.packed_bits = layout.packed_bits;
  out.sampled_rows = keys.sample.rows;
  out.estimated_groups = keys.sample.estimated_groups;
  out.given = keys.given_columns();
  for (std::size_t a = 0; a < layout.ranges.size(); ++a) {
    auto attribute = describe(keys.open.readers[a], layout.ranges[a], layout.positions(a));
    attribute.nonempty_bins = keys.sample.nonempty_bins[a];
    if (attribute.nonempty_bins > keys.sample.nonempty_bins[out.most_diverse]) out.most_diverse = a;
    if (!layout.is_packed) attribute.place = layout.rows.attributes[a];
    out.attributes.push_back(attribute);
  }
}

Result<EncodedGroupKeys> encode(SampledGroupKeys const& keys, KeyForm form, Control const& control, bool in_parts) {
  KeyEncoder encoder({&keys.open, 1}, NullKeys::kept, control);
  GARUDA_TRY(encoder.scan());
  GARUDA_TRY(encoder.choose_layout(form, false, in_parts));
  EncodedGroupKeys out;
  describe(keys, encoder.layout(), out);
  GARUDA_TRY_ASSIGN(auto table, encoder.encode(0));
  if (out.is_packed) out.packed = std::move(table.packed);
  out.parts = std::move(table.parts);
  out.words = std::move(table.words);
  return out;
}

}  // namespace

std::uint64_t EncodedGroupKeys::bytes() const noexcept {
  auto bytes = static_cast<std::uint64_t>(packed.owned_words.size_bytes());
  for (auto const& buffer : words) bytes += static_cast<std::uint64_t>(buffer.size_bytes());
  // Those that lie in parts may have to be gathered.
  return parts.empty() ? bytes : num_rows * (packed.key_bits / 8);
}

GroupKeyOutline outline_of(EncodedGroupKeys const& keys) {
  GroupKeyOutline outline;
  outline.given = keys.given;
  outline.is_packed = keys.is_packed;
  outline.key_bits = keys.packed.key_bits;
  outline.min = keys.packed.min;
  outline.max = keys.packed.max;
  outline.common_low_bits = keys.packed.common_low_bits;
  outline.num_words = static_cast<std::uint32_t>(keys.words.size());
  outline.estimated_groups = keys.estimated_groups;
  outline.bytes = keys.bytes();
  return outline;
}

GivenColumns SampledGroupKeys::given_columns() const {
  GivenColumns columns;
  for (auto const& reader : open.readers) {
    if (reader.byte_coding() != nullptr) ++columns.coded;
    if (reader.is_dictionary() && reader.field().type.id != TypeId::dictionary) ++columns.numbered;
  }
  return columns;
}

GroupKeyOutline SampledGroupKeys::outline(KeyForm form) const {
  GroupKeyOutline outline;
  outline.given = given_columns();
  auto const bits = packed_bits(sample.ranges);
  outline.is_packed = is_packed_in(form, bits);
  outline.estimated_groups = sample.estimated_groups;
  if (!outline.is_packed) {
    outline.num_words = place_attributes(sample.ranges).num_words;
    return outline;
  }
  outline.key_bits = bits <= 32 ? 32 : 64;
  // Words are below the product of all cardinalities, which fits as many bits.
  UInt128 product = 1;
  for (auto const& range : sample.ranges) product *= range.cardinality();
  outline.max = static_cast<std::uint64_t>(product - 1);
  if (sample.ranges.size() == 1 && !sample.ranges[0].has_nulls)
    outline.common_low_bits = low_bits_of(sample.ranges[0].varying, outline.key_bits);
  return outline;
}

Result<SampledGroupKeys> sample_group_keys(TableView table, std::span<std::size_t const> columns,
                                           Control const& control) {
  GARUDA_EXPECTS(!columns.empty());
  try {
    KeyColumns const keys{table, {columns.begin(), columns.end()}};
    GARUDA_TRY_ASSIGN(auto open, open_keys({&keys, 1}, control));
    SampledGroupKeys sampled{std::move(open.front()), {}};
    GARUDA_TRY_ASSIGN(sampled.sample, sample_keys(sampled.open.readers, sampled.open.blocks,
                                                  static_cast<std::uint64_t>(table.num_rows()), control));
    return sampled;
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory for a sample of the key columns");
  }
}

Result<EncodedGroupKeys> encode_group_keys(SampledGroupKeys keys, KeyForm form, Control const& control, bool in_parts) {
  try {
    return encode(keys, form, control, in_parts);
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory for the blocks of the key columns");
  }
}

Result<EncodedGroupKeys> encode_group_keys(TableView table, std::span<std::size_t const> columns, KeyForm form,
                                           Control const& control) {
  GARUDA_TRY_ASSIGN(auto keys, sample_group_keys(table, columns, control));
  return encode_group_keys(std::move(keys), form, control);
}

Result<void> gather_words(EncodedGroupKeys& keys, Control const& control) {
  if (keys.parts.empty()) return {};
  auto const parts = std::exchange(keys.parts, {});
  auto const word_bytes = keys.packed.key_bits / 8;
  GARUDA_TRY_ASSIGN(auto words, AlignedBuffer::allocate(static_cast<std::int64_t>(keys.num_rows * word_bytes)));
  GARUDA_TRY(for_each_range(keys.num_rows, &control, [&](std::uint64_t first, std::uint64_t end) {
    for (auto part = std::ranges::upper_bound(parts, first, {}, &WordPart::first_row) - 1; first < end; ++part) {
      auto const part_end = part + 1 == parts.end() ? end : std::min(end, (part + 1)->first_row);
      std::memcpy(words.data() + first * word_bytes,
                  static_cast<std::byte const*>(part->words) + (first - part->first_row) * word_bytes,
                  (part_end - first) * word_bytes);
      first = part_end;
    }
  }));
  keys.packed.owned_words = std::move(words);
  keys.packed.words = keys.packed.owned_words.data();
  return {};
}

EncodedKeys partition_words(EncodedGroupKeys const& keys) {
  EncodedKeys words;
  words.num_rows = keys.num_rows;
  words.table_rows = keys.num_rows;
  if (keys.is_packed) {
    words.key_bits = keys.packed.key_bits;
    words.words = keys.packed.words;
    words.min = keys.packed.min;
    words.max = keys.packed.max;
    words.common_low_bits = keys.packed.common_low_bits;
    return words;
  }
  words.key_bits = 64;
  words.words = keys.words[0].data();
  words.max = std::numeric_limits<std::uint64_t>::max();
  return words;
}

}  // namespace garuda::keys
