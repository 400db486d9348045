#include "operators/group_by/derived_values.hpp"

#include <oneapi/tbb/parallel_sort.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <new>
#include <numeric>

#include "core/bitmap.hpp"
#include "core/load.hpp"
#include "core/numbers/integer_types.hpp"
#include "core/numbers/ordered_value.hpp"
#include "core/parallel_blocks.hpp"
#include "core/type_rows.hpp"
#include "keys/column_order.hpp"

namespace garuda::group_by {
namespace {

using resolve::ValueForm;

/// Writes a narrow integer of `kind`.
void put_as(contract::ValueKind kind, std::byte* out, std::size_t i, Int128 value) {
  if (contract::value_words(kind) == 1) return store(out, i, static_cast<std::uint32_t>(value));
  if (contract::value_words(kind) == 2) return store(out, i, static_cast<std::uint64_t>(value));
  store(out, i, value);
}

/// 1 where one of a pair without nulls is infinite or NaN.
std::uint32_t special_pair(ExactNumber const& a, ExactNumber const& b) {
  return !a.is_null && !b.is_null && (a.is_special || b.is_special) ? 1 : 0;
}

/// The word of a value that fits 64 bits, in the order of values; anything at null rows.
std::uint64_t ordered_word(ArrayView const& array, DataType const& type, std::int64_t row) {
  auto const* const values = static_cast<std::byte const*>(array.values);
  auto const at = array.offset + row;
  if (type.id == TypeId::boolean) return get_bit(static_cast<std::uint8_t const*>(array.values), at) ? 1 : 0;
  if (type.id == TypeId::float16) return ordered_from_bits(canonical_half(load<std::uint16_t>(values, at)));
  if (type.id == TypeId::float32) return ordered_from_bits(canonical_bits(load<float>(values, at)));
  if (type.id == TypeId::float64) return ordered_from_bits(canonical_bits(load<double>(values, at)));
  bool const is_signed = type_row(type.id).is_signed;
  auto const bits = visit_integers(byte_width(type), is_signed,
                                   [&]<class T>(T*) { return static_cast<std::uint64_t>(load<T>(values, at)); });
  return is_signed ? ordered_signed(bits) : bits;
}

/// Ranks of rows by entries that `is_less` compares: equal ones have equal ranks.
template <class Entry, class Less>
std::vector<std::uint64_t> ranks_of(Entry const* entries, std::uint64_t rows, Less const& is_less) {
  std::vector<std::uint64_t> order(rows);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  oneapi::tbb::parallel_sort(order.begin(), order.end(),
                             [&](auto a, auto b) { return is_less(entries[a], entries[b]); });
  std::vector<std::uint64_t> ranks(rows);
  for (std::uint64_t i = 1; i < rows; ++i)
    ranks[order[i]] = ranks[order[i - 1]] + (is_less(entries[order[i - 1]], entries[order[i]]) ? 1 : 0);
  return ranks;
}

}  // namespace

Result<DerivedValues> DerivedValues::create(TableView table, resolve::StateColumn const& state,
                                            Control const& control) {
  DerivedValues values(table, state);
  if (state.form == ValueForm::ranked) GARUDA_TRY(values.rank(control));
  return values;
}

Result<void> DerivedValues::rank(Control const& control) {
  auto const kind = resolve::value_source(table_.schema()[*state_.second].type).kind;
  auto const rows = static_cast<std::uint64_t>(table_.num_rows());
  try {
    if (kind == contract::ValueKind::bytes) {
      GARUDA_TRY_ASSIGN(auto const order, keys::ColumnOrder::create(table_, *state_.second, control));
      ranks_ = ranks_of(order.entries(), rows, [&](UInt128 a, UInt128 b) { return order.is_less(a, b); });
    } else if (kind == contract::ValueKind::int128) {
      std::vector<Int128> entries;
      entries.reserve(rows);
      for (std::size_t b = 0; b < table_.num_batches(); ++b) {
        auto const& array = table_.batch(b).columns[*state_.second];
        for (std::int64_t row = 0; row < array.length; ++row)
          entries.push_back(load<Int128>(static_cast<std::byte const*>(array.values), array.offset + row));
      }
      ranks_ = ranks_of(entries.data(), rows, std::less<>());
    }
    return check_cancelled(&control);
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory to put the values of a column in order");
  }
}

std::array<std::optional<std::size_t>, 2> DerivedValues::factors() const noexcept {
  if (state_.form == ValueForm::packed) return packed_factors();
  if (state_.form != ValueForm::product || is_wide_) return {};
  return {state_.part.powers[0] > 0 ? state_.column : std::nullopt,
          state_.part.powers[1] > 0 ? state_.second : std::nullopt};
}

std::array<std::optional<std::size_t>, 2> DerivedValues::packed_factors() const noexcept {
  auto const takes = [&](std::size_t f) {
    return std::ranges::any_of(state_.packed, [=](auto const& term) { return term.powers[f] > 0; });
  };
  return {takes(0) ? state_.column : std::nullopt, takes(1) ? state_.second : std::nullopt};
}

void DerivedValues::make(std::span<DerivedRow const> rows, std::byte* out) const {
  if (state_.form == ValueForm::row) return make_rows(rows, out);
  if (state_.form == ValueForm::ranked) return make_ranked(rows, out);
  if (state_.form == ValueForm::packed) return make_packed(rows, out);
  std::array<RowPlace, kMostRows> places;
  std::ranges::transform(rows, places.begin(), &DerivedRow::place);
  if (is_wide_) return write_wide_values(table_, state_, std::span(places).first(rows.size()), out);
  make_products(rows.size(), out, [&](std::size_t column, std::size_t, std::span<ExactNumber> numbers) {
    read_numbers(table_, column, std::span(places).first(numbers.size()), numbers);
  });
}

void DerivedValues::make(FactorValues const& values, std::size_t count, std::byte* out) const {
  auto const& part = state_.part;
  auto const type_of = [&](std::size_t f) -> DataType const& {
    return table_.schema()[f == 0 ? *state_.column : *state_.second].type;
  };
  if (state_.form == ValueForm::packed) {
    auto const column = [&](std::size_t f) {
      return values[f] == nullptr ? FactorColumn{} : FactorColumn{&type_of(f), values[f]};
    };
    return write_packed(column(0), column(1), count, state_.packed, out);
  }
  // Integers are cut only where they take more than 64 bits.
  auto const is_integer = [&](std::size_t f) {
    return part.powers[f] == 0 || type_row(type_of(f).id).family == TypeFamily::integer;
  };
  if (state_.kind != contract::ValueKind::int128 && part.first() == 0 && part.powers[0] + part.powers[1] == 2 &&
      is_integer(0) && is_integer(1)) {
    auto const f = part.powers[0] > 0 ? 0 : 1;
    auto const* const other = part.powers[f] == 2 ? nullptr : values[1];
    return write_integer_products(type_of(f), values[f], type_of(other == nullptr ? f : 1), other, count, state_.kind,
                                  out);
  }
  for (std::size_t f = 0; f < values.size(); ++f) {
    if (part.powers[1 - f] != 0) continue;
    return write_powers(type_of(f), values[f], count, part.powers[f] == 2, part.first(), part.bits, state_.kind, out);
  }
  make_products(count, out, [&](std::size_t column, std::size_t factor, std::span<ExactNumber> numbers) {
    read_numbers(table_.schema()[column].type, values[factor], numbers);
  });
}

void DerivedValues::make_rows(std::span<DerivedRow const> rows, std::byte* out) const {
  for (std::size_t i = 0; i < rows.size(); ++i) put_as(state_.kind, out, i, Int128{rows[i].row});
}

void DerivedValues::make_packed(std::span<DerivedRow const> rows, std::byte* out) const {
  // Gathered, then as values that follow each other.
  std::array<std::array<std::uint64_t, kMostRows>, 2> gathered;
  auto const factors = packed_factors();
  FactorValues values{};
  for (std::size_t f = 0; f < factors.size(); ++f) {
    if (!factors[f]) continue;
    auto const width = static_cast<std::size_t>(byte_width(table_.schema()[*factors[f]].type));
    auto* const to = reinterpret_cast<std::byte*>(gathered[f].data());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      auto const& array = table_.batch(rows[i].place.batch).columns[*factors[f]];
      auto const at = static_cast<std::size_t>(array.offset + rows[i].place.row);
      std::memcpy(to + i * width, static_cast<std::byte const*>(array.values) + at * width, width);
    }
    values[f] = to;
  }
  make(values, rows.size(), out);
}

