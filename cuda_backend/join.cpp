// Every method ends with the same list: for each probe row the first of its matches in the build order, and how many
// there are. Counting sums it up, pairs and marks are read from it.
#include "cuda_backend/join.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "cuda_backend/join_kernels.hpp"
#include "cuda_backend/primitives.hpp"
#include "cuda_backend/status.hpp"

namespace garuda::cuda {
namespace {

/// Bits of the one partitioning pass. Its blocks walk neighbouring rows, whose slots are then a 2^-8 part of the table.
constexpr int kPartitionBits = 8;
/// Share of the L2 cache that a table may take without partitioning.
constexpr std::uint64_t kCacheShare = 2;
constexpr std::uint64_t kSlotBytes = 12;
constexpr std::uint64_t kWindowPairs = Lane::kWindowBytes / sizeof(GarudaCudaRowPair);

std::uint32_t log2_slots_for(std::uint32_t rows) {
  return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(std::bit_width(2 * std::uint64_t{rows} - 1)));
}

/// Keys of a side on the device, mixed, and the rows they belong to.
template <class Key>
struct DeviceSide {
  Key const* source = nullptr;
  std::uint32_t rows = 0;
  Buffer keys;
  Buffer row_ids;  ///< empty: positions

  Key const* mixed() const { return keys.as<Key>(); }
  std::uint32_t const* ids() const { return row_ids.as<std::uint32_t>(); }
};

template <class Key>
class TypedJoin final : public Join {
 public:
  TypedJoin(Lane& lane, GarudaCudaJoinSlice const& slice);
  ~TypedJoin() override { lane_.drain(); }

  Result<void> start();
  Result<std::uint64_t> count() override;
  Result<void> pairs(std::uint64_t first, std::span<GarudaCudaRowPair> out) override;
  Result<void> mark(bool is_left, std::span<std::uint64_t> words) override;

 private:
  bool is_empty() const noexcept { return build_.rows == 0 || probe_.rows == 0; }
  GarudaCudaJoinMethod chosen_method(std::uint32_t asked) const;
  /// Leading bits that both sides are sorted by.
  int sorted_bits() const;
  Result<Buffer> scratch(std::uint64_t rows, std::uint64_t bytes, char const* name) {
    return lane_.allocate(rows * bytes, name);
  }
  Result<void> upload(DeviceSide<Key>& side);
  Result<void> sort(DeviceSide<Key>& side);
  Result<void> build_table();
  Result<void> find_matches();
  Result<void> scan_matches();
  Result<void> start_window(std::uint64_t first);
  Result<void> mark_build(std::uint32_t* words);

