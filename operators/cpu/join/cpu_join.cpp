#include "operators/cpu/join/cpu_join.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/parallel_blocks.hpp"
#include "core/shortage.hpp"
#include "operators/contract/sizing.hpp"
#include "operators/cpu/join/bitmap_join.hpp"
#include "operators/cpu/join/join_table.hpp"

namespace garuda::cpu {
namespace {

/// Probe rows whose matches are counted together: a restart of `pairs` looks up at most this many rows again.
/// A multiple of 64, so that no word of a bitmap belongs to two blocks.
constexpr std::uint64_t kProbeBlockRows = 1'024;
static_assert(kProbeBlockRows <= JoinTable<std::uint32_t>::kBlock);
/// Bounds of the work of one task of `pairs`: it ends after so many pairs, or after the block in which it passes so
/// many probe blocks. The other passes take as many blocks a task.
constexpr std::uint64_t kTaskPairs = std::uint64_t{1} << 16;
constexpr std::uint64_t kTaskBlocks = 64;
constexpr std::uint64_t num_blocks(std::uint64_t rows) { return (rows + kProbeBlockRows - 1) / kProbeBlockRows; }
/// Build rows, or slots, that a byte each is taken for while marking, in probe rows: of more than that the bits are set
/// one by one, so that a slice costs no pass over a build side that is shared with many.
constexpr std::uint64_t kMostFlagsPerRow = 4;

constexpr std::string_view kHashedSlice = "the hash join of a slice";

/// Keys of a table, to know it again.
template <class Word>
struct BuildKeys {
  Word const* data = nullptr;
  std::size_t size = 0;
  std::uint32_t shared_low_bits = 0;

  friend bool operator==(BuildKeys const&, BuildKeys const&) = default;
};

/// Memory that the kernels of one lane use one after the other.
template <class Word>
struct LaneSpace {
  JoinTable<Word> table;
  BuildKeys<Word> keys;  ///< that the table holds, while slices may share them
  AlignedBuffer found;   ///< u32 a probe row
};

template <class Word>
class CpuJoinKernel final : public contract::JoinKernel {
 public:
  using Table = JoinTable<Word>;
  using Found = typename Table::Found;

  /// `table` holds the rows of `build`; `space`, the lane's, outlives the kernel. `keep`: pairs will be asked for.
  CpuJoinKernel(std::span<Word const> build, std::span<Word const> probe, Side build_side,
                std::shared_ptr<Table const> table, LaneSpace<Word>& space, bool keep, Control const& control,
                contract::StatsSink* stats)
      : build_(build),
        probe_(probe),
        build_side_(build_side),
        table_(std::move(table)),
        space_(space),
        keep_(keep),
        control_(&control),
        stats_(stats) {}

  Result<std::uint64_t> count() override {
    return or_out_of_memory(kHashedSlice, [&]() -> Result<std::uint64_t> {
      GARUDA_TRY(count_blocks());
      return offsets_->back();
    });
  }

  Result<void> pairs(std::uint64_t first, std::span<contract::RowPair> out) override {
    return or_out_of_memory(kHashedSlice, [&]() -> Result<void> {
      keep_ = true;
      if (!is_kept_) offsets_.reset();
      GARUDA_TRY(count_blocks());
      GARUDA_EXPECTS(first <= offsets_->back() && out.size() <= offsets_->back() - first);
      contract::PhaseTimer const phase(stats_, "probe", out.size_bytes(), out.size());
      auto const cuts = cut_tasks(first, out.size());
      return for_each_block(cuts.size() - 1, control_, [&](std::size_t task) {
        write_pairs(cuts[task], out.subspan(cuts[task] - first, cuts[task + 1] - cuts[task]));
      });
    });
  }

  std::span<std::uint32_t const> unique_matches() const override {
    if (!is_kept_ || !offsets_ || !table_->is_unique()) return {};
    return {space_.found.template as<Found>(), probe_.size()};
  }

  Result<contract::MarkBitmap> mark(Side side) override {
    contract::RowMarks marks(side == build_side_ ? build_.size() : probe_.size());
    GARUDA_TRY(add_marks(side, marks, 0));
    return marks.take();
  }

