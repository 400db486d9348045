// The table of the CPU path's join: from a key to the build rows that have it.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "core/look_ahead.hpp"
#include "core/parallel_blocks.hpp"
#include "garuda/error.hpp"
#include "operators/contract/key_span.hpp"
#include "operators/cpu/join/rank_kernels.hpp"

namespace garuda::cpu {

/// Rows of the build side by key, in four bytes a slot. Three forms, chosen for the keys:
///   direct  slot (key - min) >> shared low bits, when that range is small: no key is compared
///   ranked  when it is larger: bits of that range say which keys are there, and how many of them are less is the slot
///   hash    linear probing from the leading bits of a multiplicative hash (Dietzfelbinger et al. 1997), which is not
///           the one that may have chosen the keys' partition; a slot holds the eight bits behind them beside its row,
///           so that nearly every miss ends in the slots. At most a third of the slots is used: a search that goes on
///           costs a mispredicted branch.
/// While keys are unique a slot names its row. Otherwise the rows of a key are a run of one array, ascending: their
/// number costs one look-up however many they are, and any of them is reached directly.
/// Read-only once built, thus usable from several threads; large ones are built by several, too. The keys are borrowed.
template <class Word>
class JoinTable {
 public:
  /// Takes the place of what the table held; its memory is used again. `keys`: at most kMaxPassRows, all in [min, max]
  /// and equal in their `shared_low_bits` lowest bits, as every key is that will be looked up. Keys that another thread
  /// changes meanwhile, for they may be the caller's memory, are found or not, and nothing beyond the table is touched.
  /// Errors: cancelled, by `control` where there is one; out_of_memory.
  Result<void> build(std::span<Word const> keys, Word min, Word max, std::uint32_t shared_low_bits,
                     Control const* control = nullptr) {
    GARUDA_EXPECTS(keys.size() <= contract::kMaxPassRows && shared_low_bits < 8 * sizeof(Word));
    keys_ = keys;
    shift_ = shared_low_bits;
    is_unique_ = true;
    auto const others = static_cast<std::uint64_t>(oneapi::tbb::this_task_arena::max_concurrency() - 1);
    is_shared_ = keys.size() * others >= kSharedRows;
    auto const [least, last] = keys.empty() ? KeyRange{min, 0} : narrow_range({min, last_slot(min, max)});
    min_ = least;
    last_value_ = last;
    form_ = last < most_direct(keys.size())   ? Form::direct
            : last < most_ranked(keys.size()) ? Form::ranked
                                              : Form::hashed;
    GARUDA_TRY_ASSIGN(num_slots_, count_slots(control));
    GARUDA_TRY(reserve(slots_, num_slots_ + 1));
    search_ = {slots(), keys.data(), num_slots_ - 1, shared_low_bits,
               static_cast<std::uint32_t>(65 - std::bit_width(num_slots_))};
    GARUDA_TRY(clear(slots(), num_slots_ + 1, control));
    GARUDA_TRY(fill(control));
    slots()[num_slots_] = 0;  // a key that left the range meanwhile may have used it
    return is_unique_ ? Result<void>{} : build_runs(control);
  }

  /// Upper bound of the bytes that a table of `num_rows` rows takes.
  static std::uint64_t peak_bytes(std::uint64_t num_rows) noexcept {
    auto const slots = std::max(most_direct(num_rows) + 1, 2 * kHashSlots * num_rows);
    return 4 * (2 * slots + 4 + 2 * num_rows) + 8 * num_rank_words(most_ranked(num_rows)) +
           5 * static_cast<std::uint64_t>(buffer_alignment());
  }

  /// Bytes that the table takes.
  std::uint64_t owned_bytes() const noexcept {
    std::int64_t bytes = 0;
    for (auto const* buffer : {&slots_, &ranks_, &run_begins_, &rows_}) bytes += buffer->size_bytes();
    return static_cast<std::uint64_t>(bytes);
  }

  bool is_unique() const noexcept { return is_unique_; }
  enum class Form : std::uint8_t { direct, ranked, hashed };
  Form form() const noexcept { return form_; }
  std::uint64_t num_slots() const noexcept { return num_slots_; }