  Lane& lane_;
  Launch launch_;
  GarudaCudaJoinMethod method_;
  bool build_is_left_;
  DeviceSide<Key> build_;
  DeviceSide<Key> probe_;
  JoinTable table_;
  Buffer table_words_;
  Buffer slots_;   // of the build rows
  Buffer order_;   // build rows, those of a key side by side; empty: as sorted
  Buffer firsts_;  // of the probe rows, and counts_, offsets_
  Buffer counts_;
  Buffer offsets_;
  std::uint64_t total_ = 0;
  bool counted_ = false;
  Buffer window_[2];
  std::uint64_t window_first_ = 0;
  std::uint64_t window_rows_ = 0;  // ready in window `ready_`
  std::uint64_t next_first_ = 0;
  std::uint64_t next_rows_ = 0;  // on its way into the other window
  std::size_t ready_ = 0;
};

template <class Key>
TypedJoin<Key>::TypedJoin(Lane& lane, GarudaCudaJoinSlice const& slice)
    : lane_(lane),
      launch_{lane.stream(), lane.device().traits().multiprocessors},
      build_is_left_(slice.build_is_left != 0) {
  build_.source = static_cast<Key const*>(build_is_left_ ? slice.left_keys : slice.right_keys);
  build_.rows = build_is_left_ ? slice.left_rows : slice.right_rows;
  probe_.source = static_cast<Key const*>(build_is_left_ ? slice.right_keys : slice.left_keys);
  probe_.rows = build_is_left_ ? slice.right_rows : slice.left_rows;
  method_ = chosen_method(slice.method);
}

template <class Key>
GarudaCudaJoinMethod TypedJoin<Key>::chosen_method(std::uint32_t asked) const {
  if (asked != GARUDA_CUDA_JOIN_AUTOMATIC) return static_cast<GarudaCudaJoinMethod>(asked);
  auto const bytes = (kSlotBytes << log2_slots_for(build_.rows)) + build_.rows * sizeof(Key);
  auto const fits = bytes <= lane_.device().traits().l2_bytes / kCacheShare;
  return fits ? GARUDA_CUDA_JOIN_TABLE : GARUDA_CUDA_JOIN_PARTITIONED;
}

template <class Key>
int TypedJoin<Key>::sorted_bits() const {
  constexpr int kKeyBits = 8 * sizeof(Key);
  if (method_ == GARUDA_CUDA_JOIN_MERGE) return kKeyBits;
  return method_ == GARUDA_CUDA_JOIN_PARTITIONED ? kPartitionBits : 0;
}

template <class Key>
Result<void> TypedJoin<Key>::start() {
  if (is_empty()) return {};
  GARUDA_TRY(upload(build_));
  GARUDA_TRY(sort(build_));
  if (method_ != GARUDA_CUDA_JOIN_MERGE) GARUDA_TRY(build_table());
  GARUDA_TRY(upload(probe_));
  GARUDA_TRY(sort(probe_));
  GARUDA_TRY(find_matches());
  return scan_matches();
}

template <class Key>
Result<void> TypedJoin<Key>::upload(DeviceSide<Key>& side) {
  auto const bytes = std::uint64_t{side.rows} * sizeof(Key);
  GARUDA_TRY(lane_.step("upload", bytes, side.rows));
  GARUDA_TRY_ASSIGN(auto const raw, scratch(side.rows, sizeof(Key), "keys"));
  GARUDA_TRY_ASSIGN(side.keys, scratch(side.rows, sizeof(Key), "mixed keys"));
  if (sorted_bits() > 0) {
    GARUDA_TRY_ASSIGN(side.row_ids, scratch(side.rows, sizeof(std::uint32_t), "row ids"));
  }
  GARUDA_TRY(lane_.upload(raw.template as<void>(), std::as_bytes(std::span(side.source, side.rows))));
  GARUDA_TRY(lane_.step("partition", 2 * bytes, side.rows));
  GARUDA_CUDA_TRY(mix_keys(launch_, raw.template as<Key>(), side.rows, side.keys.template as<Key>(),
                           side.row_ids.template as<std::uint32_t>()));
  return {};
}

template <class Key>
Result<void> TypedJoin<Key>::sort(DeviceSide<Key>& side) {
  constexpr int kKeyBits = 8 * sizeof(Key);
  if (sorted_bits() == 0) return {};
  GARUDA_TRY_ASSIGN(auto other_keys, scratch(side.rows, sizeof(Key), "sorted keys"));
  GARUDA_TRY_ASSIGN(auto other_ids, scratch(side.rows, sizeof(std::uint32_t), "sorted row ids"));
  SortBuffers<Key, std::uint32_t> buffers{
      {side.keys.template as<Key>(), other_keys.template as<Key>()},
      {side.row_ids.template as<std::uint32_t>(), other_ids.template as<std::uint32_t>()},
      0};
  std::size_t temp_bytes = 0;
  auto const first_bit = kKeyBits - sorted_bits();
  GARUDA_CUDA_TRY(sort_pairs(nullptr, temp_bytes, buffers, side.rows, first_bit, kKeyBits, lane_.stream()));
  GARUDA_TRY_ASSIGN(auto const temp, lane_.allocate(temp_bytes, "sorting"));
  GARUDA_CUDA_TRY(
      sort_pairs(temp.template as<void>(), temp_bytes, buffers, side.rows, first_bit, kKeyBits, lane_.stream()));
  if (buffers.current == 1) {
    std::swap(side.keys, other_keys);
    std::swap(side.row_ids, other_ids);
  }
  return {};
}

template <class Key>
Result<void> TypedJoin<Key>::build_table() {
  GARUDA_TRY(lane_.step("build", build_.rows * (sizeof(Key) + kSlotBytes), build_.rows));
  table_.log2_slots = log2_slots_for(build_.rows);
  auto const slots = std::uint64_t{1} << table_.log2_slots;
  GARUDA_TRY_ASSIGN(table_words_, scratch(slots, kSlotBytes, "join table"));
  table_.heads = table_words_.as<std::uint32_t>();
  table_.counts = table_.heads + slots;
  table_.starts = table_.counts + slots;
  GARUDA_CUDA_TRY(cudaMemsetAsync(table_.heads, 0xff, slots * 4, lane_.stream()));
  GARUDA_CUDA_TRY(cudaMemsetAsync(table_.counts, 0, slots * 4, lane_.stream()));
  GARUDA_TRY_ASSIGN(slots_, scratch(build_.rows, 4, "slots of rows"));
  GARUDA_TRY_ASSIGN(auto const ranks, scratch(build_.rows, 4, "ranks of rows"));
  GARUDA_TRY_ASSIGN(order_, scratch(build_.rows, 4, "build order"));
  GARUDA_CUDA_TRY(insert_rows(launch_, build_.mixed(), build_.rows, table_, slots_.as<std::uint32_t>(),
                              ranks.template as<std::uint32_t>()));
  std::size_t temp_bytes = 0;
  auto const count = static_cast<std::uint32_t>(slots);
  GARUDA_CUDA_TRY(scan_to_u32(nullptr, temp_bytes, table_.counts, table_.starts, count, lane_.stream()));
  GARUDA_TRY_ASSIGN(auto const temp, lane_.allocate(temp_bytes, "prefix sums"));
  GARUDA_CUDA_TRY(
      scan_to_u32(temp.template as<void>(), temp_bytes, table_.counts, table_.starts, count, lane_.stream()));
  GARUDA_CUDA_TRY(place_rows(launch_, table_, slots_.as<std::uint32_t>(), ranks.template as<std::uint32_t>(),
                             build_.ids(), build_.rows, order_.as<std::uint32_t>()));
  return {};
}

template <class Key>
Result<void> TypedJoin<Key>::find_matches() {
  GARUDA_TRY(lane_.step("count", probe_.rows * (sizeof(Key) + 8), probe_.rows));
  GARUDA_TRY_ASSIGN(firsts_, scratch(probe_.rows, 4, "first matches"));
  GARUDA_TRY_ASSIGN(counts_, scratch(std::uint64_t{probe_.rows} + 1, 4, "matches of rows"));
  if (method_ == GARUDA_CUDA_JOIN_MERGE) {
    GARUDA_CUDA_TRY(probe_sorted(launch_, build_.mixed(), build_.rows, probe_.mixed(), probe_.rows,
                                 firsts_.as<std::uint32_t>(), counts_.as<std::uint32_t>()));
  } else {
    GARUDA_CUDA_TRY(probe_table(launch_, build_.mixed(), table_, probe_.mixed(), probe_.rows,
                                firsts_.as<std::uint32_t>(), counts_.as<std::uint32_t>()));
  }
  // Keys are compared no more, but those that are sorted say which rows are alike.
  probe_.keys.reset();
  if (method_ != GARUDA_CUDA_JOIN_MERGE) build_.keys.reset();
  return {};
}

template <class Key>
Result<void> TypedJoin<Key>::scan_matches() {
  GARUDA_TRY(lane_.step("prefix", std::uint64_t{probe_.rows} * 12, probe_.rows));
  auto const count = probe_.rows + 1;
  GARUDA_TRY_ASSIGN(offsets_, scratch(count, 8, "first pairs"));
  std::size_t temp_bytes = 0;
  auto const* const counts = counts_.as<std::uint32_t>();
  auto* const offsets = offsets_.as<std::uint64_t>();
  GARUDA_CUDA_TRY(scan_to_u64(nullptr, temp_bytes, counts, offsets, count, lane_.stream()));
  GARUDA_TRY_ASSIGN(auto const temp, lane_.allocate(temp_bytes, "prefix sums"));
  GARUDA_CUDA_TRY(scan_to_u64(temp.template as<void>(), temp_bytes, counts, offsets, count, lane_.stream()));
  return {};
}

template <class Key>
Result<std::uint64_t> TypedJoin<Key>::count() {
  if (is_empty() || counted_) return total_;
  GARUDA_TRY(lane_.download(std::as_writable_bytes(std::span(&total_, 1)), offsets_.as<std::uint64_t>() + probe_.rows));
  counted_ = true;
  lane_.add_counter(method_ == GARUDA_CUDA_JOIN_MERGE         ? "merge_slices"
                    : method_ == GARUDA_CUDA_JOIN_PARTITIONED ? "partitioned_slices"
                                                              : "table_slices",
                    1);
  return total_;
}

/// Pairs from `first` on, into the window that is not being read.
template <class Key>
Result<void> TypedJoin<Key>::start_window(std::uint64_t first) {
  auto const index = 1 - ready_;
  next_rows_ = 0;
  auto const rows = std::min(total_ - first, kWindowPairs);
  if (!window_[index]) {
    GARUDA_TRY_ASSIGN(window_[index], scratch(std::min(total_, kWindowPairs), sizeof(GarudaCudaRowPair), "pairs"));
  }
  MatchList const matches{offsets_.as<std::uint64_t>(),
                          firsts_.as<std::uint32_t>(),
                          order_ ? order_.as<std::uint32_t>() : build_.ids(),
                          probe_.ids(),
                          probe_.rows,
                          build_is_left_};
  auto const bytes = rows * sizeof(GarudaCudaRowPair);
  GARUDA_TRY_ASSIGN(auto* const pinned, lane_.window(index));
  GARUDA_TRY(lane_.step("probe", bytes, rows));
  auto* const pairs = window_[index].as<GarudaCudaRowPair>();
  GARUDA_CUDA_TRY(write_pairs(launch_, matches, first, rows, pairs));
  GARUDA_TRY(lane_.step("download", bytes, rows));
  GARUDA_CUDA_TRY(cudaMemcpyAsync(pinned, pairs, bytes, cudaMemcpyDeviceToHost, lane_.stream()));
  next_first_ = first;
  next_rows_ = rows;
  return {};
}

/// While the caller reads a window the next one is made.
template <class Key>
Result<void> TypedJoin<Key>::pairs(std::uint64_t first, std::span<GarudaCudaRowPair> out) {
  GARUDA_TRY_ASSIGN(auto const total, count());
  GARUDA_EXPECTS(first <= total && out.size() <= total - first);
  while (!out.empty()) {
    if (first < window_first_ || first - window_first_ >= window_rows_) {
      if (next_rows_ == 0 || first != next_first_) GARUDA_TRY(start_window(first));
      GARUDA_TRY(lane_.wait());
      ready_ = 1 - ready_;
      window_first_ = next_first_;
      window_rows_ = std::exchange(next_rows_, 0);
      lane_.add_counter("windows", 1);
      if (window_first_ + window_rows_ < total) GARUDA_TRY(start_window(window_first_ + window_rows_));
    }
    auto const skipped = first - window_first_;
    auto const taken = std::min<std::uint64_t>(window_rows_ - skipped, out.size());
    GARUDA_TRY_ASSIGN(auto const* const pinned, lane_.window(ready_));
    std::memcpy(out.data(), pinned + skipped * sizeof(GarudaCudaRowPair), taken * sizeof(GarudaCudaRowPair));
    out = out.subspan(taken);
    first += taken;
  }
  return {};
}

template <class Key>
Result<void> TypedJoin<Key>::mark_build(std::uint32_t* words) {
  GARUDA_TRY_ASSIGN(auto const hits, scratch(build_.rows, 1, "runs found"));
  GARUDA_CUDA_TRY(cudaMemsetAsync(hits.template as<void>(), 0, build_.rows, lane_.stream()));
  GARUDA_CUDA_TRY(mark_runs(launch_, firsts_.as<std::uint32_t>(), counts_.as<std::uint32_t>(), probe_.rows,
                            hits.template as<std::uint8_t>()));
  if (method_ == GARUDA_CUDA_JOIN_MERGE) {
    GARUDA_CUDA_TRY(
        mark_sorted_rows(launch_, build_.mixed(), build_.ids(), build_.rows, hits.template as<std::uint8_t>(), words));
  } else {
    GARUDA_CUDA_TRY(mark_build_rows(launch_, table_, slots_.as<std::uint32_t>(), build_.ids(), build_.rows,
                                    hits.template as<std::uint8_t>(), words));
  }
  return {};
}

template <class Key>
Result<void> TypedJoin<Key>::mark(bool is_left, std::span<std::uint64_t> words) {
  std::ranges::fill(words, 0);
  if (is_empty()) return {};
  GARUDA_TRY(lane_.step("mark", 0, build_.rows + std::uint64_t{probe_.rows}));
  GARUDA_TRY_ASSIGN(auto const bits, lane_.allocate(words.size_bytes(), "marks"));
  GARUDA_CUDA_TRY(cudaMemsetAsync(bits.template as<void>(), 0, words.size_bytes(), lane_.stream()));
  if (is_left == build_is_left_) {
    GARUDA_TRY(mark_build(bits.template as<std::uint32_t>()));
  } else {
    GARUDA_CUDA_TRY(mark_probe_rows(launch_, counts_.as<std::uint32_t>(), probe_.ids(), probe_.rows,
                                    bits.template as<std::uint32_t>()));
  }
  return lane_.download(std::as_writable_bytes(words), bits.template as<void>());
}

template <class Key>
Result<std::unique_ptr<Join>> begin_typed(Lane& lane, GarudaCudaJoinSlice const& slice) {
  auto join = std::make_unique<TypedJoin<Key>>(lane, slice);
  GARUDA_TRY(join->start());
  return std::unique_ptr<Join>(std::move(join));
}

}  // namespace

Result<std::unique_ptr<Join>> Join::begin(Lane& lane, GarudaCudaJoinSlice const& slice) {
  GARUDA_TRY(lane.device().enter());
  return slice.key_bits == 32 ? begin_typed<std::uint32_t>(lane, slice) : begin_typed<std::uint64_t>(lane, slice);
}

}  // namespace garuda::cuda
