#include "operators/cpu/cpu_join.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "operators/cpu/grouped_table.hpp"
#include "partition/parallel_blocks.hpp"

namespace garuda::operators {
namespace {

/// Probe rows whose matches are counted together: a restart of `pairs` looks up at most this many rows again.
/// A multiple of 64, so that no word of a bitmap belongs to two blocks.
constexpr std::uint64_t kProbeBlockRows = 1'024;
/// Bounds of the work of one task of `pairs`: it ends after so many pairs, or after the block in which it passes so
/// many probe blocks.
constexpr std::uint64_t kTaskPairs = std::uint64_t{1} << 16;
constexpr std::uint64_t kTaskBlocks = 16;

constexpr std::uint64_t num_blocks(std::uint64_t rows) { return (rows + kProbeBlockRows - 1) / kProbeBlockRows; }
constexpr std::uint64_t bitmap_words(std::uint64_t rows) { return (rows + 63) / 64; }

/// Times a phase and reports it when it ends.
class Phase {
 public:
  Phase(StatsSink* stats, std::string_view name, std::uint64_t bytes, std::uint64_t items)
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
  StatsSink* stats_;
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

template <class Word>
class CpuJoinKernel final : public JoinKernel {
 public:
  CpuJoinKernel(std::span<Word const> build, std::span<Word const> probe, Side build_side, Control const& control,
                StatsSink* stats)
      : build_(build), probe_(probe), build_side_(build_side), control_(&control), stats_(stats) {}

  Result<void> build() {
    Phase const phase(stats_, "build", build_.size_bytes() * 2 + build_.size() * 12, build_.size());
    GARUDA_TRY_ASSIGN(table_, GroupedTable<Word>::build(build_, *control_));
    return {};
  }

  Result<std::uint64_t> count() override {
    return or_out_of_memory([&]() -> Result<std::uint64_t> {
      GARUDA_TRY(count_blocks());
      return offsets_->back();
    });
  }

  Result<void> pairs(std::uint64_t first, std::span<RowPair> out) override {
    return or_out_of_memory([&]() -> Result<void> {
      GARUDA_TRY(count_blocks());
      GARUDA_EXPECTS(first <= offsets_->back() && out.size() <= offsets_->back() - first);
      Phase const phase(stats_, "probe", out.size_bytes(), out.size());
      auto const cuts = cut_tasks(first, out.size());
      return partition::for_each_block(cuts.size() - 1, control_, [&](std::size_t task) {
        write_pairs(cuts[task], out.subspan(cuts[task] - first, cuts[task + 1] - cuts[task]));
      });
    });
  }

  Result<MarkBitmap> mark(Side side) override {
    return or_out_of_memory([&]() -> Result<MarkBitmap> {
      auto const& marked = side == build_side_ ? build_ : probe_;
      Phase const phase(stats_, "mark", probe_.size_bytes() + marked.size() / 8, marked.size());
      return side == build_side_ ? mark_build() : mark_probe();
    });
  }

 private:
  /// Fills offsets_: matches of all probe rows before each block of them.
  Result<void> count_blocks() {
    if (offsets_) return {};
    Phase const phase(stats_, "count", probe_.size_bytes(), probe_.size());
    std::vector<std::uint64_t> offsets(num_blocks(probe_.size()) + 1);
    GARUDA_TRY(for_probe_blocks([&](std::uint64_t block, std::uint64_t first, std::uint64_t last) {
      std::uint64_t matches = 0;
      for (auto row = first; row < last; ++row) {
        auto const* const slot = table_.find(probe_[row]);
        if (slot != nullptr) matches += slot->count;
      }
      offsets[block + 1] = matches;
    }));
    for (std::size_t b = 1; b < offsets.size(); ++b) offsets[b] += offsets[b - 1];
    offsets_ = std::move(offsets);
    return {};
  }