  Result<void> add_marks(Side side, contract::RowMarks& marks, std::uint64_t first) override {
    return or_out_of_memory(kHashedSlice, [&]() -> Result<void> {
      auto const& marked = side == build_side_ ? build_ : probe_;
      contract::PhaseTimer const phase(stats_, "mark", probe_.size_bytes() + marked.size() / 8, marked.size());
      if (side != build_side_) return mark_probe(marks, first);
      auto const flags = table_->is_unique() ? build_.size() : table_->num_slots();
      return flags <= kMostFlagsPerRow * probe_.size() ? mark_build(flags, marks, first) : set_build(marks, first);
    });
  }

 private:
  /// Fills offsets_, the matches of all probe rows before each block of them.
  Result<void> count_blocks() {
    if (offsets_) return {};
    contract::PhaseTimer const phase(stats_, "count", probe_.size_bytes(), probe_.size());
    std::vector<std::uint64_t> offsets(num_blocks(probe_.size()) + 1);
    GARUDA_TRY(for_found([&](std::uint64_t first, std::span<Found const> found) {
      offsets[first / kProbeBlockRows + 1] = matches_of(found);
    }));
    for (std::size_t b = 1; b < offsets.size(); ++b) offsets[b] += offsets[b - 1];
    offsets_ = std::move(offsets);
    return {};
  }

  /// Calls body(first row, what it and the next ones found) for all blocks of probe rows; keeps what each row found
  /// when asked to, so that it is looked up once.
  template <class Body>
  Result<void> for_found(Body const& body) {
    if (keep_ && !is_kept_) GARUDA_TRY(reserve_found());
    GARUDA_TRY(for_probe_blocks([&](std::uint64_t first, std::uint64_t last) {
      Found passing[kProbeBlockRows];
      auto* const found = keep_ ? space_.found.template as<Found>() + first : passing;
      if (!is_kept_) table_->find(probe_.data() + first, last - first, found);
      body(first, std::span<Found const>(found, last - first));
    }));
    is_kept_ = keep_;
    return {};
  }

  Result<void> reserve_found() {
    auto const bytes = static_cast<std::int64_t>(probe_.size() * sizeof(Found));
    if (space_.found.size_bytes() >= bytes) return {};
    space_.found = {};
    GARUDA_TRY_ASSIGN(space_.found, AlignedBuffer::allocate(bytes));
    return {};
  }

  std::uint64_t matches_of(std::span<Found const> found) const {
    std::uint64_t matches = 0;
    if (table_->is_unique()) {
      for (auto const f : found) matches += f != 0 ? 1 : 0;
    } else {
      for (auto const f : found) matches += f != 0 ? table_->run_length(f) : 0;
    }
    return matches;
  }

  /// Calls body(first row, last row) for all blocks of probe rows, tasks of several blocks at once.
  template <class Body>
  Result<void> for_probe_blocks(Body const& body) const {
    auto const blocks = num_blocks(probe_.size());
    return for_each_block((blocks + kTaskBlocks - 1) / kTaskBlocks, control_, [&](std::size_t task) {
      auto const end = std::min<std::uint64_t>((task + 1) * kTaskBlocks, blocks);
      for (auto block = task * kTaskBlocks; block < end; ++block) {
        auto const first = block * kProbeBlockRows;
        body(first, std::min<std::uint64_t>(first + kProbeBlockRows, probe_.size()));
      }
    });
  }

  /// The block of probe rows that pair `position` belongs to. Requires position < count.
  std::uint64_t block_of(std::uint64_t position) const {
    return static_cast<std::uint64_t>(std::upper_bound(offsets_->begin(), offsets_->end(), position) -
                                      offsets_->begin() - 1);
  }

  /// Cuts pairs [first, first + count) into tasks of bounded work: their boundaries, ascending.
  std::vector<std::uint64_t> cut_tasks(std::uint64_t first, std::uint64_t count) const {
    std::vector<std::uint64_t> cuts{first};
    auto const end = first + count;
    while (cuts.back() < end) {
      auto const last_block = std::min(block_of(cuts.back()) + kTaskBlocks, offsets_->size() - 1);
      cuts.push_back(std::min({cuts.back() + kTaskPairs, (*offsets_)[last_block], end}));
    }
    return cuts;
  }

