#include "operators/cpu/join/cpu_join.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/parallel_blocks.hpp"
#include "operators/contract/sizing.hpp"
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
constexpr std::uint64_t bitmap_words(std::uint64_t rows) { return (rows + 63) / 64; }

/// Times a phase and reports it when it ends.
class Phase {
 public:
  Phase(contract::StatsSink* stats, std::string_view name, std::uint64_t bytes, std::uint64_t items)
      : stats_(stats), name_(name), bytes_(bytes), items_(items), start_(std::chrono::steady_clock::now()) {}
  Phase(Phase const&) = delete;
  Phase& operator=(Phase const&) = delete;
  ~Phase() {
    auto const elapsed = std::chrono::steady_clock::now() - start_;
    if (stats_ != nullptr)
      stats_->add_phase(
          name_, static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count()),
          bytes_, items_);
  }

 private:
  contract::StatsSink* stats_;
  std::string_view name_;
  std::uint64_t bytes_;
  std::uint64_t items_;
  std::chrono::steady_clock::time_point start_;
};

/// Runs `body` and turns a failed allocation into an error.
template <class Body>
std::invoke_result_t<Body> or_out_of_memory(Body const& body) {
  try {
    return body();
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory for the hash join of a slice");
  }
}

/// Keys of a table, to know it again.
template <class Word>
struct BuildKeys {
  Word const* data = nullptr;
  std::size_t size = 0;
  std::uint32_t shared_low_bits = 0;

  friend bool operator==(BuildKeys const&, BuildKeys const&) = default;
};

