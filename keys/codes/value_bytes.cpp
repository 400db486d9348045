#include "keys/codes/value_bytes.hpp"

#include <bit>
#include <cstring>
#include <utility>

#include "core/load.hpp"
#include "core/numbers/ordered_value.hpp"

namespace garuda::keys {
namespace {

/// Copies the floats of `from` in canonical form. `canonical` maps the bits of one.
template <class Bits, class Canonical>
void copy_canonical(ArrayView const& from, std::byte* to, Canonical canonical) {
  auto const* const values = static_cast<std::byte const*>(from.values) + from.offset * sizeof(Bits);
  for (std::int64_t i = 0; i < from.length; ++i) {
    Bits bits;
    std::memcpy(&bits, values + i * sizeof(Bits), sizeof(Bits));
    bits = canonical(bits);
    std::memcpy(to + i * sizeof(Bits), &bits, sizeof(Bits));
  }
}

void copy_canonical(TypeId type, ArrayView const& from, std::byte* to) {
  if (type == TypeId::float16)
    copy_canonical<std::uint16_t>(from, to, [](std::uint16_t bits) { return canonical_half(bits); });
  else if (type == TypeId::float32)
    copy_canonical<std::uint32_t>(from, to,
                                  [](std::uint32_t bits) { return canonical_bits(std::bit_cast<float>(bits)); });
  else
    copy_canonical<std::uint64_t>(from, to,
                                  [](std::uint64_t bits) { return canonical_bits(std::bit_cast<double>(bits)); });
}

using Decimal = std::array<std::uint64_t, 4>;

/// Words and their bytes the other way round; the sign, in the highest bit before or after, flipped.
Decimal turned(Decimal from, bool sign_is_first) noexcept {
  constexpr auto kSign = std::uint64_t{1} << 63;
  if (!sign_is_first) from[3] ^= kSign;
  Decimal to;
  for (std::size_t w = 0; w < to.size(); ++w) to[w] = __builtin_bswap64(from[3 - w]);
  if (sign_is_first) to[3] ^= kSign;
  return to;
}

}  // namespace

Decimal decimal_of_order(std::string_view bytes) noexcept {
  return turned(load<Decimal>(reinterpret_cast<std::byte const*>(bytes.data()), 0), true);
}

Result<AlignedBuffer> canonical_floats(ArrayView const& array, TypeId type) {
  GARUDA_EXPECTS(is_float_type(type));
  GARUDA_TRY_ASSIGN(auto buffer, AlignedBuffer::allocate(array.length * byte_width(DataType{type})));
  copy_canonical(type, array, buffer.data());
  return buffer;
}

Result<void> ValueBytes::add(std::vector<ArrayView> const& parts, DataType const& type) {
  GARUDA_EXPECTS(type.id != TypeId::dictionary);
  for (auto const& array : parts) {
    if (array.length == 0) continue;
    Part part{array, std::nullopt, byte_width(type), array.offset};
    if (is_variable_width(type) || is_view(type)) part.layout = value_layout(type);
    AlignedBuffer copy;
    if (is_float_type(type.id)) {
      GARUDA_TRY_ASSIGN(copy, canonical_floats(array, type.id));
    }
    add(std::move(part), std::move(copy));
  }
  return {};
}

Result<void> ValueBytes::add_in_order(std::vector<ArrayView> const& parts) {
  for (auto const& array : parts) {
    if (array.length == 0) continue;
    GARUDA_TRY_ASSIGN(auto copy, AlignedBuffer::allocate(array.length * static_cast<std::int64_t>(sizeof(Decimal))));
    for (std::int64_t i = 0; i < array.length; ++i)
      store(copy.data(), static_cast<std::size_t>(i),
            turned(load<Decimal>(static_cast<std::byte const*>(array.values), array.offset + i), false));
    add({array, std::nullopt, sizeof(Decimal), array.offset}, std::move(copy));
  }
  return {};
}

/// `copy`: of the part's values, or empty.
void ValueBytes::add(Part part, AlignedBuffer copy) {
  first_.push_back(first_.back() + static_cast<std::uint64_t>(part.array.length));
  if (copy.size_bytes() > 0) {
    part.array.values = copy.data();
    part.value_offset = 0;
    copies_.push_back(std::move(copy));
  }
  parts_.push_back(std::move(part));
}

}  // namespace garuda::keys
