#include "operators/compute/join/compute_join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "operators/compute/join/indexed_join.hpp"
#include "operators/compute/join/resident_join.hpp"
#include "operators/compute/join/rows_join.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "operators/compute/primitives/radix_side.hpp"
#include "operators/contract/join_kernel.hpp"
#include "operators/contract/sizing.hpp"
#include "operators/vulkan/pass_context.hpp"
#include "operators/vulkan/vulkan_devices.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::compute {
namespace {

/// Pairs that a slice may have: so many a row of its larger side, and in any case so many. A slice with more is halved
/// by its driver, and what its halves upload once more stays small beside the pairs.
constexpr std::uint64_t kMostPairsOfRow = 8;
constexpr std::uint64_t kPairsOfAnySlice = contract::kMaxPassRows;

/// Room for more pairs than are expected: the estimate comes from a sample.
constexpr double kSlack = 1.25;

/// Row numbers of a pair on the device, a column a side.
constexpr std::uint64_t kPairBytes = 2 * sizeof(std::uint32_t);

std::uint64_t larger_side(contract::JoinSlice const& slice) { return std::max(slice.left.size(), slice.right.size()); }

JoinMethod method_of(JoinMethod asked) { return asked == JoinMethod::automatic ? JoinMethod::partitioned : asked; }

keys::EncodedKeys encoded(contract::KeySpan const& span, std::uint32_t shared_low_bits) {
  keys::EncodedKeys keys;
  keys.key_bits = std::holds_alternative<std::span<std::uint32_t const>>(span.words) ? 32 : 64;
  keys.num_rows = keys.table_rows = span.size();
  keys.words = std::visit([](auto const& words) { return static_cast<void const*>(words.data()); }, span.words);
  keys.min = span.min;
  keys.max = span.max;
  keys.common_low_bits = shared_low_bits;
  return keys;
}

/// The host's partitions of a slice. Outlives the sides made of it.
class ScatteredSlice {
 public:
  /// Partitions both sides, which have rows, by one digit of at most `bits` bits, on the threads of the calling task
  /// arena. Errors: out_of_memory, cancelled.
  static Result<ScatteredSlice> create(contract::JoinSlice const& slice, std::uint32_t bits, Control const& control);

  /// A side as passes read it: in place where the lane does. Errors: those of PassContext::input().
  Result<PartitionedSide> side(ComputeContext& context, Side side) const;

 private:
  partition::PartitionedKeys left_;
  partition::PartitionedKeys right_;
  std::uint32_t bits_ = 0;
};

Result<ScatteredSlice> ScatteredSlice::create(contract::JoinSlice const& slice, std::uint32_t bits,
                                              Control const& control) {
  auto left = encoded(slice.left, slice.shared_low_bits);
  auto right = encoded(slice.right, slice.shared_low_bits);
  GARUDA_TRY_ASSIGN(auto choice, partition::choose_digit(left, right, bits, control));
  // Both sides have row numbers, so there are two partitions at least.
  if (choice.digit.bits == 0) choice = {{1, 0, true}, {}, {}};
  ScatteredSlice scattered;
  scattered.bits_ = choice.digit.bits;
  partition::PartitionOptions options;
  options.counts = std::move(choice.left);
  GARUDA_TRY_ASSIGN(scattered.left_,
                    partition::radix_partition(std::move(left), choice.digit, control, std::move(options)));
  options = {};
  options.counts = std::move(choice.right);
  GARUDA_TRY_ASSIGN(scattered.right_,
                    partition::radix_partition(std::move(right), choice.digit, control, std::move(options)));
  return scattered;
}

Result<PartitionedSide> ScatteredSlice::side(ComputeContext& context, Side side) const {
  auto const& keys = side == Side::left ? left_ : right_;
  ScatteredRows scattered;
  scattered.rows = keys.num_rows();
  scattered.key_words = keys.key_bits / 32;
  scattered.bits = bits_;
  auto const bytes = [&](void const* words, std::uint64_t each) {
    return std::span(static_cast<std::byte const*>(words), scattered.rows * each);
  };
  GARUDA_TRY_ASSIGN(scattered.keys,
                    context.input(bytes(keys.keys, keys.key_bits / 8), "scattered keys", keys.key_bits / 8));
  GARUDA_TRY_ASSIGN(scattered.numbers, context.input(bytes(keys.row_ids, 4), "scattered row numbers", 4));
  GARUDA_TRY_ASSIGN(scattered.starts, context.upload_buffer(keys.offsets.size() * 4, "starts of partitions"));
  GARUDA_TRY(context.make(scattered.starts, [&](std::span<std::uint32_t> starts) {
    std::ranges::transform(keys.offsets, starts.begin(), [](auto start) { return static_cast<std::uint32_t>(start); });
  }));
  return PartitionedSide(std::move(scattered));
}

class SliceKernel final : public contract::JoinKernel {
 public:
  SliceKernel(vulkan::OwnLane const& own, vk::PipelineStore& pipelines, ComputeTuning const& tuning,
              contract::BackendOptions const& options, contract::JoinSlice const& slice)
      : slice_(slice),
        options_(options),
        lane_(own.lane),
        submissions_(lane_, options_.control, options_.stats),
        context_(lane_, pipelines, submissions_, tuning, own.budget_bytes) {
    GARUDA_EXPECTS(larger_side(slice) <= contract::kMaxPassRows);
    auto const smaller = slice_.left.size() <= slice_.right.size() ? Side::left : Side::right;
    build_side_ = contract::build_side(options_.tuning.build, smaller);
  }

