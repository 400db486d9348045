// A hash table from a key to all its rows.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "garuda/control.hpp"
#include "garuda/error.hpp"
#include "partition/mix.hpp"
#include "partition/parallel_blocks.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::operators {

/// Rows grouped by key: a slot a distinct key, which holds the place of the key's rows in one array of all rows. So the
/// number of rows with a key costs one look-up however often the key occurs, and any of them is reached directly.
///
/// Rows are first dealt out to sections by a part of the hash; each section is a table of its own with linear probing,
/// built by one task and small enough for a core's cache. Hash bits: the leading kMaxRadixBits may already have chosen
/// the partition that the rows come from, the section takes those behind them, the slot the lowest.
/// Read-only after `build`, thus usable from several threads.
template <class Word>
class GroupedTable {
 public:
  /// All rows of one key: rows()[first, first + count), ascending. count 0: an unused slot.
  struct Slot {
    Word key;
    std::uint32_t first;
    std::uint32_t count;
  };

  GroupedTable() = default;

  /// Groups `keys` (fewer than 2^31) on the threads of the calling task arena; they are not kept.
  /// Errors: out_of_memory, cancelled.
  static Result<GroupedTable> build(std::span<Word const> keys, Control const& control) {
    GroupedTable table;
    table.section_bits_ = section_bits(keys.size());
    GARUDA_TRY_ASSIGN(auto const sorted, table.deal_out(keys, control));
    auto const num_slots = table.place_sections(sorted.offsets);
    GARUDA_TRY_ASSIGN(table.slots_, AlignedBuffer::allocate(static_cast<std::int64_t>(num_slots * sizeof(Slot))));
    GARUDA_TRY_ASSIGN(table.rows_, AlignedBuffer::allocate(static_cast<std::int64_t>(keys.size() * 4)));
    GARUDA_TRY_ASSIGN(auto slot_of_row, AlignedBuffer::allocate(static_cast<std::int64_t>(keys.size() * 4)));
    GARUDA_TRY(partition::for_each_block(table.sections_.size(), &control, [&](std::size_t section) {
      table.fill_section(section, sorted, slot_of_row.template as<std::uint32_t>());
    }));
    return table;
  }

  /// Upper bound of the bytes that `build` has allocated at once for `num_rows` rows; what stays is less.
  static std::uint64_t peak_bytes(std::uint64_t num_rows) noexcept {
    auto const slots = 2 * (num_rows + num_rows / 3 + (std::uint64_t{1} << section_bits(num_rows)));
    return slots * sizeof(Slot) + num_rows * (sizeof(Word) + 12) + 4 * static_cast<std::uint64_t>(kBufferAlignment);
  }

  /// The slot of `key`, or nullptr when no row has it.
  Slot const* find(Word key) const noexcept {
    auto const hash = partition::mix(key);
    auto const& section = sections_[partition::hash_digit(hash, section_bits_, partition::kMaxRadixBits)];
    auto const* const slots = this->slots() + section.first_slot;
    for (auto i = hash & section.mask;; i = (i + 1) & section.mask) {
      if (slots[i].count == 0) return nullptr;
      if (slots[i].key == key) return slots + i;
    }
  }

  std::uint32_t const* rows() const noexcept { return rows_.as<std::uint32_t>(); }
  Slot const* slots() const noexcept { return slots_.template as<Slot>(); }
  std::uint64_t num_slots() const noexcept { return static_cast<std::uint64_t>(slots_.size_bytes()) / sizeof(Slot); }

 private:
  struct Section {
    std::uint64_t first_slot = 0;
    std::uint64_t mask = 0;  ///< slots - 1; there is always an unused one, where every search ends
  };

  /// Sections of about 2^14 rows keep their slots within a core's second-level cache.
  static std::uint32_t section_bits(std::uint64_t num_rows) noexcept {
    return std::min<std::uint32_t>(10, static_cast<std::uint32_t>(std::bit_width(num_rows >> 15)));
  }

  Result<partition::PartitionedKeys> deal_out(std::span<Word const> keys, Control const& control) const {
    partition::EncodedKeys encoded;
    encoded.key_bits = 8 * sizeof(Word);
    encoded.num_rows = keys.size();
    encoded.table_rows = keys.size();
    encoded.words = keys.data();
    return partition::radix_partition(std::move(encoded), {section_bits_, partition::kMaxRadixBits, true}, control);
  }

  std::uint64_t place_sections(std::vector<std::uint64_t> const& offsets) {
    std::uint64_t num_slots = 0;
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
      auto const rows = offsets[s + 1] - offsets[s];
      auto const capacity = std::bit_ceil(rows + rows / 3 + 1);
      sections_.push_back({num_slots, capacity - 1});
      num_slots += capacity;
    }
    return num_slots;
  }

  void fill_section(std::size_t section, partition::PartitionedKeys const& sorted, std::uint32_t* slot_of_row) {
    auto const* const keys = static_cast<Word const*>(sorted.keys);
    auto const begin = sorted.offsets[section];
    auto const end = sorted.offsets[section + 1];
    auto const mask = sections_[section].mask;
    auto* const slots = slots_.template as<Slot>() + sections_[section].first_slot;
    std::fill_n(slots, mask + 1, Slot{});
    for (auto i = begin; i < end; ++i) {
      auto s = partition::mix(keys[i]) & mask;
      while (slots[s].count != 0 && slots[s].key != keys[i]) s = (s + 1) & mask;
      slots[s].key = keys[i];
      ++slots[s].count;
      slot_of_row[i] = static_cast<std::uint32_t>(s);
    }
    auto next = static_cast<std::uint32_t>(begin);
    for (std::uint64_t s = 0; s <= mask; ++s) slots[s].first = std::exchange(next, next + slots[s].count);
    auto* const rows = rows_.as<std::uint32_t>();
    for (auto i = begin; i < end; ++i)
      rows[slots[slot_of_row[i]].first++] = static_cast<std::uint32_t>(sorted.row_id(i));
    for (std::uint64_t s = 0; s <= mask; ++s) slots[s].first -= slots[s].count;
  }

  std::uint32_t section_bits_ = 0;
  std::vector<Section> sections_;
  AlignedBuffer slots_;
  AlignedBuffer rows_;  ///< row indices, u32
};

}  // namespace garuda::operators