  contract::RowPair pair_of(std::uint32_t build_row, std::uint64_t probe_row) const {
    auto const row = static_cast<std::uint32_t>(probe_row);
    return build_side_ == Side::left ? contract::RowPair{build_row, row} : contract::RowPair{row, build_row};
  }

  /// Writes the pairs from `position` on. Requires: there are as many.
  void write_pairs(std::uint64_t position, std::span<contract::RowPair> out) const {
    auto const block = block_of(position);
    auto const skipped = position - (*offsets_)[block];
    if (table_->is_unique())
      write_unique(block * kProbeBlockRows, skipped, out);
    else
      write_runs(block * kProbeBlockRows, skipped, out);
  }

  /// Writes one build row at most for each probe row from `row` on, without a branch on whether there is one.
  void write_unique(std::uint64_t row, std::uint64_t skipped, std::span<contract::RowPair> out) const {
    auto const* const found = space_.found.template as<Found>();
    for (; skipped > 0; ++row) skipped -= found[row] != 0 ? 1 : 0;
    for (std::size_t written = 0; written < out.size(); ++row) {
      out[written] = pair_of(found[row] - 1, row);
      written += found[row] != 0 ? 1 : 0;
    }
  }

  void write_runs(std::uint64_t row, std::uint64_t skipped, std::span<contract::RowPair> out) const {
    auto const* const found = space_.found.template as<Found>();
    for (std::size_t written = 0; written < out.size(); ++row) {
      if (found[row] == 0) continue;
      auto const matches = table_->run(found[row]);
      if (skipped >= matches.size()) {
        skipped -= matches.size();
        continue;
      }
      auto const last = std::min<std::uint64_t>(matches.size(), skipped + (out.size() - written));
      for (auto m = std::exchange(skipped, 0); m < last; ++m) out[written++] = pair_of(matches[m], row);
    }
  }

  Result<void> mark_probe(contract::RowMarks& marks, std::uint64_t first_row) {
    return for_found([&](std::uint64_t first, std::span<Found const> found) {
      std::uint8_t flags[kProbeBlockRows];
      for (std::size_t i = 0; i < found.size(); ++i) flags[i] = found[i] != 0 ? 1 : 0;
      auto const words = contract::bitmap_words(found.size());
      std::fill(flags + found.size(), flags + 64 * words, std::uint8_t{0});
      std::uint64_t bits[kProbeBlockRows / 64];
      contract::pack_flags({flags, 64 * words}, bits);
      marks.add({bits, words}, first_row + first);
    });
  }

  /// Probe rows mark what they found, then what is marked marks its rows: no pair is looked at.
  Result<void> mark_build(std::uint64_t flags, contract::RowMarks& marks, std::uint64_t first_row) {
    std::vector<std::uint8_t> hit(64 * contract::bitmap_words(flags));
    GARUDA_TRY(for_found([&](std::uint64_t, std::span<Found const> found) {
      for (auto const f : found) {
        if (f == 0) continue;
        std::atomic_ref<std::uint8_t> const flag(hit[f - 1]);
        // Read first: a key that many rows have would otherwise be a line written by all threads.
        if (flag.load(std::memory_order_relaxed) == 0) flag.store(1, std::memory_order_relaxed);
      }
    }));
    auto const blocks = (hit.size() + kBlockRows - 1) / kBlockRows;
    return for_each_block(blocks, control_, [&](std::size_t block) {
      auto const first = block * kBlockRows;
      auto const last = std::min<std::size_t>(first + kBlockRows, hit.size());
      if (!table_->is_unique()) {
        for (auto h = first; h < last; ++h)
          if (hit[h] != 0) mark_run(static_cast<Found>(h + 1), marks, first_row);
        return;
      }
      contract::MarkBitmap bits((last - first) / 64);
      contract::pack_flags(std::span(hit).subspan(first, last - first), bits.data());
      marks.add(bits, first_row + first);
    });
  }

