// Codes of a dictionary as Parquet packs them: runs of one code, and groups of eight in as few bits as they need.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

namespace garuda::io {

/// Bits of a code, at most.
constexpr unsigned kMostCodeBits = 32;

/// Puts the values of codes where they stay, and notes codes that the dictionary does not have: they are looked up
/// after each run, not one by one, so the dictionary has to have a value for every code that its bits can name.
/// A code is unpacked by a load of 64 bits, so that nothing hangs on the code before it.
template <class Value>
class CodedValues {
 public:
  /// `dictionary`: a value for each code of a page. `out`: room for the values of the page.
  CodedValues(std::span<Value const> dictionary, Value* out) : dictionary_(dictionary), out_(out) {}

  /// Decodes the `count` codes of a page's bytes: the bits of a code, then runs. False: there are fewer, or there is
  /// one that the dictionary does not have.
  bool decode(std::span<std::uint8_t const> bytes, std::int32_t count) {
    if (count == 0) return true;
    if (bytes.empty() || bytes.front() > kMostCodeBits || dictionary_.empty()) return false;
    bits_ = bytes.front();
    bytes_ = bytes.subspan(1);
    for (left_ = static_cast<std::size_t>(count); left_ > 0;) {
      auto const header = next_header();
      if (header == 0) return false;
      bool const is_read = (header & 1) != 0 ? read_groups(header >> 1) : read_run(header >> 1);
      if (!is_read) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kGroup = 8;

  /// 0: there is none.
  std::uint64_t next_header() {
    constexpr unsigned kMostShift = 28;
    std::uint64_t header = 0;
    for (unsigned shift = 0; shift <= kMostShift && !bytes_.empty(); shift += 7) {
      auto const byte = bytes_.front();
      bytes_ = bytes_.subspan(1);
      header |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return header;
    }
    return 0;
  }

  bool read_run(std::uint64_t length) {
    auto const code_bytes = (bits_ + 7) / 8;
    if (length == 0 || bytes_.size() < code_bytes) return false;
    std::uint32_t code = 0;
    std::memcpy(&code, bytes_.data(), code_bytes);
    bytes_ = bytes_.subspan(code_bytes);
    if (code >= dictionary_.size()) return false;
    auto const count = static_cast<std::size_t>(std::min<std::uint64_t>(length, left_));
    out_ = std::fill_n(out_, count, dictionary_[code]);
    left_ -= count;
    return true;
  }

  /// The last group may be cut off behind the last code.
  bool read_groups(std::uint64_t groups) {
    if (groups == 0) return false;
    auto const count = static_cast<std::size_t>(std::min<std::uint64_t>(groups * kGroup, left_));
    auto const used = (count * bits_ + 7) / 8;
    if (bytes_.size() < used) return false;
    auto const has = std::min<std::uint64_t>(groups * bits_, bytes_.size());
    auto const packed = bytes_.first(static_cast<std::size_t>(has));
    bytes_ = bytes_.subspan(packed.size());
    left_ -= count;
    return unpack(packed, count, std::make_index_sequence<kMostCodeBits + 1>());
  }

  template <std::size_t... Bits>
  bool unpack(std::span<std::uint8_t const> packed, std::size_t count, std::index_sequence<Bits...> /*all*/) {
    using Unpack = bool (CodedValues::*)(std::span<std::uint8_t const>, std::size_t);
    static constexpr std::array<Unpack, sizeof...(Bits)> kByBits{&CodedValues::unpack_bits<Bits>...};
    return (this->*kByBits[bits_])(packed, count);
  }

  template <unsigned Bits>
  bool unpack_bits(std::span<std::uint8_t const> packed, std::size_t count) {
    // A load of 64 bits may pass the end of its group.
    constexpr std::size_t kLoadBytes = Bits + sizeof(std::uint64_t);
    auto const* from = packed.data();
    auto const* const end = from + packed.size();
    std::uint64_t beyond = 0;
    auto const most = static_cast<std::uint64_t>(dictionary_.size() - 1);
    for (; count >= kGroup && static_cast<std::size_t>(end - from) >= kLoadBytes; count -= kGroup, from += Bits) {
      auto const codes = group<Bits>(from);
      for (auto const code : codes) beyond |= most - code;
      if (beyond >> 63 != 0) return false;
      for (std::size_t i = 0; i < kGroup; ++i) out_[i] = dictionary_[codes[i]];
      out_ += kGroup;
    }
    std::array<std::uint8_t, kLoadBytes> last{};
    for (; count > 0; from += Bits) {
      last = {};
      std::copy_n(from, std::min<std::size_t>(Bits, static_cast<std::size_t>(end - from)), last.begin());
      auto const codes = group<Bits>(last.data());
      auto const taken = std::min(count, kGroup);
      for (std::size_t i = 0; i < taken; ++i) {
        if (codes[i] > most) return false;
        *out_++ = dictionary_[codes[i]];
      }
      count -= taken;
      if (static_cast<std::size_t>(end - from) < Bits) break;
    }
    return count == 0;
  }

  template <unsigned Bits>
  static std::array<std::uint64_t, kGroup> group(std::uint8_t const* from) {
    constexpr auto kMask = (std::uint64_t{1} << Bits) - 1;
    std::array<std::uint64_t, kGroup> codes;
    for (std::size_t i = 0; i < kGroup; ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, from + i * Bits / 8, sizeof(word));
      codes[i] = word >> (i * Bits % 8) & kMask;
    }
    return codes;
  }

  std::span<Value const> dictionary_;
  Value* out_;
  unsigned bits_ = 0;
  std::span<std::uint8_t const> bytes_;
  std::size_t left_ = 0;
};

}  // namespace garuda::io
