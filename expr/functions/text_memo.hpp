// Texts that a step has made, by the texts that it made them of.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/functions/text_arena.hpp"
#include "keys/numbering/mix.hpp"

namespace garuda::expr {

/// Keeps results of a function that takes longer than to look one up, for columns whose texts come again: as many as
/// come first and fit in kMostBytes and kMostTexts. Where few texts come again none is kept any more. Throws:
/// std::bad_alloc.
class TextMemo {
 public:
  /// Returns the text that make(text) makes. Its bytes are copied; a result that was kept stays as long as the memo.
  template <class Make>
  std::string_view get(std::string_view text, Make const& make) {
    if (is_off_) return make(text);
    auto const hash = keys::hash_bytes(text);
    if (entries_.empty()) entries_.resize(kFewestEntries);
    auto* entry = &entry_of(hash, text);
    ++asked_;
    if (entry->is_used) {
      ++found_;
      return entry->result;
    }
    is_off_ = asked_ >= kTrial && found_ < asked_ / kFewestFound;
    auto const result = make(text);
    if (is_off_ || !has_room(text, result)) return result;
    ++used_;
    auto const copy = kept(text);
    *entry = {hash, copy, result.data() == text.data() && result.size() == text.size() ? copy : kept(result), true};
    auto const written = entry->result;
    if (2 * used_ > entries_.size()) grow();
    return written;
  }

 private:
  static constexpr std::size_t kFewestEntries = 1'024;
  static constexpr std::size_t kMostTexts = std::size_t{1} << 15;
  static constexpr std::size_t kMostBytes = std::size_t{4} << 20;
  /// Texts after which it is judged whether they come again, and the share of those that have to: one that is kept
  /// takes about a fourth of the time of a short pattern, one that is looked up in vain a fifth more.
  static constexpr std::uint64_t kTrial = std::uint64_t{1} << 15;
  static constexpr std::uint64_t kFewestFound = 4;

  struct Entry {
    std::uint64_t hash = 0;
    std::string_view text{};
    std::string_view result{};
    bool is_used = false;
  };

  /// The entry that has the text, or the one that is to have it.
  Entry& entry_of(std::uint64_t hash, std::string_view text) noexcept {
    auto at = hash & (entries_.size() - 1);
    while (entries_[at].is_used && (entries_[at].hash != hash || entries_[at].text != text))
      at = (at + 1) & (entries_.size() - 1);
    return entries_[at];
  }

  bool has_room(std::string_view text, std::string_view result) const noexcept {
    return used_ < kMostTexts && text.size() + result.size() <= kMostBytes - bytes_;
  }

  std::string_view kept(std::string_view bytes) {
    bytes_ += bytes.size();
    std::ranges::copy(bytes, memory_.room(bytes.size()));
    return memory_.keep(bytes.size());
  }

  void grow() {
    auto const old = std::move(entries_);
    entries_.assign(2 * old.size(), {});
    for (auto const& entry : old)
      if (entry.is_used) entry_of(entry.hash, entry.text) = entry;
  }

  std::vector<Entry> entries_;  ///< a power of two of them, at most half in use
  TextArena memory_;
  std::size_t bytes_ = 0;
  std::size_t used_ = 0;
  std::uint64_t asked_ = 0;
  std::uint64_t found_ = 0;
  bool is_off_ = false;
};

}  // namespace garuda::expr
