#include "keys/group_keys.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "core/bitmap.hpp"
#include "core/numbers/ordered_value.hpp"
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

/// Rows decoded by one task: a multiple of 8, so that tasks share no byte of a bitmap.
constexpr std::uint64_t kDecodeRows = std::uint64_t{1} << 14;

/// Calls body(first, words from there on) for the words of each task.
template <class Body>
Result<void> for_each_part(std::span<std::uint64_t const> words, Control const& control, Body const& body) {
  return for_each_block((words.size() + kDecodeRows - 1) / kDecodeRows, &control, [&](std::size_t part) {
    auto const begin = part * kDecodeRows;
    body(begin, words.subspan(begin, std::min(kDecodeRows, words.size() - begin)));
  });
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

// ---- back from words ----

std::optional<KeyDecoder> KeyDecoder::create(EncodedGroupKeys const& keys, std::vector<DataType> types) {
  GARUDA_EXPECTS(types.size() == keys.attributes.size());
  KeyDecoder decoder;
  decoder.attributes_.resize(types.size());
  UInt128 divisor = 1;
  for (auto a = types.size(); a-- > 0;) {
    auto const& source = keys.attributes[a];
    if (source.inverse == CodeInverse::none || source.place.is_wide) return std::nullopt;
    bool const is_first = keys.is_packed ? a == 0 : source.place.is_first;
    auto& attribute = decoder.attributes_[a];
    attribute.type = std::move(types[a]);
    attribute.inverse = source.inverse;
    attribute.bytes = source.bytes;
    if (source.bytes != nullptr) attribute.writer.emplace(*source.bytes);
    if (attribute.bytes != nullptr && !has_large_offsets(attribute.type))
      decoder.most_rows_ =
          std::min<std::uint64_t>(decoder.most_rows_, std::numeric_limits<std::int32_t>::max() /
                                                          std::max<std::size_t>(attribute.bytes->longest(), 1));
    // The product of the cardinalities in a word is at most 2^64: what counts that much has one value.
    attribute.divisor.reset();
    if (divisor >> 64 == 0) attribute.divisor.emplace(static_cast<std::uint64_t>(divisor));
    // One of 2^64 has all others' factors to be 1.
    if (!is_first && source.cardinality >> 64 == 0)
      attribute.cardinality.emplace(static_cast<std::uint64_t>(source.cardinality));
    attribute.smallest = source.smallest;
    attribute.has_nulls = source.has_nulls;
    attribute.word = keys.is_packed ? 0 : source.place.word;
    divisor = is_first ? 1 : divisor * source.cardinality;
  }
  return decoder;
}

template <class T, class ValueOf>
void KeyDecoder::write(Attribute const& attribute, std::span<std::uint64_t const> words, std::byte* out,
                       ValueOf value_of) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    auto const code = attribute.code(words[i]);
    auto const value = code ? static_cast<T>(value_of(*code)) : T{0};
    std::memcpy(out + i * sizeof(T), &value, sizeof(T));
  }
}

void KeyDecoder::write_values(Attribute const& attribute, std::span<std::uint64_t const> words, std::byte* out) {
  auto const flip = attribute.inverse == CodeInverse::signed_integer ? integer_code(std::int64_t{0}) : 0;
  auto const integer = [flip](std::uint64_t code) { return code ^ flip; };
  switch (attribute.inverse) {
    case CodeInverse::float32:
      return write<std::uint32_t>(attribute, words, out, [](std::uint64_t code) {
        return bits_from_ordered(static_cast<std::uint32_t>(code));
      });
    case CodeInverse::float64:
      return write<std::uint64_t>(attribute, words, out, [](std::uint64_t code) { return bits_from_ordered(code); });
    default:
      break;
  }
  switch (byte_width(attribute.type)) {
    case 1:
      return write<std::uint8_t>(attribute, words, out, integer);
    case 2:
      return write<std::uint16_t>(attribute, words, out, integer);
    case 4:
      return write<std::uint32_t>(attribute, words, out, integer);
    default:
      return write<std::uint64_t>(attribute, words, out, integer);
  }
}

Result<std::int64_t> KeyDecoder::decode_validity(Attribute const& attribute, std::span<std::uint64_t const> words,
                                                 Control const& control, Column& column) {
  if (!attribute.has_nulls) return 0;
  GARUDA_TRY_ASSIGN(column.validity, AlignedBuffer::allocate(bitmap_bytes(static_cast<std::int64_t>(words.size()))));
  std::atomic<std::int64_t> nulls{0};
  GARUDA_TRY(for_each_part(words, control, [&](std::uint64_t begin, std::span<std::uint64_t const> part) {
    auto* const validity = column.validity.as<std::uint8_t>() + begin / 8;
    auto const rows = static_cast<std::int64_t>(part.size());
    write_bits(validity, rows, [&](std::int64_t i) { return !attribute.is_null(part[static_cast<std::size_t>(i)]); });
    nulls += rows - count_ones(validity, 0, rows);
  }));
  return nulls.load();
}

/// Values of one length, none null: where each is to be is known.
template <class Offset>
Result<void> KeyDecoder::decode_even_bytes(Attribute const& attribute, std::span<std::uint64_t const> words,
                                           Control const& control, Column& column) {
  auto const size = attribute.bytes->longest();
  GARUDA_TRY_ASSIGN(column.values, AlignedBuffer::allocate(static_cast<std::int64_t>(words.size() * size)));
  auto* const offsets = column.offsets.as<Offset>();
  offsets[words.size()] = static_cast<Offset>(words.size() * size);
  return for_each_part(words, control, [&](std::uint64_t begin, std::span<std::uint64_t const> part) {
    auto* const values = column.values.as<char>() + begin * size;
    auto const bytes = part.size() * size;
    // By value: what is captured by reference would be read again for every value.
    attribute.write_bytes(part, [=](std::size_t i, auto const& value, std::size_t) {
      offsets[begin + i] = static_cast<Offset>((begin + i) * size);
      // What is written behind a value is overwritten by the next one; another part's are not touched.
      if (i * size + sizeof(value) <= bytes)
        std::memcpy(values + i * size, &value, sizeof(value));
      else if (size > 0)
        std::memcpy(values + i * size, &value, size);
    });
  });
}

