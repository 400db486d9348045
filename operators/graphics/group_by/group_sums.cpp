#include "operators/graphics/group_by/group_sums.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "operators/graphics/group_by/group_context.hpp"

namespace garuda::graphics {
namespace {

constexpr std::uint32_t kSumBytes = 16;

// A channel of limbs stays where floats are exact integers, whatever its rows.
static_assert(shaders::kPixelRows * 255 < 1U << 24);

struct Span {
  std::uint32_t low;
  std::uint32_t high;

  std::uint64_t windows() const noexcept { return low | (std::uint64_t{high & 1U} << 32); }
};

/// Adds two words to two words, modulo 2^128.
void add_wide(std::uint64_t* sum, std::uint64_t const* addend) {
  sum[0] += addend[0];
  sum[1] += addend[1] + (sum[0] < addend[0] ? 1 : 0);
}

}  // namespace

std::uint32_t GroupSums::windows_each() const noexcept {
  if (contract::is_float(column_.kind)) return 0;
  return column_.kind == contract::ValueKind::int128 ? 2 : 1;
}

vk::BoundResource GroupSums::spans() const {
  return vk::BoundResource::of(shaders::kBindSpans, spans_ ? spans_ : groups_.ids);
}

std::vector<vk::BoundResource> GroupSums::resources() const {
  auto resources = column_.resources(groups_);
  resources.push_back(spans());
  resources.push_back(vk::BoundResource::of(shaders::kBindFirstPixels, first_pixels_));
  return resources;
}

Result<void> GroupSums::run(GroupContext& context, contract::AggregateState& state) {
  if (contract::is_float(column_.kind)) GARUDA_TRY(find_spans(context));
  GARUDA_TRY(allot_pixels(context));
  GARUDA_TRY(read_layout(context));
  if (num_pixels_ > 0) {
    auto at_once = context.pixels_at_once(num_pixels_, kLimbBytes + std::uint64_t{2 * kSumBytes}, kSumBytes);
    vulkan::ImageShape shape;
    GARUDA_TRY(context.halved_until_it_fits(at_once, 1, [&](std::uint64_t n) -> Result<void> {
      shape = vulkan::image_for(n, context.limits().accumulator_extent);
      GARUDA_TRY_ASSIGN(sums_, context.buffer(n * kSumBytes, "sums"));
      GARUDA_TRY_ASSIGN(limbs_, context.image(VK_FORMAT_R32G32B32A32_SFLOAT, shape, 2, "accumulators"));
      return {};
    }));
    context.submissions().max_counter("accumulator_pixels", num_pixels_);
    for (std::uint64_t first = 0; first < num_pixels_; first += at_once) {
      auto const size = std::min(at_once, num_pixels_ - first);
      GARUDA_TRY(sum_part(context, shape, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(size)));
    }
  }
  finish(state);
  return {};
}

Result<void> GroupSums::find_spans(GroupContext& context) {
  auto const bytes = std::uint64_t{groups_.num_groups} * sizeof(Span);
  GARUDA_TRY_ASSIGN(spans_, context.buffer(bytes, "windows of groups"));
  GARUDA_TRY_ASSIGN(auto target, GroupTarget::create(context, groups_, VK_FORMAT_R32G32B32A32_SFLOAT, 2, 0));
  GARUDA_TRY_ASSIGN(auto const* pipeline, context.pipeline(GroupPass::spans, column_.pass_kind(groups_)));
  auto const bound = column_.resources(groups_);
  for (std::uint32_t first = 0; first < groups_.num_groups; first += target.groups_at_once()) {
    auto const range = target.range(first, groups_.num_groups);
    auto const push = target.push(groups_, range);
    GARUDA_TRY(target.draw(context, vulkan::phase::kWindows, "windows", *pipeline, bound, vulkan::push_bytes(push),
                           groups_, vk::clear_float(0)));
    std::array const folded{target.resource(), spans()};
    GARUDA_TRY(context.dispatch(vulkan::phase::kWindows, "fold windows", GroupPass::fold_spans, {}, folded,
                                vulkan::push_bytes(push), range.size));
  }
  return context.order(vulkan::phase::kWindows, vk::use::kComputeWrite, vk::use::kVertexRead | vk::use::kComputeWrite);
}

Result<void> GroupSums::allot_pixels(GroupContext& context) {
  auto const num_groups = groups_.num_groups;
  lanes_ = group_lanes(groups_.num_rows, num_groups, kLimbBytes, context.limits());
  auto const many_lanes = sum_lanes(groups_.num_rows, context.limits().spread);
  GARUDA_EXPECTS(many_lanes == 1 || groups_.group_rows);
  shaders::AllotPush const push{num_groups, windows_each(), lanes_, std::max(lanes_, many_lanes)};
  GARUDA_TRY_ASSIGN(auto const counts, context.buffer(std::uint64_t{num_groups} * 4, "pixels of groups"));
  GARUDA_TRY_ASSIGN(auto sum, PrefixSum::create(context, num_groups, "prefix sum of pixels"));
  GARUDA_TRY_ASSIGN(first_pixels_, context.buffer((std::uint64_t{num_groups} + 1) * 4, "first pixels"));
  auto const& group_rows = many_lanes == 1 ? groups_.ids : groups_.group_rows;
  std::array const allotted{vk::BoundResource::of(shaders::kBindGroupRows, group_rows), spans(),
                            vk::BoundResource::of(shaders::kBindCounts, counts)};
  GARUDA_TRY(context.dispatch(vulkan::phase::kPrefix, "allot pixels", GroupPass::allot_pixels, {}, allotted,
                              vulkan::push_bytes(push), num_groups));
  GARUDA_TRY(context.prefix_sum(sum, vulkan::phase::kPrefix, counts));
  std::array const placed{vk::BoundResource::of(shaders::kBindOffsets, sum.offsets()),
                          vk::BoundResource::of(shaders::kBindTileBases, sum.tile_bases()),
                          vk::BoundResource::of(shaders::kBindFirstPixels, first_pixels_)};
  GARUDA_TRY(context.dispatch(vulkan::phase::kPrefix, "first pixels", GroupPass::place_pixels, {}, placed,
                              vulkan::push_bytes(push), std::uint64_t{num_groups} + 1));
  GARUDA_TRY(
      context.order(vulkan::phase::kPrefix, vk::use::kComputeWrite, vk::use::kVertexRead | vk::use::kComputeWrite));
  GARUDA_TRY_ASSIGN(num_pixels_, sum.total(context, vulkan::phase::kPrefix));
  return {};
}

Result<void> GroupSums::read_layout(GroupContext& context) {
  std::uint64_t const num_groups = groups_.num_groups;
  first_pixel_of_.resize(num_groups + 1);
  if (!contract::is_float(column_.kind)) {
    windows_.resize(num_groups * windows_each() * 2);
    auto const pixels_each = windows_each() * lanes_;
    if (num_pixels_ == num_groups * pixels_each) {
      for (std::uint32_t group = 0; group <= num_groups; ++group) first_pixel_of_[group] = group * pixels_each;
      return {};
    }
    return context.download(first_pixels_, std::as_writable_bytes(std::span(first_pixel_of_)));
  }
  GARUDA_TRY(context.download(first_pixels_, std::as_writable_bytes(std::span(first_pixel_of_))));
  std::vector<Span> spans(num_groups);
  GARUDA_TRY(context.download(spans_, std::as_writable_bytes(std::span(spans))));
  floats_.flags.reserve(num_groups);
  floats_.first_window.reserve(num_groups);
  floats_.offsets.reserve(num_groups + 1);
  floats_.offsets.push_back(0);
  for (auto const& span : spans) {
    auto const windows = span.windows();
    auto const lowest = windows == 0 ? 0 : std::countr_zero(windows);
    floats_.flags.push_back(static_cast<std::uint8_t>(span.high >> shaders::kSpanFlags));
    floats_.first_window.push_back(static_cast<std::uint8_t>(lowest));
    floats_.offsets.push_back(floats_.offsets.back() + static_cast<std::uint64_t>(std::bit_width(windows) - lowest));
  }
  windows_.resize(floats_.offsets.back() * 2);
  return {};
}

Result<void> GroupSums::sum_part(GroupContext& context, vulkan::ImageShape const& shape, std::uint32_t first,
                                 std::uint32_t size) {
  shaders::SumPush const push{shape.raster(), groups_.num_rows, groups_.num_groups, first, size};
  GARUDA_TRY(draw_part(context, push, shape));
  std::vector<std::uint64_t> part(std::size_t{size} * 2);
  GARUDA_TRY(context.download(sums_, std::as_writable_bytes(std::span(part))));
  add_part(first, part);
  return {};
}

Result<void> GroupSums::draw_part(GroupContext& context, shaders::SumPush const& push,
                                  vulkan::ImageShape const& shape) {
  auto const bound = resources();
  bool const two_windows = contract::is_float(column_.kind) || column_.kind == contract::ValueKind::int128;
  vulkan::PointPass pass;
  pass.phase = vulkan::phase::kSum;
  pass.label = "aggregate: sum";
  GARUDA_TRY_ASSIGN(pass.pipeline, context.pipeline(GroupPass::sum, column_.pass_kind(groups_)));
  pass.resources = bound;
  pass.push = vulkan::push_bytes(push);
  pass.target = &limbs_;
  pass.attachments = 2;
  pass.area = {shape.width(), shape.height};
  pass.clear = vk::clear_float(0);
  pass.vertices = groups_.num_drawn;
  pass.instances = two_windows ? 2 : 1;
  pass.last_use = vk::use::kComputeSampled;  // the fold of an earlier part
  pass.next_use = vk::use::kComputeSampled;
  GARUDA_TRY(context.draw(pass));
  std::array const folded{vk::BoundResource::of(shaders::kBindAccumulators, limbs_.array_view()), spans(),
                          vk::BoundResource::of(shaders::kBindFirstPixels, first_pixels_),
                          vk::BoundResource::of(shaders::kBindSums, sums_)};
  GARUDA_TRY(context.dispatch(vulkan::phase::kFold, "fold sums", GroupPass::fold_sums, column_.pass_kind(groups_),
                              folded, vulkan::push_bytes(push), groups_.num_groups));
  // Sums, before they are copied to the host.
  return context.order(vulkan::phase::kFold, vk::use::kComputeWrite, vk::use::kTransferRead);
}

// A window's sum in a part is at the first pixel that the window has in it.
void GroupSums::add_part(std::uint32_t first, std::span<std::uint64_t const> part) {
  auto const end = first + static_cast<std::uint32_t>(part.size() / 2);
  bool const floats = contract::is_float(column_.kind);
  for (auto group = next_group_; group < groups_.num_groups && first_pixel_of_[group] < end; ++group) {
    auto const begin = first_pixel_of_[group];
    auto const offset = floats ? floats_.offsets[group] : std::uint64_t{group} * windows_each();
    auto const windows = floats ? static_cast<std::uint32_t>(floats_.offsets[group + 1] - offset) : windows_each();
    auto const lanes = windows == 0 ? 0 : (first_pixel_of_[group + 1] - begin) / windows;
    for (std::uint32_t window = 0; window < windows; ++window) {
      auto const from = std::max(begin + window * lanes, first);
      if (from < std::min(begin + (window + 1) * lanes, end)) {
        add_wide(&windows_[2 * (offset + window)], &part[2 * std::size_t{from - first}]);
      }
    }
    if (first_pixel_of_[group + 1] <= end) next_group_ = group + 1;
  }
}

void GroupSums::finish(contract::AggregateState& state) {
  if (contract::is_float(column_.kind)) {
    state.float_sums = std::move(floats_);
    state.float_sums.windows = std::move(windows_);
    return;
  }
  if (column_.kind != contract::ValueKind::int128) {
    state.sums = std::move(windows_);
    return;
  }
  // low + high · 2^64, both signed, in 256 bits.
  state.sums.resize(windows_.size());
  for (std::size_t first = 0; first < windows_.size(); first += 4) {
    auto const* const window = &windows_[first];
    auto* const sum = &state.sums[first];
    auto const sign_of = [](std::uint64_t word) { return (word >> 63) != 0 ? ~std::uint64_t{0} : 0; };
    auto const low_sign = sign_of(window[1]);
    auto const high_sign = sign_of(window[3]);
    std::array const low{window[0], window[1], low_sign, low_sign};
    std::array const high{std::uint64_t{0}, window[2], window[3], high_sign};
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      auto const carried = low[i] + carry;
      sum[i] = carried + high[i];
      carry = (carried < carry ? 1U : 0U) + (sum[i] < carried ? 1U : 0U);
    }
  }
}

}  // namespace garuda::graphics
