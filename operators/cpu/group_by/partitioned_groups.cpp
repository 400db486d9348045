#include "operators/cpu/group_by/partitioned_groups.hpp"

#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "core/shortage.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::cpu {
namespace {

/// Most slots of direct addressing a row: beyond, clearing and reading them costs more than hashing.
constexpr std::uint64_t kSlotsPerRow = 4;
/// Partitions a thread, so that none waits for another's last one; of so many groups, that each is worth a table.
constexpr std::uint64_t kPartsOfThread = 4;
constexpr std::uint64_t kFewestPartGroups = 1024;
/// The part of a group's list that a cache holds: lists are written from begin to end, so it is the page at the end.
constexpr std::uint64_t kListPageBytes = 4096;

/// Slots of the groups of one table, by the partitions of their keys.
struct SlotsByPartition {
  std::vector<std::uint64_t> offsets;  ///< partitions + 1
  std::vector<std::uint32_t> slots;

  std::span<std::uint32_t const> of(std::size_t partition) const {
    return std::span(slots).subspan(offsets[partition], offsets[partition + 1] - offsets[partition]);
  }
};

template <class Word>
SlotsByPartition partition_slots(GroupTable<Word> const& table, partition::RadixDigit digit) {
  SlotsByPartition by;
  by.offsets.assign((std::size_t{1} << digit.bits) + 1, 0);
  by.slots.resize(table.num_slots());
  auto const partition_of = [&](std::uint64_t slot) {
    return digit.bits == 0 ? 0 : partition::partition_of(table.key_of(slot), digit);
  };
  for (std::uint64_t slot = 0; slot < table.num_slots(); ++slot) ++by.offsets[partition_of(slot) + 1];
  for (std::size_t p = 1; p < by.offsets.size(); ++p) by.offsets[p] += by.offsets[p - 1];
  auto next = by.offsets;
  for (std::uint64_t slot = 0; slot < table.num_slots(); ++slot)
    by.slots[next[partition_of(slot)]++] = static_cast<std::uint32_t>(slot);
  return by;
}

template <class Word>
class PartitionedGroups final : public contract::WholeGroupBy {
 public:
  PartitionedGroups(TableRows<Word> const& rows, GroupStates const& states, GroupedBefore<Word> before,
                    contract::WholeGroupByOptions const& options, PartitionSizes const& sizes)
      : rows_(rows),
        states_(states),
        before_(std::move(before)),
        control_(options.control),
        sizes_(sizes),
        first_row_(before_.first_block < blocks().size() ? blocks()[before_.first_block].first
                                                         : rows.table().num_rows) {}

  Result<void> partition() {
    GARUDA_TRY(check_cancelled(control_));
    GARUDA_TRY_ASSIGN(auto choice, choose_digit(keys_of(first_row_, num_rows())));
    digit_ = choice.digit;
    before_slots_.resize(before_.tables.size());
    GARUDA_TRY(for_each_block(before_.tables.size(), control_,
                              [&](std::size_t t) { before_slots_[t] = partition_slots(before_.tables[t], digit_); }));
    plan_chunks();
    if (tables_.empty()) {
      GARUDA_TRY_ASSIGN(chunk_, partition_chunk(first_row_, num_rows(), std::move(choice.left)));
      return {};
    }
    auto const end = first_row_ + num_rows();
    for (auto first = first_row_; first < end; first += chunk_rows_) GARUDA_TRY(add_chunk(first, end));
    chunk_ = {};
    return {};
  }

  std::uint64_t num_rows() const noexcept { return rows_.table().num_rows - first_row_; }
  std::size_t num_parts() const noexcept override { return std::size_t{1} << digit_.bits; }

  Result<contract::GroupPart> part(std::size_t index) override {
    return or_out_of_memory("the groups of a partition", [&]() -> Result<contract::GroupPart> {
      GARUDA_TRY(check_cancelled(control_));
      if (!tables_.empty()) return finish(index, std::exchange(tables_[index], std::nullopt));
      std::optional<GroupTable<Word>> table(std::in_place, addressing_of(index), states_);
      table->reserve_rows(chunk_.order.offsets[index + 1] - chunk_.order.offsets[index]);
      GARUDA_TRY(add_partition(index, *table));
      return finish(index, std::move(table));
    });
  }

 private:
  std::vector<contract::TableBlock> const& blocks() const { return rows_.table().blocks; }

  /// Rows of the table from `first_row` on, partitioned.
  struct Chunk {
    std::uint64_t first_row = 0;
    partition::PartitionedKeys order;
  };

  contract::KeySpan const& key_span() const { return std::get<contract::KeySpan>(rows_.table().keys); }