/// Part by part into memory of its own, then all parts one after the other.
template <class Offset>
Result<void> KeyDecoder::decode_bytes(Attribute const& attribute, std::span<std::uint64_t const> words,
                                      Control const& control, Column& column) {
  auto const& coding = *attribute.bytes;
  bool const has_offsets = attribute.type.id != TypeId::fixed_size_binary;
  GARUDA_TRY_ASSIGN(column.offsets,
                    AlignedBuffer::allocate(static_cast<std::int64_t>((words.size() + 1) * sizeof(Offset))));
  if (coding.has_one_length() && !attribute.has_nulls)
    return decode_even_bytes<Offset>(attribute, words, control, column);
  auto* const offsets = column.offsets.as<Offset>();
  std::vector<std::vector<char>> parts((words.size() + kDecodeRows - 1) / kDecodeRows);
  GARUDA_TRY(for_each_part(words, control, [&](std::uint64_t begin, std::span<std::uint64_t const> part) {
    auto& bytes = parts[begin / kDecodeRows];
    bytes.resize(part.size() * coding.longest() + kMostCodedBytes);
    std::size_t size = 0;
    attribute.write_bytes(part, [&](std::size_t i, auto const& value, std::size_t length) {
      offsets[begin + i] = static_cast<Offset>(size);
      if (!attribute.is_null(part[i])) {
        std::memcpy(bytes.data() + size, &value, sizeof(value));
        size += length;
      } else if (!has_offsets) {
        size += static_cast<std::size_t>(attribute.type.fixed_byte_width);
      }
    });
    bytes.resize(size);
  }));
  std::vector<std::size_t> first{0};
  for (auto const& bytes : parts) first.push_back(first.back() + bytes.size());
  offsets[words.size()] = static_cast<Offset>(first.back());
  GARUDA_TRY_ASSIGN(column.values, AlignedBuffer::allocate(static_cast<std::int64_t>(first.back())));
  GARUDA_TRY(for_each_part(words, control, [&](std::uint64_t begin, std::span<std::uint64_t const> part) {
    auto const& bytes = parts[begin / kDecodeRows];
    auto const base = first[begin / kDecodeRows];
    if (!bytes.empty()) std::memcpy(column.values.data() + base, bytes.data(), bytes.size());
    for (std::size_t i = 0; i < part.size(); ++i) offsets[begin + i] += static_cast<Offset>(base);
  }));
  return {};
}

Result<void> KeyDecoder::decode_bytes(Attribute const& attribute, std::span<std::uint64_t const> words,
                                      Control const& control, Column& column) {
  if (has_large_offsets(attribute.type))
    GARUDA_TRY(decode_bytes<std::int64_t>(attribute, words, control, column));
  else
    GARUDA_TRY(decode_bytes<std::int32_t>(attribute, words, control, column));
  if (!is_view(attribute.type)) return {};
  GARUDA_TRY_ASSIGN(column.views, AlignedBuffer::allocate(static_cast<std::int64_t>(words.size() * sizeof(ValueView))));
  auto const* const offsets = column.offsets.as<std::int32_t>();
  auto const* const values = column.values.as<char>();
  GARUDA_TRY(for_each_part(words, control, [&](std::uint64_t begin, std::span<std::uint64_t const> part) {
    for (auto i = begin; i < begin + part.size(); ++i) {
      auto const size = static_cast<std::size_t>(offsets[i + 1] - offsets[i]);
      column.views.as<ValueView>()[i] = make_view({values + offsets[i], size}, offsets[i]);
    }
  }));
  column.viewed = std::make_unique<ViewedBytes>(column.values.data(), column.values.size_bytes());
  return {};
}

Result<KeyDecoder::Column> KeyDecoder::decode(std::size_t index, std::span<std::uint64_t const> words,
                                              Control const& control) const {
  auto const& attribute = attributes_.at(index);
  GARUDA_EXPECTS(words.size() <= most_rows_);
  Column column;
  if (attribute.inverse == CodeInverse::bytes) {
    GARUDA_TRY(decode_bytes(attribute, words, control, column));
  } else {
    auto const width = static_cast<std::size_t>(byte_width(attribute.type));
    GARUDA_TRY_ASSIGN(column.values, AlignedBuffer::allocate(static_cast<std::int64_t>(words.size() * width)));
    GARUDA_TRY(for_each_part(words, control, [&](std::uint64_t begin, std::span<std::uint64_t const> part) {
      write_values(attribute, part, column.values.data() + begin * width);
    }));
  }
  GARUDA_TRY_ASSIGN(column.array.null_count, decode_validity(attribute, words, control, column));
  column.array.length = static_cast<std::int64_t>(words.size());
  column.array.values = column.viewed ? column.views.data() : column.values.data();
  if (column.viewed)
    column.array.offsets = &column.viewed->list;
  else if (is_variable_width(attribute.type))
    column.array.offsets = column.offsets.data();
  if (column.array.null_count > 0) column.array.validity = column.validity.as<std::uint8_t>();
  return column;
}

}  // namespace garuda::keys
