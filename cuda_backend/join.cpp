// Keys go to the device, Matches finds their matches, pairs come back window by window.
#include "cuda_backend/join.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cuda_backend/matches.hpp"
#include "cuda_backend/status.hpp"

namespace garuda::cuda_backend {
namespace {

constexpr std::uint64_t kWindowPairs = Lane::kWindowBytes / sizeof(GarudaCudaRowPair);

/// Keys of a side in host memory.
template <class Key>
struct HostSide {
  Key const* keys = nullptr;
  std::uint32_t rows = 0;
};

template <class Key>
class TypedJoin final : public Join {
 public:
  TypedJoin(Lane& lane, GarudaCudaJoinSlice const& slice)
      : lane_(lane),
        launch_{lane.stream(), lane.device().traits().multiprocessors},
        build_is_left_(slice.build_is_left != 0),
        build_(build_is_left_ ? left_of(slice) : right_of(slice)),
        probe_(build_is_left_ ? right_of(slice) : left_of(slice)),
        matches_(lane, chosen_join_method(slice.method, lane, build_.rows, sizeof(Key)), build_.rows, probe_.rows) {}
  ~TypedJoin() override { lane_.drain(); }

  Result<void> start();
  Result<std::uint64_t> count() override;
  Result<void> pairs(std::uint64_t first, std::span<GarudaCudaRowPair> out) override;
  Result<void> mark(bool is_left, std::span<std::uint64_t> words) override;

 private:
  static HostSide<Key> left_of(GarudaCudaJoinSlice const& slice) {
    return {static_cast<Key const*>(slice.left_keys), slice.left_rows};
  }
  static HostSide<Key> right_of(GarudaCudaJoinSlice const& slice) {
    return {static_cast<Key const*>(slice.right_keys), slice.right_rows};
  }
  bool is_empty() const noexcept { return build_.rows == 0 || probe_.rows == 0; }
  Result<Buffer> upload(HostSide<Key> const& side);
  Result<void> start_window(std::uint64_t first);

  Lane& lane_;
  Launch launch_;
  bool build_is_left_;
  HostSide<Key> build_;
  HostSide<Key> probe_;
  Matches<Key> matches_;
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
Result<Buffer> TypedJoin<Key>::upload(HostSide<Key> const& side) {
  auto const bytes = std::uint64_t{side.rows} * sizeof(Key);
  GARUDA_TRY(lane_.step("upload", bytes, side.rows));
  GARUDA_TRY_ASSIGN(auto keys, lane_.allocate(bytes, "keys"));
  GARUDA_TRY(lane_.upload(keys.template as<void>(), std::as_bytes(std::span(side.keys, side.rows))));
  return keys;
}

template <class Key>
Result<void> TypedJoin<Key>::start() {
  if (is_empty()) return {};
  GARUDA_TRY_ASSIGN(auto const build_keys, upload(build_));
  GARUDA_TRY(matches_.add_build(build_keys.template as<Key>()));
  GARUDA_TRY_ASSIGN(auto const probe_keys, upload(probe_));
  return matches_.add_probe(probe_keys.template as<Key>());
}

template <class Key>
Result<std::uint64_t> TypedJoin<Key>::count() {
  if (is_empty() || counted_) return total_;
  GARUDA_TRY_ASSIGN(total_, matches_.count());
  counted_ = true;
  auto const method = matches_.method();
  lane_.add_counter(method == GARUDA_CUDA_JOIN_MERGE         ? "merge_slices"
                    : method == GARUDA_CUDA_JOIN_PARTITIONED ? "partitioned_slices"
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
    GARUDA_TRY_ASSIGN(window_[index],
                      lane_.allocate(std::min(total_, kWindowPairs) * sizeof(GarudaCudaRowPair), "pairs"));
  }
  auto const bytes = rows * sizeof(GarudaCudaRowPair);
  GARUDA_TRY_ASSIGN(auto* const pinned, lane_.window(index));
  GARUDA_TRY(lane_.step("probe", bytes, rows));
  auto* const pairs = window_[index].as<GarudaCudaRowPair>();
  GARUDA_CUDA_TRY(write_pairs(launch_, matches_.list(build_is_left_), first, rows, pairs));
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
Result<void> TypedJoin<Key>::mark(bool is_left, std::span<std::uint64_t> words) {
  std::ranges::fill(words, 0);
  GARUDA_TRY(count());
  if (is_empty()) return {};
  GARUDA_TRY(lane_.step("mark", 0, build_.rows + std::uint64_t{probe_.rows}));
  GARUDA_TRY_ASSIGN(auto const bits, lane_.allocate(words.size_bytes(), "marks"));
  GARUDA_CUDA_TRY(cudaMemsetAsync(bits.template as<void>(), 0, words.size_bytes(), lane_.stream()));
  auto* const marks = bits.template as<std::uint32_t>();
  GARUDA_TRY(is_left == build_is_left_ ? matches_.mark_build(marks) : matches_.mark_probe(marks));
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

}  // namespace garuda::cuda_backend
