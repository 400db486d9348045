// Keys go to the device, Matches finds their matches, pairs come back window by window.
#include "cuda_backend/join/join.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cuda_backend/status.hpp"

namespace garuda::cuda_backend {
namespace {

constexpr std::uint64_t kWindowPairs = Lane::kWindowBytes / sizeof(GarudaCudaRowPair);

}  // namespace

Join::Join(Lane& lane, GarudaCudaJoinSlice const& slice)
    : lane_(lane),
      key_bytes_(slice.key_bits / 8),
      build_is_left_(slice.build_is_left != 0),
      build_{slice.left_keys, slice.left_rows},
      probe_{slice.right_keys, slice.right_rows} {
  if (!build_is_left_) std::swap(build_, probe_);
  auto const method = chosen_join_method(slice.method, lane, build_.rows, key_bytes_);
  matches_.emplace(lane, method, key_bytes_, build_.rows, probe_.rows);
}

Result<std::unique_ptr<Join>> Join::begin(Lane& lane, GarudaCudaJoinSlice const& slice) {
  std::unique_ptr<Join> join(new Join(lane, slice));
  if (join->is_empty()) return join;
  GARUDA_TRY_ASSIGN(auto const build_keys, join->upload(join->build_));
  GARUDA_TRY(join->matches_->add_build(build_keys.address()));
  GARUDA_TRY_ASSIGN(auto const probe_keys, join->upload(join->probe_));
  GARUDA_TRY(join->matches_->add_probe(probe_keys.address()));
  return join;
}

Result<Buffer> Join::upload(HostSide const& side) {
  auto const bytes = std::uint64_t{side.rows} * key_bytes_;
  GARUDA_TRY(lane_.step("upload", bytes, side.rows));
  GARUDA_TRY_ASSIGN(auto keys, lane_.allocate(bytes, "keys"));
  GARUDA_TRY(lane_.upload(keys.as<void>(), {static_cast<std::byte const*>(side.keys), bytes}));
  return keys;
}

Result<std::uint64_t> Join::count() {
  if (is_empty() || counted_) return total_;
  GARUDA_TRY_ASSIGN(total_, matches_->count());
  counted_ = true;
  auto const method = matches_->method();
  lane_.add_counter(method == GARUDA_CUDA_JOIN_MERGE         ? "merge_slices"
                    : method == GARUDA_CUDA_JOIN_PARTITIONED ? "partitioned_slices"
                                                             : "table_slices",
                    1);
  return total_;
}

/// Pairs from `first` on, into the window that is not being read.
Result<void> Join::start_window(std::uint64_t first) {
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
  // A pair: the left row, then the right one.
  auto* const pairs = window_[index].as<std::uint32_t>();
  GARUDA_TRY(matches_->write(first, rows, {pairs + (build_is_left_ ? 0 : 1), pairs + (build_is_left_ ? 1 : 0), 2}));
  GARUDA_TRY(lane_.step("download", bytes, rows));
  GARUDA_CUDA_TRY(cudaMemcpyAsync(pinned, pairs, bytes, cudaMemcpyDeviceToHost, lane_.stream()));
  next_first_ = first;
  next_rows_ = rows;
  return {};
}

/// While the caller reads a window the next one is made.
Result<void> Join::pairs(std::uint64_t first, std::span<GarudaCudaRowPair> out) {
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

Result<void> Join::mark(bool is_left, std::span<std::uint64_t> words) {
  std::ranges::fill(words, 0);
  GARUDA_TRY(count());
  if (is_empty()) return {};
  GARUDA_TRY(lane_.step("mark", 0, build_.rows + std::uint64_t{probe_.rows}));
  GARUDA_TRY_ASSIGN(auto const bits, lane_.allocate(words.size_bytes(), "marks"));
  GARUDA_CUDA_TRY(cudaMemsetAsync(bits.as<void>(), 0, words.size_bytes(), lane_.stream()));
  auto* const marks = bits.as<std::uint32_t>();
  GARUDA_TRY(is_left == build_is_left_ ? matches_->mark_build(marks) : matches_->mark_probe(marks));
  return lane_.download(std::as_writable_bytes(words), bits.as<void>());
}

}  // namespace garuda::cuda_backend
