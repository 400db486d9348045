// Numbers of distinct values of bytes, in the order in which they come.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace garuda::keys {

/// Stands in the null slots of codes: they number at most 2^32 - 1 distinct values.
inline constexpr std::uint32_t kNullCode = std::numeric_limits<std::uint32_t>::max();

/// Whether values have the same bytes. Of 16 bytes and more, which words that overlap cover, none is compared by a
/// call.
inline bool are_same_bytes(std::string_view a, std::string_view b) noexcept {
  constexpr std::size_t kAtOnce = 2 * sizeof(std::uint64_t);
  auto const size = a.size();
  if (size != b.size()) return false;
  if (size < kAtOnce || size > 8 * kAtOnce) return a == b;
  auto const differ = [&](std::size_t at) {
    std::uint64_t words[4];
    std::memcpy(words, a.data() + at, kAtOnce);
    std::memcpy(words + 2, b.data() + at, kAtOnce);
    return (words[0] ^ words[2]) | (words[1] ^ words[3]);
  };
  auto difference = differ(size - kAtOnce);
  for (std::size_t at = 0; at + kAtOnce < size; at += kAtOnce) difference |= differ(at);
  return difference == 0;
}

/// Numbers distinct values from 0. Values of one hash are told apart by their bytes. Throws std::bad_alloc.
class ValueTable {
 public:
  /// Values that are added together: the memory that each of them needs is asked for before any of it is read.
  static constexpr std::size_t kAtOnce = 32;

  struct Value {
    std::uint64_t hash = 0;
    std::string_view bytes;
  };

  ValueTable() : slots_(1024) {}

  /// Sets codes[i] to the number of values[i]. For a new one keep(i) is called, which returns its bytes where they
  /// outlive the table.
  template <class Keep>
  void add(std::span<Value const> values, std::uint32_t* codes, Keep const& keep) {
    for (std::size_t begin = 0; begin < values.size(); begin += kAtOnce) {
      auto const some = values.subspan(begin, std::min(kAtOnce, values.size() - begin));
      ask_for(some);
      for (std::size_t i = 0; i < some.size(); ++i)
        codes[begin + i] = code_of(some[i], [&] { return keep(begin + i); });
    }
  }

  /// Values of each code.
  std::vector<Value> const& values() const noexcept { return values_; }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t code = kNullCode;
  };

  std::size_t place_of(std::uint64_t hash) const noexcept { return hash & (slots_.size() - 1); }

  /// Asks for the memory of values that are looked up next, and has room for them.
  void ask_for(std::span<Value const> values) {
    while ((values_.size() + values.size()) * 2 > slots_.size()) grow();
    auto const for_likely = [&](auto const& body) {
      for (auto const& value : values)
        if (auto const& slot = slots_[place_of(value.hash)]; slot.code != kNullCode && slot.hash == value.hash)
          body(values_[slot.code]);
    };
    for (auto const& value : values) __builtin_prefetch(&slots_[place_of(value.hash)]);
    for_likely([](Value const& known) { __builtin_prefetch(&known); });
    for_likely([](Value const& known) { __builtin_prefetch(known.bytes.data()); });
  }

  template <class Keep>
  std::uint32_t code_of(Value const& value, Keep const& keep) {
    auto at = place_of(value.hash);
    for (; slots_[at].code != kNullCode; at = place_of(at + 1))
      if (slots_[at].hash == value.hash && are_same_bytes(values_[slots_[at].code].bytes, value.bytes))
        return slots_[at].code;
    auto const code = static_cast<std::uint32_t>(values_.size());
    values_.push_back({value.hash, keep()});
    slots_[at] = {value.hash, code};
    return code;
  }

  void grow() {
    slots_.assign(slots_.size() * 2, Slot{});
    for (std::size_t code = 0; code < values_.size(); ++code) {
      auto at = place_of(values_[code].hash);
      while (slots_[at].code != kNullCode) at = place_of(at + 1);
      slots_[at] = {values_[code].hash, static_cast<std::uint32_t>(code)};
    }
  }

  std::vector<Slot> slots_;    ///< a power of two of them, at most half in use
  std::vector<Value> values_;  ///< of each code
};

/// Values on their way to a table, with what stands for each of them where its number goes to.
template <class Place>
class ValueBatch {
 public:
  bool is_full() const noexcept { return size_ == ValueTable::kAtOnce; }
  void push(std::uint64_t hash, std::string_view bytes, Place place) {
    values_[size_] = {hash, bytes};
    places_[size_++] = place;
  }

  /// Adds the values to `table`, calls put(place, number) for each, and is empty. keep(place, bytes): as ValueTable has
  /// it.
  template <class Keep, class Put>
  void add_to(ValueTable& table, Keep const& keep, Put const& put) {
    std::uint32_t codes[ValueTable::kAtOnce];
    table.add(std::span(values_).first(size_), codes,
              [&](std::size_t i) { return keep(places_[i], values_[i].bytes); });
    for (std::size_t i = 0; i < size_; ++i) put(places_[i], codes[i]);
    size_ = 0;
  }

 private:
  std::size_t size_ = 0;
  ValueTable::Value values_[ValueTable::kAtOnce];
  Place places_[ValueTable::kAtOnce];
};

}  // namespace garuda::keys
