#include "expr/functions/patterns.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

namespace garuda::expr {
/// A piece of a replacement: bytes as they are, or a group's.
struct ReplacementPiece {
  std::string bytes;
  int group = -1;
};

namespace {

constexpr auto kNoMatch = std::string_view::npos;

/// Groups that a replacement may refer to: `\0`, the whole match, to `\9`.
constexpr std::size_t kMostGroups = 10;

Result<std::vector<ReplacementPiece>> pieces_of(std::string const& replacement, int groups) {
  std::vector<ReplacementPiece> pieces;
  std::string bytes;
  for (std::size_t i = 0; i < replacement.size(); ++i) {
    if (replacement[i] != '\\') {
      bytes += replacement[i];
      continue;
    }
    auto const next = i + 1 < replacement.size() ? replacement[i + 1] : '\0';
    bool const is_group = next >= '0' && next <= '9' && next - '0' <= groups;
    if (!is_group && next != '\\')
      return fail(ErrorCode::invalid_input,
                  fmt::format("a replacement has \\0 to \\{} and \\\\ alone: {}", groups, replacement));
    ++i;
    if (!is_group) {
      bytes += next;
      continue;
    }
    pieces.push_back({std::exchange(bytes, {}), -1});
    pieces.push_back({{}, next - '0'});
  }
  pieces.push_back({bytes, -1});
  return pieces;
}

using ByteBlock = unsigned char __attribute__((vector_size(16)));
using ByteHits = signed char __attribute__((vector_size(16)));

constexpr std::size_t kNibbleBits = 4;

/// Four bits for each byte of a comparison of blocks, which are all ones or all zeros.
std::uint64_t nibbles_of(ByteHits hits) noexcept {
  using Pairs = std::uint16_t __attribute__((vector_size(16)));
  using Bytes = std::uint8_t __attribute__((vector_size(8)));
  return std::bit_cast<std::uint64_t>(__builtin_convertvector(std::bit_cast<Pairs>(hits) >> kNibbleBits, Bytes));
}

ByteBlock load_block(char const* bytes) noexcept {
  ByteBlock block;
  std::memcpy(&block, bytes, sizeof(block));
  return block;
}

}  // namespace

std::size_t find_bytes(std::string_view text, std::string_view part, std::size_t from) noexcept {
  constexpr auto kPlaces = sizeof(ByteBlock);
  auto const size = text.size();
  if (part.size() < 2 || size < part.size() - 1 + kPlaces) return text.find(part, from);
  // Sixteen places at a time: where the first byte and the last one are there, the others are compared.
  auto const last = part.size() - 1;
  auto const first_byte = ByteBlock{} + static_cast<unsigned char>(part.front());
  auto const last_byte = ByteBlock{} + static_cast<unsigned char>(part.back());
  // `skipped`: places at the begin that are not asked for.
  auto const find_in = [&](std::size_t begin, std::size_t skipped) {
    auto const hits = nibbles_of((load_block(text.data() + begin) == first_byte) &
                                 (load_block(text.data() + begin + last) == last_byte));
    for (auto left = hits & ~std::uint64_t{0} << (kNibbleBits * skipped); left != 0;) {
      auto const place = static_cast<std::size_t>(std::countr_zero(left)) / kNibbleBits;
      if (std::memcmp(text.data() + begin + place, part.data(), last) == 0) return begin + place;
      left &= ~(std::uint64_t{0xF} << (kNibbleBits * place));
    }
    return std::string_view::npos;
  };
  for (; from + last + kPlaces <= size; from += kPlaces)
    if (auto const at = find_in(from, 0); at != std::string_view::npos) return at;
  if (from + last >= size) return std::string_view::npos;
  // The last places together with some that come before `from`.
  auto const begin = size - last - kPlaces;
  return find_in(begin, from - begin);
}

Result<std::shared_ptr<LikePattern const>> LikePattern::compile(std::string_view pattern, std::string_view escape) {
  if (!escape.empty() && code_point_bytes(escape.front()) != escape.size())
    return fail(ErrorCode::invalid_input, fmt::format("an escape is one character: '{}'", escape));
  auto made = std::make_shared<LikePattern>();
  made->parts_.emplace_back();
  for (std::size_t i = 0; i < pattern.size();) {
    auto* part = &made->parts_.back();
    if (!escape.empty() && pattern.substr(i).starts_with(escape)) {
      i += escape.size();
      if (i == pattern.size())
        return fail(ErrorCode::invalid_input, fmt::format("a pattern ends with its escape: '{}'", pattern));
    } else if (pattern[i] == '%') {
      if (made->parts_.size() == 1 || !part->bytes.empty()) made->parts_.emplace_back();
      ++i;
      continue;
    } else if (pattern[i] == '_') {
      part->any.resize(part->bytes.size());
      part->any.push_back(true);
      part->bytes += '\0';
      ++i;
      continue;
    }
    auto const bytes = std::min(code_point_bytes(pattern[i]), pattern.size() - i);
    part->bytes += pattern.substr(i, bytes);
    i += bytes;
  }
  for (auto& part : made->parts_)
    if (!part.any.empty()) part.any.resize(part.bytes.size());
  return std::shared_ptr<LikePattern const>(std::move(made));
}

/// The end of the part where it matches at `from`; kNoMatch: it does not.
std::size_t LikePattern::match_at(Part const& part, std::string_view text, std::size_t from) noexcept {
  if (part.bytes.empty()) return from;
  if (part.any.empty()) return text.substr(from).starts_with(part.bytes) ? from + part.bytes.size() : kNoMatch;
  for (std::size_t i = 0; i < part.bytes.size(); ++i) {
    if (from >= text.size()) return kNoMatch;
    if (part.any[i]) {
      from = std::min(from + code_point_bytes(text[from]), text.size());
    } else if (text[from++] != part.bytes[i]) {
      return kNoMatch;
    }
  }
  return from;
}

/// The end of the part's first match at `from` or behind it; kNoMatch: there is none.
std::size_t LikePattern::find(Part const& part, std::string_view text, std::size_t from) noexcept {
  if (part.any.empty()) {
    auto const at = find_bytes(text, part.bytes, from);
    return at == std::string_view::npos ? kNoMatch : at + part.bytes.size();
  }
  for (; from < text.size(); from += code_point_bytes(text[from]))
    if (auto const end = match_at(part, text, from); end != kNoMatch) return end;
  return kNoMatch;
}

/// The text's end where the part matches up to it, from `from` or behind it; kNoMatch: it does not.
std::size_t LikePattern::match_end(Part const& part, std::string_view text, std::size_t from) noexcept {
  if (part.bytes.empty()) return text.size();
  if (part.any.empty()) {
    bool const ends = text.size() - from >= part.bytes.size() && text.ends_with(part.bytes);
    return ends ? text.size() : kNoMatch;
  }
  for (; from < text.size(); from += code_point_bytes(text[from]))
    if (match_at(part, text, from) == text.size()) return text.size();
  return kNoMatch;
}

bool LikePattern::matches(std::string_view text) const noexcept {
  auto at = match_at(parts_.front(), text, 0);
  if (parts_.size() == 1) return at == text.size();
  for (std::size_t p = 1; p + 1 < parts_.size() && at != kNoMatch; ++p) at = find(parts_[p], text, at);
  return at != kNoMatch && match_end(parts_.back(), text, at) != kNoMatch;
}

struct Regexp::Compiled {
  RE2 pattern;
  std::vector<ReplacementPiece> pieces{};

