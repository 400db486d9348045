// The table of the CPU path's join: from a key to the build rows that have it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <span>

#include "core/buffer.hpp"
#include "core/look_ahead.hpp"
#include "core/parallel_blocks.hpp"
#include "garuda/error.hpp"
#include "operators/contract/key_span.hpp"

namespace garuda::cpu {

/// Rows of the build side by key, in four bytes a slot. Two forms, chosen for the keys:
///   direct  slot (key - min) >> shared low bits, when that range is small: no key is compared
///   hash    linear probing from the leading bits of a multiplicative hash (Dietzfelbinger et al. 1997), which is not
///           the one that may have chosen the keys' partition; a slot holds the eight bits behind them beside its row,
///           so that nearly every miss ends in the slots. At most a third of the slots is used: a search that goes on
///           costs a mispredicted branch.
/// While keys are unique a slot names its row. Otherwise the rows of a key are a run of one array, ascending: their
/// number costs one look-up however many they are, and any of them is reached directly.
/// Read-only once built, thus usable from several threads. The keys are borrowed.
template <class Word>
class JoinTable {
 public:
  /// Takes the place of what the table held; its memory is used again. `keys`: at most kMaxPassRows, all in [min, max]
  /// and equal in their `shared_low_bits` lowest bits, as every key is that will be looked up.
  /// Errors: cancelled, by `control` where there is one; out_of_memory.
  Result<void> build(std::span<Word const> keys, Word min, Word max, std::uint32_t shared_low_bits,
                     Control const* control = nullptr) {
    GARUDA_EXPECTS(keys.size() <= contract::kMaxPassRows && shared_low_bits < 8 * sizeof(Word));
    keys_ = keys;
    shift_ = shared_low_bits;
    unique_ = true;
    auto const most = most_direct(keys.size());
    auto const [least, range] =
        keys.empty() ? KeyRange{min, 0} : narrow_range(KeyRange{min, last_slot(min, max)}, most);
    min_ = least;
    direct_ = range < most;
    num_slots_ = direct_ ? range + 1 : std::bit_ceil(std::max<std::uint64_t>(kHashSlots * keys.size(), 2));
    GARUDA_TRY(reserve(slots_, num_slots_));
    search_ = {slots(), keys.data(), num_slots_ - 1, shared_low_bits,
               static_cast<std::uint32_t>(65 - std::bit_width(num_slots_))};
    GARUDA_TRY(clear(slots(), num_slots_, control));
    if (direct_) {
      GARUDA_TRY(fill_direct(control));
    } else {
      GARUDA_TRY(fill_hash(control));
    }
    return unique_ ? Result<void>{} : build_runs(control);
  }

  /// Upper bound of the bytes that a table of `num_rows` rows takes.
  static std::uint64_t peak_bytes(std::uint64_t num_rows) noexcept {
    auto const slots = std::max(most_direct(num_rows) + 1, 2 * kHashSlots * num_rows);
    return 4 * (2 * slots + 1 + 2 * num_rows) + 4 * static_cast<std::uint64_t>(buffer_alignment());
  }

  bool is_unique() const noexcept { return unique_; }
  bool is_direct() const noexcept { return direct_; }
  std::uint64_t num_slots() const noexcept { return num_slots_; }

  /// What `find` found: 0 nothing, else 1 + the row of a unique table, 1 + the slot of another.
  using Found = std::uint32_t;

  /// Looks up `count` keys, at most kBlock: found[i] for keys[i].
  void find(Word const* keys, std::size_t count, Found* found) const noexcept {
    if (direct_)
      find_direct(keys, count, found);
    else
      find_hash(keys, count, found);
  }

  static constexpr std::size_t kBlock = 1'024;

  /// The rows behind `found` of a table that is not unique. Requires found > 0.
  std::span<std::uint32_t const> run(Found found) const noexcept {
    auto const* const begins = run_begins_.template as<std::uint32_t>() + (found - 1);
    return {rows_.template as<std::uint32_t>() + begins[0], begins[1] - begins[0]};
  }
  /// Their number.
  std::uint32_t run_length(Found found) const noexcept {
    auto const* const begins = run_begins_.template as<std::uint32_t>() + (found - 1);
    return begins[1] - begins[0];
  }

