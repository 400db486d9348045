// Casts from text, to text, and between texts and binary.
#include <utf8proc.h>

#include <limits>
#include <type_traits>

#include "core/numbers/half_float.hpp"
#include "core/type_rows.hpp"
#include "expr/functions/integer_bits.hpp"
#include "expr/functions/step_functions.hpp"
#include "expr/functions/value_text.hpp"
#include "expr/functions/wide_decimal.hpp"

namespace garuda::expr {
namespace {

using Text = std::string_view;

Outcome read_if(bool is_read) noexcept { return is_read ? Outcome::fine : Outcome::undefined; }

bool is_utf8(Text text) noexcept {
  auto const* at = reinterpret_cast<utf8proc_uint8_t const*>(text.data());
  auto left = static_cast<utf8proc_ssize_t>(text.size());
  while (left > 0) {
    utf8proc_int32_t code_point = 0;
    auto const bytes = utf8proc_iterate(at, left, &code_point);
    if (bytes <= 0) return false;
    at += bytes;
    left -= bytes;
  }
  return true;
}

/// Bytes stay where they are; those that become text have to be UTF-8.
void cast_bytes(StepFrame const& frame) {
  bool const is_checked = is_text(frame.detail->result.id) && !is_text(frame.detail->operands[0].id);
  map_partial<Text, Text>(frame, [&](Text from, Text& to) {
    to = from;
    return read_if(!is_checked || is_utf8(from));
  });
}

void read_decimals(StepFrame const& frame) {
  auto const& type = frame.detail->result;
  auto const beyond = power_of_ten(type.precision);
  map_partial<Text, Int128>(frame, [&](Text from, Int128& to) {
    return read_if(read_decimal(from, type.scale, to) && has_digits(to, beyond));
  });
}

void read_times(StepFrame const& frame) {
  auto const& type = frame.detail->result;
  auto const put = [&]<class To>(To) {
    map_partial<Text, To>(frame, [&](Text from, To& to) {
      std::int64_t value = 0;
      bool const is_read = read_time(from, type, value);
      to = static_cast<To>(value);
      return read_if(is_read && to == value);
    });
  };
  frame.step.result == Kind::int32 ? put(std::int32_t{}) : put(std::int64_t{});
}

template <class To>
Outcome read_number(Text from, std::uint8_t bits, To& to) {
  if constexpr (std::is_floating_point_v<To>) {
    if (bits != 16) return read_if(read_float(from, to));
    double wide = 0;
    bool const is_read = read_float(from, wide);
    to = static_cast<To>(nearest_half(wide));
    return read_if(is_read);
  } else {
    Int128 whole = 0;
    bool const is_read = read_integer(from, whole);
    to = static_cast<To>(whole);
    return read_if(is_read && Int128{to} == whole && narrow(to, bits) == Outcome::fine);
  }
}

/// Writes texts of at most kMostNumberBytes bytes: write(value, begin) returns the end.
template <class From, class Write>
void write_texts(StepFrame const& frame, Write const& write) {
  std::memset(frame.failed, 0, frame.count);
  map_total<From, Text>(frame, [&](From from) {
    auto* const begin = frame.arena->room(kMostNumberBytes);
    return frame.arena->keep(static_cast<std::size_t>(write(from, begin) - begin));
  });
}

}  // namespace

void cast_from_text(StepFrame const& frame) {
  auto const family = type_row(frame.detail->result.id).family;
  if (frame.step.result == Kind::bytes) return cast_bytes(frame);
  if (frame.step.result == Kind::int128) return read_decimals(frame);
  if (family == TypeFamily::temporal) return read_times(frame);
  if (frame.step.result == Kind::boolean)
    return map_partial<Text, std::uint8_t>(frame,
                                           [](Text from, std::uint8_t& to) { return read_if(read_boolean(from, to)); });
  with_machine_kind(frame.step.result, [&]<class To>(To) {
    map_partial<Text, To>(frame, [&](Text from, To& to) { return read_number(from, frame.step.bits, to); });
  });
}

void cast_to_text(StepFrame const& frame) {
  auto const& type = frame.detail->operands[0];
  if (frame.step.operands == Kind::int128)
    return write_texts<Int128>(frame, [&](Int128 from, char* to) { return write_decimal(from, type.scale, to); });
  bool const is_temporal = type_row(type.id).family == TypeFamily::temporal;
  with_machine_kind(frame.step.operands, [&]<class From>(From) {
    write_texts<From>(frame, [&](From from, char* to) {
      if constexpr (std::is_floating_point_v<From>) return write_float(from, to);
      if (is_temporal) return write_time(static_cast<std::int64_t>(from), type, to);
      if (type.id == TypeId::boolean) {
        Text const name = from != 0 ? "true" : "false";
        return std::copy(name.begin(), name.end(), to);
      }
      return write_decimal(static_cast<Int128>(from), 0, to);
    });
  });
}

}  // namespace garuda::expr
