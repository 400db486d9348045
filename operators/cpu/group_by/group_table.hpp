// A table of groups with their states: slots addressed by the key or found by its hash.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "core/look_ahead.hpp"
#include "operators/contract/group_by_kernel.hpp"
#include "operators/cpu/group_by/accumulators.hpp"
#include "operators/cpu/group_by/sum_rows.hpp"

namespace garuda::cpu {

/// How keys find their slots.
struct Addressing {
  bool is_direct = false;
  std::uint64_t min = 0;  ///< direct: slot = (key - min) >> shift
  std::uint32_t shift = 0;
  std::uint64_t slots = 0;  ///< direct: their number; else groups expected
};

/// The states that a table keeps of a group.
struct GroupStates {
  std::vector<contract::StateRequest> requests;
  std::vector<FixedPoint> fixed_points;  ///< a request each
  bool first_rows = false;
  std::size_t num_more_words = 0;  ///< of a key, behind the first one
};

/// Whether the counts of a column are those of rows.
inline bool counts_rows(contract::StateRequest const& request) noexcept {
  return (request.states & contract::kCountState) != 0 && !request.may_have_nulls;
}

/// The first column whose counts are those of column `c`: all rows, where nothing is null.
inline std::size_t counting_column(std::span<contract::StateRequest const> requests, std::size_t c) noexcept {
  if (!counts_rows(requests[c])) return c;
  return static_cast<std::size_t>(std::ranges::find_if(requests, counts_rows) - requests.begin());
}

/// Whether all values of a column's groups are kept.
inline bool keeps_all_values(contract::StateRequest const& request) noexcept {
  return (request.states & contract::kListState) != 0 && request.list.most == 0;
}

/// Bytes of a row's values that its group keeps, with the number of the group.
inline std::uint64_t kept_row_bytes(std::span<contract::StateRequest const> requests) noexcept {
  std::uint64_t bytes = 0;
  for (auto const& request : requests)
    if (keeps_all_values(request)) bytes += sizeof(std::uint32_t) + 8 * contract::extreme_words(request.kind);
  return bytes;
}

/// The sums that lie side by side in the tables of a group-by: with the number of rows, where some column counts them,
/// or where that is to tell which slots of direct addressing have a group and costs next to nothing. The same for all
/// tables, which are merged.
inline std::vector<std::vector<Summed>> summed_lists(std::span<contract::StateRequest const> requests,
                                                     bool first_rows) {
  bool const is_wanted = std::ranges::any_of(requests, counts_rows);
  return side_by_side(requests, is_wanted || (!first_rows && std::ranges::any_of(requests, sums_fitting_word)));
}

/// `requests` without what `lists` have, and without counts that another column has, too.
inline std::vector<contract::StateRequest> remaining(std::span<contract::StateRequest const> requests,
                                                     std::span<std::vector<Summed> const> lists) {
  std::vector<contract::StateRequest> left(requests.begin(), requests.end());
  auto const leave_out = [&](std::size_t c, contract::StateSet states) {
    left[c].states &= static_cast<contract::StateSet>(~states);
  };
  bool has_counts = false;
  for (auto const& list : lists)
    for (auto const& summed : list) {
      if (summed) leave_out(*summed, contract::kSumState);
      has_counts = has_counts || !summed;
    }
  for (std::size_t c = 0; c < left.size(); ++c)
    if (counts_rows(requests[c]) && (has_counts || counting_column(requests, c) != c))
      leave_out(c, contract::kCountState);
  return left;
}

/// Bytes of a group's states in a table with direct addressing, but for values that are all kept.
inline std::uint64_t state_bytes(std::span<contract::StateRequest const> requests, bool first_rows) {
  auto const lists = summed_lists(requests, first_rows);
  std::uint64_t bytes = first_rows ? 8 : lists.empty() ? 1 : 0;
  for (auto const& list : lists) bytes += row_words(requests, list) * sizeof(std::uint64_t);
  for (auto const& request : remaining(requests, lists)) {
    if ((request.states & contract::kCountState) != 0) bytes += 8;
    if ((request.states & contract::kSumState) != 0) bytes += request.kind == contract::ValueKind::int128 ? 16 : 8;
    auto const extremes =
        std::popcount(static_cast<unsigned>(request.states) & (contract::kMinState | contract::kMaxState));
    bytes += static_cast<std::uint64_t>(extremes) * 8 * contract::extreme_words(request.kind);
    if (request.list.most > 0)
      bytes += sizeof(std::uint32_t) + std::uint64_t{request.list.most} * 8 * contract::extreme_words(request.kind);
  }
  return bytes;
}

/// Columns of the words of keys behind the first one.
using MoreWords = std::vector<std::uint64_t const*>;

/// Rows of a table, or what is left of them after partitioning, with their values.
template <class Word>
struct GroupedRows {
  std::span<Word const> keys;                        ///< empty: all rows have key 0
  MoreWords more_words;                              ///< of row 0 on
  std::span<contract::AggregateInput const> values;  ///< a request each
  std::uint64_t count = 0;
  std::uint64_t first_row = 0;             ///< row of the table that row 0, or row id 0, is
  std::span<std::uint32_t const> row_ids;  ///< rows of the table, ascending
  std::span<std::uint64_t const> wide_row_ids;
};

/// Numbers keys in the order in which they come; linear probing. Throws std::bad_alloc.
template <class Word>
class HashSlots {
 public:
  HashSlots(std::uint64_t expected, std::size_t num_more_words) : num_more_(num_more_words) {
    allot(std::bit_ceil(std::max<std::uint64_t>(2 * expected, 64)));
    keys_.reserve(expected);
    more_words_.reserve(expected * num_more_words);
  }

