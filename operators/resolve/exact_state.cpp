#include "operators/resolve/exact_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "core/numbers/float_parts.hpp"
#include "operators/resolve/aggregates.hpp"

namespace garuda::resolve {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kProductFlag = 1;
constexpr std::uint8_t kNegativeFlag = 0x80;
/// version, flags, special, words of the sums, count, exponents
constexpr std::size_t kHeaderBytes = 3 + kStateSums + sizeof(std::uint64_t) + 2 * sizeof(std::int32_t);
/// Exponents that products of float64 can have, and more.
constexpr std::int32_t kMostExponent = 4096;

/// A float sum of windows, over the kind's unit.
BigInteger window_sum(contract::FloatSums const& sums, std::uint64_t group) {
  BigInteger total;
  auto const first = sums.offsets[group];
  for (auto w = first; w < sums.offsets[group + 1]; ++w) {
    BigInteger const window(std::span(&sums.windows[2 * w], 2), true);
    total = total + (window << static_cast<std::uint32_t>(64 * (sums.first_window[group] + (w - first))));
  }
  return total;
}

void set_sum_state(FinaliseInput const& input, std::uint64_t group, ExactState& state) {
  auto const& from = input.state;
  if (!contract::is_float(input.kind)) {
    state[StateSum::x] = IntegerSums(from, input.kind).exact(group);
  } else if (from.sum_exponent) {
    state[StateSum::x] = IntegerSums(from, input.kind).exact(group);
    state.exponents = {*from.sum_exponent, *from.sum_exponent};
  } else {
    state[StateSum::x] = window_sum(from.float_sums, group);
    state.special = from.float_sums.flags[group];
    state.exponents = {contract::unit_exponent(input.kind), contract::unit_exponent(input.kind)};
  }
}

void set_moment_state(FinaliseInput const& input, std::uint64_t group, ExactState& state) {
  auto const& moments = input.aggregate->moments;
  bool const has_second = !moments.y.parts.empty();
  state.exponents = {moments.x.exponent, has_second ? moments.y.exponent : moments.x.exponent};
  auto const set = [&](StateSum sum, ExactSum const& from) {
    if (!from.parts.empty()) state[sum] = sum_of(input, from, group);
  };
  set(StateSum::x, moments.x);
  set(StateSum::y, moments.y);
  set(StateSum::xy, moments.xy);
  set(StateSum::xx, moments.xx);
  set(StateSum::yy, moments.yy);
  if (has_special_value(input, group)) state.special = kNotANumber;
}

/// Bits by which each sum of units 2^exponents is shifted to count units of 2^lower. Requires: lower <= exponents.
std::array<std::uint32_t, kStateSums> shifts_to(std::array<std::int32_t, 2> const& exponents,
                                                std::array<std::int32_t, 2> const& lower) {
  auto const x = static_cast<std::uint32_t>(exponents[0] - lower[0]);
  auto const y = static_cast<std::uint32_t>(exponents[1] - lower[1]);
  return {x, y, x + y, 2 * x, 2 * y};
}

/// Counts the state's sums in units of 2^lower, which are at most its own.
void rescale(ExactState& state, std::array<std::int32_t, 2> const& lower) {
  auto const shifts = shifts_to(state.exponents, lower);
  state.exponents = lower;
  if (shifts[0] == 0 && shifts[1] == 0) return;
  for (std::size_t s = 0; s < kStateSums; ++s) state.sums[s] = state.sums[s] << shifts[s];
}

/// The product, with every magnitude beyond 64 bits as 2^64: it is beyond every type, whatever follows but a zero.
BigInteger bounded(BigInteger const& product) {
  constexpr std::uint32_t kBits = 64;
  if (product.bit_width() <= kBits) return product;
  auto const most = BigInteger(1) << kBits;
  return product.is_negative() ? -most : most;
}

template <class T>
void put(T const& value, std::byte*& to) {
  std::memcpy(to, &value, sizeof(T));
  to += sizeof(T);
}

template <class T>
T take(std::span<std::byte const>& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  bytes = bytes.subspan(sizeof(T));
  return value;
}

tl::unexpected<Error> damaged(std::string_view what, std::size_t value) {
  return fail(ErrorCode::invalid_input, fmt::format("not the exact state of an aggregate, by its {}: {}", what, value));
}

/// The form of a state, its words not looked at.
struct Header {
  bool is_product = false;
  std::uint8_t special = 0;
  std::array<std::uint8_t, kStateSums> sizes{};
  std::uint64_t count = 0;
  std::array<std::int32_t, 2> exponents{};
  std::span<std::byte const> words;  ///< of all sums