void DerivedValues::make_ranked(std::span<DerivedRow const> rows, std::byte* out) const {
  // The first row of equal ranks is the least word, or, as a complement, the greatest.
  auto const flip = (state_.states & contract::kMaxState) != 0 ? ~std::uint64_t{0} : 0;
  auto const& type = table_.schema()[*state_.second].type;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto const& place = rows[i].place;
    auto const rank = ranks_.empty() ? ordered_word(table_.batch(place.batch).columns[*state_.second], type, place.row)
                                     : ranks_[rows[i].row];
    store(out, i, static_cast<Int128>(UInt128{ordered_signed(rank)} << 64 | (rows[i].row ^ flip)));
  }
}

/// `read`: fills numbers of a column, which is one of the two factors.
template <class Read>
void DerivedValues::make_products(std::size_t count, std::byte* out, Read const& read) const {
  std::array<ExactNumber, kMostRows> x;
  std::array<ExactNumber, kMostRows> y;
  read(*state_.column, 0, std::span(x).first(count));
  if (state_.second) read(*state_.second, 1, std::span(y).first(count));
  if (state_.form == ValueForm::special) {
    for (std::size_t i = 0; i < count; ++i)
      store(out, i, state_.second ? special_pair(x[i], y[i]) : std::uint32_t{x[i].is_special ? 1U : 0U});
    return;
  }
  auto const& powers = state_.part.powers;
  auto const& a = powers[0] > 0 ? x : y;
  auto const* b = powers[0] + powers[1] == 1 ? nullptr : powers[0] == 2 ? x.data() : y.data();
  // A null of the column that is no factor leaves its row out, too.
  for (std::size_t i = 0; state_.second && i < count; ++i) x[i].is_null = y[i].is_null = x[i].is_null || y[i].is_null;
  write_products(std::span(a).first(count), b, state_.part.first(), state_.part.bits, state_.kind, out);
}

}  // namespace garuda::group_by