  /// Finds the slots of rows [first, first + count) of `more_words`, whose first words are `keys`.
  void find(Word const* keys, MoreWords const& more_words, std::uint64_t first, std::size_t count,
            std::uint32_t* slots) {
    // Few entries lie in the first-level cache.
    constexpr std::size_t kFewEntries = 1024;
    constexpr std::size_t kAhead = 16;
    auto const ask_for_entry = [&](std::size_t i) {
      if (i + kAhead < count && entries_.size() > kFewEntries) __builtin_prefetch(&entries_[home(keys[i + kAhead])]);
    };
    if (num_more_ == 0) {
      for_each_ahead<Word>(keys, count, [&](std::size_t i) {
        ask_for_entry(i);
        slots[i] = slot_of(
            keys[i], [](std::uint32_t) { return true; }, [] {});
      });
      return;
    }
    for_each_ahead<Word>(keys, count, [&](std::size_t i) {
      ask_for_entry(i);
      auto const has_row = [&](std::uint32_t slot) {
        auto const* const words = more_words_of(slot);
        for (std::size_t w = 0; w < num_more_; ++w)
          if (words[w] != more_words[w][first + i]) return false;
        return true;
      };
      slots[i] = slot_of(keys[i], has_row, [&] {
        for (std::size_t w = 0; w < num_more_; ++w) more_words_.push_back(more_words[w][first + i]);
      });
    });
  }
  StateArray<Word> const& keys() const noexcept { return keys_; }
  std::size_t num_more_words() const noexcept { return num_more_; }
  std::uint64_t const* more_words_of(std::uint64_t slot) const noexcept {
    return more_words_.data() + slot * num_more_;
  }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  struct Entry {
    Word key;
    std::uint32_t slot;
  };

