#include "keys/numbering/value_order.hpp"

#include <oneapi/tbb/parallel_sort.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <vector>

#include "core/numbers/ordered_value.hpp"
#include "core/parallel_blocks.hpp"
#include "core/type_rows.hpp"
#include "keys/numbering/value_dictionary.hpp"

namespace garuda::keys {
namespace {

constexpr std::size_t kNumberWords = 4;

/// A decimal's words, the most significant last, as a number of unsigned order.
std::array<std::uint64_t, kNumberWords> number_of(std::string_view value) noexcept {
  std::array<std::uint64_t, kNumberWords> words;
  std::memcpy(words.data(), value.data(), sizeof(words));
  words.back() = ordered_signed(words.back());
  return words;
}

struct Entry {
  std::uint64_t prefix = 0;
  std::uint64_t value = 0;  ///< one that has the code
  std::uint32_t code = 0;
};

}  // namespace

ValueOrder::ValueOrder(DataType const& type) : are_numbers_(type.id == TypeId::decimal256) {
  GARUDA_EXPECTS(are_numbers_ || type_row(type.id).family == TypeFamily::bytes);
}

bool ValueOrder::is_less(std::string_view a, std::string_view b) const noexcept {
  if (!are_numbers_) return a < b;
  auto const x = number_of(a);
  auto const y = number_of(b);
  return std::lexicographical_compare(x.rbegin(), x.rend(), y.rbegin(), y.rend());
}

std::uint64_t ValueOrder::prefix(std::string_view value) const noexcept {
  static_assert(std::endian::native == std::endian::little);
  if (are_numbers_) return number_of(value).back();
  std::uint64_t word = 0;
  if (!value.empty()) std::memcpy(&word, value.data(), std::min(value.size(), sizeof(word)));
  return __builtin_bswap64(word);
}

Result<void> order_codes(ValueBytes const& values, ValueOrder const& order, ValueCodes& codes, Control const& control) {
  auto* const of_values = codes.codes.as<std::uint32_t>();
  auto const blocks = (values.size() + kBlockRows - 1) / kBlockRows;
  auto const for_values = [&](auto const& body) {
    return for_each_block(blocks, &control, [&](std::size_t block) {
      for (auto i = block * kBlockRows; i < std::min(values.size(), (block + 1) * kBlockRows); ++i)
        if (of_values[i] != kNullCode) body(i, of_values[i]);
    });
  };
  // Any value of a code: they have the same bytes.
  std::vector<std::uint64_t> heads(codes.num_codes);
  GARUDA_TRY(for_values(
      [&](std::uint64_t i, std::uint32_t code) { std::atomic_ref(heads[code]).store(i, std::memory_order_relaxed); }));
  std::vector<Entry> entries(codes.num_codes);
  GARUDA_TRY(for_each_block((entries.size() + kBlockRows - 1) / kBlockRows, &control, [&](std::size_t block) {
    for (auto code = block * kBlockRows; code < std::min<std::uint64_t>(entries.size(), (block + 1) * kBlockRows);
         ++code)
      entries[code] = {order.prefix(values[heads[code]]), heads[code], static_cast<std::uint32_t>(code)};
  }));
  oneapi::tbb::this_task_arena::isolate([&] {
    oneapi::tbb::parallel_sort(entries.begin(), entries.end(), [&](Entry const& a, Entry const& b) {
      return a.prefix != b.prefix ? a.prefix < b.prefix : order.is_less(values[a.value], values[b.value]);
    });
  });
  std::vector<std::uint32_t> ranks(entries.size());
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) ranks[entries[rank].code] = rank;
  return for_values([&](std::uint64_t i, std::uint32_t code) { of_values[i] = ranks[code]; });
}

}  // namespace garuda::keys
