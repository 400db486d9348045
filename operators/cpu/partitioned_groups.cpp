#include "operators/cpu/partitioned_groups.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "operators/cpu/local_groups.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::operators {
namespace {

/// A partition's table: half of a core's second-level cache.
constexpr std::uint64_t kTableBytes = std::uint64_t{1} << 19;
/// Most slots of direct addressing a row: beyond, clearing and reading them costs more than hashing.
constexpr std::uint64_t kSlotsPerRow = 4;

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
class PartitionedGroups final : public WholeGroupBy {
 public:
  PartitionedGroups(TableRows<Word> const& rows, GroupStates const& states, GroupedBefore<Word> before,
                    WholeGroupByOptions const& options)
      : rows_(rows),
        states_(states),
        before_(std::move(before)),
        control_(options.control),
        first_row_(before_.first_block < blocks().size() ? blocks()[before_.first_block].first
                                                         : rows.table().num_rows) {}

  Result<void> partition() {
    GARUDA_TRY(partition::check_cancelled(control_));
    auto keys = left_keys();
    GARUDA_TRY_ASSIGN(auto choice, choose_digit(keys));
    digit_ = choice.digit;
    auto const payload = payload_columns();
    partition::PartitionOptions options;
    options.payload = payload;
    options.row_ids = states_.first_rows || gathers_;
    options.counts = std::move(choice.left);
    GARUDA_TRY_ASSIGN(order_, partition::radix_partition(std::move(keys), digit_, control(), std::move(options)));
    for (auto const& table : before_.tables) before_slots_.push_back(partition_slots(table, digit_));
    return {};
  }

  std::uint64_t num_rows() const noexcept { return rows_.table().num_rows - first_row_; }
  std::size_t num_parts() const noexcept override { return std::size_t{1} << digit_.bits; }

  Result<GroupPart> part(std::size_t index) override {
    try {
      GARUDA_TRY(partition::check_cancelled(control_));
      GroupTable<Word> table(addressing_of(index), states_);
      for (std::size_t t = 0; t < before_.tables.size(); ++t)
        table.merge(before_.tables[t], before_slots_[t].of(index));
      for (auto first = order_.offsets[index]; first < order_.offsets[index + 1]; first += partition::kBlockRows)
        GARUDA_TRY(add(first, std::min(partition::kBlockRows, order_.offsets[index + 1] - first), table));
      return table.part(table.occupied(0, table.num_slots()));
    } catch (std::bad_alloc const&) {
      return fail(ErrorCode::out_of_memory, "no memory for the groups of a partition");
    }
  }

 private:
  std::vector<TableBlock> const& blocks() const { return rows_.table().blocks; }

  /// The keys of the rows that are left; borrowed.
  partition::EncodedKeys left_keys() const {
    auto const& span = std::get<KeySpan>(rows_.table().keys);
    partition::EncodedKeys keys;
    keys.key_bits = 8 * sizeof(Word);
    keys.num_rows = num_rows();
    keys.table_rows = keys.num_rows;
    keys.words = rows_.keys().data() + first_row_;
    keys.min = span.min;
    keys.max = span.max;
    keys.common_low_bits = rows_.table().common_low_bits;
    return keys;
  }

  Control const& control() const {
    static Control const kNever;
    return control_ == nullptr ? kNever : *control_;
  }

  /// The columns that move along with their keys; the others are gathered by row ids later.
  std::vector<partition::PayloadColumn> payload_columns() {
    std::vector<partition::PayloadColumn> payload;
    payload_of_.assign(states_.requests.size(), kGathered);
    for (std::size_t c = 0; c < payload_of_.size(); ++c) {
      auto const& request = states_.requests[c];
      auto const width = 4 * value_words(request.kind);
      if (width == 0 && !request.may_have_nulls) continue;
      auto parts = rows_.table().values->in_place(c);
      if (parts.empty()) {
        gathers_ = true;
        continue;
      }
      payload_of_[c] = payload.size();
      payload.push_back({width, parts_from(std::move(parts), width)});
    }
    return payload;
  }

