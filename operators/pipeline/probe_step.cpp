#include "operators/pipeline/probe_step.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/parallel_blocks.hpp"
#include "core/positions.hpp"
#include "expr/columns.hpp"
#include "operators/join/join_build.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::pipeline {
namespace {

/// Most rows of a chunk that a join gives: it stays in a second-level cache.
constexpr std::uint64_t kWindowRows = std::uint64_t{1} << 16;

contract::KeySpan span_of(keys::EncodedKeys const& words) {
  if (words.key_bits == 32) return {words.words32(), words.min, words.max, {}};
  return {words.words64(), words.min, words.max, {}};
}

/// The position in a chunk of a row that has a word.
std::int64_t position_of(keys::EncodedKeys const& words, std::uint64_t word) {
  return words.row_ids.size_bytes() == 0 ? static_cast<std::int64_t>(word)
                                         : std::int64_t{words.row_ids.as<std::uint32_t>()[word]};
}

/// Row numbers from `first` on, a mark each, that are `wanted` of those that are marked.
RowNumbers rows_of(contract::SideRows wanted, std::span<std::uint8_t const> marks, std::int64_t first = 0) {
  bool const takes_all = wanted == contract::SideRows::all;
  bool const takes_marked = wanted == contract::SideRows::matched;
  RowNumbers rows(marks.size());
  std::size_t count = 0;
  for (std::size_t row = 0; row < marks.size(); ++row) {
    rows[count] = first + static_cast<std::int64_t>(row);
    count += takes_all || (marks[row] != 0) == takes_marked ? 1 : 0;
  }
  rows.resize(count);
  return rows;
}

ChunkColumn column_of(Field const& field, expr::Vector const& values, std::size_t rows) {
  expr::ColumnWriter writer(field.type);
  // Booleans and nulls never pass the limit of a column.
  auto const appended = writer.append(values, rows);
  GARUDA_EXPECTS(appended.has_value());
  auto written = writer.finish();
  return {&field, written.array, std::move(written.owner)};
}

ChunkColumn column_of_nulls(Field const& field, std::size_t rows) {
  static constexpr Int128 kNone = 0;
  static constexpr std::uint8_t kInvalid = 0;
  return column_of(field, {*expr::kind_of(field.type), true, &kNone, &kInvalid}, rows);
}

}  // namespace

/// Rows that match, of the chunk and among the words of the build side.
struct ProbeStep::Matches {
  RowNumbers probe;
  RowNumbers build;
};

Result<std::unique_ptr<ProbeStep>> ProbeStep::create(ProbeSpec spec, Columns const& columns) {
  std::unique_ptr<ProbeStep> step(new ProbeStep(std::move(spec), columns));
  auto const& made = step->spec_;
  step->pieces_ = join::pieces_of(made.side->partitioned);
  for (std::uint64_t first = 0; auto const& piece : step->pieces_) {
    step->piece_rows_.push_back(first);
    first += piece.size();
  }
  contract::BackendOptions options;
  options.tuning.build = BuildSide::right;
  options.lanes = static_cast<std::uint32_t>(made.lanes);
  options.key_bits = made.side->words.key_bits;
  options.keeps_matches = made.pairs || made.where != nullptr;
  options.pairs_wanted = options.keeps_matches;
  options.kept = &made.side->tables;
  options.control = &made.control;
  options.stats = made.stats;
  GARUDA_TRY_ASSIGN(step->backend_, join::path_of_tables().join.open(nullptr, options));
  if (step->is_marked(made.build_rows))
    step->build_marks_ = std::make_unique<contract::RowMarks>(made.side->partitioned.num_rows());
  if (made.where == nullptr) return step;
  std::vector<Slot> of_build;
  for (auto const slot : made.where->reads()) {
    auto const& source = columns.slots[slot].source;
    (source && columns.sources[*source].origin == made.build_origin ? of_build : step->tested_live_.slots)
        .push_back(slot);
  }
  GARUDA_TRY_ASSIGN(step->tested_,
                    Loader::create(columns, of_build, std::vector<bool>(columns.num_origins, false), StringForm::view));
  return step;
}

void ProbeStep::set_live(Live live) {
  live_ = std::move(live);
  live_.origins[spec_.build_origin] = false;  // its rows are given here
  tested_live_.origins.assign(columns_.num_origins, false);
  arriving_ = {reads(), live_.origins};
  for (auto const slot : live_.slots)
    if (std::ranges::find(arriving_.slots, slot) == arriving_.slots.end()) arriving_.slots.push_back(slot);
}

std::vector<Slot> ProbeStep::reads() const {
  auto slots = spec_.keys;
  for (auto const slot : tested_live_.slots)
    if (std::ranges::find(slots, slot) == slots.end()) slots.push_back(slot);
  return slots;
}