 private:
  /// A direct table has at most kDirectFill × rows + kDirectSlack slots, or, while they lie in a second-level cache,
  /// kCachedFill × rows: clearing these takes as long as hashing the rows, and no search goes on.
  static constexpr std::uint64_t kDirectFill = 4;
  static constexpr std::uint64_t kDirectSlack = 1'024;
  static constexpr std::uint64_t kCachedFill = 32;
  static constexpr std::uint64_t kCachedSlots = std::uint64_t{1} << 18;
  static constexpr std::uint64_t most_direct(std::uint64_t rows) noexcept {
    return std::max(kDirectFill * rows + kDirectSlack, std::min(kCachedFill * rows, kCachedSlots));
  }
  /// Slots of a hash table: at least so many a row, less than twice as many.
  static constexpr std::uint64_t kHashSlots = 3;
  static constexpr std::uint32_t kRowBits = 24;
  static_assert(contract::kMaxPassRows == std::uint64_t{1} << kRowBits);
  static constexpr std::uint32_t kRowMask = (std::uint32_t{1} << kRowBits) - 1;
  /// Slots are asked for so many keys ahead: after a mispredicted branch the core looks ahead no more.
  static constexpr std::size_t kAhead = 16;

  static Result<void> reserve(AlignedBuffer& buffer, std::uint64_t words) {
    auto const bytes = static_cast<std::int64_t>(4 * words);
    if (buffer.size_bytes() >= bytes) return {};
    buffer = {};
    GARUDA_TRY_ASSIGN(buffer, AlignedBuffer::allocate(bytes));
    return {};
  }

  /// Where direct slots begin, and the last of them.
  struct KeyRange {
    Word min;
    std::uint64_t last;
  };

  std::uint64_t last_slot(Word min, Word max) const noexcept { return static_cast<Word>(max - min) >> shift_; }

  /// The keys' own range where the given one has `most` slots or more: it may be that of keys elsewhere. Ends as soon
  /// as that is known not to help.
  KeyRange narrow_range(KeyRange given, std::uint64_t most) const noexcept {
    if (given.last < most) return given;
    constexpr std::size_t kStep = 64;
    auto min = keys_[0];
    auto max = min;
    for (std::size_t first = 0; first < keys_.size() && last_slot(min, max) < most; first += kStep)
      for (auto const key : keys_.subspan(first, std::min(kStep, keys_.size() - first))) {
        min = std::min(min, key);
        max = std::max(max, key);
      }
    return {min, last_slot(min, max)};
  }

  std::uint32_t* slots() noexcept { return slots_.template as<std::uint32_t>(); }
  std::uint32_t const* slots() const noexcept { return slots_.template as<std::uint32_t>(); }

  /// How keys find their slots directly. Loops take a copy: slots that they write could else be members of the table,
  /// which would be read again for every key.
  struct Direct {
    Word min = 0;
    std::uint32_t shift = 0;

    /// Beyond every slot for keys outside the range: the subtraction wraps.
    std::uint64_t slot_of(Word key) const noexcept { return static_cast<Word>(key - min) >> shift; }
  };
  Direct direct() const noexcept { return {min_, shift_}; }

  /// How hashed keys are searched; loops take a copy, too.
  struct Search {
    std::uint32_t* slots = nullptr;
    Word const* keys = nullptr;
    std::uint64_t mask = 0;
    std::uint32_t key_shift = 0;
    std::uint32_t slot_shift = 0;  ///< of a hash, to its first slot

    /// 2^64 over the golden ratio. Bits that all keys have in common are shifted out first: they would leave the
    /// product's lowest bits in common.
    std::uint64_t hash_of(Word key) const noexcept {
      return (static_cast<std::uint64_t>(key) >> key_shift) * 0x9E37'79B9'7F4A'7C15;
    }
    std::uint64_t first_slot(std::uint64_t hash) const noexcept { return hash >> slot_shift; }
    void look_ahead(Word key) const noexcept { __builtin_prefetch(slots + first_slot(hash_of(key)), 1); }
    /// Eight bits of the hash, never all zero, above the row: thus no used slot is 0.
    std::uint32_t tag_of(std::uint64_t hash) const noexcept {
      auto const tag = static_cast<std::uint32_t>(hash >> (slot_shift - 8)) & 0xFF;
      return (tag + (tag == 0 ? 1 : 0)) << kRowBits;
    }
    /// The slot of `key`, or the unused one where a search for it ends.
    std::uint64_t slot_of(std::uint64_t hash, Word key) const noexcept {
      auto const tag = tag_of(hash);
      for (auto i = first_slot(hash);; i = (i + 1) & mask) {
        auto const slot = slots[i];
        if (slot == 0 || ((slot & ~kRowMask) == tag && keys[slot & kRowMask] == key)) return i;
      }
    }
  };

  /// Calls body(first, last) for all blocks of [0, count). Errors: cancelled.
  template <class Body>
  static Result<void> for_blocks(std::uint64_t count, Control const* control, Body const& body) {
    for (std::uint64_t first = 0; first < count; first += kBlockRows) {
      GARUDA_TRY(check_cancelled(control));
      body(static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(std::min(first + kBlockRows, count)));
    }
    return {};
  }

  static Result<void> clear(std::uint32_t* words, std::uint64_t count, Control const* control) {
    return for_blocks(count, control,
                      [=](std::uint32_t first, std::uint32_t last) { std::fill(words + first, words + last, 0); });
  }