/// What the kernels of one lane use one after the other.
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
    return or_out_of_memory([&]() -> Result<std::uint64_t> {
      GARUDA_TRY(count_blocks());
      return offsets_->back();
    });
  }

  Result<void> pairs(std::uint64_t first, std::span<contract::RowPair> out) override {
    return or_out_of_memory([&]() -> Result<void> {
      keep_ = true;
      if (!is_kept_) offsets_.reset();
      GARUDA_TRY(count_blocks());
      GARUDA_EXPECTS(first <= offsets_->back() && out.size() <= offsets_->back() - first);
      Phase const phase(stats_, "probe", out.size_bytes(), out.size());
      auto const cuts = cut_tasks(first, out.size());
      return for_each_block(cuts.size() - 1, control_, [&](std::size_t task) {
        write_pairs(cuts[task], out.subspan(cuts[task] - first, cuts[task + 1] - cuts[task]));
      });
    });
  }

  std::span<std::uint32_t const> sole_matches() const override {
    if (!is_kept_ || !table_->is_unique() || offsets_->back() != probe_.size()) return {};
    return {space_.found.template as<Found>(), probe_.size()};
  }

  Result<contract::MarkBitmap> mark(Side side) override {
    return or_out_of_memory([&]() -> Result<contract::MarkBitmap> {
      auto const& marked = side == build_side_ ? build_ : probe_;
      Phase const phase(stats_, "mark", probe_.size_bytes() + marked.size() / 8, marked.size());
      return side == build_side_ ? mark_build() : mark_probe();
    });
  }

 private:
  /// Fills offsets_, the matches of all probe rows before each block of them; keeps what each row found when asked to.
  Result<void> count_blocks() {
    if (offsets_) return {};
    Phase const phase(stats_, "count", probe_.size_bytes(), probe_.size());
    std::vector<std::uint64_t> offsets(num_blocks(probe_.size()) + 1);
    if (keep_) GARUDA_TRY(reserve_found());
    GARUDA_TRY(for_probe_blocks([&](std::uint64_t block, std::uint64_t first, std::uint64_t last) {
      Found passing[kProbeBlockRows];
      auto* const found = keep_ ? space_.found.template as<Found>() + first : passing;
      table_->find(probe_.data() + first, last - first, found);
      offsets[block + 1] = matches_of({found, last - first});
    }));
    for (std::size_t b = 1; b < offsets.size(); ++b) offsets[b] += offsets[b - 1];
    offsets_ = std::move(offsets);
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

  /// Calls body(block, first row, last row) for all blocks of probe rows, tasks of several blocks at once.
  template <class Body>
  Result<void> for_probe_blocks(Body const& body) const {
    auto const blocks = num_blocks(probe_.size());
    return for_each_block((blocks + kTaskBlocks - 1) / kTaskBlocks, control_, [&](std::size_t task) {
      auto const end = std::min<std::uint64_t>((task + 1) * kTaskBlocks, blocks);
      for (auto block = task * kTaskBlocks; block < end; ++block) {
        auto const first = block * kProbeBlockRows;
        body(block, first, std::min<std::uint64_t>(first + kProbeBlockRows, probe_.size()));
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

  /// One build row at most for each probe row from `row` on, without a branch on whether there is one.
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

  Result<contract::MarkBitmap> mark_probe() const {
    contract::MarkBitmap marks(bitmap_words(probe_.size()));
    GARUDA_TRY(for_probe_blocks([&](std::uint64_t, std::uint64_t first, std::uint64_t last) {
      Found found[kProbeBlockRows];
      table_->find(probe_.data() + first, last - first, found);
      for (auto row = first; row < last; ++row) marks[row / 64] |= std::uint64_t{found[row - first] != 0} << (row % 64);
    }));
    return marks;
  }

  /// Probe rows mark what they found, then what is marked marks its rows: no pair is looked at.
  Result<contract::MarkBitmap> mark_build() const {
    std::vector<std::uint8_t> hit(table_->is_unique() ? build_.size() : table_->num_slots());
    GARUDA_TRY(for_probe_blocks([&](std::uint64_t, std::uint64_t first, std::uint64_t last) {
      Found found[kProbeBlockRows];
      table_->find(probe_.data() + first, last - first, found);
      for (std::uint64_t i = 0; i < last - first; ++i) {
        if (found[i] == 0) continue;
        std::atomic_ref<std::uint8_t> const flag(hit[found[i] - 1]);
        // Read first: a key that many rows have would otherwise be a line written by all threads.
        if (flag.load(std::memory_order_relaxed) == 0) flag.store(1, std::memory_order_relaxed);
      }
    }));
    contract::MarkBitmap marks(bitmap_words(build_.size()));
    auto const blocks = (hit.size() + kBlockRows - 1) / kBlockRows;
    GARUDA_TRY(for_each_block(blocks, control_, [&](std::size_t block) {
      auto const last = std::min<std::size_t>((block + 1) * kBlockRows, hit.size());
      for (auto h = block * kBlockRows; h < last; ++h)
        if (hit[h] != 0) mark_rows(static_cast<Found>(h + 1), marks);
    }));
    return marks;
  }

  void mark_rows(Found found, contract::MarkBitmap& marks) const {
    auto const mark = [&](std::uint32_t row) {
      std::atomic_ref<std::uint64_t>(marks[row / 64])
          .fetch_or(std::uint64_t{1} << (row % 64), std::memory_order_relaxed);
    };
    if (table_->is_unique()) return mark(found - 1);
    for (auto const row : table_->run(found)) mark(row);
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
        keep_(options.pairs_wanted),
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
    return or_out_of_memory([&]() -> Result<std::unique_ptr<contract::JoinKernel>> {
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
    if (build_ != BuildSide::automatic) return build_ == BuildSide::left ? Side::left : Side::right;
    return slice.left.size() < slice.right.size() ? Side::left : Side::right;
  }

  /// The lane's own table while it stays in its caches; one for all lanes otherwise, where slices share their build
  /// side.
  Result<std::shared_ptr<Table const>> table_of(contract::KeySpan const& build, contract::JoinSlice const& slice,
                                                std::uint32_t lane) {
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
    GARUDA_TRY(check_cancelled(control_));
    auto const keys = words_of(build);
    Phase const phase(stats_, "build", keys.size_bytes() + keys.size() * 4, keys.size());
    return table.build(keys, static_cast<Word>(build.min), static_cast<Word>(build.max), shared_low_bits);
  }

  BuildSide build_;
  bool keep_;
  Control uncontrolled_;
  Control const* control_;
  contract::StatsSink* stats_;
  std::vector<LaneSpace<Word>> lanes_;
  std::mutex shared_mutex_;
  BuildKeys<Word> shared_keys_;
  std::shared_ptr<Table const> shared_table_;
};

}  // namespace

Result<std::unique_ptr<contract::JoinBackend>> open_cpu_join(contract::BackendOptions const& options) {
  GARUDA_EXPECTS(options.key_bits == 32 || options.key_bits == 64);
  GARUDA_EXPECTS(options.lanes > 0);
  return or_out_of_memory([&]() -> Result<std::unique_ptr<contract::JoinBackend>> {
    if (options.key_bits == 32) return std::make_unique<CpuJoinBackend<std::uint32_t>>(options);
    return std::make_unique<CpuJoinBackend<std::uint64_t>>(options);
  });
}

std::uint64_t cpu_join_bytes(std::uint64_t build_rows, std::uint64_t probe_rows, std::uint32_t key_bits) noexcept {
  auto const table = key_bits == 32 ? JoinTable<std::uint32_t>::peak_bytes(build_rows)
                                    : JoinTable<std::uint64_t>::peak_bytes(build_rows);
  return table + 4 * probe_rows + 8 * (num_blocks(probe_rows) + 1) + bitmap_words(std::max(build_rows, probe_rows)) * 8;
}

}  // namespace garuda::cpu
