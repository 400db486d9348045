#include "operators/group_by/value_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>

#include "core/bitmap.hpp"
#include "core/load.hpp"
#include "core/numbers/half_float.hpp"
#include "core/parallel_blocks.hpp"
#include "operators/materialize/gather_rows.hpp"

namespace garuda::group_by {
namespace {

static_assert(kBlockRows % 32 == 0, "no word of a validity bitmap belongs to two blocks");

/// Copies values, widened to To.
template <class From, class To>
struct Copy {
  static constexpr std::int64_t kWidth = sizeof(From);

  std::byte* out;
  void operator()(std::uint64_t i, ArrayView const& array, std::int64_t row) const noexcept {
    store(out, i, static_cast<To>(load<From>(static_cast<std::byte const*>(array.values), array.offset + row)));
  }
  /// Values [begin, end), which lie side by side from `values` on: compilers vectorise the loop.
  void run(std::uint64_t begin, std::uint64_t end, std::byte const* values) const noexcept {
    auto* const to = out + begin * sizeof(To);
    for (std::uint64_t i = 0; i < end - begin; ++i)
      store(to, i, static_cast<To>(load<From>(values, static_cast<std::int64_t>(i))));
  }
};

/// Copies floats of 16 bits as ones of 32.
struct CopyHalf {
  static constexpr std::int64_t kWidth = 2;

