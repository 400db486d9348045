#include "operators/group_by/numbers/exact_numbers.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "core/load.hpp"
#include "core/numbers/big_integer.hpp"
#include "core/numbers/integer_types.hpp"
#include "core/type_rows.hpp"
#include "operators/group_by/numbers/number_kernels.hpp"

namespace garuda::group_by {
namespace {

using resolve::StateColumn;
using resolve::ValueForm;

/// 128 of the bits of an integer, from `first` on, which may be negative.
UInt128 bits_from(std::span<std::uint64_t const> words, std::int64_t first) noexcept {
  auto const word = [&](std::int64_t w) -> std::uint64_t {
    return w < 0 || w >= std::ssize(words) ? 0 : words[static_cast<std::size_t>(w)];
  };
  auto const w = first >> 6;
  auto const shift = static_cast<unsigned>(first & 63);
  auto const low = UInt128{word(w + 1)} << 64 | word(w);
  return shift == 0 ? low : low >> shift | UInt128{word(w + 2)} << (128 - shift);
}

Words256 multiply(UInt128 a, UInt128 b) noexcept {
  auto const low = [](UInt128 value) { return UInt128{static_cast<std::uint64_t>(value)}; };
  auto const bottom = low(a) * low(b);
  auto const first = low(a) * (b >> 64) + (bottom >> 64);  // at most (2^64 - 1)² + 2^64 - 1
  auto const second = (a >> 64) * low(b) + low(first);
  auto const top = (a >> 64) * (b >> 64) + (first >> 64) + (second >> 64);
  return {static_cast<std::uint64_t>(bottom), static_cast<std::uint64_t>(second), static_cast<std::uint64_t>(top),
          static_cast<std::uint64_t>(top >> 64)};
}

/// The bits from `first` on, which may be negative.
inline UInt128 shifted(UInt128 value, std::int64_t first) noexcept {
  // Without a branch: where a part begins among a float's bits differs row by row.
  auto const left = value << (-first & 127);
  auto const right = value >> (first & 127);
  auto const bits = first < 0 ? left : right;
  return first > -128 && first < 128 ? bits : 0;
}

/// The bits [first, first + bits) of a product, with its sign.
inline Int128 product_part(ExactNumber const& a, ExactNumber const& b, std::int32_t first,
                           std::uint32_t bits) noexcept {
  auto const begin = std::int64_t{first} - a.exponent - b.exponent;
  UInt128 part = 0;
  if ((a.magnitude | b.magnitude) >> 64 != 0) {
    part = bits_from(multiply(a.magnitude, b.magnitude), begin);
  } else {
    part = shifted(UInt128{static_cast<std::uint64_t>(a.magnitude)} * static_cast<std::uint64_t>(b.magnitude), begin);
  }
  part &= (UInt128{1} << bits) - 1;
  return a.is_negative != b.is_negative ? -static_cast<Int128>(part) : static_cast<Int128>(part);
}

/// ± a number of any column.
struct WideNumber {
  BigInteger value{};
  std::int32_t exponent = 0;
  bool is_special = false;
  bool is_null = false;
};

WideNumber wide_number(TableView table, std::size_t column, RowPlace const& place) {
  auto const& array = table.batch(place.batch).columns[column];
  if (!is_wide(table.schema()[column].type)) {
    ExactNumber number;
    read_numbers(table, column, std::span(&place, 1), std::span(&number, 1));
    std::array const words{static_cast<std::uint64_t>(number.magnitude),
                           static_cast<std::uint64_t>(number.magnitude >> 64)};
    BigInteger const magnitude(words, false);
    return {number.is_negative ? -magnitude : magnitude, number.exponent, number.is_special, number.is_null};
  }
  if (array.is_null(place.row)) return {.is_null = true};
  auto const words = load<Words256>(static_cast<std::byte const*>(array.values), array.offset + place.row);
  return {.value = BigInteger(words, true)};
}

/// Calls use with a null pointer to the type of signed integers of `kind`.
template <class Use>
void with_kind(contract::ValueKind kind, Use const& use) {
  if (contract::value_words(kind) == 1) return use(static_cast<std::int32_t*>(nullptr));
  if (contract::value_words(kind) == 2) return use(static_cast<std::int64_t*>(nullptr));
  use(static_cast<Int128*>(nullptr));
}

}  // namespace

void read_numbers(TableView table, std::size_t column, std::span<RowPlace const> places,
                  std::span<ExactNumber> numbers) {
  with_type(table.schema()[column].type, [&]<class T>(T*) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      auto const& array = table.batch(places[i].batch).columns[column];
      if (array.is_null(places[i].row)) {
        numbers[i] = {.is_null = true};
        continue;
      }
      numbers[i] = number_of(load<T>(static_cast<std::byte const*>(array.values), array.offset + places[i].row));
    }
  });
}

