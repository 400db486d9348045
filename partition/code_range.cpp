#include "partition/code_range.hpp"

#include <type_traits>

#include "core/load.hpp"

namespace garuda::partition {
namespace {

/// Calls visit with a null pointer to the C++ type of the integers.
template <class Visitor>
auto visit_integer_type(NativeIntegers const& integers, Visitor const& visit) {
  switch (integers.width) {
    case 1:
      return integers.is_signed ? visit(static_cast<std::int8_t*>(nullptr))
                                : visit(static_cast<std::uint8_t*>(nullptr));
    case 2:
      return integers.is_signed ? visit(static_cast<std::int16_t*>(nullptr))
                                : visit(static_cast<std::uint16_t*>(nullptr));
    case 4:
      return integers.is_signed ? visit(static_cast<std::int32_t*>(nullptr))
                                : visit(static_cast<std::uint32_t*>(nullptr));
    default:
      return integers.is_signed ? visit(static_cast<std::int64_t*>(nullptr))
                                : visit(static_cast<std::uint64_t*>(nullptr));
  }
}

/// Three reductions over plain loads, so that compilers vectorise them. Requires length > 0.
template <class T>
CodeRange native_range(std::byte const* values, std::int64_t length) {
  using Unsigned = std::make_unsigned_t<T>;
  auto const first = load<T>(values, 0);
  T min = first;
  T max = first;
  Unsigned varying = 0;
  for (std::int64_t i = 0; i < length; ++i) {
    auto const value = load<T>(values, i);
    min = value < min ? value : min;
    max = value > max ? value : max;
    varying = static_cast<Unsigned>(varying | (static_cast<Unsigned>(value) ^ static_cast<Unsigned>(first)));
  }
  CodeRange range;
  range.add(integer_code(min));
  range.add(integer_code(max));
  range.sample = integer_code(first);
  // The bits above a narrow signed type's differ where its sign bits do.
  range.varying = static_cast<std::uint64_t>(static_cast<T>(varying));
  return range;
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

}  // namespace

CodeRange range_of_read(AttributeReader const& reader, RowBlock const& block, AttributeCodes const& codes) {
  if (auto const native = reader.native_integers(block); native && block.length > 0)
    return visit_integer_type(*native, [&]<class T>(T*) { return native_range<T>(native->values, block.length); });
  return codes_range(codes, reader.is_wide());
}

CodeRange scan_range(AttributeReader const& reader, RowBlock const& block, AttributeCodes& scratch) {
  if (!reader.native_integers(block) || block.length == 0) reader.read(block, scratch);
  return range_of_read(reader, block, scratch);
}

template <class Word>
void pack_attribute(AttributeReader const& reader, CodeRange const& range, RowBlock const& block, bool is_first,
                    AttributeCodes& scratch, Word* words) {
  // Modulo 2^64: a cardinality of 2^64 has only factors of 1 beside it.
  auto const cardinality = static_cast<Word>(range.cardinality());
  auto const put = [&](auto const& position_of) {
    if (is_first)
      for (std::int64_t i = 0; i < block.length; ++i) words[i] = position_of(i);
    else
      for (std::int64_t i = 0; i < block.length; ++i)
        words[i] = static_cast<Word>(words[i] * cardinality + position_of(i));
  };
  if (auto const native = reader.native_integers(block)) {
    // Codes differ from sign-extended values by a constant, and so do their differences from the smallest.
    auto const base = static_cast<Word>(integer_code(std::int64_t{0}) * (native->is_signed ? 1 : 0) -
                                        static_cast<std::uint64_t>(range.min) + (range.has_nulls ? 1 : 0));
    visit_integer_type(*native, [&]<class T>(T*) {
      put([&](std::int64_t i) { return static_cast<Word>(static_cast<Word>(load<T>(native->values, i)) + base); });
    });
    return;
  }
  reader.read(block, scratch);
  put([&](std::int64_t i) {
    auto const row = static_cast<std::size_t>(i);
    return static_cast<Word>(range.position(scratch.low[row], scratch.valid[row] != 0));
  });
}

template void pack_attribute<std::uint32_t>(AttributeReader const&, CodeRange const&, RowBlock const&, bool,
                                            AttributeCodes&, std::uint32_t*);
template void pack_attribute<std::uint64_t>(AttributeReader const&, CodeRange const&, RowBlock const&, bool,
                                            AttributeCodes&, std::uint64_t*);

}  // namespace garuda::partition
