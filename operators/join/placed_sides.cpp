#include "operators/join/placed_sides.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "operators/contract/offers/join_terms.hpp"
#include "operators/materialize/carried_column.hpp"

namespace garuda::join {
namespace {

/// All rows of a table, in place: no words, and position i is row i.
partition::PartitionedKeys rows_in_place(std::uint64_t rows) {
  partition::PartitionedKeys placed;
  placed.offsets = {0, rows};
  placed.ranges.resize(1);
  return placed;
}

/// Whether the words of a side are moved rather than fetched by row: there are some, without nulls, whose bits do not
/// move, and pairs enough, of `rows` rows of the side.
bool are_words_moved(std::span<expr::OrderWords const> columns, double pairs, std::uint64_t rows) {
  return !columns.empty() && contract::moves_words(pairs, static_cast<double>(rows)) &&
         std::ranges::all_of(columns, [](expr::OrderWords const& column) { return column.valid.empty(); });
}

/// The words as columns to be partitioned. Borrows them.
std::vector<partition::PayloadColumn> words_as_payload(std::span<expr::OrderWords const> columns) {
  std::vector<partition::PayloadColumn> payload;
  for (auto const& column : columns)
    std::visit(
        [&]<class Word>(std::span<Word const> words) {
          payload.push_back({sizeof(Word), {{0, reinterpret_cast<std::byte const*>(words.data())}}});
        },
        column.words);
  return payload;
}

/// Makes `columns` those of the payload of `keys` from `first` on, which outlives them.
void take_moved_words(partition::PartitionedKeys const& keys, std::size_t first, std::span<expr::OrderWords> columns) {
  for (std::size_t c = 0; c < columns.size(); ++c)
    std::visit(
        [&]<class Word>(std::span<Word const>& words) {
          words = std::span(keys.payload.at(first + c).as<Word const>(), keys.num_rows());
        },
        columns[c].words);
}

/// The same keys, which stay those of `owner`.
partition::PartitionedKeys borrowed(partition::PartitionedKeys const& owner) {
  partition::PartitionedKeys keys;
  keys.key_bits = owner.key_bits;
  keys.wide_row_ids = owner.wide_row_ids;
  keys.keys = owner.keys;
  keys.row_ids = owner.row_ids;
  keys.offsets = owner.offsets;
  keys.ranges = owner.ranges;
  return keys;
}

}  // namespace

bool is_marked(contract::JoinParts const& parts, JoinOutput output, Side side) noexcept {
  auto const rows = parts.rows(side);
  return rows != contract::SideRows::none && (rows != contract::SideRows::all || output != JoinOutput::count);
}

Result<void> PlacedSides::place(PlannedJoin planned, PlacedTables const& tables) {
  digit_ = planned.digit.digit;
  bool const has_keys = planned.condition == nullptr;
  // Where rows match by a condition alone it was encoded to plan the join.
  if (has_keys && tables.columns.condition) {
    run::PhaseTimer const timer(tables.run.recorder, "encode");
    GARUDA_TRY_ASSIGN(condition_, tables.run.arena.execute([&] {
      return expr::encode_condition(*tables.columns.condition, tables.left, tables.right, tables.control);
    }));
  }
  auto const source = [&](Side which) {
    PartitionedTable side;
    side.table = tables.of(which);
    side.keys = &of(which).keys;
    side.carried = std::move(which == Side::left ? planned.left_carried : planned.right_carried);
    side.key_base = planned.keys.base.value_or(0);
    if (planned.keys.base) side.key_column = tables.columns.keys.front().of(which);
    return side;
  };
  auto left = source(Side::left);
  auto right = source(Side::right);
  if (has_keys) {
    run::PhaseTimer timer(tables.run.recorder, "partition");
    auto const pairs = planned.expected_matches;
    GARUDA_TRY(
        partition_side(std::move(planned.keys.left), std::move(planned.digit.left), pairs, tables, left, Side::left));
    if (tables.build != nullptr)
      right_.keys = borrowed(tables.build->partitioned);
    else
      GARUDA_TRY(partition_side(std::move(planned.keys.right), std::move(planned.digit.right), pairs, tables, right,
                                Side::right));
    if (digit_.bits > 0)
      timer.count(2 * (left_.keys.owned_bytes() + right_.keys.owned_bytes()),
                  left_.keys.num_rows() + right_.keys.num_rows());
  } else {
    for (auto const side : {Side::left, Side::right}) of(side).keys = rows_in_place(tables.rows(side));
  }
  if (tables.output != JoinOutput::rows) return {};
  GARUDA_TRY_ASSIGN(sources_, BatchSources::create(std::move(left), std::move(right), tables.columns));
  return {};
}

/// Columns are carried by rows that move: where none does, those of `side` are fetched by row.
Result<void> PlacedSides::partition_side(keys::EncodedKeys keys, partition::DigitCounts counts, double expected_matches,
                                         PlacedTables const& tables, PartitionedTable& side, Side which) {
  auto& placed = of(which);
  bool const moves = keys.num_rows > 0 && digit_.bits > 0;
  if (!moves) side.carried.clear();
  bool const marks_rows = tables.output != JoinOutput::count && is_marked(tables.columns.parts, tables.output, which);
  if (marks_rows) placed.in_place = keys_in_place(keys, digit_);
  auto& tested = words(which);
  placed.words_moved = moves && are_words_moved(tested, expected_matches, keys.num_rows);
  bool const tests_rows = !tested.empty() && !placed.words_moved;
  partition::PartitionOptions options;
  options.counts = std::move(counts);
  options.ranges = tables.wants_ranges;
  options.row_ids = tables.output == JoinOutput::pairs || tests_rows ||
                    (marks_rows && placed.in_place.words == nullptr) ||
                    (tables.output == JoinOutput::rows && needs_row_ids(side, tables.columns, which));
  std::vector<partition::PayloadColumn> payload;
  for (auto const& [column, bytes] : side.carried)
    payload.push_back(materialize::carried_column(side.table, column, bytes));
  if (placed.words_moved)
    for (auto& column : words_as_payload(tested)) payload.push_back(std::move(column));
  options.payload = payload;
  GARUDA_TRY_ASSIGN(placed.keys, tables.run.arena.execute([&] {
    return partition::radix_partition(std::move(keys), digit_, tables.control, std::move(options));
  }));
  if (placed.words_moved) take_moved_words(placed.keys, side.carried.size(), tested);
  return {};
}

}  // namespace garuda::join
