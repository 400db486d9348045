#include "operators/graphics/join/graphics_join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "operators/contract/join_kernel.hpp"
#include "operators/graphics/join/kernel_context.hpp"
#include "operators/graphics/join/match_table.hpp"
#include "operators/graphics/join/probe_windows.hpp"
#include "operators/graphics/join/slice_side.hpp"
#include "operators/vulkan/pass_context.hpp"
#include "operators/vulkan/vulkan_devices.hpp"
#include "vk_runtime/lane.hpp"
#include "vk_runtime/pipelines.hpp"

namespace garuda::graphics {
namespace {

/// Joins one slice by a sequence of rendering passes (GARUDA §3).
class GraphicsKernel final : public contract::JoinKernel {
 public:
  /// Takes addresses, starts the uploads and submits the statistics of the side that is likely to be built on; waits
  /// for none of it. `slice`'s keys outlive the kernel. Errors: usage when direct addresses were asked for and neither
  /// side's key range fits an image; those of JoinKernel.
  static Result<std::unique_ptr<contract::JoinKernel>> start(vulkan::OwnLane const& own, vk::PipelineStore& pipelines,
                                                             GraphicsLimits const& limits,
                                                             contract::BackendOptions const& options,
                                                             contract::JoinSlice const& slice);
  Result<std::uint64_t> count() override;
  Result<void> pairs(std::uint64_t first, std::span<contract::RowPair> out) override;
  Result<contract::MarkBitmap> mark(Side side) override;

 private:
  GraphicsKernel(vulkan::OwnLane const& own, vk::PipelineStore& pipelines, GraphicsLimits const& limits,
                 contract::BackendOptions const& options, contract::JoinSlice const& slice)
      : slice_(slice),
        options_(options),
        lane_(own.lane),
        submissions_(lane_, options.control, options.stats),
        context_(lane_, pipelines, options.key_bits / 32, submissions_, limits, own.budget_bytes),
        left_(Side::left, slice_.left),
        right_(Side::right, slice_.right) {}

  bool is_empty() const noexcept { return left_.rows() == 0 || right_.rows() == 0; }
  SliceSide& other(SliceSide const& side) noexcept { return &side == &left_ ? right_ : left_; }
  Result<void> upload_and_start_statistics();
  Result<void> choose_addresses();
  SliceSide& likely_build_side() noexcept;
  Result<void> choose_build_side();
  Result<StorageChoice> storage_on(SliceSide& build);
  Result<void> create_tables();
  Result<void> load_slice(std::uint32_t slice);
  Result<void> create_windows();
  Result<contract::MarkBitmap> mark_build();
  Result<void> mark_build_slices();
  Result<void> mark_build_runs();
  void report_choice();

