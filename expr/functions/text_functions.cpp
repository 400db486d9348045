// Functions of texts and binary. Invalid UTF-8 gives some text, and never reads beyond the bytes of its value.
#include <utf8proc.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "expr/functions/patterns.hpp"
#include "expr/functions/step_functions.hpp"

namespace garuda::expr {
namespace {

using Text = std::string_view;

bool is_lead(char c) noexcept { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

constexpr std::uint64_t kLowestBits = 0x0101'0101'0101'0101;

/// A one in each of eight bytes that begins no code point: these have the bits 10 in front.
std::uint64_t others_of(std::uint64_t bytes) noexcept { return bytes >> 7 & ~(bytes >> 6) & kLowestBits; }

/// The sum of eight bytes. A product of words of 16 bits has it: not every processor that this runs on counts bits.
std::uint64_t sum_of_bytes(std::uint64_t bytes) noexcept {
  constexpr std::uint64_t kEven = 0x00FF'00FF'00FF'00FF;
  constexpr std::uint64_t kLowestOfPairs = 0x0001'0001'0001'0001;
  return ((bytes & kEven) + (bytes >> 8 & kEven)) * kLowestOfPairs >> 48;
}

std::int64_t code_points(Text text) noexcept {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  constexpr std::size_t kMostWords = 255;  // whose ones a byte counts
  auto const size = text.size();
  if (size < kWord) return std::ranges::count_if(text, is_lead);
  auto const word_at = [&](std::size_t at) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, kWord);
    return word;
  };
  std::uint64_t others = 0;
  for (std::size_t at = 0; at + kWord <= size;) {
    std::uint64_t ones = 0;
    for (auto const end = std::min(size / kWord * kWord, at + kMostWords * kWord); at < end; at += kWord)
      ones += others_of(word_at(at));
    others += sum_of_bytes(ones);
  }
  // The last word, without the bytes that were looked at.
  if (auto const rest = size % kWord; rest != 0)
    others += sum_of_bytes(others_of(word_at(size - kWord) >> 8 * (kWord - rest)));
  return static_cast<std::int64_t>(size - others);
}

bool is_ascii(Text text) noexcept {
  unsigned char bits = 0;
  for (auto const c : text) bits |= static_cast<unsigned char>(c);
  return bits < 0x80;
}

/// Bytes of the first `count` code points.
std::size_t bytes_of(Text text, std::int64_t count) noexcept {
  std::size_t at = 0;
  for (; count > 0 && at < text.size(); --count) at += code_point_bytes(text[at]);
  return std::min(at, text.size());
}

/// The code points at positions [start, start + length), from 1 on.
Outcome substring_of(Text text, std::int64_t start, std::int64_t length, Text& result) noexcept {
  result = {};
  if (length < 0) return Outcome::undefined;
  // Positions before 1 are passed over; neither sum overflows.
  if (start < 1) {
    if (start <= 1 - length) return Outcome::fine;
    length += start - 1;
    start = 1;
  }
  if (is_ascii(text)) {
    if (static_cast<std::uint64_t>(start) > text.size()) return Outcome::fine;
    result = text.substr(static_cast<std::size_t>(start - 1), static_cast<std::size_t>(length));
    return Outcome::fine;
  }
  text.remove_prefix(bytes_of(text, start - 1));
  result = text.substr(0, bytes_of(text, length));
  return Outcome::fine;
}

/// Each code point's other case; bytes that are no UTF-8 stay.
Text in_case(Text text, bool is_upper, TextArena& arena) {
  if (text.empty()) return text;
  if (is_ascii(text)) {
    auto* const to = arena.room(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
      auto const c = static_cast<unsigned char>(text[i]);
      bool const changes = is_upper ? c >= 'a' && c <= 'z' : c >= 'A' && c <= 'Z';
      to[i] = static_cast<char>(changes ? c ^ 0x20 : c);
    }
    return arena.keep(text.size());
  }
  constexpr std::size_t kMostBytes = 4;
  auto* const begin = reinterpret_cast<utf8proc_uint8_t*>(arena.room(text.size() * kMostBytes));
  auto* to = begin;
  auto const* const bytes = reinterpret_cast<utf8proc_uint8_t const*>(text.data());
  for (std::size_t i = 0; i < text.size();) {
    utf8proc_int32_t code_point = 0;
    auto const read = utf8proc_iterate(bytes + i, static_cast<utf8proc_ssize_t>(text.size() - i), &code_point);
    if (read <= 0) {
      *to++ = bytes[i++];
      continue;
    }
    to += utf8proc_encode_char(is_upper ? utf8proc_toupper(code_point) : utf8proc_tolower(code_point), to);
    i += static_cast<std::size_t>(read);
  }
  return arena.keep(static_cast<std::size_t>(to - begin));
}

/// Whether `characters` has the code point that `text` begins with, which has `bytes` bytes.
bool has_character(Text characters, Text text, std::size_t bytes) noexcept {
  for (std::size_t i = 0; i < characters.size(); i += code_point_bytes(characters[i]))
    if (characters.substr(i, code_point_bytes(characters[i])) == text.substr(0, bytes)) return true;
  return false;
}

Text trimmed(Text text, Text characters, bool at_begin, bool at_end) noexcept {
  while (at_begin && !text.empty()) {
    auto const bytes = std::min(code_point_bytes(text.front()), text.size());
    if (!has_character(characters, text, bytes)) break;
    text.remove_prefix(bytes);
  }
  while (at_end && !text.empty()) {
    std::size_t bytes = 1;
    while (bytes < text.size() && !is_lead(text[text.size() - bytes])) ++bytes;
    if (!has_character(characters, text.substr(text.size() - bytes), bytes)) break;
    text.remove_suffix(bytes);
  }
  return text;
}

void trim_texts(StepFrame const& frame) {
  auto const function = frame.step.function;
  bool const at_begin = function != Function::trim_right;
  bool const at_end = function != Function::trim_left;
  auto* const to = frame.to<Text>();
  auto const* const texts = frame.operand(0).as<Text>();
  auto const stride = frame.operand(0).is_constant ? 0U : 1U;
  for (std::size_t i = 0; i < frame.count; ++i) {
    auto const characters =
        frame.operands == 1 ? Text(" ") : frame.operand(1).as<Text>()[i * frame.operand(1).stride()];
    to[i] = trimmed(texts[i * stride], characters, at_begin, at_end);
  }
}

void substring_texts(StepFrame const& frame) {
  auto const at = [&]<class Value>(std::size_t operand, std::size_t i, Value) {
    return frame.operand(operand).as<Value>()[i * frame.operand(operand).stride()];
  };
  for (std::size_t i = 0; i < frame.count; ++i) {
    auto start = at(1, i, std::int64_t{});
    auto length = std::numeric_limits<std::int64_t>::max();
    if (frame.operands == 3)
      length = at(2, i, std::int64_t{});
    else  // to the end, wherever it starts
      start = std::max<std::int64_t>(start, 1);
    auto const outcome = substring_of(at(0, i, Text{}), start, length, frame.to<Text>()[i]);
    frame.failed[i] = has_failed(outcome, frame.step.on_failure) ? 1 : 0;
  }
}

void concat_texts(StepFrame const& frame) {
  for_values<Text>(frame.operand(0), frame.operand(1), frame.count, [&](std::size_t i, Text a, Text b) {
    auto& to = frame.to<Text>()[i];
    to = a.empty() ? b : a;
    if (a.empty() || b.empty()) return;
    auto* const bytes = frame.arena->room(a.size() + b.size());
    std::copy(b.begin(), b.end(), std::copy(a.begin(), a.end(), bytes));
    to = frame.arena->keep(a.size() + b.size());
  });
}

template <class Holds>
void test_texts(StepFrame const& frame, Holds const& holds) {
  for_values<Text>(frame.operand(0), frame.operand(1), frame.count,
                   [&](std::size_t i, Text a, Text b) { frame.values[i] = holds(a, b) ? 1 : 0; });
}

}  // namespace

