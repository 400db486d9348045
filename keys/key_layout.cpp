#include "keys/key_layout.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "core/bitmap.hpp"
#include "core/load.hpp"
#include "core/look_ahead.hpp"
#include "core/numbers/integer_types.hpp"
#include "core/numbers/wide_integer.hpp"

namespace garuda::keys {
namespace {

constexpr std::int64_t kCodesAtOnce = 2'048;

/// The range of native integers of which the first that is not null is `first`. Three reductions over plain loads, so
/// that compilers vectorise them. `value_of(i)`: the value of row i, `first` for nulls.
template <class T, class ValueOf>
CodeRange native_range(T first, NativeIntegers const& native, std::int64_t length, ValueOf const& value_of) {
  using Unsigned = std::make_unsigned_t<T>;
  T min = first;
  T max = first;
  Unsigned varying = 0;
  for_ranges_ahead(native.values, sizeof(T), static_cast<std::size_t>(length), [&](std::size_t begin, std::size_t end) {
    for (auto i = static_cast<std::int64_t>(begin); i < static_cast<std::int64_t>(end); ++i) {
      auto const value = value_of(i);
      min = value < min ? value : min;
      max = value > max ? value : max;
      varying = static_cast<Unsigned>(varying | (static_cast<Unsigned>(value) ^ static_cast<Unsigned>(first)));
    }
  });
  CodeRange range;
  range.add(static_cast<std::uint64_t>(min) + native.zero);
  range.add(static_cast<std::uint64_t>(max) + native.zero);
  range.sample = static_cast<std::uint64_t>(first) + native.zero;
  // The bits above a narrow signed type's differ where its sign bits do.
  range.varying = static_cast<std::uint64_t>(static_cast<T>(varying));
  return range;
}

CodeRange range_of_native(NativeIntegers const& native, std::int64_t length) {
  return visit_integers(native.width, native.is_signed, [&]<class T>(T*) {
    if (native.validity == nullptr)
      return native_range(load<T>(native.values, 0), native, length,
                          [&](std::int64_t i) { return load<T>(native.values, i); });
    auto const is_valid = [&](std::int64_t i) { return get_bit(native.validity, native.first_bit + i); };
    std::int64_t first = 0;
    while (first < length && !is_valid(first)) ++first;
    CodeRange range;
    if (first < length) {
      auto const sample = load<T>(native.values, first);
      range = native_range(sample, native, length,
                           [&](std::int64_t i) { return is_valid(i) ? load<T>(native.values, i) : sample; });
    }
    range.has_nulls = true;
    return range;
  });
}

CodeRange codes_range(AttributeCodes const& codes, bool wide) {
  CodeRange range;
  auto min = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t max = 0;
  for (std::size_t i = 0; i < codes.low.size(); ++i) {
    if (codes.valid[i] == 0) {
      range.has_nulls = true;
      continue;
    }
    if (wide) {
      range.add(codes.wide(i));
      continue;
    }
    if (!range.has_values) range.sample = codes.low[i];
    range.has_values = true;
    min = std::min(min, codes.low[i]);
    max = std::max(max, codes.low[i]);
    range.varying |= codes.low[i] ^ range.sample;
  }
  if (wide || !range.has_values) return range;
  range.min = min;
  range.max = max;
  return range;
}

/// The range of all codes that there may be.
CodeRange range_of_given(AttributeReader const& reader, std::uint64_t last_code, RowBlock const& block) {
  auto const nulls = reader.num_nulls(block);
  CodeRange range;
  range.has_nulls = nulls > 0;
  if (nulls == block.length) return range;
  range.has_values = true;
  range.max = last_code;
  range.varying = last_code == 0 ? 0 : ~std::uint64_t{0};
  return range;
}

}  // namespace

CodeRange range_of_read(AttributeReader const& reader, RowBlock const& block, AttributeCodes const& codes) {
  if (auto const last = reader.last_code()) return range_of_given(reader, *last, block);
  if (auto const native = reader.native_integers(block); native && block.length > 0)
    return range_of_native(*native, block.length);
  return codes_range(codes, reader.is_wide());
}

CodeRange scan_range(AttributeReader const& reader, RowBlock const& block, AttributeCodes& scratch) {
  bool const is_found_unread = reader.last_code() || reader.native_integers(block);
  if (!is_found_unread || block.length == 0) reader.read(block, scratch);
  return range_of_read(reader, block, scratch);
}

std::vector<WordPart> words_of_table(AttributeReader const& reader, TableView table, std::size_t column,
                                     std::int32_t width) {
  if (!reader.zero_in_place() || !reader.has_integers_of_table() || byte_width(reader.field().type) != width) return {};
  std::vector<WordPart> parts;
  std::uint64_t first_row = 0;
  for (std::size_t b = 0; b < table.num_batches(); ++b) {
    auto const& array = table.batch(b).columns[column];
    if (array.length == 0) continue;
    auto const* const values = static_cast<std::byte const*>(array.values) + array.offset * width;
    if (reinterpret_cast<std::uintptr_t>(values) % static_cast<std::uintptr_t>(width) != 0) return {};
    parts.push_back({first_row, values});
    first_row += static_cast<std::uint64_t>(array.length);
  }
  return parts;
}

template <class Word>
void pack_attribute(AttributeReader const& reader, CodeRange const& range, RowBlock const& block,
                    RowsOfBlock const& rows, bool is_first, AttributeCodes& scratch, Word* words) {
  // Modulo 2^64: a cardinality of 2^64 has only factors of 1 beside it.
  auto const cardinality = static_cast<Word>(range.cardinality());
  auto const put_rows = [=](Word* to, std::int64_t count, auto const& position_of) {
    if (is_first)
      for (std::int64_t i = 0; i < count; ++i) to[i] = position_of(i);
    else
      for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<Word>(to[i] * cardinality + position_of(i));
  };
  auto const put = [&](auto const& position_of) {
    if (!rows) return put_rows(words, block.length, position_of);
    auto const* const listed = rows->data();
    put_rows(words, static_cast<std::int64_t>(rows->size()), [&](std::int64_t i) { return position_of(listed[i]); });
  };
  if (auto const native = reader.native_integers(block)) {
    auto const first = static_cast<std::uint64_t>(range.has_nulls ? 1 : 0);
    auto const base = static_cast<Word>(native->zero - static_cast<std::uint64_t>(range.min) + first);
    visit_integers(native->width, native->is_signed, [&]<class T>(T*) {
      auto const position = [&](std::int64_t i) {
        return static_cast<Word>(static_cast<Word>(load<T>(native->values, i)) + base);
      };
      if (native->validity == nullptr) return put(position);
      put([&](std::int64_t i) { return get_bit(native->validity, native->first_bit + i) ? position(i) : Word{0}; });
    });
    return;
  }
  auto const position = [&](std::int64_t i) {
    auto const row = static_cast<std::size_t>(i);
    return static_cast<Word>(range.position(scratch.low[row], scratch.valid[row] != 0));
  };
  if (rows) {
    reader.read(block, scratch);
    return put(position);
  }
  // Few at a time, so that their codes stay in the first-level cache.
  for (std::int64_t first = 0; first < block.length; first += kCodesAtOnce) {
    auto const count = std::min(kCodesAtOnce, block.length - first);
    reader.read({block.batch, block.begin + first, count, block.first_row + static_cast<std::uint64_t>(first)},
                scratch);
    if (range.has_nulls) {
      put_rows(words + first, count, position);
    } else {
      auto const min = static_cast<Word>(range.min);
      auto const* const codes = scratch.low.data();
      put_rows(words + first, count,
               [=](std::int64_t i) { return static_cast<Word>(static_cast<Word>(codes[i]) - min); });
    }
  }
}

template void pack_attribute<std::uint32_t>(AttributeReader const&, CodeRange const&, RowBlock const&,
                                            RowsOfBlock const&, bool, AttributeCodes&, std::uint32_t*);
template void pack_attribute<std::uint64_t>(AttributeReader const&, CodeRange const&, RowBlock const&,
                                            RowsOfBlock const&, bool, AttributeCodes&, std::uint64_t*);

std::uint32_t packed_bits(std::span<CodeRange const> ranges) {
  UInt128 product = 1;
  std::uint32_t sum = 0;
  bool fits = true;
  auto const bits_of = [](UInt128 cardinality) {
    auto const last = cardinality - 1;
    auto const high = static_cast<std::uint64_t>(last >> 64);
    return static_cast<std::uint32_t>(high != 0 ? 64 + std::bit_width(high)
                                                : std::bit_width(static_cast<std::uint64_t>(last)));
  };
  for (auto const& range : ranges) {
    auto const wide = range.exceeds_64_bits();
    sum += wide ? 128 : bits_of(range.cardinality());
    // Neither factor passes 2^64 + 1, so that the product of two does not wrap.
    fits = fits && !wide;
    if (!fits) continue;
    auto const cardinality = range.cardinality();
    if (cardinality > (UInt128{1} << 64)) fits = false;
    if (fits && product > (UInt128{1} << 64) / cardinality) fits = false;
    if (fits) product *= cardinality;
  }
  return fits ? bits_of(product) : std::max<std::uint32_t>(sum, 65);
}

bool is_packed_in(KeyForm form, std::uint32_t packed_bits) {
  return packed_bits <= 64 && form != KeyForm::words && form != KeyForm::rowid;
}

RowPlaces place_attributes(std::span<CodeRange const> ranges) {
  constexpr auto kWord = UInt128{1} << 64;
  RowPlaces places;
  UInt128 product = kWord;  // of the attributes of the last word: the first one begins a word
  for (auto const& range : ranges) {
    auto& place = places.attributes.emplace_back();
    place.is_wide = range.exceeds_64_bits() || range.cardinality() > kWord;
    if (place.is_wide) continue;
    place.is_first = places.num_words == 0 || product > kWord / range.cardinality();
    product = place.is_first ? range.cardinality() : product * range.cardinality();
    if (place.is_first) ++places.num_words;
    place.word = places.num_words - 1;
  }
  for (std::size_t a = 0; a < ranges.size(); ++a) {
    if (!places.attributes[a].is_wide) continue;
    places.attributes[a].word = places.num_words;
    places.num_words += ranges[a].has_nulls ? 3 : 2;
  }
  return places;
}

std::uint32_t low_bits_of(std::uint64_t varying, std::uint32_t key_bits) {
  return varying == 0 ? key_bits : static_cast<std::uint32_t>(std::countr_zero(varying));
}

}  // namespace garuda::keys
