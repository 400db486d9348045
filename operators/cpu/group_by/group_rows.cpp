#include "operators/cpu/group_by/group_rows.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <span>
#include <utility>

#include "core/parallel_blocks.hpp"
#include "keys/numbering/mix.hpp"

namespace garuda::cpu {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
/// Largest direct table: entries a row, and in any case.
constexpr std::uint64_t kDirectEntriesPerRow = 4;
constexpr std::uint64_t kDirectEntries = std::uint64_t{1} << 12;

/// Keys of one word.
template <class Word>
class WordKeys {
 public:
  explicit WordKeys(std::span<Word const> keys) : keys_(keys) {}
  std::uint64_t hash(std::uint64_t row) const noexcept { return keys::mix(keys_[row]); }
  bool equal(std::uint64_t a, std::uint64_t b) const noexcept { return keys_[a] == keys_[b]; }

 private:
  std::span<Word const> keys_;
};

/// Keys of several words.
class MultiKeys {
 public:
  explicit MultiKeys(std::vector<std::span<std::uint32_t const>> const& words) : words_(words) {}

  std::uint64_t hash(std::uint64_t row) const noexcept {
    std::uint64_t hash = 0;
    for (auto const& word : words_) hash = keys::mix(hash + word[row]);
    return hash;
  }
  bool equal(std::uint64_t a, std::uint64_t b) const noexcept {
    return std::all_of(words_.begin(), words_.end(), [&](auto const& word) { return word[a] == word[b]; });
  }

 private:
  std::vector<std::span<std::uint32_t const>> const& words_;
};

/// Finds the group of a row by its key. Slots hold group ids; keys are compared through the groups' heads.
template <class Keys>
class HeadTable {
 public:
  HeadTable(Keys keys, RowGroups& groups) : keys_(keys), groups_(groups), slots_(1024, kNone) {}

  std::uint32_t add(std::uint32_t row) {
    auto slot = keys_.hash(row) & (slots_.size() - 1);
    for (; slots_[slot] != kNone; slot = (slot + 1) & (slots_.size() - 1))
      if (keys_.equal(groups_.heads[slots_[slot]], row)) return slots_[slot];
    auto const group = static_cast<std::uint32_t>(groups_.heads.size());
    slots_[slot] = group;
    groups_.heads.push_back(row);
    if (groups_.heads.size() * 2 > slots_.size()) grow();
    return group;
  }

 private:
  void grow() {
    slots_.assign(slots_.size() * 2, kNone);
    for (std::size_t group = 0; group < groups_.heads.size(); ++group) {
      auto slot = keys_.hash(groups_.heads[group]) & (slots_.size() - 1);
      while (slots_[slot] != kNone) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = static_cast<std::uint32_t>(group);
    }
  }

  Keys keys_;
  RowGroups& groups_;
  std::vector<std::uint32_t> slots_;  ///< a power of two of them, at most half in use
};

/// Finds the group of a row at the position of its key in the key range.
template <class Word>
class DirectTable {
 public:
  DirectTable(std::span<Word const> keys, std::uint64_t min, std::uint32_t shift, std::uint64_t entries,
              RowGroups& groups)
      : keys_(keys), min_(min), shift_(shift), groups_(groups), entries_(entries, kNone) {}

  std::uint32_t add(std::uint32_t row) {
    // Keys of the caller's memory may have changed since their range was found.
    auto& entry = entries_[std::min<std::uint64_t>((keys_[row] - min_) >> shift_, entries_.size() - 1)];
    if (entry == kNone) {
      entry = static_cast<std::uint32_t>(groups_.heads.size());
      groups_.heads.push_back(row);
    }
    return entry;
  }

 private:
  std::span<Word const> keys_;
  std::uint64_t min_;
  std::uint32_t shift_;
  RowGroups& groups_;
  std::vector<std::uint32_t> entries_;
};

template <class Table>
Result<void> add_rows(Table table, RowGroups& groups, Control const* control) {
  for (std::uint64_t first = 0; first < groups.ids.size(); first += kBlockRows) {
    GARUDA_TRY(check_cancelled(control));
    auto const last = std::min<std::uint64_t>(first + kBlockRows, groups.ids.size());
    for (auto row = first; row < last; ++row) groups.ids[row] = table.add(static_cast<std::uint32_t>(row));
  }
  return {};
}

template <class Word>
Result<void> group_words(std::span<Word const> keys, contract::KeySpan const& span, std::uint32_t shift,
                         RowGroups& groups, Control const* control) {
  auto const last = (span.max - span.min) >> shift;
  if (last < std::max(kDirectEntries, keys.size() * kDirectEntriesPerRow))
    return add_rows(DirectTable<Word>(keys, span.min, shift, last + 1, groups), groups, control);
  return add_rows(HeadTable(WordKeys<Word>(keys), groups), groups, control);
}

Result<RowGroups> group(contract::GroupSlice const& slice, Control const* control) {
  RowGroups groups;
  groups.ids.resize(slice.num_rows);
  if (slice.num_rows == 0) return groups;
  if (auto const* span = std::get_if<contract::KeySpan>(&slice.keys)) {
    GARUDA_TRY(std::visit([&](auto keys) { return group_words(keys, *span, slice.shared_low_bits, groups, control); },
                          span->words));
  } else if (auto const* words = std::get_if<contract::KeyWords>(&slice.keys)) {
    GARUDA_TRY(add_rows(HeadTable(MultiKeys(words->words), groups), groups, control));
  } else {
    groups.heads.push_back(0);
  }
  return groups;
}

}  // namespace

Result<RowGroups> group_rows(contract::GroupSlice const& slice, Control const* control) {
  GARUDA_EXPECTS(slice.num_rows < kNone);
  try {
    return group(slice, control);
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory for the groups of a slice");
  }
}

}  // namespace garuda::cpu
