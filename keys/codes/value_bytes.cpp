#include "keys/codes/value_bytes.hpp"

#include <bit>
#include <cstring>
#include <utility>

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

}  // namespace

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
    if (is_float_type(type.id)) {
      GARUDA_TRY_ASSIGN(auto buffer, canonical_floats(array, type.id));
      part.array.values = buffer.data();
      part.value_offset = 0;
      canonical_.push_back(std::move(buffer));
    }
    parts_.push_back(part);
    first_.push_back(first_.back() + static_cast<std::uint64_t>(array.length));
  }
  return {};
}

}  // namespace garuda::keys