Result<void> ProbeStep::push(Chunk chunk, std::size_t lane, Next const& next) const {
  if (spec_.misses == nullptr) return probe_rows(std::move(chunk), lane, next);
  GARUDA_TRY_ASSIGN(auto const passing, spec_.misses->passing(chunk));
  if (!passing || passing->size() == chunk.num_rows) return probe_rows(std::move(chunk), lane, next);
  if (passing->empty()) return {};
  GARUDA_TRY_ASSIGN(auto taken, take(chunk, *passing, arriving_));
  return probe_rows(std::move(taken), lane, next);
}

Result<void> ProbeStep::probe_rows(Chunk chunk, std::size_t lane, Next const& next) const {
  auto const table = table_of(chunk, spec_.keys);
  GARUDA_TRY_ASSIGN(auto const keys,
                    spec_.side->keys->encode({table.view(), first_positions(spec_.keys.size())}, spec_.control));
  Marks marks(is_marked(spec_.probe_rows) ? chunk.num_rows : 0);
  std::uint64_t matched = 0;
  for (std::size_t piece = 0; piece < pieces_.size(); ++piece) {
    GARUDA_TRY_ASSIGN(auto const count, probe_piece(chunk, keys.left, piece, lane, marks, next));
    matched += count;
  }
  if (spec_.misses != nullptr) spec_.misses->add_probed(chunk.num_rows, matched);
  if (!is_marked(spec_.probe_rows)) return {};
  return give_probe_rows(std::move(chunk), marks, next);
}

Result<std::uint64_t> ProbeStep::probe_piece(Chunk const& chunk, keys::EncodedKeys const& words, std::size_t piece,
                                             std::size_t lane, Marks& marks, Next const& next) const {
  if (words.num_rows == 0 || pieces_[piece].size() == 0) return 0;
  contract::JoinSlice const slice{span_of(words), pieces_[piece], partition::shared_low_bits(spec_.side->digit),
                                  Side::right};
  GARUDA_TRY_ASSIGN(auto const kernel, backend_->begin(slice, static_cast<std::uint32_t>(lane)));
  if (spec_.pairs || spec_.where != nullptr) return give_pairs(chunk, words, *kernel, piece_rows_[piece], marks, next);
  if (build_marks_ != nullptr) GARUDA_TRY(kernel->add_marks(Side::right, *build_marks_, piece_rows_[piece]));
  std::uint64_t matched = 0;
  if (marks.empty()) return matched;
  GARUDA_TRY_ASSIGN(auto const bits, kernel->mark(Side::left));
  for (std::uint64_t word = 0; word < words.num_rows; ++word) {
    if ((bits[word / 64] >> word % 64 & 1) == 0) continue;
    marks[static_cast<std::size_t>(position_of(words, word))] = 1;
    ++matched;
  }
  return matched;
}

/// `first`: of the words of the kernel's piece.
Result<std::uint64_t> ProbeStep::give_pairs(Chunk const& chunk, keys::EncodedKeys const& words,
                                            contract::JoinKernel& kernel, std::uint64_t first, Marks& marks,
                                            Next const& next) const {
  GARUDA_TRY_ASSIGN(auto const count, kernel.count());
  Matches matches;
  if (auto const found = kernel.unique_matches(); !found.empty()) {
    // The place behind the last match is written always, and kept where there is one.
    matches.probe.resize(count + 1);
    matches.build.resize(count + 1);
    std::size_t written = 0;
    for (std::uint64_t word = 0; word < found.size(); ++word) {
      matches.probe[written] = position_of(words, word);
      matches.build[written] = static_cast<std::int64_t>(first + found[word]) - 1;
      written += found[word] != 0 ? 1 : 0;
    }
    matches.probe.resize(count);
    matches.build.resize(count);
    if (count <= kWindowRows) {
      GARUDA_TRY(give_window(chunk, std::move(matches), marks, next));
      return count;
    }
  }
  UnsetVector<contract::RowPair> pairs;
  for (std::uint64_t begin = 0; begin < count; begin += kWindowRows) {
    GARUDA_TRY(check_cancelled(&spec_.control));
    pairs.resize(std::min(kWindowRows, count - begin));
    GARUDA_TRY(kernel.pairs(begin, pairs));
    matches.probe.resize(pairs.size());
    matches.build.resize(pairs.size());
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      matches.probe[i] = position_of(words, pairs[i].left);
      matches.build[i] = static_cast<std::int64_t>(first + pairs[i].right);
    }
    GARUDA_TRY(give_window(chunk, matches, marks, next));
  }
  return count;
}