  /// The parts of the rows from first_row_ on, which is row 0 of what is partitioned.
  std::vector<partition::PayloadColumn::Part> parts_from(std::vector<partition::PayloadColumn::Part> parts,
                                                         std::uint32_t width) const {
    while (parts.size() > 1 && parts[1].first_row <= first_row_) parts.erase(parts.begin());
    for (auto& part : parts) {
      auto const skipped = first_row_ - std::min(part.first_row, first_row_);
      part.values += skipped * width;
      part.first_row = std::max(part.first_row, first_row_) - first_row_;
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

  Result<partition::DigitChoice> choose_digit(partition::EncodedKeys const& keys) const {
    std::uint64_t group_bytes = kHashBytes;
    for (auto const& request : states_.requests) group_bytes += 16 * std::uint64_t{value_words(request.kind)};
    auto const groups = expected_groups();
    std::uint32_t bits = 0;
    while (bits < partition::kMaxRadixBits && (groups >> bits) * group_bytes > kTableBytes) ++bits;
    // A raw digit takes none of the bits that all keys share.
    bits = std::min(bits, keys.key_bits - 1 - std::min(keys.common_low_bits, keys.key_bits - 1));
    partition::EncodedKeys no_other_side;
    no_other_side.key_bits = keys.key_bits;
    return partition::choose_digit(keys, no_other_side, bits, control());
  }

  Addressing addressing_of(std::size_t index) const {
    auto const rows = order_.offsets[index + 1] - order_.offsets[index];
    auto range = partition::PartitionedKeys::Range{~std::uint64_t{0}, 0};
    if (rows > 0) range = order_.ranges[index];
    std::uint64_t groups = std::min(rows, expected_groups() >> digit_.bits);
    for (std::size_t t = 0; t < before_.tables.size(); ++t)
      for (auto const slot : before_slots_[t].of(index)) {
        range.min = std::min<std::uint64_t>(range.min, before_.tables[t].key_of(slot));
        range.max = std::max<std::uint64_t>(range.max, before_.tables[t].key_of(slot));
        ++groups;
      }
    if (range.min > range.max) return {false, 0, 0, 1};
    auto const shift = range.min == range.max ? 0 : digit_.bits == 0 ? shift_of(rows_.table()) : shared_bits();
    auto const last = (range.max - range.min) >> shift;
    if (last < kSlotsPerRow * std::max<std::uint64_t>(rows, 1)) return {true, range.min, shift, last + 1};
    return {false, 0, 0, std::max<std::uint64_t>(groups, 1)};
  }

  std::uint32_t shared_bits() const { return partition::shared_low_bits(digit_); }

  /// Adds rows of the partitioned order.
  Result<void> add(std::uint64_t first, std::uint64_t count, GroupTable<Word>& table) const {
    std::vector<SliceValues> values(states_.requests.size());
    std::vector<AggregateInput> inputs(values.size());
    for (std::size_t c = 0; c < values.size(); ++c) {
      if (auto const moved = payload_of_[c]; moved != kGathered && !order_.payload.empty()) {
        auto const words = std::uint64_t{value_words(states_.requests[c].kind)};
        inputs[c].kind = states_.requests[c].kind;
        inputs[c].states = states_.requests[c].states;
        inputs[c].values = {order_.payload[moved].template as<std::uint32_t>() + first * words, count * words};
        continue;
      }
      GARUDA_TRY_ASSIGN(values[c], rows_.table().values->read(c, {first, count, &order_, first_row_}));
      inputs[c] = values[c].input;
    }
    GroupedRows<Word> rows;
    rows.keys = std::span(static_cast<Word const*>(order_.keys), order_.num_rows()).subspan(first, count);
    rows.values = inputs;
    rows.count = count;
    rows.first_row = first_row_;
    if (order_.row_ids == nullptr)
      rows.first_row += first;
    else if (order_.wide_row_ids)
      rows.wide_row_ids = {static_cast<std::uint64_t const*>(order_.row_ids) + first, count};
    else
      rows.row_ids = {static_cast<std::uint32_t const*>(order_.row_ids) + first, count};
    table.add(rows);
    return {};
  }

  TableRows<Word> rows_;
  GroupStates states_;
  GroupedBefore<Word> before_;
  Control const* control_;
  static constexpr std::size_t kGathered = std::numeric_limits<std::size_t>::max();

  std::uint64_t first_row_;
  std::vector<std::size_t> payload_of_;  ///< a request's payload column, or kGathered
  bool gathers_ = false;                 ///< some values are gathered by row ids
  partition::RadixDigit digit_;
  partition::PartitionedKeys order_;  ///< of the rows from first_row_ on
  std::vector<SlotsByPartition> before_slots_;
};

}  // namespace

template <class Word>
Result<std::unique_ptr<WholeGroupBy>> open_partitioned_groups(TableRows<Word> const& rows, GroupStates const& states,
                                                              GroupedBefore<Word> before,
                                                              WholeGroupByOptions const& options) {
  auto groups = std::make_unique<PartitionedGroups<Word>>(rows, states, std::move(before), options);
  auto const num_rows = groups->num_rows();
  PhaseClock const clock(options.stats, "partition", 2 * num_rows * sizeof(Word), num_rows);
  GARUDA_TRY(groups->partition());
  if (options.stats != nullptr) options.stats->add_counter("rows_partitioned", num_rows);
  return groups;
}

template Result<std::unique_ptr<WholeGroupBy>> open_partitioned_groups(TableRows<std::uint32_t> const&,
                                                                       GroupStates const&, GroupedBefore<std::uint32_t>,
                                                                       WholeGroupByOptions const&);
template Result<std::unique_ptr<WholeGroupBy>> open_partitioned_groups(TableRows<std::uint64_t> const&,
                                                                       GroupStates const&, GroupedBefore<std::uint64_t>,
                                                                       WholeGroupByOptions const&);

}  // namespace garuda::operators