  /// Fibonacci hashing: independent of the mixing hash that may have chosen the partition.
  std::uint64_t home(Word key) const noexcept {
    return ((std::uint64_t{key} ^ (std::uint64_t{key} >> 32)) * 0x9E37'79B9'7F4A'7C15) >> shift_;
  }

  /// `is_same`: whether the key of a slot is equal behind the first word; `add_more`: notes those words of a new one.
  template <class IsSame, class AddMore>
  std::uint32_t slot_of(Word key, IsSame const& is_same, AddMore const& add_more) {
    auto at = home(key);
    while (true) {
      auto const& entry = entries_[at];
      if (entry.slot != kNone && entry.key == key && is_same(entry.slot)) return entry.slot;
      if (entry.slot == kNone) {
        add_more();
        return insert(at, key);
      }
      at = (at + 1) & (entries_.size() - 1);
    }
  }

  std::uint32_t insert(std::uint64_t at, Word key) {
    auto const slot = static_cast<std::uint32_t>(keys_.size());
    entries_[at] = {key, slot};
    keys_.push_back(key);
    if (2 * keys_.size() > entries_.size()) grow();
    return slot;
  }

  void allot(std::uint64_t entries) {
    entries_.clear();
    entries_.resize(entries, Entry{0, kNone});
    shift_ = 64 - static_cast<std::uint32_t>(std::countr_zero(entries));
  }

  void grow() {
    allot(2 * entries_.size());
    for (std::uint64_t slot = 0; slot < keys_.size(); ++slot) {
      auto at = home(keys_[slot]);
      while (entries_[at].slot != kNone) at = (at + 1) & (entries_.size() - 1);
      entries_[at] = {keys_[slot], static_cast<std::uint32_t>(slot)};
    }
  }

  StateArray<Entry> entries_;  ///< a power of two of them, at most half in use
  StateArray<Word> keys_;      ///< of each slot
  std::size_t num_more_;
  StateArray<std::uint64_t> more_words_;  ///< num_more_ of each slot
  std::uint32_t shift_ = 0;
};

/// Groups with their states. Used by one thread at a time. Throws std::bad_alloc.
template <class Word>
class GroupTable {
 public:
  /// Requires: with direct addressing keys of one word.
  GroupTable(Addressing const& addressing, GroupStates const& states)
      : addressing_(addressing),
        hash_(addressing.is_direct ? 1 : addressing.slots, states.num_more_words),
        keeps_rows_(states.first_rows),
        requests_(states.requests) {
    GARUDA_EXPECTS(!addressing.is_direct || states.num_more_words == 0);
    auto const lists = summed_lists(requests_, keeps_rows_);
    for (auto const& list : lists) sums_.emplace_back(list, requests_, states.fixed_points);
    for (auto const& request : remaining(requests_, lists)) columns_.emplace_back(request);
    for_all_states([&](auto& state) { state.resize(addressing.slots); });
    if (!addressing.is_direct) {
      // Room for what is expected: growing step by step asks for memory again and again, from all threads.
      for_all_states([](auto& state) { state.clear(); });
      if (keeps_rows_) first_rows_.reserve(addressing.slots);
      return;
    }
    auto const counter = std::ranges::find_if(requests_, counts_rows);
    if (keeps_rows_)
      first_rows_.resize(addressing.slots, kNoRow);
    else if (!has_row_counts() && counter != requests_.end())
      row_counter_ = counter - requests_.begin();
    else if (!has_row_counts())
      present_.resize(addressing.slots);
  }

  /// False: floats lie elsewhere than was guessed.
  bool fits() const noexcept { return std::ranges::all_of(sums_, &SumRows::fits); }

  /// Adds rows, a few thousand at a time, so that their slots stay in the first-level cache.
  void add(GroupedRows<Word> const& rows) {
    std::uint32_t slots[kStepRows];
    for (std::uint64_t first = 0; first < rows.count; first += kStepRows) {
      auto const count = std::min(kStepRows, rows.count - first);
      std::span const found(slots, count);
      find_slots(rows.keys.empty() ? nullptr : rows.keys.data() + first, rows.more_words, first, found);
      if (keeps_rows_) keep_rows(rows, first, found);
      for (auto& sums : sums_) sums.add(rows.values, first, found);
      for (std::size_t c = 0; c < columns_.size(); ++c) columns_[c].add(rows.values[c], first, found);
    }
  }

