#include "operators/compute/join/slice_kernel.hpp"

#include <algorithm>
#include <variant>

namespace garuda::compute {
namespace {

std::span<std::byte const> bytes_of(contract::KeySpan const& keys) {
  return std::visit([](auto const& words) { return std::as_bytes(words); }, keys.words);
}

std::uint32_t words_of(contract::KeySpan const& keys) {
  return std::holds_alternative<std::span<std::uint64_t const>>(keys.words) ? 2 : 1;
}

static_assert(sizeof(contract::RowPair) == 8);

}  // namespace

SliceKernel::SliceKernel(ComputeResources const& resources, contract::JoinSlice const& slice)
    : slice_(slice),
      options_(*resources.options),
      lane_(*resources.lane),
      submissions_(lane_, options_.control, options_.stats),
      context_(lane_, *resources.pipelines, submissions_, *resources.tuning, resources.memory_budget_bytes) {
  GARUDA_EXPECTS(slice.left.size() <= contract::kMaxPassRows && slice.right.size() <= contract::kMaxPassRows);
  bool const left_is_smaller = slice_.left.size() <= slice_.right.size();
  build_side_ = left_is_smaller ? Side::left : Side::right;
  if (options_.tuning.build == BuildSide::left) build_side_ = Side::left;
  if (options_.tuning.build == BuildSide::right) build_side_ = Side::right;
}

SliceKernel::~SliceKernel() {
  // A failure to drain is a lost device: nothing runs any more, and the next call on the lane reports it.
  (void)lane_.drain();
}

void SliceKernel::add_counter(char const* name, std::uint64_t value) const {
  if (options_.stats != nullptr) options_.stats->add_counter(name, value);
}

Result<DeviceRows> SliceKernel::upload(Side side) {
  auto const& keys = keys_of(side);
  auto& buffer = side == Side::left ? left_keys_ : right_keys_;
  auto const source = bytes_of(keys);
  GARUDA_TRY_ASSIGN(buffer, context_.upload_buffer(source.size(), side == Side::left ? "left keys" : "right keys"));
  GARUDA_TRY(context_.upload(buffer, 0, source));
  DeviceRows rows;
  rows.rows = keys.size();
  rows.keys = {buffer.address(), words_of(keys)};
  rows.number_rows = true;
  return rows;
}

Result<std::uint64_t> SliceKernel::count() {
  if (is_empty()) return 0;
  if (!count_) {
    GARUDA_TRY_ASSIGN(count_, count_pairs());
  }
  return *count_;
}

Result<void> SliceKernel::load_window(std::uint64_t first) {
  if (!window_) {
    // Of little memory half is left to what the window's submission takes besides.
    auto const room = std::max<std::uint64_t>(context_.bytes_left() / 2 / sizeof(contract::RowPair), 1);
    window_rows_ = std::min({*count_, context_.tuning().join_window_rows, room});
    GARUDA_TRY_ASSIGN(window_, context_.device_buffer(window_rows_ * sizeof(contract::RowPair), "window of pairs"));
  }
  auto const rows = std::min(*count_ - first, window_rows_);
  GARUDA_TRY(record_pairs(first, rows, window_));
  GARUDA_TRY(context_.order_all(vulkan::phase::kProbe));
  kept_.resize(rows);
  window_first_ = first;
  GARUDA_TRY(context_.download(window_, std::as_writable_bytes(std::span(kept_))));
  submissions_.count_bytes(vulkan::phase::kDownload, rows * sizeof(contract::RowPair));
  add_counter("windows", 1);
  return {};
}

Result<void> SliceKernel::pairs(std::uint64_t first, std::span<contract::RowPair> out) {
  GARUDA_TRY_ASSIGN(auto const total, count());
  GARUDA_EXPECTS(first <= total && out.size() <= total - first);
  while (!out.empty()) {
    bool const is_kept = first >= window_first_ && first - window_first_ < kept_.size();
    if (!is_kept) GARUDA_TRY(load_window(first));
    auto const kept = std::span(kept_).subspan(first - window_first_);
    auto const taken = std::min(kept.size(), out.size());
    std::ranges::copy(kept.first(taken), out.begin());
    out = out.subspan(taken);
    first += taken;
  }
  return {};
}

Result<contract::MarkBitmap> SliceKernel::mark(Side side) {
  contract::MarkBitmap bitmap((keys_of(side).size() + 63) / 64);
  GARUDA_TRY_ASSIGN(auto const total, count());
  if (total == 0) return bitmap;
  GARUDA_TRY_ASSIGN(auto const marks, context_.device_buffer(bitmap.size() * 8, "marks"));
  GARUDA_TRY(context_.fill(vulkan::phase::kMark, marks, 0));
  GARUDA_TRY(record_marks(side, marks));
  GARUDA_TRY(context_.order_all(vulkan::phase::kMark));
  GARUDA_TRY(context_.download(marks, std::as_writable_bytes(std::span(bitmap))));
  return bitmap;
}

}  // namespace garuda::compute
