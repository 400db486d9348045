// Aggregates of all values of a group: distinct ones, quantiles, products.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "garuda/control.hpp"
#include "operators/resolve/exact_state.hpp"
#include "operators/resolve/group_by_columns.hpp"
#include "operators/resolve/nth_values.hpp"

namespace garuda::resolve {
namespace {

using MaybeGroup = std::optional<std::uint64_t>;

/// The values of a group as ordered words.
template <class Word>
std::vector<Word> values_of(FinaliseInput const& input, std::uint64_t group) {
  auto const& lists = input.state.lists;
  auto const first = lists.offsets[group];
  std::vector<Word> values(lists.offsets[group + 1] - first);
  if (!values.empty()) std::memcpy(values.data(), &lists.words[first * sizeof(Word) / 8], values.size() * sizeof(Word));
  return values;
}

/// Calls body with a null pointer to the type of the kind's ordered words.
template <class Body>
auto with_word(contract::ValueKind kind, Body const& body) {
  return contract::extreme_words(kind) == 2 ? body(static_cast<UInt128*>(nullptr))
                                            : body(static_cast<std::uint64_t*>(nullptr));
}

/// Thrown out of a sort whose run was cancelled: one group may have most values of a table.
struct SortCancelled {};

/// Comparisons between two looks at the cancellation flag: milliseconds, of strings some tens.
constexpr std::uint32_t kComparisons = std::uint32_t{1} << 18;

/// Compares the words of values, and throws SortCancelled.
template <class Word>
class Less {
 public:
  Less(FinaliseInput const& input, std::uint32_t& comparisons)
      : order_(input.order), control_(input.control), comparisons_(&comparisons) {}

  bool operator()(Word a, Word b) const {
    if (++*comparisons_ % kComparisons == 0 && control_ != nullptr && control_->is_cancelled()) throw SortCancelled();
    return order_ != nullptr ? order_->is_less(a, b) : a < b;
  }

 private:
  keys::ColumnOrder const* order_;
  Control const* control_;
  std::uint32_t* comparisons_;  ///< algorithms copy what compares
};

/// Calls `body`, which a cancelled sort ends: then nothing that it writes is of use.
template <class Body>
void unless_cancelled(Body const& body) {
  try {
    body();
  } catch (SortCancelled const&) {
    return;
  }
}

template <class Word>
UInt128 bits_of(Word ordered, contract::ValueKind kind) {
  std::uint64_t words[2] = {};
  std::memcpy(words, &ordered, sizeof(ordered));
  return value_bits(words, kind);
}

/// A number as float64.
double number_of(UInt128 bits, FinaliseInput const& input) {
  using K = contract::ValueKind;
  auto const low = static_cast<std::uint64_t>(bits);
  switch (input.kind) {
    case K::float32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(low));
    case K::float64:
      return std::bit_cast<double>(low);
    case K::uint32:
    case K::uint64:
      return static_cast<double>(low);
    case K::int32:
      return scaled(static_cast<std::int32_t>(low), input.input.scale);
    case K::int64:
      return scaled(static_cast<double>(static_cast<std::int64_t>(low)), input.input.scale);
    case K::bytes: {
      auto const words = input.order->wide_decimal(bits);
      return scaled(BigInteger(words, true).round(0), input.input.scale);
    }
    case K::int128:
    case K::none:
      break;
  }
  return scaled(static_cast<double>(static_cast<Int128>(bits)), input.input.scale);
}

/// Interpolates as numpy's linear method does.
double interpolate(double low, double high, double share) {
  if (share == 0 || low == high) return low;
  auto const difference = high - low;
  return share >= 0.5 ? high - difference * (1 - share) : low + difference * share;
}

/// Calls write(i, the value at the quantile's place, the next one, how far between them it is) for groups with values.
template <class Write>
void for_quantiles(FinaliseInput const& input, GroupRange const& groups, FinaliseOutput const& out,
                   Write const& write) {
  auto const& lists = input.state.lists;
  std::vector<std::uint64_t> room;
  std::uint32_t comparisons = 0;
  with_word(input.kind, [&]<class Word>(Word*) {
    for (std::uint64_t i = 0; i < groups.count; ++i) {
      auto const first = lists.offsets[groups[i]];
      auto const size = lists.offsets[groups[i] + 1] - first;
      if (out.is_null(i) || size == 0) continue;
      auto const place = input.aggregate->quantile * static_cast<double>(size - 1);
      auto const below = std::floor(place);
      auto const at = static_cast<std::size_t>(below);
      auto const found = [&] {
        if constexpr (std::is_same_v<Word, std::uint64_t>)
          if (input.order == nullptr) return nth_words(std::span(lists.words.data() + first, size), at, room);
        auto values = values_of<Word>(input, groups[i]);
        return nth_values(std::span(values), at, Less<Word>(input, comparisons));
      }();
      write(i, bits_of(found.value, input.kind), bits_of(found.next, input.kind), place - below);
    }
  });
}

/// The largest magnitude of a product.
UInt128 most_of_product(contract::ValueKind kind) noexcept {
  return contract::is_signed_integer(kind) ? std::uint64_t{1} << 63 : std::numeric_limits<std::uint64_t>::max();
}

}  // namespace