  Result<void> start();

  Result<std::uint64_t> count() override { return join_ ? join_->count(context_) : 0; }
  Result<void> pairs(std::uint64_t first, std::span<contract::RowPair> out) override;
  Result<contract::MarkBitmap> mark(Side side) override;
  Result<void> add_marks(Side side, contract::RowMarks& marks, std::uint64_t first) override;

 private:
  std::size_t mark_words(Side side) const {
    return contract::bitmap_words((side == Side::left ? slice_.left : slice_.right).size());
  }
  Result<std::optional<vk::Buffer>> record_marks(Side side);
  Result<void> upload_keys();
  Result<ResidentJoin> join_of(std::uint64_t expected, ResidentJoinStrategy const& way);
  Result<DeviceRows> upload(contract::KeySpan const& keys, vk::Buffer& buffer, char const* name);
  Result<void> load_window(std::uint64_t first);
  std::uint64_t most_pairs() const { return std::max(kMostPairsOfRow * larger_side(slice_), kPairsOfAnySlice); }

  contract::JoinSlice slice_;
  contract::BackendOptions const& options_;
  vk::Lane& lane_;
  vulkan::Submissions submissions_;
  ComputeContext context_;
  Side build_side_ = Side::left;
  vk::Buffer left_keys_;
  vk::Buffer right_keys_;
  DeviceRows left_rows_;
  DeviceRows right_rows_;
  std::optional<ScatteredSlice> scattered_;  // where the host partitions
  std::optional<ResidentJoin> join_;         // none of a slice without rows on both sides
  std::optional<IndexedJoin> index_;         // where rows are marked and the join has none
  contract::PairWindow window_;
  std::vector<std::uint32_t> left_room_;  // of windows that come to the host
  std::vector<std::uint32_t> right_room_;
  vulkan::DrainedLane const drained_{lane_};
};

Result<DeviceRows> SliceKernel::upload(contract::KeySpan const& keys, vk::Buffer& buffer, char const* name) {
  auto const source = std::visit([](auto const& words) { return std::as_bytes(words); }, keys.words);
  DeviceRows rows;
  rows.rows = keys.size();
  auto const key_bytes = source.size() / rows.rows;
  GARUDA_TRY_ASSIGN(buffer, context_.input(source, name, key_bytes));
  rows.keys = {buffer.address(), static_cast<std::uint32_t>(key_bytes / sizeof(std::uint32_t))};
  rows.bounds = {keys.min, keys.max};
  return rows;
}

Result<void> SliceKernel::upload_keys() {
  GARUDA_TRY_ASSIGN(left_rows_, upload(slice_.left, left_keys_, "left keys"));
  GARUDA_TRY_ASSIGN(right_rows_, upload(slice_.right, right_keys_, "right keys"));
  return {};
}

Result<ResidentJoin> SliceKernel::join_of(std::uint64_t expected, ResidentJoinStrategy const& way) {
  auto const build_rows = (build_side_ == Side::left ? slice_.left : slice_.right).size();
  auto const bits = scattered_bits(build_rows, way.method, lane_.reads_in_place(), context_.tuning());
  if (bits == 0) {
    GARUDA_TRY(upload_keys());
    return ResidentJoin::create(context_, left_rows_, right_rows_, expected, way);
  }
  {
    contract::PhaseTimer const timer(options_.stats, "partition");
    auto const control = options_.control != nullptr ? *options_.control : Control{};
    GARUDA_TRY_ASSIGN(scattered_, ScatteredSlice::create(slice_, bits, control));
  }
  GARUDA_TRY_ASSIGN(auto left, scattered_->side(context_, Side::left));
  GARUDA_TRY_ASSIGN(auto right, scattered_->side(context_, Side::right));
  return ResidentJoin::create(context_, std::move(left), std::move(right), expected, way);
}

Result<void> SliceKernel::start() {
  if (slice_.left.size() == 0 || slice_.right.size() == 0) return {};
  auto const parts = options_.pairs_wanted ? JoinedParts::numbers : JoinedParts::none;
  ResidentJoinStrategy const way{method_of(options_.tuning.method), false, build_side_, parts};
  // A foreign key finds its primary key; more room is taken where rows multiply more than expected.
  auto const room = static_cast<double>(larger_side(slice_)) * std::max(kSlack * options_.pairs_of_row, 1.0);
  auto const most = static_cast<double>(most_pairs());
  auto const expected = options_.pairs_wanted ? static_cast<std::uint64_t>(std::min(room, most)) : 0;
  GARUDA_TRY_ASSIGN(join_, join_of(expected, way));
  GARUDA_TRY(join_->record(context_));
  return submissions_.submit();
}

/// Brings the pairs from `first` on to the host, as many as one download takes.
Result<void> SliceKernel::load_window(std::uint64_t first) {
  GARUDA_TRY(join_->finish(context_));
  auto const& joined = join_->result();
  auto const rows = std::min(joined.rows - first, kWindowPairs);
  window_.first = first;
  auto const load = [&](vk::Buffer const& column, std::vector<std::uint32_t>& room) {
    return context_.read(column, first * sizeof(std::uint32_t), rows, room);
  };
  GARUDA_TRY_ASSIGN(window_.left, load(joined.left[0], left_room_));
  GARUDA_TRY_ASSIGN(window_.right, load(joined.right[0], right_room_));
  submissions_.add_counter("windows", 1);
  return {};
}

Result<void> SliceKernel::pairs(std::uint64_t first, std::span<contract::RowPair> out) {
  GARUDA_TRY_ASSIGN(auto const total, count());
  GARUDA_EXPECTS(first <= total && out.size() <= total - first);
  if (total > most_pairs())
    return fail(ErrorCode::limit_exceeded,
                fmt::format("a slice has more pairs than are kept on the device, {}: {}", most_pairs(), total));
  return contract::read_pairs(window_, first, out, [&](std::uint64_t position) { return load_window(position); });
}

/// Marks of a side's rows, mark_words() × u64, once what is recorded has run; nothing where no row has a match.
Result<std::optional<vk::Buffer>> SliceKernel::record_marks(Side side) {
  GARUDA_TRY_ASSIGN(auto const total, count());
  if (total == 0) return std::nullopt;
  auto* index = join_->indexed();
  if (index == nullptr && !index_) {
    if (!left_keys_) GARUDA_TRY(upload_keys());
    bool const left_is_build = build_side_ == Side::left;
    auto const& build = left_is_build ? left_rows_ : right_rows_;
    auto const& probe = left_is_build ? right_rows_ : left_rows_;
    GARUDA_TRY_ASSIGN(index_, IndexedJoin::create(context_, build, probe));
    GARUDA_TRY(index_->record_matches(context_));
  }
  if (index == nullptr) index = &*index_;
  GARUDA_TRY_ASSIGN(auto marks, context_.device_buffer(mark_words(side) * sizeof(std::uint64_t), "marks"));
  GARUDA_TRY(context_.fill(vulkan::phase::kMark, marks, 0));
  GARUDA_TRY(index->record_marks(context_, side == build_side_, marks));
  GARUDA_TRY(context_.order_all(vulkan::phase::kMark));
  return std::optional(std::move(marks));
}

Result<contract::MarkBitmap> SliceKernel::mark(Side side) {
  contract::MarkBitmap bitmap(mark_words(side));
  GARUDA_TRY_ASSIGN(auto const marks, record_marks(side));
  if (marks) GARUDA_TRY(context_.download(*marks, std::as_writable_bytes(std::span(bitmap))));
  return bitmap;
}

Result<void> SliceKernel::add_marks(Side side, contract::RowMarks& marks, std::uint64_t first) {
  GARUDA_TRY_ASSIGN(auto const marked, record_marks(side));
  if (!marked) return {};
  std::vector<std::uint64_t> room;
  GARUDA_TRY_ASSIGN(auto const words, context_.read(*marked, 0, mark_words(side), room));
  marks.add(words, first);
  return {};
}

}  // namespace