  std::size_t num_words(std::size_t sum) const noexcept { return sizes[sum] & ~std::size_t{kNegativeFlag}; }
  bool is_negative(std::size_t sum) const noexcept { return (sizes[sum] & kNegativeFlag) != 0; }
};

Result<Header> read_header(std::span<std::byte const> bytes) {
  if (bytes.size() < kHeaderBytes) return damaged("size", bytes.size());
  auto const version = take<std::uint8_t>(bytes);
  if (version != kVersion) return damaged("version", version);
  Header header;
  auto const flags = take<std::uint8_t>(bytes);
  if (flags > kProductFlag) return damaged("flags", flags);
  header.is_product = flags == kProductFlag;
  header.special = take<std::uint8_t>(bytes);
  header.sizes = take<std::array<std::uint8_t, kStateSums>>(bytes);
  std::size_t total = 0;
  for (std::size_t s = 0; s < kStateSums; ++s) {
    auto const words = header.num_words(s);
    if (words > BigInteger::kMostWords) return damaged("words", words);
    total += words;
  }
  header.count = take<std::uint64_t>(bytes);
  for (auto& exponent : header.exponents) {
    exponent = take<std::int32_t>(bytes);
    if (exponent < -kMostExponent || exponent > kMostExponent)
      return damaged("exponent", static_cast<std::size_t>(std::abs(std::int64_t{exponent})));
  }
  if (bytes.size() != total * sizeof(std::uint64_t)) return damaged("size", bytes.size());
  header.words = bytes;
  return header;
}

/// Sums of few words, as most are, added up in place.
class ShortSums {
 public:
  /// Counts sums in units of 2^exponents.
  explicit ShortSums(std::array<std::int32_t, 2> const& exponents) : exponents_(exponents) {}

  /// False, and nothing more is to be done here: one of the sums is longer, or a product. Requires: units are no less.
  bool add(Header const& state) {
    if (state.is_product) return false;
    auto const shifts = shifts_to(state.exponents, exponents_);
    auto words = state.words;
    for (std::size_t s = 0; s < kStateSums; ++s) {
      auto const count = state.num_words(s);
      if (count == 0) continue;
      auto const skipped = shifts[s] / 64;
      auto const shift = shifts[s] % 64;
      if (count + skipped + (shift != 0 ? 1 : 0) > kMostShortWords) return false;
      Int128 carry = 0;
      std::uint64_t from_below = 0;
      for (std::size_t w = skipped; w < kWords; ++w) {
        auto const word = w < skipped + count ? take<std::uint64_t>(words) : 0;
        auto const shifted = Int128{word << shift | from_below};
        from_below = shift == 0 ? 0 : word >> (64 - shift);
        carry += Int128{sums_[s][w]} + (state.is_negative(s) ? -shifted : shifted);
        sums_[s][w] = static_cast<std::uint64_t>(carry);
        carry >>= 64;
      }
    }
    count_ += state.count;
    special_ |= state.special;
    return true;
  }

  ExactState state() const {
    ExactState state;
    state.count = count_;
    state.special = special_;
    state.exponents = exponents_;
    for (std::size_t s = 0; s < kStateSums; ++s) state.sums[s] = BigInteger(sums_[s], true);
    return state;
  }

 private:
  /// One word more, for the sign and for more additions than there can be.
  static constexpr std::size_t kMostShortWords = 3;
  static constexpr std::size_t kWords = kMostShortWords + 1;

  std::array<std::int32_t, 2> exponents_;
  std::uint64_t count_ = 0;
  std::uint8_t special_ = 0;
  std::array<std::array<std::uint64_t, kWords>, kStateSums> sums_{};
};

/// The states' merged one; nullopt: it is not one of ShortSums.
Result<std::optional<ExactState>> merged_short(std::span<std::span<std::byte const> const> states) {
  auto exponents = std::array{kMostExponent, kMostExponent};
  for (auto const bytes : states) {
    GARUDA_TRY_ASSIGN(auto const header, read_header(bytes));
    for (std::size_t i = 0; i < exponents.size(); ++i) exponents[i] = std::min(exponents[i], header.exponents[i]);
  }
  ShortSums sums(exponents);
  for (auto const bytes : states) {
    GARUDA_TRY_ASSIGN(auto const header, read_header(bytes));
    if (!sums.add(header)) return std::nullopt;
  }
  return sums.state();
}

}  // namespace