MaybeGroup finalise_quantile(FinaliseInput const& input, GroupRange const& groups, FinaliseOutput const& out) {
  unless_cancelled([&] {
    for_quantiles(input, groups, out, [&](std::uint64_t i, UInt128 low, UInt128 high, double share) {
      out.put(i, canonical(interpolate(number_of(low, input), number_of(high, input), share)));
    });
  });
  return std::nullopt;
}

MaybeGroup finalise_quantile_value(FinaliseInput const& input, GroupRange const& groups, FinaliseOutput const& out) {
  auto const width = static_cast<std::size_t>(byte_width(input.result));
  unless_cancelled([&] {
    for_quantiles(input, groups, out, [&](std::uint64_t i, UInt128 low, UInt128, double) {
      std::memcpy(out.values + i * width, &low, width);  // little endian: the lowest bytes
    });
  });
  return std::nullopt;
}

MaybeGroup finalise_distinct(FinaliseInput const& input, GroupRange const& groups, FinaliseOutput const& out) {
  with_word(input.kind, [&]<class Word>(Word*) {
    std::uint32_t comparisons = 0;
    Less<Word> const is_less(input, comparisons);
    unless_cancelled([&] {
      for (std::uint64_t i = 0; i < groups.count; ++i) {
        auto values = values_of<Word>(input, groups[i]);
        std::ranges::sort(values, is_less);
        std::int64_t distinct = values.empty() ? 0 : 1;
        for (std::size_t v = 1; v < values.size(); ++v) distinct += is_less(values[v - 1], values[v]) ? 1 : 0;
        out.put(i, distinct);
      }
    });
  });
  return std::nullopt;
}

Product product_of(FinaliseInput const& input, std::uint64_t group) {
  bool const is_signed = contract::is_signed_integer(input.kind);
  auto const most = most_of_product(input.kind);
  Product product;
  for (auto const word : values_of<std::uint64_t>(input, group)) {
    auto bits = static_cast<std::uint64_t>(value_bits(&word, input.kind));
    if (input.kind == contract::ValueKind::int32)
      bits = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(bits)});
    bool const flips = is_signed && bits >> 63 != 0;
    product.is_negative = product.is_negative != flips;
    product.magnitude = std::min(product.magnitude, most + 1) * (flips ? ~bits + 1 : bits);
  }
  product.magnitude = std::min(product.magnitude, most + 1);
  return product;
}

bool put_product(Product const& product, contract::ValueKind kind, std::uint64_t i, FinaliseOutput const& out) {
  auto const most = most_of_product(kind);
  bool const is_signed = contract::is_signed_integer(kind);
  if (product.magnitude > most || (is_signed && product.magnitude == most && !product.is_negative)) return false;
  auto const low = static_cast<std::uint64_t>(product.magnitude);
  out.put(i, product.is_negative ? ~low + 1 : low);
  return true;
}

MaybeGroup finalise_product(FinaliseInput const& input, GroupRange const& groups, FinaliseOutput const& out) {
  for (std::uint64_t i = 0; i < groups.count; ++i)
    if (!put_product(product_of(input, groups[i]), input.kind, i, out)) return groups[i];
  return std::nullopt;
}

}  // namespace garuda::resolve