  /// The result of `find`: 0 nothing, else 1 + the row of a unique table, 1 + the slot of another.
  using Found = std::uint32_t;

  /// Looks up `count` keys, at most kBlock: found[i] for keys[i].
  void find(Word const* keys, std::size_t count, Found* found) const noexcept {
    if (form_ == Form::hashed) return find_hash(keys, count, found);
    if (form_ == Form::ranked)
      find_ranked(keys, count, found);
    else
      find_direct(keys, count, found);
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
  /// A ranked table has at most kRankedFill values a row between its least and its greatest key, and lies with its
  /// slots in a second-level cache: it then takes no more bytes than a hash table's slots and the keys that they are
  /// compared with. Of larger ones a core waits for the words, which it cannot ask for ahead.
  static constexpr std::uint64_t kRankedFill = 64;
  static constexpr std::uint64_t kRankedBytes = std::uint64_t{1} << 20;
  static constexpr std::uint64_t most_ranked(std::uint64_t rows) noexcept {
    auto const bytes = kRankedBytes - std::min(4 * rows, kRankedBytes);
    return std::min(kRankedFill * rows, bytes / 8 * RankedKeys::kRankBits);
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

  /// The keys' own range where the given one is too large for a table without hashes: it may be that of keys elsewhere.
  /// Ends as soon as that is known not to help.
  KeyRange narrow_range(KeyRange given) const noexcept {
    auto const most = std::max(most_direct(keys_.size()), most_ranked(keys_.size()));
    if (given.last < most_direct(keys_.size())) return given;
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

  /// How keys find their slots directly. Loops take a copy, of words wider than what they write: that could else be
  /// members of the table or of the copy, which would be read again for every key.
  struct Direct {
    std::uint64_t min = 0;
    std::uint64_t shift = 0;

    /// Beyond every slot for keys outside the range: the subtraction wraps.
    std::uint64_t slot_of(Word key) const noexcept { return static_cast<Word>(key - min) >> shift; }
  };
  Direct direct() const noexcept { return {min_, shift_}; }

  /// Words of ranks of values up to one behind the last key's.
  static constexpr std::uint64_t num_rank_words(std::uint64_t last) noexcept {
    return (last + 1) / RankedKeys::kRankBits + 1;
  }
  RankedKeys ranked() const noexcept { return {min_, shift_, last_value_, ranks_.template as<std::uint64_t>()}; }

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

  /// Rows times the threads that would help: fewer are not worth what it costs that several write at once.
  static constexpr std::uint64_t kSharedRows = std::uint64_t{1} << 19;
  /// Rows or slots that a thread takes at once: tables of some 100,000 rows keep many threads busy.
  static constexpr std::uint64_t kBlockOfShared = std::uint64_t{1} << 13;

  /// Calls body(first, last) for all blocks of [0, count), in parallel on the threads of the calling task arena where
  /// the table is large, else in their order. Errors: cancelled.
  template <class Body>
  Result<void> for_blocks(std::uint64_t count, Control const* control, Body const& body) const {
    if (!is_shared_) return for_blocks_in_order(count, control, body);
    return for_each_block((count + kBlockOfShared - 1) / kBlockOfShared, control, [&](std::size_t block) {
      auto const first = block * kBlockOfShared;
      body(static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(std::min(first + kBlockOfShared, count)));
    });
  }
  template <class Body>
  static Result<void> for_blocks_in_order(std::uint64_t count, Control const* control, Body const& body) {
    for (std::uint64_t first = 0; first < count; first += kBlockRows) {
      GARUDA_TRY(check_cancelled(control));
      body(static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(std::min(first + kBlockRows, count)));
    }
    return {};
  }

  Result<void> clear(std::uint32_t* words, std::uint64_t count, Control const* control) const {
    return for_blocks(count, control,
                      [=](std::uint32_t first, std::uint32_t last) { std::fill(words + first, words + last, 0); });
  }

  /// Sets up what the keys' slots are found by. Errors: cancelled, out_of_memory.
  Result<std::uint64_t> count_slots(Control const* control) {
    if (form_ == Form::direct) return last_value_ + 1;
    if (form_ == Form::hashed) return std::bit_ceil(std::max<std::uint64_t>(kHashSlots * keys_.size(), 2));
    auto const count = num_rank_words(last_value_);
    GARUDA_TRY(reserve(ranks_, 2 * count));
    auto* const words = ranks_.template as<std::uint64_t>();
    GARUDA_TRY(for_blocks_in_order(count, control, [=](std::uint32_t first, std::uint32_t last) {
      std::fill(words + first, words + last, std::uint64_t{0});
    }));
    GARUDA_TRY(for_blocks_in_order(keys_.size(), control, [&](std::uint32_t first, std::uint32_t last) {
      for_each_ahead<Word>(
          keys_.data() + first, last - first,
          [=, direct = direct(), keys = keys_.data() + first, behind = last_value_ + 1](std::size_t i) {
            auto const value = std::min(direct.slot_of(keys[i]), behind);
            words[value / RankedKeys::kRankBits] |= std::uint64_t{1} << value % RankedKeys::kRankBits;
          });
    }));
    std::uint64_t keys = 0;
    GARUDA_TRY(for_blocks_in_order(count, control, [&](std::uint32_t first, std::uint32_t last) {
      keys = rank_kernels().add_ranks(words + first, last - first, keys);
    }));
    return keys;
  }

  Result<void> fill(Control const* control) {
    if (form_ == Form::hashed)
      return is_shared_ ? fill_hash(control, [](auto const&... row) { return place_shared(row...); })
                        : fill_hash(control, [](auto const&... row) { return place_alone(row...); });
    if (form_ == Form::direct && is_shared_) return share_direct(control);
    return for_blocks_in_order(keys_.size(), control, [&](std::uint32_t first, std::uint32_t last) {
      if (form_ == Form::direct)
        fill_slots(first, last, [direct = direct(), keys = keys_.data() + first, behind = num_slots_](std::size_t i) {
          return std::min(direct.slot_of(keys[i]), behind);
        });
      else
        for_slots(first, last, [&](std::uint32_t begin, std::span<std::uint32_t const> slots) {
          fill_slots(begin, begin + slots.size(), [slots](std::size_t i) { return slots[i]; });
        });
    });
  }

  /// `slot_of`: of row `first` + i.
  template <class SlotOf>
  void fill_slots(std::uint64_t first, std::uint64_t last, SlotOf const& slot_of) {
    bool unique = true;
    for_each_ahead<Word>(keys_.data() + first, last - first,
                         [=, &unique, slots = slots(), next = static_cast<std::uint32_t>(first) + 1](std::size_t i) {
                           auto& slot = slots[slot_of(i)];
                           unique &= slot == 0;
                           slot = static_cast<std::uint32_t>(i) + next;
                         });
    if (!unique) is_unique_ = false;
  }

  /// Calls body(first row, the slots of it and the next ones) for the rows [first, last) of keys that have one.
  template <class Body>
  void for_slots(std::uint32_t first, std::uint32_t last, Body const& body) const {
    std::uint32_t slots[kBlock];
    auto const behind = static_cast<std::uint32_t>(num_slots_);
    for (auto begin = first; begin < last; begin += kBlock) {
      auto const count = std::min<std::size_t>(kBlock, last - begin);
      auto const* const keys = keys_.data() + begin;
      if (form_ == Form::ranked) {
        find_ranks(keys, count, slots);
        for (std::size_t i = 0; i < count; ++i) slots[i] = std::min(slots[i] - 1, behind);
      } else if (form_ == Form::direct) {
        for (std::size_t i = 0; i < count; ++i)
          slots[i] = static_cast<std::uint32_t>(std::min(direct().slot_of(keys[i]), num_slots_));
      } else {
        for (std::size_t i = 0; i < count; ++i)
          slots[i] = static_cast<std::uint32_t>(search_.slot_of(search_.hash_of(keys[i]), keys[i]));
      }
      body(begin, std::span<std::uint32_t const>(slots, count));
    }
  }

  /// Fills hashed slots: `place` takes a slot for a row, and says whether no row before it has its key.
  template <class Place>
  Result<void> fill_hash(Control const* control, Place const& place) {
    auto const rows = static_cast<std::uint32_t>(keys_.size());
    return for_blocks(rows, control, [&](std::uint32_t first, std::uint32_t last) {
      auto const search = search_;
      bool unique = true;
      for (auto row = first; row < last; ++row) {
        if (row + kAhead < rows) search.look_ahead(search.keys[row + kAhead]);
        unique &= place(search, row, search.keys[row]);
      }
      if (!unique) is_unique_ = false;
    });
  }

  static bool place_alone(Search const& search, std::uint32_t row, Word key) {
    auto const hash = search.hash_of(key);
    auto& slot = search.slots[search.slot_of(hash, key)];
    if (slot != 0) return false;
    slot = search.tag_of(hash) | row;
    return true;
  }

  /// Several threads take unused slots by an exchange. Which row of a key stands in its slot makes no difference: of
  /// keys that are not unique runs have the rows.
  static bool place_shared(Search const& search, std::uint32_t row, Word key) {
    auto const hash = search.hash_of(key);
    auto const entry = search.tag_of(hash) | row;
    for (auto i = search.first_slot(hash);; i = (i + 1) & search.mask) {
      std::atomic_ref slot(search.slots[i]);
      auto found = slot.load(std::memory_order_relaxed);
      if (found == 0 && slot.compare_exchange_strong(found, entry, std::memory_order_relaxed)) return true;
      if ((found & ~kRowMask) == (entry & ~kRowMask) && search.keys[found & kRowMask] == key) return false;
    }
  }

  /// Fills direct slots by several threads: keys are unique where every row finds itself in its slot afterwards.
  Result<void> share_direct(Control const* control) {
    auto const slot_of = [direct = direct(), slots = slots(), behind = num_slots_](Word key) {
      return std::atomic_ref(slots[std::min(direct.slot_of(key), behind)]);
    };
    auto const* const keys = keys_.data();
    GARUDA_TRY(for_blocks(keys_.size(), control, [=](std::uint32_t first, std::uint32_t last) {
      for_each_ahead<Word>(keys + first, last - first, [=](std::size_t i) {
        slot_of(keys[first + i]).store(static_cast<std::uint32_t>(first + i) + 1, std::memory_order_relaxed);
      });
    }));
    return for_blocks(keys_.size(), control, [=, this](std::uint32_t first, std::uint32_t last) {
      bool unique = true;
      for_each_ahead<Word>(keys + first, last - first, [=, &unique](std::size_t i) {
        unique &= slot_of(keys[first + i]).load(std::memory_order_relaxed) == static_cast<std::uint32_t>(first + i) + 1;
      });
      if (!unique) is_unique_ = false;
    });
  }

  /// Adds to each count those before it.
  Result<void> sum_up(std::uint32_t* counts, std::uint64_t size, Control const* control) const {
    auto const block_rows = is_shared_ ? kBlockOfShared : kBlockRows;
    std::vector<std::uint32_t> totals((size + block_rows - 1) / block_rows);
    GARUDA_TRY(for_blocks(size, control, [=, totals = totals.data()](std::uint64_t first, std::uint64_t last) {
      totals[first / block_rows] = std::accumulate(counts + first, counts + last, std::uint32_t{0});
    }));
    std::exclusive_scan(totals.begin(), totals.end(), totals.begin(), std::uint32_t{0});
    return for_blocks(size, control, [=, totals = totals.data()](std::uint64_t first, std::uint64_t last) {
      std::inclusive_scan(counts + first, counts + last, counts + first, std::plus<>(), totals[first / block_rows]);
    });
  }

  /// Sorts the rows by slot, in order.
  Result<void> build_runs(Control const* control) {
    auto const rows = keys_.size();
    // Rows are counted two places behind their slot's begin, and placed by the count of one place behind it: once all
    // are placed, that is where the next slot's begin.
    auto const num_begins = num_slots_ + 3;  // a key that left the range meanwhile is behind the last slot
    GARUDA_TRY(reserve(run_begins_, num_begins));
    GARUDA_TRY(reserve(rows_, rows));
    GARUDA_TRY(reserve(slot_of_row_, rows));
    auto* const begins = run_begins_.template as<std::uint32_t>();
    auto* const slot_of_row = slot_of_row_.template as<std::uint32_t>();
    auto const next_of = [is_shared = is_shared_](std::uint32_t& count) {
      return is_shared ? std::atomic_ref(count).fetch_add(1, std::memory_order_relaxed) : count++;
    };
    GARUDA_TRY(clear(begins, num_begins, control));
    GARUDA_TRY(for_blocks(rows, control, [&](std::uint32_t first, std::uint32_t last) {
      for_slots(first, last, [=](std::uint32_t row, std::span<std::uint32_t const> slots) {
        for (auto const slot : slots) {
          slot_of_row[row++] = slot;
          next_of(begins[slot + 2]);
        }
      });
    }));
    GARUDA_TRY(sum_up(begins, num_begins, control));
    auto* const sorted = rows_.template as<std::uint32_t>();
    GARUDA_TRY(for_blocks(rows, control, [=](std::uint32_t first, std::uint32_t last) {
      for (auto row = first; row < last; ++row) sorted[next_of(begins[slot_of_row[row] + 1])] = row;
    }));
    if (!is_shared_) return {};
    // Several threads have written the rows of one slot in any order.
    return for_blocks(num_slots_, control, [=](std::uint32_t first, std::uint32_t last) {
      for (auto slot = first; slot < last; ++slot) std::sort(sorted + begins[slot], sorted + begins[slot + 1]);
    });
  }

  /// Finds keys without a branch on whether one is there, which a core cannot foresee: a key outside the range reads
  /// the slot behind the last, which stays unused.
  void find_direct(Word const* keys, std::size_t count, Found* found) const noexcept {
    auto const* const slots = this->slots();
    auto const slot_of = [direct = direct(), last = num_slots_](Word key) {
      return std::min(direct.slot_of(key), last);
    };
    if (is_unique_) {
      for_each_ahead<Word>(keys, count, [=](std::size_t i) { found[i] = slots[slot_of(keys[i])]; });
      return;
    }
    for_each_ahead<Word>(keys, count, [=](std::size_t i) {
      auto const slot = slot_of(keys[i]);
      found[i] = slots[slot] != 0 ? static_cast<Found>(slot) + 1 : 0;
    });
  }

  void find_ranked(Word const* keys, std::size_t count, Found* found) const noexcept {
    if (!is_unique_) return find_ranks(keys, count, found);
    auto const& kernels = rank_kernels();
    (sizeof(Word) == 4 ? kernels.find_rows_32 : kernels.find_rows_64)(ranked(), slots(), keys, count, found);
  }
  void find_ranks(Word const* keys, std::size_t count, Found* found) const noexcept {
    auto const& kernels = rank_kernels();
    (sizeof(Word) == 4 ? kernels.find_ranks_32 : kernels.find_ranks_64)(ranked(), keys, count, found);
  }

  void find_hash(Word const* keys, std::size_t count, Found* found) const noexcept {
    auto const search = search_;
    bool const unique = is_unique_;
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
  Form form_ = Form::hashed;
  std::atomic<bool> is_unique_{true};
  bool is_shared_ = false;        ///< several threads build the table
  std::uint64_t last_value_ = 0;  ///< direct, ranked: the greatest key's value
  std::uint64_t num_slots_ = 0;
  Search search_;
  AlignedBuffer slots_;       ///< 1 + a row of the key, 0 without, and 0 behind the last; hashed: tag and row, 0 unused
  AlignedBuffer ranks_;       ///< ranked: the words of RankedKeys
  AlignedBuffer run_begins_;  ///< slots + 3
  AlignedBuffer rows_;        ///< by slot, ascending in each
  AlignedBuffer slot_of_row_;  ///< while runs are built
};

}  // namespace garuda::cpu
