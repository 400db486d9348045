#include "keys/key_decoder.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <utility>

#include "core/bitmap.hpp"
#include "core/numbers/ordered_value.hpp"
#include "core/numbers/wide_integer.hpp"
#include "core/parallel_blocks.hpp"

namespace garuda::keys {
namespace {

/// Rows decoded by one task: a multiple of 8, so that tasks share no byte of a bitmap.
constexpr std::uint64_t kDecodeRows = std::uint64_t{1} << 14;

}  // namespace

std::optional<KeyDecoder> KeyDecoder::create(EncodedGroupKeys const& keys, std::vector<DataType> types) {
  GARUDA_EXPECTS(types.size() == keys.attributes.size());
  if (!keys.is_packed) return std::nullopt;
  KeyDecoder decoder;
  decoder.attributes_.resize(types.size());
  UInt128 divisor = 1;
  for (auto a = types.size(); a-- > 0;) {
    auto const& source = keys.attributes[a];
    if (source.inverse == CodeInverse::none) return std::nullopt;
    auto& attribute = decoder.attributes_[a];
    attribute.type = std::move(types[a]);
    attribute.inverse = source.inverse;
    // The product of all cardinalities is at most 2^64: what counts that much has one value.
    attribute.divisor = divisor >> 64 != 0 ? 0 : static_cast<std::uint64_t>(divisor);
    attribute.cardinality = a == 0 ? 0 : static_cast<std::uint64_t>(source.cardinality);
    attribute.smallest = source.smallest;
    attribute.has_nulls = source.has_nulls;
    divisor *= source.cardinality;
  }
  return decoder;
}

template <class T, class ValueOf>
void KeyDecoder::write(Attribute const& attribute, std::span<std::uint64_t const> words, std::byte* out,
                       ValueOf value_of) {
  auto const first = attribute.smallest - (attribute.has_nulls ? 1 : 0);
  for (std::size_t i = 0; i < words.size(); ++i) {
    auto const position = attribute.position(words[i]);
    auto const value = attribute.has_nulls && position == 0 ? T{0} : static_cast<T>(value_of(first + position));
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

Result<KeyDecoder::Column> KeyDecoder::decode(std::size_t index, std::span<std::uint64_t const> words,
                                              Control const& control) const {
  auto const& attribute = attributes_.at(index);
  auto const width = static_cast<std::size_t>(byte_width(attribute.type));
  Column column;
  GARUDA_TRY_ASSIGN(column.values, AlignedBuffer::allocate(static_cast<std::int64_t>(words.size() * width)));
  if (attribute.has_nulls) {
    GARUDA_TRY_ASSIGN(column.validity, AlignedBuffer::allocate(bitmap_bytes(static_cast<std::int64_t>(words.size()))));
  }
  std::atomic<std::int64_t> nulls{0};
  GARUDA_TRY(for_each_block((words.size() + kDecodeRows - 1) / kDecodeRows, &control, [&](std::size_t block) {
    auto const begin = block * kDecodeRows;
    auto const part = words.subspan(begin, std::min(kDecodeRows, words.size() - begin));
    write_values(attribute, part, column.values.data() + begin * width);
    if (!attribute.has_nulls) return;
    auto* const validity = column.validity.as<std::uint8_t>() + begin / 8;
    std::fill_n(validity, bitmap_bytes(static_cast<std::int64_t>(part.size())), std::uint8_t{0});
    std::int64_t valid = 0;
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (attribute.position(part[i]) == 0) continue;
      validity[i / 8] = static_cast<std::uint8_t>(validity[i / 8] | (1U << (i % 8)));
      ++valid;
    }
    nulls += static_cast<std::int64_t>(part.size()) - valid;
  }));
  column.array.length = static_cast<std::int64_t>(words.size());
  column.array.null_count = nulls.load();
  column.array.values = column.values.data();
  if (column.array.null_count > 0) column.array.validity = column.validity.as<std::uint8_t>();
  return column;
}

}  // namespace garuda::keys