  /// Makes room for the values of `rows` rows, of columns whose values are all kept.
  void reserve_rows(std::uint64_t rows) {
    for (auto& column : columns_) column.reserve_rows(rows);
  }

  /// Adds the groups of `from` that are in the slots `from_slots`.
  void merge(GroupTable const& from, std::span<std::uint32_t const> from_slots) {
    // No keys would be taken for rows without keys, which are the group of slot 0.
    if (from_slots.empty()) return;
    std::vector<Word> keys(from_slots.size());
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = from.key_of(from_slots[i]);
    auto const more = from.more_words_of(from_slots);
    MoreWords more_words;
    for (auto const& column : more) more_words.push_back(column.data());
    std::vector<std::uint32_t> slots(from_slots.size());
    find_slots(keys.data(), more_words, 0, slots);
    if (keeps_rows_)
      for (std::size_t i = 0; i < slots.size(); ++i)
        first_rows_[slots[i]] = std::min(first_rows_[slots[i]], from.first_rows_[from_slots[i]]);
    for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i].merge(from.sums_[i], from_slots, slots);
    for (std::size_t c = 0; c < columns_.size(); ++c) columns_[c].merge(from.columns_[c], from_slots, slots);
  }

  /// Slots in [begin, end) that have a group, ascending.
  std::vector<std::uint32_t> occupied(std::uint64_t begin, std::uint64_t end) const {
    std::vector<std::uint32_t> slots;
    slots.reserve(end - begin);
    for (auto slot = begin; slot < end; ++slot)
      if (is_occupied(slot)) slots.push_back(static_cast<std::uint32_t>(slot));
    return slots;
  }

  /// The groups in `slots`, in this order. Of no use once `control`, where there is one, is cancelled.
  contract::GroupPart part(std::span<std::uint32_t const> slots, Control const* control = nullptr) const {
    contract::GroupPart part;
    part.keys.reserve(slots.size());
    for (auto const slot : slots) part.keys.push_back(key_of(slot));
    part.more_words = more_words_of(slots);
    if (keeps_rows_) {
      part.first_rows.reserve(slots.size());
      for (auto const slot : slots) part.first_rows.push_back(first_rows_[slot]);
    }
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      auto& state = part.states.emplace_back(columns_[c].states_of(slots, control));
      if (!counts_rows(requests_[c])) continue;
      auto const counter = counting_column(requests_, c);
      if (has_row_counts())
        state.counts = sums_.front().nums_rows(slots);
      else if (counter != c)
        state.counts = part.states[counter].counts;
    }
    for (auto const& sums : sums_) sums.write_sums(slots, part.states);
    return part;
  }

  /// Slots in use or, with direct addressing, all there are.
  std::uint64_t num_slots() const noexcept { return addressing_.is_direct ? addressing_.slots : hash_.keys().size(); }

  Word key_of(std::uint64_t slot) const noexcept {
    return addressing_.is_direct ? static_cast<Word>(addressing_.min + (slot << addressing_.shift))
                                 : hash_.keys()[slot];
  }

  /// Whether the key of slot `a` comes before that of `b`, in some order of all keys.
  bool is_before(std::uint64_t a, std::uint64_t b) const noexcept {
    if (key_of(a) != key_of(b)) return key_of(a) < key_of(b);
    auto const count = hash_.num_more_words();
    return count > 0 && std::lexicographical_compare(hash_.more_words_of(a), hash_.more_words_of(a) + count,
                                                     hash_.more_words_of(b), hash_.more_words_of(b) + count);
  }

 private:
  static constexpr std::uint64_t kStepRows = 2048;
  static constexpr std::uint64_t kNoRow = std::numeric_limits<std::uint64_t>::max();