bool has_exact_state(AggregateRow const& row) noexcept {
  if (row.finalise == nullptr) return false;
  return row.making == Making::moments || row.function == AggregateFunction::product ||
         (row.making == Making::column && (row.states & contract::kSumState) != 0);
}

ExactState exact_state_of(FinaliseInput const& input, std::uint64_t group) {
  ExactState state;
  switch (input.aggregate->row->making) {
    case Making::list: {
      auto const product = product_of(input, group);
      auto const& offsets = input.state.lists.offsets;
      state.is_product = true;
      state.count = offsets[group + 1] - offsets[group];
      std::array const words{static_cast<std::uint64_t>(product.magnitude),
                             static_cast<std::uint64_t>(product.magnitude >> 64)};
      auto const magnitude = BigInteger(words, false);
      state[StateSum::x] = bounded(product.is_negative ? -magnitude : magnitude);
      return state;
    }
    case Making::moments:
      set_moment_state(input, group, state);
      break;
    default:
      set_sum_state(input, group, state);
      break;
  }
  state.count = input.state.counts[group];
  return state;
}

void ExactState::merge(ExactState const& other) {
  GARUDA_EXPECTS(is_product == other.is_product);
  auto addend = other;
  if (is_product) {
    (*this)[StateSum::x] = bounded((*this)[StateSum::x] * other[StateSum::x]);
  } else {
    std::array const lower{std::min(exponents[0], other.exponents[0]), std::min(exponents[1], other.exponents[1])};
    rescale(*this, lower);
    rescale(addend, lower);
    for (std::size_t s = 0; s < kStateSums; ++s) sums[s] = sums[s] + addend.sums[s];
  }
  count += other.count;
  special |= other.special;
}

void append_exact_state(ExactState const& state, std::vector<std::byte>& bytes) {
  static_assert(BigInteger::kMostWords < kNegativeFlag);
  std::size_t words = 0;
  for (auto const& sum : state.sums) words += sum.magnitude().size();
  auto const begin = bytes.size();
  bytes.resize(begin + kHeaderBytes + words * sizeof(std::uint64_t));
  auto* to = bytes.data() + begin;
  put(kVersion, to);
  put(static_cast<std::uint8_t>(state.is_product ? kProductFlag : 0), to);
  put(state.special, to);
  for (auto const& sum : state.sums)
    put(static_cast<std::uint8_t>(sum.magnitude().size() | (sum.is_negative() ? kNegativeFlag : 0)), to);
  put(state.count, to);
  for (auto const exponent : state.exponents) put(exponent, to);
  for (auto const& sum : state.sums)
    for (auto const word : sum.magnitude()) put(word, to);
}

Result<ExactState> read_exact_state(std::span<std::byte const> bytes) {
  GARUDA_TRY_ASSIGN(auto header, read_header(bytes));
  ExactState state;
  state.is_product = header.is_product;
  state.special = header.special;
  state.count = header.count;
  state.exponents = header.exponents;
  std::array<std::uint64_t, BigInteger::kMostWords> words{};
  for (std::size_t s = 0; s < kStateSums; ++s) {
    auto const count = header.num_words(s);
    if (count == 0) continue;
    for (std::size_t w = 0; w < count; ++w) words[w] = take<std::uint64_t>(header.words);
    auto const magnitude = BigInteger(std::span(words).first(count), false);
    state.sums[s] = header.is_negative(s) ? -magnitude : magnitude;
  }
  return state;
}

Result<void> append_merged(std::span<std::span<std::byte const> const> states, std::vector<std::byte>& bytes) {
  GARUDA_TRY_ASSIGN(auto const short_one, merged_short(states));
  if (short_one) {
    append_exact_state(*short_one, bytes);
    return {};
  }
  GARUDA_TRY_ASSIGN(auto merged, read_exact_state(states.front()));
  for (auto const more : states.subspan(1)) {
    GARUDA_TRY_ASSIGN(auto const state, read_exact_state(more));
    if (state.is_product != merged.is_product)
      return fail(ErrorCode::invalid_input, "states of different aggregates are in one column");
    merged.merge(state);
  }
  append_exact_state(merged, bytes);
  return {};
}