  /// The keys of `count` rows from `first` on; borrowed.
  keys::EncodedKeys keys_of(std::uint64_t first, std::uint64_t count) const {
    auto const& span = key_span();
    keys::EncodedKeys keys;
    keys.key_bits = 8 * sizeof(Word);
    keys.num_rows = count;
    keys.table_rows = count;
    keys.words = rows_.keys().data() + first;
    keys.min = span.min;
    keys.max = span.max;
    keys.common_low_bits = rows_.table().common_low_bits;
    return keys;
  }

  Control const& control() const {
    static Control const kNever;
    return control_ == nullptr ? kNever : *control_;
  }

  /// Dense keys have accumulators of a size that is known before: rows are then partitioned chunk by chunk, each added
  /// to the tables of all partitions, so that only a chunk is ever copied. Not where tables keep as much as rows take.
  void plan_chunks() {
    if (digit_.bits == 0 || digit_.mixed || kept_row_bytes(states_.requests) > 0) return;
    auto const last_slot = (key_span().max - key_span().min) >> shared_bits();
    auto const groups = expected_groups();
    if (states_.num_more_words > 0 || last_slot >= kSlotsPerRow * (groups >> digit_.bits)) return;
    // Each chunk brings every table into the cache once.
    auto const chunk_rows = std::max(sizes_.chunk_rows, 2 * groups);
    if (num_rows() <= chunk_rows) return;
    slots_ = last_slot + 1;
    chunk_rows_ = chunk_rows;
    tables_.resize(num_parts());
  }

  Result<Chunk> partition_chunk(std::uint64_t first, std::uint64_t count, partition::DigitCounts counts) {
    auto const payload = payload_columns(first);
    partition::PartitionOptions options;
    options.payload = payload;
    options.row_ids = states_.first_rows || reads_row_ids_;
    options.ranges = tables_.empty();
    options.counts = std::move(counts);
    Chunk chunk{first, {}};
    GARUDA_TRY_ASSIGN(chunk.order,
                      partition::radix_partition(keys_of(first, count), digit_, control(), std::move(options)));
    return chunk;
  }

  Result<void> add_chunk(std::uint64_t first, std::uint64_t end) {
    chunk_ = {};
    GARUDA_TRY_ASSIGN(chunk_, partition_chunk(first, std::min(chunk_rows_, end - first), {}));
    FirstError errors;
    GARUDA_TRY(for_each_block(num_parts(), control_, [&](std::size_t p) {
      auto const& order = chunk_.order;
      if (errors.failed() || order.offsets[p] == order.offsets[p + 1]) return;
      if (!tables_[p]) tables_[p].emplace(whole_range(static_cast<Word const*>(order.keys)[order.offsets[p]]), states_);
      errors.keep(add_partition(p, *tables_[p]));
    }));
    return errors.result();
  }

  /// Slots for all keys of the whole range that are in the partition of `key`: they agree in their shared bits.
  Addressing whole_range(std::uint64_t key) const {
    auto const min = key_span().min;
    auto const mask = (std::uint64_t{1} << shared_bits()) - 1;
    return {true, min + ((key - min) & mask), shared_bits(), slots_};
  }

  Result<void> add_partition(std::size_t index, GroupTable<Word>& table) const {
    auto const end = chunk_.order.offsets[index + 1];
    auto const step = gathers_ ? kMadeRows : kBlockRows;
    for (auto first = chunk_.order.offsets[index]; first < end; first += step) {
      GARUDA_TRY(check_cancelled(control_));  // one group may have most rows of the table
      GARUDA_TRY(add(first, std::min(step, end - first), table));
    }
    return {};
  }

  /// The groups of a partition, with those from before.
  Result<contract::GroupPart> finish(std::size_t index, std::optional<GroupTable<Word>> table) const {
    for (std::size_t t = 0; t < before_.tables.size(); ++t) {
      auto const slots = before_slots_[t].of(index);
      if (slots.empty()) continue;
      if (!table) table.emplace(whole_range(before_.tables[t].key_of(slots[0])), states_);
      table->merge(before_.tables[t], slots);
    }
    if (!table) table.emplace(Addressing{false, 0, 0, 1}, states_);
    auto part = table->part(table->occupied(0, table->num_slots()), control_);
    GARUDA_TRY(check_cancelled(control_));
    return part;
  }