  /// Calls body(block, first row, last row) for all blocks of probe rows, several at once.
  template <class Body>
  Result<void> for_probe_blocks(Body const& body) const {
    return partition::for_each_block(num_blocks(probe_.size()), control_, [&](std::size_t block) {
      auto const first = block * kProbeBlockRows;
      body(block, first, std::min<std::uint64_t>(first + kProbeBlockRows, probe_.size()));
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

  /// Writes the pairs from `position` on. Requires: there are as many.
  void write_pairs(std::uint64_t position, std::span<RowPair> out) const {
    auto const block = block_of(position);
    auto skipped = position - (*offsets_)[block];
    std::size_t written = 0;
    for (auto row = block * kProbeBlockRows; written < out.size(); ++row) {
      auto const* const slot = table_.find(probe_[row]);
      if (slot == nullptr) continue;
      if (skipped >= slot->count) {
        skipped -= slot->count;
        continue;
      }
      auto const* const matches = table_.rows() + slot->first;
      auto const last = std::min<std::uint64_t>(slot->count, skipped + (out.size() - written));
      auto const probe_row = static_cast<std::uint32_t>(row);
      for (auto m = std::exchange(skipped, 0); m < last; ++m)
        out[written++] = build_side_ == Side::left ? RowPair{matches[m], probe_row} : RowPair{probe_row, matches[m]};
    }
  }

  Result<MarkBitmap> mark_probe() const {
    MarkBitmap marks(bitmap_words(probe_.size()));
    GARUDA_TRY(for_probe_blocks([&](std::uint64_t, std::uint64_t first, std::uint64_t last) {
      for (auto row = first; row < last; ++row)
        if (table_.find(probe_[row]) != nullptr) marks[row / 64] |= std::uint64_t{1} << (row % 64);
    }));
    return marks;
  }

  /// Probe rows mark the slots of their keys, then the marked slots mark their rows: no pair is looked at.
  Result<MarkBitmap> mark_build() const {
    auto const* const slots = table_.slots();
    std::vector<std::uint8_t> hit(table_.num_slots());
    GARUDA_TRY(for_probe_blocks([&](std::uint64_t, std::uint64_t first, std::uint64_t last) {
      for (auto row = first; row < last; ++row) {
        auto const* const slot = table_.find(probe_[row]);
        if (slot == nullptr) continue;
        std::atomic_ref<std::uint8_t> const flag(hit[static_cast<std::size_t>(slot - slots)]);
        // Read first: a key that many rows have would otherwise be a line written by all threads.
        if (flag.load(std::memory_order_relaxed) == 0) flag.store(1, std::memory_order_relaxed);
      }
    }));
    MarkBitmap marks(bitmap_words(build_.size()));
    auto const blocks = (hit.size() + partition::kBlockRows - 1) / partition::kBlockRows;
    GARUDA_TRY(partition::for_each_block(blocks, control_, [&](std::size_t block) {
      auto const last = std::min<std::size_t>((block + 1) * partition::kBlockRows, hit.size());
      for (auto s = block * partition::kBlockRows; s < last; ++s) {
        if (hit[s] == 0) continue;
        for (std::uint32_t i = 0; i < slots[s].count; ++i) {
          auto const row = table_.rows()[slots[s].first + i];
          std::atomic_ref<std::uint64_t>(marks[row / 64])
              .fetch_or(std::uint64_t{1} << (row % 64), std::memory_order_relaxed);
        }
      }
    }));
    return marks;
  }

  std::span<Word const> build_;
  std::span<Word const> probe_;
  Side build_side_;
  Control const* control_;
  StatsSink* stats_;
  GroupedTable<Word> table_;
  std::optional<std::vector<std::uint64_t>> offsets_;  ///< blocks of probe rows + 1, once counted
};

class CpuJoinBackend final : public JoinBackend {
 public:
  explicit CpuJoinBackend(BackendOptions const& options)
      : build_(options.tuning.build), key_bits_(options.key_bits), control_(options.control), stats_(options.stats) {
    if (control_ == nullptr) control_ = &uncontrolled_;
  }

  Result<std::unique_ptr<JoinKernel>> begin(JoinSlice const& slice, std::uint32_t) override {
    for (auto const* side : {&slice.left, &slice.right}) {
      GARUDA_EXPECTS(side->location.kind != Location::Kind::device);
      GARUDA_EXPECTS(side->size() <= kMaxPassRows);
    }
    return key_bits_ == 32 ? begin_words<std::uint32_t>(slice) : begin_words<std::uint64_t>(slice);
  }

 private:
  Side build_side(JoinSlice const& slice) const {
    if (build_ != BuildSide::automatic) return build_ == BuildSide::left ? Side::left : Side::right;
    return slice.left.size() < slice.right.size() ? Side::left : Side::right;
  }

  template <class Word>
  Result<std::unique_ptr<JoinKernel>> begin_words(JoinSlice const& slice) const {
    auto const* const left = std::get_if<std::span<Word const>>(&slice.left.words);
    auto const* const right = std::get_if<std::span<Word const>>(&slice.right.words);
    GARUDA_EXPECTS(left != nullptr && right != nullptr);
    auto const side = build_side(slice);
    return or_out_of_memory([&]() -> Result<std::unique_ptr<JoinKernel>> {
      auto kernel = std::make_unique<CpuJoinKernel<Word>>(side == Side::left ? *left : *right,
                                                          side == Side::left ? *right : *left, side, *control_, stats_);
      GARUDA_TRY(kernel->build());
      return kernel;
    });
  }

  BuildSide build_;
  std::uint32_t key_bits_;
  Control uncontrolled_;
  Control const* control_;
  StatsSink* stats_;
};

}  // namespace

Result<std::unique_ptr<JoinBackend>> open_cpu_join(BackendOptions const& options) {
  GARUDA_EXPECTS(options.key_bits == 32 || options.key_bits == 64);
  return or_out_of_memory(
      [&]() -> Result<std::unique_ptr<JoinBackend>> { return std::make_unique<CpuJoinBackend>(options); });
}

std::uint64_t cpu_join_bytes(std::uint64_t build_rows, std::uint64_t probe_rows, std::uint32_t key_bits) noexcept {
  auto const table = key_bits == 32 ? GroupedTable<std::uint32_t>::peak_bytes(build_rows)
                                    : GroupedTable<std::uint64_t>::peak_bytes(build_rows);
  return table + 8 * (num_blocks(probe_rows) + 1) + bitmap_words(std::max(build_rows, probe_rows)) * 8;
}

}  // namespace garuda::operators