  Compiled(std::string const& text, RE2::Options const& options) : pattern(text, options) {}
};

Regexp::Regexp(std::unique_ptr<Compiled const> compiled) noexcept : compiled_(std::move(compiled)) {}
Regexp::~Regexp() = default;

Result<std::shared_ptr<Regexp const>> Regexp::compile(std::string const& pattern, std::string const& replacement) {
  RE2::Options options;
  options.set_log_errors(false);
  auto compiled = std::make_unique<Compiled>(pattern, options);
  if (!compiled->pattern.ok())
    return fail(ErrorCode::invalid_input, fmt::format("no pattern of RE2, {}: {}", compiled->pattern.error(), pattern));
  auto const groups = std::min(compiled->pattern.NumberOfCapturingGroups(), static_cast<int>(kMostGroups) - 1);
  GARUDA_TRY_ASSIGN(compiled->pieces, pieces_of(replacement, groups));
  return std::shared_ptr<Regexp const>(new Regexp(std::move(compiled)));
}

bool Regexp::matches(std::string_view text) const {
  return compiled_->pattern.Match({text.data(), text.size()}, 0, text.size(), RE2::UNANCHORED, nullptr, 0);
}

std::string_view Regexp::replaced(std::string_view text, bool all, TextArena& arena) const {
  auto const& pattern = compiled_->pattern;
  re2::StringPiece const whole(text.data(), text.size());
  std::array<re2::StringPiece, kMostGroups> groups;
  auto const num_groups = std::min(pattern.NumberOfCapturingGroups() + 1, static_cast<int>(kMostGroups));
  std::size_t from = 0;    // where the next match may begin
  std::size_t copied = 0;  // bytes of the text that are in the result, or replaced
  std::size_t size = 0;    // bytes of the result
  bool is_found = false;
  // The result grows in one room after the other, of twice its size.
  auto* to = static_cast<char*>(nullptr);
  std::size_t room = 0;
  auto const put = [&](char const* bytes, std::size_t count) {
    if (size + count > room) {
      auto const* const old = to;
      std::string_view const kept = old == nullptr ? std::string_view() : arena.keep(size);
      room = 2 * (size + count) + text.size();
      to = arena.room(room);
      std::copy_n(kept.data(), kept.size(), to);
    }
    std::copy_n(bytes, count, to + size);
    size += count;
  };
  auto const behind = [&](std::size_t at) { return at < text.size() ? at + code_point_bytes(text[at]) : at + 1; };
  while (from <= text.size() && pattern.Match(whole, from, text.size(), RE2::UNANCHORED, groups.data(), num_groups)) {
    auto const begin = static_cast<std::size_t>(groups[0].data() - text.data());
    auto const end = begin + groups[0].size();
    if (is_found && begin == end && begin == copied) {  // no empty match is one right behind another
      from = behind(begin);
      continue;
    }
    is_found = true;
    put(text.data() + copied, begin - copied);
    for (auto const& piece : compiled_->pieces) {
      put(piece.bytes.data(), piece.bytes.size());
      if (piece.group >= 0)
        put(groups[static_cast<std::size_t>(piece.group)].data(), groups[static_cast<std::size_t>(piece.group)].size());
    }
    copied = end;
    if (!all) break;
    from = end > begin ? end : behind(end);
  }
  if (!is_found) return text;
  put(text.data() + copied, text.size() - copied);
  return size == 0 ? std::string_view() : arena.keep(size);
}

}  // namespace garuda::expr