  Result<void> set_build(contract::RowMarks& marks, std::uint64_t first_row) {
    return for_found([&](std::uint64_t, std::span<Found const> found) {
      for (auto const f : found) {
        if (f == 0) continue;
        if (!table_->is_unique())
          mark_run(f, marks, first_row);
        else if (!marks.is_set(first_row + f - 1))
          marks.set(first_row + f - 1);
      }
    });
  }

  /// Whoever marks a run's first row goes on to mark all of it.
  void mark_run(Found found, contract::RowMarks& marks, std::uint64_t first_row) const {
    auto const run = table_->run(found);
    if (marks.is_set(first_row + run.front())) return;
    for (auto const row : run) marks.set(first_row + row);
  }

  std::span<Word const> build_;
  std::span<Word const> probe_;
  Side build_side_;
  std::shared_ptr<Table const> table_;  // the lane's, or shared by kernels of several lanes
  LaneSpace<Word>& space_;
  bool keep_;
  Control const* control_;
  contract::StatsSink* stats_;
  std::optional<std::vector<std::uint64_t>> offsets_;  ///< blocks of probe rows + 1, once counted
  bool is_kept_ = false;                               ///< space_.found holds what each probe row found
};

template <class Word>
class CpuJoinBackend final : public contract::JoinBackend {
 public:
  explicit CpuJoinBackend(contract::BackendOptions const& options)
      : build_(options.tuning.build),
        keep_(options.keeps_matches),
        kept_(options.kept),
        control_(options.control),
        stats_(options.stats),
        lanes_(options.lanes) {
    if (control_ == nullptr) control_ = &uncontrolled_;
  }

  Result<std::unique_ptr<contract::JoinKernel>> begin(contract::JoinSlice const& slice, std::uint32_t lane) override {
    GARUDA_EXPECTS(lane < lanes_.size());
    for (auto const* side : {&slice.left, &slice.right}) {
      GARUDA_EXPECTS(side->location.kind != Location::Kind::device);
      GARUDA_EXPECTS(side->size() <= contract::kMaxPassRows);
      GARUDA_EXPECTS(std::holds_alternative<std::span<Word const>>(side->words));
    }
    return or_out_of_memory(kHashedSlice, [&]() -> Result<std::unique_ptr<contract::JoinKernel>> {
      auto const side = build_side(slice);
      auto const& build = side == Side::left ? slice.left : slice.right;
      auto const& probe = side == Side::left ? slice.right : slice.left;
      GARUDA_TRY_ASSIGN(auto table, table_of(build, slice, lane));
      return std::make_unique<CpuJoinKernel<Word>>(words_of(build), words_of(probe), side, std::move(table),
                                                   lanes_[lane], keep_, *control_, stats_);
    });
  }

 private:
  using Table = JoinTable<Word>;

  static std::span<Word const> words_of(contract::KeySpan const& keys) {
    return std::get<std::span<Word const>>(keys.words);
  }

  Side build_side(contract::JoinSlice const& slice) const {
    if (slice.build) return *slice.build;
    return contract::build_side(build_, slice.left.size() < slice.right.size() ? Side::left : Side::right);
  }

  /// The lane's own table while it stays in its caches; one for all lanes otherwise, where slices share their build
  /// side.
  Result<std::shared_ptr<Table const>> table_of(contract::KeySpan const& build, contract::JoinSlice const& slice,
                                                std::uint32_t lane) {
    if (slice.build && kept_ != nullptr)
      if (auto kept = kept_->find(build)) return std::static_pointer_cast<Table const>(std::move(kept));
    BuildKeys<Word> const keys{words_of(build).data(), build.size(), slice.shared_low_bits};
    if (!slice.build || build.size() <= contract::kLaneTableRows) {
      auto& space = lanes_[lane];
      std::shared_ptr<Table const> const table(std::shared_ptr<void>(), &space.table);
      if (slice.build && space.keys == keys && build.size() > 0) return table;
      space.keys = {};
      GARUDA_TRY(fill(space.table, build, slice.shared_low_bits));
      if (slice.build) space.keys = keys;
      return table;
    }
    // Other lanes wait for the table that they are about to need.
    std::lock_guard const lock(shared_mutex_);
    if (shared_table_ && shared_keys_ == keys) return shared_table_;
    auto table = std::make_shared<Table>();
    GARUDA_TRY(fill(*table, build, slice.shared_low_bits));
    shared_keys_ = keys;
    shared_table_ = std::move(table);
    return shared_table_;
  }