Result<void> ProbeStep::give_window(Chunk const& chunk, Matches matches, Marks& marks, Next const& next) const {
  if (spec_.where != nullptr) {
    GARUDA_TRY_ASSIGN(matches, tested(chunk, std::move(matches)));
  }
  if (!marks.empty())
    for (auto const row : matches.probe) marks[static_cast<std::size_t>(row)] = 1;
  if (build_marks_ != nullptr)
    for (auto const word : matches.build) build_marks_->set(static_cast<std::uint64_t>(word));
  if (!spec_.pairs || matches.probe.empty()) return {};
  GARUDA_TRY_ASSIGN(auto taken, paired(chunk, matches, live_));
  return next(std::move(taken));
}

/// The matches for which the condition is true.
Result<ProbeStep::Matches> ProbeStep::tested(Chunk const& chunk, Matches matches) const {
  GARUDA_TRY_ASSIGN(auto candidates, paired(chunk, matches, tested_live_));
  GARUDA_TRY_ASSIGN(auto const read, tested_->load(candidates));
  GARUDA_EXPECTS(read == candidates.num_rows);
  GARUDA_TRY_ASSIGN(auto const passing, spec_.where->passing(candidates));
  for (auto* const side : {&matches.probe, &matches.build}) {
    for (std::size_t i = 0; i < passing.size(); ++i) (*side)[i] = (*side)[static_cast<std::size_t>(passing[i])];
    side->resize(passing.size());
  }
  return matches;
}

/// Pairs of rows as a chunk, with the rows of the build side by their numbers.
Result<Chunk> ProbeStep::paired(Chunk const& chunk, Matches const& matches, Live const& live) const {
  GARUDA_TRY_ASSIGN(auto taken, take(chunk, matches.probe, live));
  auto ids = std::make_shared<RowNumbers>(matches.build);
  auto const& words = spec_.side->partitioned;
  if (words.row_ids != nullptr)
    for (auto& id : *ids) id = static_cast<std::int64_t>(words.row_id(static_cast<std::uint64_t>(id)));
  taken.origins[spec_.build_origin].ids = std::move(ids);
  return taken;
}

/// Rows of the probe side alone, as its part of the join has them.
Result<void> ProbeStep::give_probe_rows(Chunk chunk, Marks const& marks, Next const& next) const {
  if (spec_.mark) chunk.columns[*spec_.mark] = mark_column(marks);
  if (!takes_rows()) return next(std::move(chunk));
  auto const rows = rows_of(spec_.probe_rows, marks);
  if (rows.empty()) return {};
  GARUDA_TRY_ASSIGN(auto taken, take(chunk, rows, live_));
  taken.origins[spec_.build_origin].ids = std::make_shared<RowNumbers>(rows.size(), -1);
  return next(std::move(taken));
}

ChunkColumn ProbeStep::mark_column(std::span<std::uint8_t const> marks) const {
  return column_of(columns_.slots[*spec_.mark].field, {expr::Kind::boolean, false, marks.data(), nullptr},
                   marks.size());
}

Result<std::vector<Chunk>> ProbeStep::finish() const {
  if (build_marks_ == nullptr) return std::vector<Chunk>();
  Marks marks(spec_.num_build_rows);
  auto const& words = spec_.side->partitioned;
  GARUDA_TRY(for_each_range(words.num_rows(), &spec_.control, [&](std::uint64_t first, std::uint64_t last) {
    for (auto word = first; word < last; ++word)
      if (build_marks_->is_set(word)) marks[words.row_id(word)] = 1;
  }));
  std::vector<Chunk> chunks((marks.size() + kWindowRows - 1) / kWindowRows);
  GARUDA_TRY(for_each_block(chunks.size(), &spec_.control, [&](std::size_t window) {
    auto const begin = window * kWindowRows;
    chunks[window] = chunk_of_build_rows(
        begin, std::span(marks).subspan(begin, std::min<std::size_t>(kWindowRows, marks.size() - begin)));
  }));
  std::erase_if(chunks, [](Chunk const& chunk) { return chunk.num_rows == 0; });
  return chunks;
}

/// Rows of the build side, from `begin` on and a mark each, that come beside nulls.
Chunk ProbeStep::chunk_of_build_rows(std::uint64_t begin, std::span<std::uint8_t const> marks) const {
  auto rows = std::make_shared<RowNumbers>(rows_of(spec_.build_rows, marks, static_cast<std::int64_t>(begin)));
  auto const count = rows->size();
  Chunk chunk{count, std::vector<OriginRows>(columns_.num_origins), std::vector<ChunkColumn>(columns_.slots.size())};
  auto const nulls = std::make_shared<RowNumbers const>(count, -1);
  for (auto& origin : chunk.origins) origin.ids = nulls;
  chunk.origins[spec_.build_origin].ids = std::move(rows);
  for (auto const slot : live_.slots) chunk.columns[slot] = column_of_nulls(columns_.slots[slot].field, count);
  // Where rows are marked in the result all of them come.
  if (spec_.mark) chunk.columns[*spec_.mark] = mark_column(marks);
  return chunk;
}

}  // namespace garuda::pipeline