void read_numbers(DataType const& type, std::byte const* values, std::span<ExactNumber> numbers) {
  with_type(type, [&]<class T>(T*) {
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = number_of(load<T>(values, static_cast<std::int64_t>(i)));
  });
}

void write_products(std::span<ExactNumber const> a, ExactNumber const* b, std::int32_t first, std::uint32_t bits,
                    contract::ValueKind kind, std::byte* out) {
  with_kind(kind, [&]<class Out>(Out*) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      bool const is_null = a[i].is_null || (b != nullptr && b[i].is_null);
      store(out, i,
            static_cast<Out>(is_null ? 0 : product_part(a[i], b == nullptr ? ExactNumber{1} : b[i], first, bits)));
    }
  });
}

namespace {

/// Squares, which have no sign, or values themselves, of floats that follow each other. By their bits: a process may
/// have its processor take subnormal floats as zeros.
template <class T>
void write_float_powers(std::byte const* values, std::size_t count, bool squared, std::int32_t first,
                        std::uint32_t bits, contract::ValueKind kind, std::byte* out) {
  constexpr std::size_t kStep = 256;
  std::array<float, kStep> halves;
  std::array<Int128, kStep> parts;
  auto const& kernels = number_kernels();
  auto const make = sizeof(T) == sizeof(double) ? kernels.float_parts_64 : kernels.float_parts_32;
  bool const is_written_at_once = kind == contract::ValueKind::int128;
  for (std::size_t begin = 0; begin < count; begin += kStep) {
    auto const rows = std::min(kStep, count - begin);
    void const* from = values + begin * sizeof(T);
    if constexpr (std::is_same_v<T, Half>) {
      for (std::size_t i = 0; i < rows; ++i)
        halves[i] = half_value(load<T>(values, static_cast<std::int64_t>(begin + i)).bits);
      from = halves.data();
    }
    void* const to = is_written_at_once ? static_cast<void*>(out + begin * sizeof(Int128)) : parts.data();
    make(from, rows, squared, first, bits, to);
    if (is_written_at_once) continue;
    with_kind(kind, [&]<class Out>(Out*) {
      for (std::size_t i = 0; i < rows; ++i) store(out, begin + i, static_cast<Out>(parts[i]));
    });
  }
}

/// Writes powers of integers, of which 64 bits hold one and 128 a square.
template <class T>
void write_integer_powers(std::byte const* values, std::size_t count, bool squared, std::int32_t first,
                          std::uint32_t bits, contract::ValueKind kind, std::byte* out) {
  auto const mask = (UInt128{1} << bits) - 1;
  with_kind(kind, [&]<class Out>(Out*) {
    auto const write = [&](auto const& part) {
      for (std::size_t i = 0; i < count; ++i)
        store(out, i, static_cast<Out>(part(load<T>(values, static_cast<std::int64_t>(i)))));
    };
    auto const square = [](T value) {
      auto const word = static_cast<std::uint64_t>(number_of(value).magnitude);
      return UInt128{word} * word;
    };
    // Most sums take the lowest bits, which are not moved.
    if (squared && first == 0) return write([=](T value) { return square(value) & mask; });
    if (squared) return write([=](T value) { return shifted(square(value), first) & mask; });
    write([=](T value) {
      auto const number = number_of(value);
      auto const part = static_cast<Int128>(shifted(number.magnitude, first) & mask);
      return number.is_negative ? -part : part;
    });
  });
}

}  // namespace

void write_powers(DataType const& type, std::byte const* values, std::size_t count, bool squared, std::int32_t first,
                  std::uint32_t bits, contract::ValueKind kind, std::byte* out) {
  with_type(type, [&]<class T>(T*) {
    if constexpr (std::is_same_v<T, Half> || std::is_floating_point_v<T>)
      return write_float_powers<T>(values, count, squared, first, bits, kind, out);
    else if constexpr (sizeof(T) <= sizeof(std::uint64_t))
      return write_integer_powers<T>(values, count, squared, first, bits, kind, out);
    else
      with_kind(kind, [&]<class Out>(Out*) {
        for (std::size_t i = 0; i < count; ++i) {
          auto const number = number_of(load<T>(values, static_cast<std::int64_t>(i)));
          store(out, i, static_cast<Out>(product_part(number, squared ? number : ExactNumber{1}, first, bits)));
        }
      });
  });
}