  /// The columns that move along with their keys, from row `first_row` on; the others are gathered later.
  std::vector<partition::PayloadColumn> payload_columns(std::uint64_t first_row) {
    std::vector<partition::PayloadColumn> columns;
    for (std::size_t c = 0; c < states_.requests.size(); ++c)
      columns.push_back({4 * contract::value_words(states_.requests[c].kind), rows_.table().values->in_place(c)});
    payload_of_ = partition::payload_places(columns);
    std::vector<partition::PayloadColumn> payload;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      auto& [width, parts, make] = columns[c];
      if (!payload_of_[c]) {
        if (width == 0 && !states_.requests[c].may_have_nulls) continue;
        gathers_ = true;
        reads_row_ids_ = reads_row_ids_ || rows_.table().values->reads_row_ids(c);
      } else if (*payload_of_[c] == payload.size()) {
        payload.push_back({width, parts_from(std::move(parts), width, first_row)});
      }
    }
    first_more_word_ = payload.size();
    for (auto const* words : rows_.more_words(first_row))
      payload.push_back({sizeof(std::uint64_t), {{0, reinterpret_cast<std::byte const*>(words)}}});
    return payload;
  }

  /// The parts of the rows from `first_row` on, which is row 0 of what is partitioned.
  static std::vector<partition::PayloadColumn::Part> parts_from(std::vector<partition::PayloadColumn::Part> parts,
                                                                std::uint32_t width, std::uint64_t first_row) {
    while (parts.size() > 1 && parts[1].first_row <= first_row) parts.erase(parts.begin());
    for (auto& part : parts) {
      auto const skipped = first_row - std::min(part.first_row, first_row);
      part.values += skipped * width;
      part.first_row = std::max(part.first_row, first_row) - first_row;
    }
    return parts;
  }

  /// Groups of the table, by what has been seen of it.
  std::uint64_t expected_groups() const {
    auto const& table = rows_.table();
    auto groups = table.estimated_groups;
    // The groups found so far are a sample of all.
    if (first_row_ > 0)
      groups = std::max(
          groups, static_cast<std::uint64_t>(static_cast<double>(before_.num_groups()) *
                                             static_cast<double>(table.num_rows) / static_cast<double>(first_row_)));
    return std::clamp<std::uint64_t>(groups, 1, table.num_rows);
  }

  Result<partition::DigitChoice> choose_digit(keys::EncodedKeys const& keys) const {
    auto const groups = expected_groups();
    auto const last_slot = (keys.max - keys.min) >> std::min(keys.common_low_bits, keys.key_bits - 1);
    auto const is_dense = states_.num_more_words == 0 && last_slot < kSlotsPerRow * groups;
    auto const slots = is_dense ? last_slot + 1 : groups;
    auto const list_bytes = kept_row_bytes(states_.requests) * (rows_.table().num_rows / groups);
    auto const slot_bytes = state_bytes(states_.requests, states_.first_rows) +
                            (is_dense ? 0 : kHashBytes + 8 * states_.num_more_words) +
                            std::min(list_bytes, kListPageBytes);
    std::uint32_t bits = 0;
    while (bits < partition::kMaxRadixBits && (slots >> bits) * slot_bytes > sizes_.table_bytes) ++bits;
    auto const threads = static_cast<std::uint64_t>(oneapi::tbb::this_task_arena::max_concurrency());
    // Where all values are kept the work is in the rows, however few the groups are.
    auto const is_worth_halving = [&] {
      if (list_bytes == 0) return (groups >> bits) >= 2 * kFewestPartGroups;
      return (groups >> bits) >= 2 && (rows_.table().num_rows >> bits) >= 2 * kBlockRows;
    };
    while (threads > 1 && (std::uint64_t{1} << bits) < kPartsOfThread * threads && is_worth_halving()) ++bits;
    // A raw digit takes none of the bits that all keys share.
    bits = std::min(bits, keys.key_bits - 1 - std::min(keys.common_low_bits, keys.key_bits - 1));
    keys::EncodedKeys no_other_side;
    no_other_side.key_bits = keys.key_bits;
    return partition::choose_digit(keys, no_other_side, bits, control());
  }

  Addressing addressing_of(std::size_t index) const {
    auto const rows = chunk_.order.offsets[index + 1] - chunk_.order.offsets[index];
    auto range = partition::PartitionedKeys::Range{~std::uint64_t{0}, 0};
    if (rows > 0) range = chunk_.order.ranges[index];
    std::uint64_t groups = std::min(rows, expected_groups() >> digit_.bits);
    for (std::size_t t = 0; t < before_.tables.size(); ++t)
      for (auto const slot : before_slots_[t].of(index)) {
        range.min = std::min<std::uint64_t>(range.min, before_.tables[t].key_of(slot));
        range.max = std::max<std::uint64_t>(range.max, before_.tables[t].key_of(slot));
        ++groups;
      }
    if (range.min > range.max) return {false, 0, 0, 1};
    if (states_.num_more_words > 0) return {false, 0, 0, std::max<std::uint64_t>(groups, 1)};
    auto const shift = range.min == range.max ? 0 : digit_.bits == 0 ? shift_of(rows_.table()) : shared_bits();
    auto const last = (range.max - range.min) >> shift;
    if (last < kSlotsPerRow * std::max<std::uint64_t>(rows, 1)) return {true, range.min, shift, last + 1};
    return {false, 0, 0, std::max<std::uint64_t>(groups, 1)};
  }