StateValues::StateValues(ResolvedAggregate aggregate, DataType const& second)
    : aggregate_(std::move(aggregate)), kind_(value_source(aggregate_.input).kind), states_(kStateSums + 1) {
  if (aggregate_.row->making != Making::moments) return;
  auto const part = [](StateSum sum) {
    ExactSum one;
    one.parts.push_back({static_cast<std::size_t>(sum), contract::ValueKind::int128});
    return one;
  };
  auto& moments = aggregate_.moments;
  moments = {};
  moments.x = part(StateSum::x);
  moments.xy = part(StateSum::xy);
  if (aggregate_.second) moments.y = part(StateSum::y);
  moments.xx = part(StateSum::xx);
  moments.yy = part(StateSum::yy);
  moments.special = kStateSums;
  moments.scale = aggregate_.input.scale + (aggregate_.second ? second : aggregate_.input).scale;
}

void StateValues::set_sum(std::size_t place, BigInteger const& sum) {
  auto& state = states_[place];
  // Words of integers as finalisers take them: signed, and two at least.
  state.sums.resize(std::max<std::size_t>(sum.magnitude().size() + 1, 2));
  sum.write(state.sums);
  state.words_per_sum = static_cast<std::uint32_t>(state.sums.size());
}

/// Windows hold their words' sign, since they are added up as signed ones.
void StateValues::set_windows(ExactState const& state) {
  auto const unit = contract::unit_exponent(kind_);
  auto const& sum = state[StateSum::x];
  auto const scaled = sum << static_cast<std::uint32_t>(state.exponents[0] - unit);
  auto& sums = states_[0].float_sums;
  sums.flags = {state.special};
  sums.first_window = {0};
  sums.windows.clear();
  for (auto const word : scaled.magnitude()) {
    auto const window = scaled.is_negative() ? -static_cast<Int128>(word) : static_cast<Int128>(word);
    sums.windows.push_back(static_cast<std::uint64_t>(window));
    sums.windows.push_back(static_cast<std::uint64_t>(static_cast<UInt128>(window) >> 64));
  }
  sums.offsets = {0, sums.windows.size() / 2};
}

void StateValues::set_moments(ExactState const& state) {
  for (std::size_t s = 0; s < kStateSums; ++s) set_sum(s, state.sums[s]);
  states_[kStateSums].maxima = {state.special != 0 ? std::uint64_t{1} : 0};
  auto const [x, y] = state.exponents;
  auto& moments = aggregate_.moments;
  moments.x.exponent = x;
  moments.y.exponent = y;
  moments.xy.exponent = x + y;
  moments.xx.exponent = 2 * x;
  moments.yy.exponent = 2 * y;
}

StateValues::Made StateValues::write(ExactState const& state, std::uint64_t i, std::byte* values) {
  if (state.count < aggregate_.row->least_values) return Made::null;
  auto const width = static_cast<std::size_t>(byte_width(aggregate_.result));
  std::uint8_t validity = 1;
  FinaliseOutput const out{values + i * width, &validity};
  if (state.is_product) {
    auto const magnitude = state[StateSum::x].magnitude();
    Product product;
    product.magnitude = magnitude.empty() ? 0 : magnitude[0];
    if (magnitude.size() > 1) product.magnitude |= UInt128{magnitude[1]} << 64;
    product.is_negative = state[StateSum::x].is_negative();
    return put_product(product, kind_, 0, out) ? Made::value : Made::overflow;
  }
  for (auto& own : states_) own.counts = {state.count};
  if (aggregate_.row->making == Making::moments)
    set_moments(state);
  else if (contract::is_float(kind_))
    set_windows(state);
  else
    set_sum(0, state[StateSum::x]);
  FinaliseInput const input{states_[0], kind_, aggregate_.input, aggregate_.result, states_, &aggregate_, nullptr};
  if (aggregate_.row->finalise(input, GroupRange{0, 1}, out)) return Made::overflow;
  return out.is_null(0) ? Made::null : Made::value;
}

}  // namespace garuda::resolve