void write_integer_products(DataType const& a_type, std::byte const* a, DataType const& b_type, std::byte const* b,
                            std::size_t count, contract::ValueKind kind, std::byte* out) {
  constexpr std::size_t kStep = 256;
  with_kind(kind, [&]<class Out>(Out*) {
    // Rows from `first` on as Out: where they are of its width, as they lie.
    auto const read = [](DataType const& type, std::byte const* values, std::size_t first, std::size_t rows,
                         std::array<Out, kStep>& room) {
      if (static_cast<std::size_t>(byte_width(type)) == sizeof(Out)) return values + first * sizeof(Out);
      visit_integers(byte_width(type), type_row(type.id).is_signed, [&]<class T>(T*) {
        for (std::size_t i = 0; i < rows; ++i)
          room[i] = static_cast<Out>(load<T>(values, static_cast<std::int64_t>(first + i)));
      });
      return reinterpret_cast<std::byte const*>(room.data());
    };
    std::array<Out, kStep> x_room;
    std::array<Out, kStep> y_room;
    for (std::size_t first = 0; first < count; first += kStep) {
      auto const rows = std::min(kStep, count - first);
      auto const* const x = read(a_type, a, first, rows, x_room);
      auto const* const y = b != nullptr ? read(b_type, b, first, rows, y_room) : x;
      for (std::size_t i = 0; i < rows; ++i) {
        auto const row = static_cast<std::int64_t>(i);
        store(out, first + i, static_cast<Out>(load<Out>(x, row) * load<Out>(y, row)));
      }
    }
  });
}

void write_packed(FactorColumn const& x, FactorColumn const& y, std::size_t count,
                  std::span<resolve::PackedProduct const> terms, std::byte* out) {
  constexpr std::size_t kStep = 256;
  using Values = std::array<std::uint32_t, kStep>;
  // Rows from `first` on: where they are words, as they lie.
  auto const read = [](FactorColumn const& column, std::size_t first, std::size_t rows,
                       Values& room) -> std::uint32_t const* {
    if (column.values == nullptr) return nullptr;
    auto const width = static_cast<std::size_t>(byte_width(*column.type));
    auto const* const values = column.values + first * width;
    if (width == sizeof(std::uint32_t) && reinterpret_cast<std::uintptr_t>(values) % width == 0)
      return reinterpret_cast<std::uint32_t const*>(values);
    auto* const to = room.data();
    visit_integers(byte_width(*column.type), type_row(column.type->id).is_signed, [=]<class T>(T*) {
      for (std::size_t i = 0; i < rows; ++i)
        to[i] = static_cast<std::uint32_t>(load<T>(values, static_cast<std::int64_t>(i)));
    });
    return to;
  };
  ProductTerms products;
  for (auto const& [powers, shift] : terms) {
    using T = ProductTerms;
    constexpr T::Term kByPowers[3][3] = {
        {T::kTerms, T::kY, T::kYY}, {T::kX, T::kXY, T::kTerms}, {T::kXX, T::kTerms, T::kTerms}};
    auto const term = kByPowers[powers[0]][powers[1]];
    GARUDA_EXPECTS(term != T::kTerms && (products.present >> term & 1) == 0);
    products.present |= 1U << term;
    products.shifts[term] = shift;
  }
  Values x_room;
  Values y_room;
  for (std::size_t first = 0; first < count; first += kStep) {
    auto const rows = std::min(kStep, count - first);
    number_kernels().write_products(read(x, first, rows, x_room), read(y, first, rows, y_room), rows, products,
                                    out + first * sizeof(std::uint64_t));
  }
}

void write_wide_values(TableView table, StateColumn const& state, std::span<RowPlace const> places, std::byte* out) {
  auto const& part = state.part;
  for (std::size_t i = 0; i < places.size(); ++i) {
    auto const x = wide_number(table, *state.column, places[i]);
    auto const y = state.second ? wide_number(table, *state.second, places[i]) : WideNumber{};
    bool const is_null = x.is_null || y.is_null;
    if (state.form == ValueForm::special) {
      store(out, i, std::uint32_t{!is_null && (x.is_special || y.is_special) ? 1U : 0U});
      continue;
    }
    BigInteger product(is_null ? 0 : 1);
    std::int32_t exponent = 0;
    for (std::size_t f = 0; f < part.powers.size(); ++f)
      for (std::uint8_t power = 0; power < part.powers[f]; ++power) {
        product = product * (f == 0 ? x : y).value;
        exponent += (f == 0 ? x : y).exponent;
      }
    auto const bits =
        bits_from(product.magnitude(), std::int64_t{part.first()} - exponent) & ((UInt128{1} << part.bits) - 1);
    auto const value = product.is_negative() ? -static_cast<Int128>(bits) : static_cast<Int128>(bits);
    with_kind(state.kind, [&]<class Out>(Out*) { store(out, i, static_cast<Out>(value)); });
  }
}

}  // namespace garuda::group_by