  std::uint32_t shared_bits() const { return partition::shared_low_bits(digit_); }

  /// Adds rows of the partitioned order.
  Result<void> add(std::uint64_t first, std::uint64_t count, GroupTable<Word>& table) const {
    std::vector<contract::SliceValues> values(states_.requests.size());
    std::vector<contract::AggregateInput> inputs(values.size());
    for (std::size_t c = 0; c < values.size(); ++c) {
      if (auto const moved = payload_of_[c]; moved && !chunk_.order.payload.empty()) {
        auto const words = std::uint64_t{contract::value_words(states_.requests[c].kind)};
        inputs[c].kind = states_.requests[c].kind;
        inputs[c].states = states_.requests[c].states;
        inputs[c].values = {chunk_.order.payload[*moved].template as<std::uint32_t>() + first * words, count * words};
        continue;
      }
      GARUDA_TRY_ASSIGN(values[c], rows_.table().values->read(c, {first, count, &chunk_.order, chunk_.first_row}));
      inputs[c] = values[c].input;
    }
    GroupedRows<Word> rows;
    rows.keys = std::span(static_cast<Word const*>(chunk_.order.keys), chunk_.order.num_rows()).subspan(first, count);
    rows.more_words = more_words(first);
    rows.values = inputs;
    rows.count = count;
    rows.first_row = chunk_.first_row;
    if (chunk_.order.row_ids == nullptr)
      rows.first_row += first;
    else if (chunk_.order.wide_row_ids)
      rows.wide_row_ids = {static_cast<std::uint64_t const*>(chunk_.order.row_ids) + first, count};
    else
      rows.row_ids = {static_cast<std::uint32_t const*>(chunk_.order.row_ids) + first, count};
    table.add(rows);
    return {};
  }

  /// More words of the rows of the partitioned order from `first` on.
  MoreWords more_words(std::uint64_t first) const {
    if (chunk_.order.payload.empty()) return rows_.more_words(chunk_.first_row + first);
    MoreWords words;
    for (std::size_t w = 0; w < states_.num_more_words; ++w)
      words.push_back(chunk_.order.payload[first_more_word_ + w].template as<std::uint64_t>() + first);
    return words;
  }

  TableRows<Word> rows_;
  GroupStates states_;
  GroupedBefore<Word> before_;
  Control const* control_;
  PartitionSizes sizes_;
  std::uint64_t first_row_;
  std::vector<std::optional<std::size_t>> payload_of_;  ///< a request's payload column; nullopt: gathered
  std::size_t first_more_word_ = 0;                     ///< payload column of the keys' second word
  bool gathers_ = false;                                ///< some values are gathered, or made of others
  bool reads_row_ids_ = false;                          ///< some of these are found by row ids
  partition::RadixDigit digit_;
  Chunk chunk_;  ///< all rows that are left, or those that are being added to the tables
  std::uint64_t chunk_rows_ = 0;
  std::uint64_t slots_ = 0;                              ///< of each of the tables
  std::vector<std::optional<GroupTable<Word>>> tables_;  ///< a partition each; empty: made when their part is
  std::vector<SlotsByPartition> before_slots_;
};

}  // namespace

template <class Word>
Result<std::unique_ptr<contract::WholeGroupBy>> open_partitioned_groups(TableRows<Word> const& rows,
                                                                        GroupStates const& states,
                                                                        GroupedBefore<Word> before,
                                                                        contract::WholeGroupByOptions const& options,
                                                                        PartitionSizes const& sizes) {
  auto groups = std::make_unique<PartitionedGroups<Word>>(rows, states, std::move(before), options, sizes);
  auto const num_rows = groups->num_rows();
  contract::PhaseTimer const clock(options.stats, "partition", 2 * num_rows * sizeof(Word), num_rows);
  GARUDA_TRY(groups->partition());
  if (options.stats != nullptr) options.stats->add_counter("rows_partitioned", num_rows);
  return groups;
}

template Result<std::unique_ptr<contract::WholeGroupBy>> open_partitioned_groups(TableRows<std::uint32_t> const&,
                                                                                 GroupStates const&,
                                                                                 GroupedBefore<std::uint32_t>,
                                                                                 contract::WholeGroupByOptions const&,
                                                                                 PartitionSizes const&);
template Result<std::unique_ptr<contract::WholeGroupBy>> open_partitioned_groups(TableRows<std::uint64_t> const&,
                                                                                 GroupStates const&,
                                                                                 GroupedBefore<std::uint64_t>,
                                                                                 contract::WholeGroupByOptions const&,
                                                                                 PartitionSizes const&);

}  // namespace garuda::cpu