  std::byte* out;
  void operator()(std::uint64_t i, ArrayView const& array, std::int64_t row) const noexcept {
    store(out, i, half_value(load<std::uint16_t>(static_cast<std::byte const*>(array.values), array.offset + row)));
  }
  void run(std::uint64_t begin, std::uint64_t end, std::byte const* values) const noexcept {
    for (auto i = begin; i < end; ++i)
      store(out, i, half_value(load<std::uint16_t>(values, static_cast<std::int64_t>(i - begin))));
  }
};

struct Bytes16 {
  std::uint64_t words[2];
};

/// Calls use with the Copy for values of a type.
template <class Use>
void with_copy(DataType const& type, bool is_signed, std::byte* out, Use const& use) {
  auto const width = byte_width(type);
  if (type.id == TypeId::float16) return use(CopyHalf{out});
  if (width == 1)
    return is_signed ? use(Copy<std::int8_t, std::int32_t>{out}) : use(Copy<std::uint8_t, std::uint32_t>{out});
  if (width == 2)
    return is_signed ? use(Copy<std::int16_t, std::int32_t>{out}) : use(Copy<std::uint16_t, std::uint32_t>{out});
  if (width == 4) return use(Copy<std::uint32_t, std::uint32_t>{out});
  if (width == 8) return use(Copy<std::uint64_t, std::uint64_t>{out});
  use(Copy<Bytes16, Bytes16>{out});
}

}  // namespace

Result<ValueReader> ValueReader::create(TableView table, resolve::StateColumn const& state, Control const& control) {
  ValueReader reader(table, state);
  if (!state.column || state.form == resolve::ValueForm::evaluated) return reader;
  reader.first_rows_.push_back(0);
  for (std::size_t b = 0; b < table.num_batches(); ++b) {
    auto const& array = table.batch(b).columns[*state.column];
    if (array.location.kind == Location::Kind::device)
      return fail(ErrorCode::invalid_input, fmt::format("column is in device memory, not in the host's: '{}'",
                                                        table.schema()[*state.column].name));
    if (array.length == 0) continue;
    auto const* const second = state.second ? &table.batch(b).columns[*state.second] : nullptr;
    if (array.validity != nullptr || (second != nullptr && second->validity != nullptr)) reader.is_null_free_ = false;
    reader.parts_.push_back(b);
    reader.first_rows_.push_back(reader.first_rows_.back() + array.length);
  }
  if (!state.is_of_table()) {
    GARUDA_TRY_ASSIGN(reader.derived_, DerivedValues::create(table, state, control));
  } else if (state.kind == contract::ValueKind::bytes) {
    GARUDA_TRY_ASSIGN(auto order, keys::ColumnOrder::create(table, *state.column, control));
    reader.order_ = std::make_unique<keys::ColumnOrder const>(std::move(order));
  }
  return reader;
}

std::uint64_t ValueReader::bytes() const noexcept {
  return derived_ ? derived_->bytes() : order_ == nullptr ? 0 : order_->size_bytes();
}

ArrayView const& ValueReader::array(std::size_t part) const noexcept {
  return table_.batch(parts_[part]).columns[*state_.column];
}

/// The part of `row`; behind the last row the number of parts.
std::size_t ValueReader::part_of(std::int64_t row) const noexcept {
  return static_cast<std::size_t>(std::upper_bound(first_rows_.begin(), first_rows_.end(), row) - first_rows_.begin() -
                                  1);
}

bool ValueReader::is_null(std::size_t part, std::int64_t row) const noexcept {
  return array(part).is_null(row) || (state_.second && table_.batch(parts_[part]).columns[*state_.second].is_null(row));
}

bool ValueReader::may_have_nulls() const noexcept {
  if (state_.form == resolve::ValueForm::evaluated) return true;
  // Counts are added wherever there are nulls.
  return state_.column && (state_.states & contract::kCountState) != 0 && !is_null_free_;
}

/// Calls visit(i, part, row of its arrays) for the positions [begin, end) of the slice.
template <class Visit>
void ValueReader::visit(contract::SliceRows const& rows, std::uint64_t begin, std::uint64_t end, Visit visit) const {
  if (parts_.size() == 1) {
    for (auto i = begin; i < end; ++i) visit(i, std::size_t{0}, static_cast<std::int64_t>(rows[i]));
    return;
  }
  if (rows.is_sequential()) {
    auto const first = static_cast<std::int64_t>(rows.first_row() + begin);
    auto part = part_of(first);
    for (auto i = begin; i < end; ++i) {
      auto const row = static_cast<std::int64_t>(rows.first_row() + i);
      while (row >= first_rows_[part + 1]) ++part;
      visit(i, part, row - first_rows_[part]);
    }
    return;
  }
  BatchIndex const index(first_rows_);
  for (auto i = begin; i < end; ++i) {
    auto const row = static_cast<std::int64_t>(rows[i]);
    auto const part = static_cast<std::size_t>(index.batch_of(row));
    visit(i, part, row - first_rows_[part]);
  }
}

/// Where the positions [begin, end) of the slice lie, if they follow each other in one part.
std::optional<ValueReader::Place> ValueReader::place_of(contract::SliceRows const& rows, std::uint64_t begin,
                                                        std::uint64_t end) const noexcept {
  if (!rows.is_sequential()) return std::nullopt;
  auto const first = static_cast<std::int64_t>(rows.first_row() + begin);
  auto const part = part_of(first);
  if (part >= parts_.size() || first + static_cast<std::int64_t>(end - begin) > first_rows_[part + 1])
    return std::nullopt;
  return Place{part, first - first_rows_[part]};
}

std::uint32_t const* ValueReader::borrowed(contract::SliceRows const& rows) const noexcept {
  if (!rows.is_sequential() || derived_) return nullptr;
  if (order_ != nullptr) return reinterpret_cast<std::uint32_t const*>(order_->entries() + rows.first_row());
  auto const width = byte_width(table_.schema()[*state_.column].type);
  if (width != static_cast<std::int32_t>(4 * contract::value_words(state_.kind))) return nullptr;
  auto const place = place_of(rows, 0, rows.count);
  if (!place) return nullptr;
  auto const& from = array(place->part);
  auto const* const values = static_cast<std::byte const*>(from.values) + (from.offset + place->row) * width;
  return reinterpret_cast<std::uintptr_t>(values) % 4 == 0 ? reinterpret_cast<std::uint32_t const*>(values) : nullptr;
}

std::vector<partition::PayloadColumn::Part> ValueReader::in_place() const {
  if (contract::value_words(state_.kind) == 0 || derived_ || may_have_nulls()) return {};
  if (order_ != nullptr) return {{0, reinterpret_cast<std::byte const*>(order_->entries())}};
  auto const width = byte_width(table_.schema()[*state_.column].type);
  if (width != static_cast<std::int32_t>(4 * contract::value_words(state_.kind))) return {};
  std::vector<partition::PayloadColumn::Part> parts;
  for (std::size_t p = 0; p < parts_.size(); ++p)
    parts.push_back({static_cast<std::uint64_t>(first_rows_[p]),
                     static_cast<std::byte const*>(array(p).values) + array(p).offset * width});
  return parts;
}

bool ValueReader::reads_row_ids() const noexcept {
  auto const factors = this->factors();
  if ((!factors[0] && !factors[1]) || may_have_nulls() || !is_null_free_) return true;
  return (factors[0] && !payload_[0]) || (factors[1] && !payload_[1]);
}

void ValueReader::copy_values(contract::SliceRows const& rows, std::uint64_t begin, std::uint64_t end,
                              std::byte* out) const {
  if (order_ != nullptr) {
    auto* const entries = reinterpret_cast<UInt128*>(out);
    for (auto i = begin; i < end; ++i) entries[i] = order_->entries()[rows[i]];
    return;
  }
  if (derived_) return make_values(rows, begin, end, out);
  auto const& type = table_.schema()[*state_.column].type;
  if (type.id == TypeId::boolean) {
    visit(rows, begin, end, [&](std::uint64_t i, std::size_t part, std::int64_t row) {
      auto const& bits = array(part);
      std::uint32_t const value = get_bit(static_cast<std::uint8_t const*>(bits.values), bits.offset + row) ? 1 : 0;
      store(out, i, value);
    });
    return;
  }
  with_copy(type, contract::is_signed_integer(state_.kind), out, [&](auto const& copy) {
    if (auto const place = place_of(rows, begin, end)) {
      auto const& from = array(place->part);
      copy.run(begin, end, static_cast<std::byte const*>(from.values) + (from.offset + place->row) * copy.kWidth);
    } else if (parts_.size() == 1) {
      // By value: what is read through this would be read again for every row.
      visit(rows, begin, end,
            [copy, only = array(0)](std::uint64_t i, std::size_t, std::int64_t row) { copy(i, only, row); });
    } else {
      visit(rows, begin, end, [&](std::uint64_t i, std::size_t part, std::int64_t row) { copy(i, array(part), row); });
    }
  });
}

/// The factors' values at `count` positions from `first` on, where they follow each other.
std::optional<FactorValues> ValueReader::factor_values(contract::SliceRows const& rows, std::uint64_t first,
                                                       std::uint64_t count) const noexcept {
  auto const factors = derived_->factors();
  if (!factors[0] && !factors[1]) return std::nullopt;
  FactorValues values{};
  for (std::size_t f = 0; f < factors.size(); ++f) {
    if (!factors[f]) continue;
    auto const width = static_cast<std::uint64_t>(byte_width(table_.schema()[*factors[f]].type));
    if (rows.order != nullptr && payload_[f] && !rows.order->payload.empty()) {
      values[f] = rows.order->payload[*payload_[f]].data() + (rows.first + first) * width;
      continue;
    }
    auto const place = place_of(rows, first, first + count);
    if (!place) return std::nullopt;
    auto const& array = table_.batch(parts_[place->part]).columns[*factors[f]];
    if (array.validity != nullptr) return std::nullopt;
    values[f] =
        static_cast<std::byte const*>(array.values) + static_cast<std::uint64_t>(array.offset + place->row) * width;
  }
  // A null of a column that is no factor leaves its row out, too.
  return is_null_free_ ? std::optional(values) : std::nullopt;
}

void ValueReader::make_values(contract::SliceRows const& rows, std::uint64_t begin, std::uint64_t end,
                              std::byte* out) const {
  std::array<DerivedRow, DerivedValues::kMostRows> places;
  auto const width = 4 * std::uint64_t{contract::value_words(state_.kind)};
  for (auto first = begin; first < end; first += places.size()) {
    auto const last = std::min<std::uint64_t>(end, first + places.size());
    if (auto const values = factor_values(rows, first, last - first)) {
      derived_->make(*values, last - first, out + first * width);
      continue;
    }
    visit(rows, first, last, [&](std::uint64_t i, std::size_t part, std::int64_t row) {
      places[i - first] = {{parts_[part], row}, rows[i]};
    });
    derived_->make(std::span(places).first(last - first), out + first * width);
  }
}

/// Returns the number of nulls.
std::uint64_t ValueReader::copy_validity(contract::SliceRows const& rows, std::uint64_t begin, std::uint64_t end,
                                         std::uint32_t* out) const {
  std::fill(out + begin / 32, out + (end + 31) / 32, 0U);
  std::uint64_t valid = 0;
  auto const set = [&](std::uint64_t i, bool is_valid) {
    out[i / 32] |= static_cast<std::uint32_t>(is_valid) << (i % 32);
    valid += is_valid ? 1 : 0;
  };
  visit(rows, begin, end, [&](std::uint64_t i, std::size_t part, std::int64_t row) { set(i, !is_null(part, row)); });
  return end - begin - valid;
}

Result<contract::SliceValues> ValueReader::read(contract::SliceRows const& rows, Control const& control) const {
  contract::SliceValues slice;
  slice.input.kind = state_.kind;
  slice.input.states = state_.states;
  slice.input.order = order();
  if (state_.form == resolve::ValueForm::evaluated) slice.input.expression = state_.expression;
  if (!state_.column || slice.input.expression) return slice;
  auto const blocks = (rows.count + kBlockRows - 1) / kBlockRows;
  auto const for_blocks = [&](auto const& body) {
    return for_each_block(blocks, &control, [&](std::size_t block) {
      body(block * kBlockRows, std::min(rows.count, (block + 1) * kBlockRows));
    });
  };
  auto const words = rows.count * contract::value_words(state_.kind);
  if (words > 0) {
    auto const* values = borrowed(rows);
    if (values == nullptr) {
      GARUDA_TRY_ASSIGN(slice.values, AlignedBuffer::allocate(static_cast<std::int64_t>(words * 4)));
      GARUDA_TRY(for_blocks(
          [&](std::uint64_t begin, std::uint64_t end) { copy_values(rows, begin, end, slice.values.data()); }));
      values = slice.values.as<std::uint32_t>();
    }
    slice.input.values = {values, words};
  }
  if (!may_have_nulls()) return slice;
  auto const validity_words = (rows.count + 31) / 32;
  GARUDA_TRY_ASSIGN(slice.validity, AlignedBuffer::allocate(static_cast<std::int64_t>(validity_words * 4)));
  std::atomic<std::uint64_t> nulls{0};
  GARUDA_TRY(for_blocks([&](std::uint64_t begin, std::uint64_t end) {
    nulls += copy_validity(rows, begin, end, slice.validity.as<std::uint32_t>());
  }));
  if (nulls > 0) slice.input.validity = {slice.validity.as<std::uint32_t>(), validity_words};
  return slice;
}

void place_factors(std::vector<ValueReader>& readers, std::vector<resolve::StateColumn> const& states) {
  std::vector<partition::PayloadColumn> columns;
  for (std::size_t c = 0; c < readers.size(); ++c)
    columns.push_back({4 * contract::value_words(states[c].kind), readers[c].in_place()});
  auto const moved = partition::payload_places(columns);
  std::map<std::size_t, std::size_t> payload;  // of a column of the table
  for (std::size_t c = 0; c < readers.size(); ++c)
    // Entries of an order are no values that a product could be made of.
    if (moved[c] && states[c].kind != contract::ValueKind::bytes) payload.emplace(*states[c].column, *moved[c]);
  for (auto& reader : readers) {
    auto places = reader.factors();
    for (auto& factor : places) {
      auto const found = factor ? payload.find(*factor) : payload.end();
      factor = found != payload.end() ? std::optional(found->second) : std::nullopt;
    }
    reader.use_payload(places);
  }
}

}  // namespace garuda::group_by