Result<std::unique_ptr<contract::JoinKernel>> start_slice(vulkan::OwnLane const& own, vk::PipelineStore& pipelines,
                                                          ComputeTuning const& tuning,
                                                          contract::BackendOptions const& options,
                                                          contract::JoinSlice const& slice) {
  auto kernel = std::make_unique<SliceKernel>(own, pipelines, tuning, options, slice);
  GARUDA_TRY(kernel->start());
  return std::unique_ptr<contract::JoinKernel>(std::move(kernel));
}

std::uint32_t scattered_bits(std::uint64_t build_rows, JoinMethod method, bool reads_in_place,
                             ComputeTuning const& tuning) noexcept {
  bool const scatters = reads_in_place && tuning.is_software && method_of(method) == JoinMethod::partitioned;
  return scatters ? std::min(join_radix_bits(build_rows, tuning), partition::kMaxRadixBits) : 0;
}

std::uint64_t compute_join_bytes(std::uint64_t left_rows, std::uint64_t right_rows, std::uint32_t key_bits,
                                 JoinMethod method, ComputeTuning const& tuning, bool pairs_wanted) noexcept {
  auto const build = std::min(left_rows, right_rows);
  auto const probe = std::max(left_rows, right_rows);
  auto const key_bytes = std::uint64_t{key_bits} / 8;
  auto const bytes = (build + probe) * key_bytes + (pairs_wanted ? probe * kPairBytes : 0);
  if (method_of(method) != JoinMethod::partitioned)
    return bytes + indexed_join_bytes(build, probe, key_bits / 32, tuning);
  auto const moved = key_bytes + sizeof(std::uint32_t);
  return bytes + rows_join_bytes({build, moved}, {probe, moved}, tuning);
}

Result<std::unique_ptr<contract::JoinBackend>> open_compute_join(vk::Device& device, vk::PipelineStore& pipelines,
                                                                 contract::BackendOptions const& options) {
  GARUDA_EXPECTS(options.key_bits == 32 || options.key_bits == 64);
  using Backend =
      vulkan::LaneBackend<contract::JoinBackend, contract::JoinKernel, contract::JoinSlice, contract::BackendOptions>;
  GARUDA_TRY_ASSIGN(auto const tuning, compute_tuning(device.traits()));
  return Backend::open(device, options, "compute join lane",
                       [&pipelines, tuning](auto const& own, auto const&... what) {
                         return start_slice(own, pipelines, tuning, what...);
                       });
}

}  // namespace garuda::compute