  Result<void> fill(Table& table, contract::KeySpan const& build, std::uint32_t shared_low_bits) const {
    auto const keys = words_of(build);
    contract::PhaseTimer const phase(stats_, "build", keys.size_bytes() + keys.size() * 4, keys.size());
    return table.build(keys, static_cast<Word>(build.min), static_cast<Word>(build.max), shared_low_bits, control_);
  }

  BuildSide build_;
  bool keep_;
  contract::KeptTables const* kept_;
  Control uncontrolled_;
  Control const* control_;
  contract::StatsSink* stats_;
  std::vector<LaneSpace<Word>> lanes_;
  std::mutex shared_mutex_;
  BuildKeys<Word> shared_keys_;
  std::shared_ptr<Table const> shared_table_;
};

template <class Word>
Result<void> build_tables(std::span<contract::KeySpan const> pieces, std::uint32_t shared_low_bits,
                          Control const& control, contract::KeptTables& kept) {
  std::vector<std::shared_ptr<JoinTable<Word>>> tables(pieces.size());
  std::mutex mutex;
  Result<void> built;
  GARUDA_TRY(for_each_block(pieces.size(), &control, [&](std::size_t p) {
    auto const& keys = pieces[p];
    auto made = or_out_of_memory(kHashedSlice, [&]() -> Result<void> {
      tables[p] = std::make_shared<JoinTable<Word>>();
      return tables[p]->build(std::get<std::span<Word const>>(keys.words), static_cast<Word>(keys.min),
                              static_cast<Word>(keys.max), shared_low_bits, &control);
    });
    std::lock_guard const lock(mutex);
    if (!made && built) built = std::move(made);
  }));
  GARUDA_TRY(built);
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    auto const bytes = tables[p]->owned_bytes();
    kept.add(pieces[p], std::move(tables[p]), bytes);
  }
  return {};
}

}  // namespace

Result<void> build_join_tables(std::span<contract::KeySpan const> pieces, std::uint32_t shared_low_bits,
                               Control const& control, contract::KeptTables& kept) {
  if (pieces.empty()) return {};
  bool const is_narrow = std::holds_alternative<std::span<std::uint32_t const>>(pieces.front().words);
  return is_narrow ? build_tables<std::uint32_t>(pieces, shared_low_bits, control, kept)
                   : build_tables<std::uint64_t>(pieces, shared_low_bits, control, kept);
}

Result<std::unique_ptr<contract::JoinBackend>> open_cpu_join(contract::BackendOptions const& options) {
  GARUDA_EXPECTS(options.key_bits == 32 || options.key_bits == 64);
  GARUDA_EXPECTS(options.lanes > 0);
  if (options.tuning.method == JoinMethod::bitmap) return open_bitmap_join(options);
  return or_out_of_memory(kHashedSlice, [&]() -> Result<std::unique_ptr<contract::JoinBackend>> {
    if (options.key_bits == 32) return std::make_unique<CpuJoinBackend<std::uint32_t>>(options);
    return std::make_unique<CpuJoinBackend<std::uint64_t>>(options);
  });
}

std::uint64_t cpu_join_bytes(std::uint64_t build_rows, std::uint64_t probe_rows, std::uint32_t key_bits) noexcept {
  auto const table = key_bits == 32 ? JoinTable<std::uint32_t>::peak_bytes(build_rows)
                                    : JoinTable<std::uint64_t>::peak_bytes(build_rows);
  return table + (4 + kMostFlagsPerRow) * probe_rows + 8 * (num_blocks(probe_rows) + 1) +
         contract::bitmap_words(std::max(build_rows, probe_rows)) * 8;
}

}  // namespace garuda::cpu