void compute_text(StepFrame const& frame) {
  auto const* const regexp = frame.detail->regexp.get();
  auto const function = frame.step.function;
  switch (function) {
    case Function::like:
      return map_total<Text, std::uint8_t>(
          frame, [&](Text text) -> std::uint8_t { return frame.detail->like->matches(text) ? 1 : 0; });
    case Function::starts_with:
      return test_texts(frame, [](Text a, Text b) { return a.starts_with(b); });
    case Function::ends_with:
      return test_texts(frame, [](Text a, Text b) { return a.ends_with(b); });
    case Function::contains:
      return test_texts(frame, [](Text a, Text b) { return find_bytes(a, b, 0) != Text::npos; });
    case Function::regexp_matches:
      return map_total<Text, std::uint8_t>(frame,
                                           [&](Text text) -> std::uint8_t { return regexp->matches(text) ? 1 : 0; });
    case Function::regexp_replace:
    case Function::regexp_replace_all:
      return map_total<Text, Text>(frame, [&](Text text) {
        return frame.memo->get(text, [&](Text made_of) {
          return regexp->replaced(made_of, function == Function::regexp_replace_all, *frame.arena);
        });
      });
    case Function::substring:
      return substring_texts(frame);
    case Function::length:
      return map_total<Text, std::int64_t>(frame, code_points);
    case Function::octet_length:
      return map_total<Text, std::int64_t>(frame, [](Text text) { return static_cast<std::int64_t>(text.size()); });
    case Function::upper:
    case Function::lower:
      return map_total<Text, Text>(frame,
                                   [&](Text text) { return in_case(text, function == Function::upper, *frame.arena); });
    case Function::concat:
      return concat_texts(frame);
    default:
      return trim_texts(frame);
  }
}

}  // namespace garuda::expr