  contract::JoinSlice slice_;
  contract::BackendOptions const& options_;
  vk::Lane& lane_;
  vulkan::Submissions submissions_;
  KernelContext context_;
  SliceSide left_;
  SliceSide right_;
  SliceSide* build_ = nullptr;
  Storage storage_ = Storage::stack;
  std::optional<HashStack> stack_;
  std::optional<RunTable> runs_;
  std::optional<MatchTable> matches_;
  std::optional<ProbeWindows> windows_;
  vk::Buffer build_marks_;  // bitmap; empty until asked for
  vk::Buffer heads_;
  std::vector<std::uint64_t> slice_starts_;     // output positions; the total last; empty until counted
  std::optional<std::uint32_t> counted_slice_;  // whose matches are in matches_
  vulkan::DrainedLane const drained_{lane_};
};

std::uint64_t budget_for_rest(SliceSide const& probe, KernelContext const& context) {
  auto const extent = std::uint64_t{context.limits().result_extent};
  // CountFBO, matches, offsets and bitmap of the probe rows; a window, which is smaller where memory is short.
  return std::uint64_t{probe.rows()} * 20 + std::min(extent * extent * kWindowBytes, context.bytes_left() / 4);
}

Result<std::unique_ptr<contract::JoinKernel>> GraphicsKernel::start(vulkan::OwnLane const& own,
                                                                    vk::PipelineStore& pipelines,
                                                                    GraphicsLimits const& limits,
                                                                    contract::BackendOptions const& options,
                                                                    contract::JoinSlice const& slice) {
  GARUDA_EXPECTS(slice.left.size() <= contract::kMaxPassRows && slice.right.size() <= contract::kMaxPassRows);
  std::unique_ptr<GraphicsKernel> kernel(new GraphicsKernel(own, pipelines, limits, options, slice));
  if (!kernel->is_empty()) {
    GARUDA_TRY(kernel->choose_addresses());
    GARUDA_TRY(kernel->upload_and_start_statistics());
  }
  return std::unique_ptr<contract::JoinKernel>(std::move(kernel));
}

Result<void> GraphicsKernel::choose_addresses() {
  auto const address_of = [&](contract::KeySpan const& keys) {
    return choose_address({keys.size(), keys.min, keys.max, slice_.shared_low_bits}, options_.tuning.address,
                          context_.limits());
  };
  if (options_.tuning.build != BuildSide::right) left_.set_address(address_of(slice_.left));
  if (options_.tuning.build != BuildSide::left) right_.set_address(address_of(slice_.right));
  if (left_.address() || right_.address()) return {};
  return fail(ErrorCode::usage,
              fmt::format("address=direct was asked for, but the keys of a slice span more than the {} pixels of the "
                          "largest image",
                          most_direct_pixels(context_.limits())));
}

SliceSide& GraphicsKernel::likely_build_side() noexcept {
  if (!left_.address()) return right_;
  if (!right_.address()) return left_;
  return left_.rows() <= right_.rows() ? left_ : right_;
}

Result<void> GraphicsKernel::upload_and_start_statistics() {
  auto& likely = likely_build_side();
  GARUDA_TRY(likely.upload(context_));
  GARUDA_TRY(other(likely).upload(context_));
  GARUDA_TRY(likely.record_statistics(context_));
  return submissions_.submit();
}

Result<StorageChoice> GraphicsKernel::storage_on(SliceSide& build) {
  if (!build.has_recorded_statistics()) GARUDA_TRY(build.record_statistics(context_));
  GARUDA_TRY_ASSIGN(auto const* clashes, build.statistics(context_));
  return choose_storage(build.rows(), other(build).rows(), *clashes, build.address()->image.pixels(), options_.tuning,
                        context_.limits().costs);
}

// The smaller side's statistics decide alone when building on it costs no more than building on the other one could at
// best: always, when runs may be used or its keys do not clash. Otherwise both sides are compared (GARUDA §3.4.3).
Result<void> GraphicsKernel::choose_build_side() {
  auto& likely = likely_build_side();
  auto& rival = other(likely);
  GARUDA_TRY_ASSIGN(auto choice, storage_on(likely));
  build_ = &likely;
  if (rival.address() &&
      choice.cost > least_cost(rival.rows(), likely.rows(), rival.address()->image.pixels(), context_.limits().costs)) {
    GARUDA_TRY_ASSIGN(auto const rival_choice, storage_on(rival));
    if (rival_choice.cost < choice.cost) {
      choice = rival_choice;
      build_ = &rival;
    }
  }
  storage_ = choice.storage;
  return {};
}

Result<void> GraphicsKernel::create_tables() {
  auto& probe = other(*build_);
  GARUDA_TRY_ASSIGN(auto const* clashes, build_->statistics(context_));
  if (storage_ == Storage::runs) {
    GARUDA_TRY_ASSIGN(runs_, RunTable::create(context_, *build_, *clashes));
  } else {
    GARUDA_TRY_ASSIGN(stack_,
                      HashStack::create(context_, *build_, clashes->max_clashes, budget_for_rest(probe, context_)));
  }
  GARUDA_TRY_ASSIGN(matches_, MatchTable::create(context_, probe, storage_));
  report_choice();
  return {};
}

void GraphicsKernel::report_choice() {
  submissions_.max_counter("layers", stack_ ? stack_->num_images() : 0);
  submissions_.add_counter("stack_slices", stack_ ? stack_->num_slices() : 0);
  submissions_.max_counter("image_pixels", build_->address()->image.pixels());
  submissions_.add_counter(build_->address()->direct ? "direct_slices" : "hash_slices", 1);
  if (runs_) submissions_.add_counter("run_slices", 1);
  if (context_.limits().computes_matches) submissions_.add_counter("compute_matched_slices", 1);
}

Result<void> GraphicsKernel::load_slice(std::uint32_t slice) {
  if (counted_slice_ == slice) return {};
  counted_slice_.reset();
  if (stack_) {
    GARUDA_TRY(stack_->load(context_, slice));
    GARUDA_TRY(matches_->count_stack(context_, *stack_, slice));
  } else {
    if (!runs_->direct()) GARUDA_TRY(runs_->place(context_));
    GARUDA_TRY(matches_->count_runs(context_, *runs_));
  }
  counted_slice_ = slice;
  return {};
}

Result<std::uint64_t> GraphicsKernel::count() {
  if (is_empty()) return 0;
  if (!slice_starts_.empty()) return slice_starts_.back();
  if (!matches_) {
    GARUDA_TRY(choose_build_side());
    GARUDA_TRY(create_tables());
  }
  std::vector<std::uint64_t> starts{0};
  auto const slices = stack_ ? stack_->num_slices() : 1;
  for (std::uint32_t slice = 0; slice < slices; ++slice) {
    GARUDA_TRY(load_slice(slice));
    GARUDA_TRY_ASSIGN(auto const total, matches_->total(context_));
    starts.push_back(starts.back() + total);
  }
  slice_starts_ = std::move(starts);
  return slice_starts_.back();
}

Result<void> GraphicsKernel::create_windows() {
  if (windows_) return {};
  if (runs_) GARUDA_TRY(runs_->place(context_));
  std::uint64_t most = 0;
  for (std::size_t i = 1; i < slice_starts_.size(); ++i) most = std::max(most, slice_starts_[i] - slice_starts_[i - 1]);
  auto const layers = stack_ ? stack_->num_images() : 1;
  auto const probe = choose_probe(storage_, other(*build_).rows(), layers, slice_starts_.back(), options_.tuning.probe,
                                  context_.limits().costs);
  GARUDA_TRY_ASSIGN(windows_, ProbeWindows::create(context_, probe, most));
  return {};
}

Result<void> GraphicsKernel::pairs(std::uint64_t first, std::span<contract::RowPair> out) {
  GARUDA_TRY_ASSIGN(auto const total, count());
  GARUDA_EXPECTS(first <= total && out.size() <= total - first);
  if (out.empty()) return {};
  GARUDA_TRY(create_windows());
  bool const build_is_left = build_ == &left_;
  while (!out.empty()) {
    auto const found = std::ranges::upper_bound(slice_starts_, first) - slice_starts_.begin() - 1;
    auto const slice = static_cast<std::uint32_t>(found);
    auto const position = first - slice_starts_[slice];
    if (!windows_->holds(slice, position)) {
      GARUDA_TRY(load_slice(slice));
      ProbeSource const source{slice, slice_starts_[slice + 1] - slice_starts_[slice], stack_ ? &*stack_ : nullptr,
                               runs_ ? &*runs_ : nullptr, &*matches_};
      GARUDA_TRY(windows_->at(context_, source, position));
      submissions_.add_counter("windows", 1);
    }
    auto const& window = windows_->kept();
    auto const rows = window.rows.subspan(position - window.first);
    auto const taken = std::min(rows.size(), out.size());
    std::ranges::transform(rows.first(taken), out.begin(), [&](MatchedRows const& row) {
      return build_is_left ? contract::RowPair{row.build, row.probe} : contract::RowPair{row.probe, row.build};
    });
    out = out.subspan(taken);
    first += taken;
  }
  return {};
}

Result<contract::MarkBitmap> GraphicsKernel::mark(Side side) {
  auto& marked = side == Side::left ? left_ : right_;
  if (is_empty()) return contract::MarkBitmap(contract::bitmap_words(marked.rows()));
  GARUDA_TRY(count());
  if (&marked == build_) return mark_build();
  return download_marks(context_, matches_->marks(), marked.rows());
}

Result<contract::MarkBitmap> GraphicsKernel::mark_build() {
  if (!build_marks_) {
    GARUDA_TRY_ASSIGN(build_marks_,
                      context_.zeroed_buffer(mark_bytes(build_->rows()), "build marks", vulkan::phase::kMark));
    GARUDA_TRY(stack_ ? mark_build_slices() : mark_build_runs());
  }
  return download_marks(context_, build_marks_, build_->rows());
}

Result<void> GraphicsKernel::mark_build_slices() {
  auto const& probe = matches_->probe();
  auto const& [direct, address, image] = *build_->address();
  shaders::MarkPush const push{address, image.log2_width, probe.rows(), build_->rows()};
  std::array const resources{vk::BoundResource::of(shaders::kBindKeys, probe.keys()),
                             vk::BoundResource::of(shaders::kBindLayers, stack_->images().array_view()),
                             vk::BoundResource::of(shaders::kBindMatches, matches_->matches()),
                             vk::BoundResource::of(shaders::kBindMarks, build_marks_)};
  for (std::uint32_t slice = 0; slice < stack_->num_slices(); ++slice) {
    GARUDA_TRY(load_slice(slice));
    GARUDA_TRY(context_.dispatch(vulkan::phase::kMark, "mark build rows", JoinPass::mark_build_stack, direct, resources,
                                 vulkan::push_bytes(push), probe.rows()));
  }
  return {};
}

Result<void> GraphicsKernel::mark_build_runs() {
  auto const& probe = matches_->probe();
  auto const& address = *build_->address();
  GARUDA_TRY_ASSIGN(heads_, context_.zeroed_buffer(std::uint64_t{build_->rows()} * 4, "heads", vulkan::phase::kMark));
  shaders::MarkPush const push{address.address, address.image.log2_width, probe.rows(), build_->rows()};
  auto const heads = vk::BoundResource::of(shaders::kBindHeads, heads_);
  std::array const head_resources{vk::BoundResource::of(shaders::kBindMatches, matches_->matches()),
                                  vk::BoundResource::of(shaders::kBindMarks, matches_->marks()), heads};
  GARUDA_TRY(context_.dispatch(vulkan::phase::kMark, "mark heads", JoinPass::mark_heads, false, head_resources,
                               vulkan::push_bytes(push), probe.rows()));
  // Heads, before the build rows look theirs up.
  GARUDA_TRY(context_.order(vulkan::phase::kMark, vk::use::kComputeWrite, vk::use::kComputeWrite));
  auto resources = runs_->lookup();
  resources.push_back(vk::BoundResource::of(shaders::kBindKeys, build_->keys()));
  resources.push_back(vk::BoundResource::of(shaders::kBindMarks, build_marks_));
  resources.push_back(heads);
  return context_.dispatch(vulkan::phase::kMark, "mark build rows", JoinPass::mark_build_runs, address.direct,
                           resources, vulkan::push_bytes(push), build_->rows());
}

}  // namespace

Result<std::unique_ptr<contract::JoinBackend>> open_graphics_join(vk::Device& device, vk::PipelineStore& pipelines,
                                                                  contract::BackendOptions const& options,
                                                                  ImageSizes const& sizes) {
  GARUDA_EXPECTS(options.key_bits == 32 || options.key_bits == 64);
  using Backend =
      vulkan::LaneBackend<contract::JoinBackend, contract::JoinKernel, contract::JoinSlice, contract::BackendOptions>;
  auto const& traits = device.traits();
  GARUDA_TRY_ASSIGN(auto limits, graphics_limits(traits, options.tuning, sizes));
  if (options.rates) limits.costs = raster_costs(*options.rates, options.tuning.matching);
  if (!traits.format(vk::PixelFormat::r32_sfloat).blend && options.stats != nullptr) {
    options.stats->note(
        fmt::format("{} cannot blend R32_SFLOAT: statistics and stack counts run as compute passes", traits.name));
  }
  return Backend::open(device, options, "join lane", [&pipelines, limits](auto const& own, auto const&... what) {
    return GraphicsKernel::start(own, pipelines, limits, what...);
  });
}

}  // namespace garuda::graphics
