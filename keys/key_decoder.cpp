#include "keys/key_decoder.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <utility>

#include "core/bitmap.hpp"
#include "core/numbers/ordered_value.hpp"
#include "core/numbers/wide_integer.hpp"
#include "core/parallel_blocks.hpp"
#include "core/variable_value.hpp"

namespace garuda::keys {
namespace {

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