  Result<void> fill_direct(Control const* control) {
    return for_blocks(keys_.size(), control, [&](std::uint32_t first, std::uint32_t last) {
      auto* const slots = this->slots();
      bool unique = true;
      for_each_ahead<Word>(keys_.data() + first, last - first,
                           [&, direct = direct(), keys = keys_.data() + first, next = first + 1](std::size_t i) {
                             auto& slot = slots[direct.slot_of(keys[i])];
                             unique &= slot == 0;
                             slot = static_cast<std::uint32_t>(i) + next;
                           });
      unique_ &= unique;
    });
  }

  Result<void> fill_hash(Control const* control) {
    auto const rows = static_cast<std::uint32_t>(keys_.size());
    return for_blocks(rows, control, [&](std::uint32_t first, std::uint32_t last) {
      auto const search = search_;
      bool unique = true;
      for (auto row = first; row < last; ++row) {
        if (row + kAhead < rows) search.look_ahead(search.keys[row + kAhead]);
        auto const key = search.keys[row];
        auto const hash = search.hash_of(key);
        auto& slot = search.slots[search.slot_of(hash, key)];
        if (slot == 0)
          slot = search.tag_of(hash) | row;
        else
          unique = false;
      }
      unique_ &= unique;
    });
  }

  std::uint64_t slot_of_key(Word key) const noexcept {
    return direct_ ? direct().slot_of(key) : search_.slot_of(search_.hash_of(key), key);
  }

  /// Sorts the rows by slot, in order.
  Result<void> build_runs(Control const* control) {
    auto const rows = keys_.size();
    GARUDA_TRY(reserve(run_begins_, num_slots_ + 1));
    GARUDA_TRY(reserve(rows_, rows));
    GARUDA_TRY(reserve(slot_of_row_, rows));
    auto* const begins = run_begins_.template as<std::uint32_t>();
    auto* const slot_of_row = slot_of_row_.template as<std::uint32_t>();
    GARUDA_TRY(clear(begins, num_slots_ + 1, control));
    GARUDA_TRY(for_blocks(rows, control, [&](std::uint32_t first, std::uint32_t last) {
      for (auto row = first; row < last; ++row) {
        auto const slot = static_cast<std::uint32_t>(slot_of_key(keys_[row]));
        slot_of_row[row] = slot;
        ++begins[slot];
      }
    }));
    std::exclusive_scan(begins, begins + num_slots_ + 1, begins, std::uint32_t{0});
    auto* const sorted = rows_.template as<std::uint32_t>();
    GARUDA_TRY(for_blocks(rows, control, [=](std::uint32_t first, std::uint32_t last) {
      for (auto row = first; row < last; ++row) sorted[begins[slot_of_row[row]]++] = row;
    }));
    // Each begin has moved to the next one's place.
    std::copy_backward(begins, begins + num_slots_, begins + num_slots_ + 1);
    begins[0] = 0;
    return {};
  }

  void find_direct(Word const* keys, std::size_t count, Found* found) const noexcept {
    auto const* const slots = this->slots();
    auto const direct = this->direct();
    auto const num_slots = num_slots_;
    if (unique_) {
      for_each_ahead<Word>(keys, count, [=](std::size_t i) {
        auto const slot = direct.slot_of(keys[i]);
        found[i] = slot < num_slots ? slots[slot] : 0;
      });
      return;
    }
    for_each_ahead<Word>(keys, count, [=](std::size_t i) {
      auto const slot = direct.slot_of(keys[i]);
      found[i] = slot < num_slots && slots[slot] != 0 ? static_cast<Found>(slot) + 1 : 0;
    });
  }

  void find_hash(Word const* keys, std::size_t count, Found* found) const noexcept {
    auto const search = search_;
    bool const unique = unique_;
    for (std::size_t i = 0; i < count; ++i) {
      if (i + kAhead < count) search.look_ahead(keys[i + kAhead]);
      auto const slot = search.slot_of(search.hash_of(keys[i]), keys[i]);
      auto const entry = search.slots[slot];
      auto const hit = unique ? (entry & kRowMask) + 1 : static_cast<Found>(slot) + 1;
      found[i] = entry == 0 ? 0 : hit;
    }
  }

  std::span<Word const> keys_;
  Word min_ = 0;
  std::uint32_t shift_ = 0;
  bool direct_ = false;
  bool unique_ = true;
  std::uint64_t num_slots_ = 0;
  Search search_;
  AlignedBuffer slots_;        ///< direct: 1 + a row of the key, 0 without; hash: tag and a row of the key, 0 without
  AlignedBuffer run_begins_;   ///< slots + 1
  AlignedBuffer rows_;         ///< by slot, ascending in each
  AlignedBuffer slot_of_row_;  ///< while runs are built
};

}  // namespace garuda::cpu