  /// The words behind the first of the keys in `slots`, word by word.
  std::vector<contract::Words> more_words_of(std::span<std::uint32_t const> slots) const {
    std::vector<contract::Words> columns(hash_.num_more_words());
    for (std::size_t w = 0; w < columns.size(); ++w) {
      columns[w].reserve(slots.size());
      for (auto const slot : slots) columns[w].push_back(hash_.more_words_of(slot)[w]);
    }
    return columns;
  }

  void find_slots(Word const* keys, MoreWords const& more_words, std::uint64_t first, std::span<std::uint32_t> slots) {
    if (keys == nullptr) {
      std::fill(slots.begin(), slots.end(), 0U);
      if (!present_.empty()) present_[0] = 1;
      return;
    }
    if (addressing_.is_direct) {
      auto const min = static_cast<Word>(addressing_.min);
      auto const shift = addressing_.shift;
      // Keys of the caller's memory may have changed since their range was found.
      auto const last = static_cast<std::uint32_t>(addressing_.slots - 1);
      for_ranges_ahead(keys, sizeof(Word), slots.size(), [=](std::size_t begin, std::size_t end) {
        for (auto i = begin; i < end; ++i)
          slots[i] = std::min(static_cast<std::uint32_t>(static_cast<Word>(keys[i] - min) >> shift), last);
      });
      if (present_.empty()) return;
      auto* const present = present_.data();
      for (auto const slot : slots) present[slot] = 1;
      return;
    }
    hash_.find(keys, more_words, first, slots.size(), slots.data());
    auto const groups = hash_.keys().size();
    for_all_states([=](auto& state) { state.resize(groups); });
    if (keeps_rows_) first_rows_.resize(groups, kNoRow);
  }

  void keep_rows(GroupedRows<Word> const& rows, std::uint64_t first, std::span<std::uint32_t const> slots) {
    auto* const best = first_rows_.data();
    auto const keep = [&](auto const& row_of) {
      for (std::size_t i = 0; i < slots.size(); ++i)
        best[slots[i]] = std::min<std::uint64_t>(best[slots[i]], row_of(i));
    };
    if (!rows.row_ids.empty())
      keep([&](std::size_t i) { return rows.first_row + rows.row_ids[first + i]; });
    else if (!rows.wide_row_ids.empty())
      keep([&](std::size_t i) { return rows.first_row + rows.wide_row_ids[first + i]; });
    else
      keep([&](std::size_t i) { return rows.first_row + first + i; });
  }

  /// Whether the first word of sums_ is the number of rows.
  bool has_row_counts() const noexcept { return !sums_.empty() && sums_.front().counts_rows(); }

  template <class Use>
  void for_all_states(Use const& use) {
    for (auto& sums : sums_) use(sums);
    for (auto& column : columns_) use(column);
  }

  bool is_occupied(std::uint64_t slot) const noexcept {
    if (!addressing_.is_direct) return true;
    if (has_row_counts()) return sums_.front().num_rows(slot) != 0;
    if (row_counter_ >= 0) return columns_[static_cast<std::size_t>(row_counter_)].counts()[slot] != 0;
    return keeps_rows_ ? first_rows_[slot] != kNoRow : present_[slot] != 0;
  }

  Addressing addressing_;
  HashSlots<Word> hash_;
  bool keeps_rows_;
  std::vector<contract::StateRequest> requests_;
  std::vector<SumRows> sums_;
  std::vector<ColumnAccumulator> columns_;  ///< a request each: what sums_ does not have
  StateArray<std::uint64_t> first_rows_;    ///< least row of each slot
  std::ptrdiff_t row_counter_ = -1;         ///< direct: a column that counts all rows of each slot
  StateArray<std::uint8_t> present_;        ///< direct, without the two: 1 where a slot has a group
};

}  // namespace garuda::cpu
