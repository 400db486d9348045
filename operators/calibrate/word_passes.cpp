#include "operators/calibrate/word_passes.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <vector>

#include "core/stopwatch.hpp"
#include "keys/numbering/mix.hpp"
#include "operators/compute/condition_join/condition_join.hpp"
#include "operators/run/query_run.hpp"
#include "operators/vulkan/pass_context.hpp"
#include "shaders/calibration/calibration_layout.h"
#include "shaders/embedded.hpp"

namespace garuda::calibrate {
namespace {

constexpr char const* kPassPhase = "pass";

vk::ComputePipelineSpec pipeline_spec(WordAccess access) {
  vk::ComputePipelineSpec spec;
  spec.push_bytes = sizeof(shaders::WordsPush);
  spec.bindings = {{shaders::kBindTargetWords, vk::BindingKind::storage_buffer}};
  if (access == WordAccess::atomic) {
    spec.compute = shaders::get("calibration/words.comp:ATOMIC");
    return spec;
  }
  spec.compute =
      shaders::get(access == WordAccess::stream ? "calibration/words.comp:STREAM" : "calibration/words.comp:RANDOM");
  spec.bindings.push_back({shaders::kBindSourceWords, vk::BindingKind::storage_buffer});
  return spec;
}

/// Starts to record, with nothing timed yet.
Result<vk::CommandRecorder> begin_timed(vk::Lane& lane) {
  GARUDA_TRY(lane.recycle());
  lane.timer().clear();
  return lane.begin();
}

/// Submits what was recorded and returns the time of its phase.
Result<std::uint64_t> phase_ns(vk::Lane& lane, vk::CommandRecorder recorder) {
  GARUDA_TRY(lane.submit_and_wait(std::move(recorder)));
  GARUDA_TRY(lane.recycle());
  std::uint64_t ns = 0;
  for (auto const& phase : lane.timer().times())
    if (phase.name == kPassPhase) ns += static_cast<std::uint64_t>(phase.ns);
  return ns;
}

std::vector<std::uint32_t> make_words(std::uint64_t rows, std::uint64_t seed) {
  std::vector<std::uint32_t> words;
  for (std::uint64_t i = 0; i < rows; ++i) words.push_back(static_cast<std::uint32_t>(keys::mix(seed + i)));
  return words;
}

}  // namespace

Result<WordPass> WordPass::create(vk::Lane& lane, vk::PipelineStore& pipelines, WordAccess access,
                                  std::uint32_t num_words) {
  GARUDA_EXPECTS(std::has_single_bit(num_words));
  WordPass pass(lane, num_words);
  GARUDA_TRY_ASSIGN(pass.pipeline_, pipelines.compile(pipeline_spec(access)));
  auto const bytes = std::uint64_t{num_words} * sizeof(std::uint32_t);
  GARUDA_TRY_ASSIGN(pass.target_, lane.arena().buffer({.bytes = bytes, .name = "target words"}));
  if (access != WordAccess::atomic) {
    GARUDA_TRY_ASSIGN(pass.source_, lane.arena().buffer({.bytes = bytes, .name = "source words"}));
  }
  // Written once, so that no page is touched for the first time while the clock runs.
  GARUDA_TRY_ASSIGN(auto recorder, lane.begin());
  for (auto const* buffer : {&pass.target_, &pass.source_})
    if (*buffer) {
      recorder.fill(buffer->view(), 1);
      recorder.barrier(*buffer, vk::use::kTransferWrite, vk::use::kComputeWrite);
    }
  GARUDA_TRY(lane.submit_and_wait(std::move(recorder)));
  return pass;
}

Result<std::uint64_t> WordPass::run(std::uint64_t accesses) {
  auto const words = static_cast<std::uint32_t>(std::min<std::uint64_t>(accesses, num_words_));
  shaders::WordsPush const push{words, num_words_ - 1};
  std::vector<vk::BoundResource> resources{vk::BoundResource::of(shaders::kBindTargetWords, target_)};
  if (source_) resources.push_back(vk::BoundResource::of(shaders::kBindSourceWords, source_));
  GARUDA_TRY_ASSIGN(auto recorder, begin_timed(*lane_));
  recorder.begin_phase(kPassPhase);
  GARUDA_TRY(recorder.bind(*pipeline_, resources, push));
  for (std::uint64_t done = 0; done < accesses; done += words) {
    recorder.dispatch((std::uint64_t{words} + shaders::kGroupSize - 1) / shaders::kGroupSize);
    // The next pass writes the same words.
    recorder.barrier(target_, vk::use::kComputeWrite, vk::use::kComputeWrite);
  }
  recorder.end_phase();
  return phase_ns(*lane_, std::move(recorder));
}

Result<std::uint64_t> clear_pixels(vk::Lane& lane, vk::Image const& image, std::uint64_t pixels) {
  auto const image_pixels = std::uint64_t{image.extent().width} * image.extent().height;
  GARUDA_TRY_ASSIGN(auto recorder, begin_timed(lane));
  recorder.barrier(image, vk::use::kUndefined, vk::use::kTransferWrite);
  recorder.begin_phase(kPassPhase);
  for (std::uint64_t cleared = 0; cleared < pixels; cleared += image_pixels) {
    recorder.clear(image, vk::clear_uint(0));
    recorder.barrier(image, vk::use::kTransferWrite, vk::use::kTransferWrite);
  }
  recorder.end_phase();
  return phase_ns(lane, std::move(recorder));
}

Result<std::uint64_t> submit_nothing(vk::Lane& lane) {
  GARUDA_TRY_ASSIGN(auto const buffer, lane.arena().buffer({.bytes = 16, .name = "nothing"}));
  GARUDA_TRY(lane.recycle());
  Stopwatch const watch;
  GARUDA_TRY_ASSIGN(auto recorder, lane.begin());
  recorder.fill(buffer.view(), 0);
  GARUDA_TRY(lane.submit_and_wait(std::move(recorder)));
  return watch.elapsed_ns();
}

Result<std::uint64_t> compare_pairs(vk::Device& device, vk::PipelineStore& pipelines, Control const& control,
                                    std::uint64_t rows) {
  auto const left = make_words(rows, 0);
  auto const right = make_words(rows, rows);
  using Source = expr::WordOperand::Source;
  expr::PairCondition condition;
  condition.left.push_back({std::span(left)});
  condition.right.push_back({std::span(right)});
  condition.comparisons.push_back({Comparator::less, {Source::left, 0, 0}, {Source::right, 0, 0}});
  condition.steps.emplace_back();
  run::RunRecorder recorder;
  contract::BackendOptions options;
  options.max_left_rows = options.max_right_rows = rows;
  options.pairs_wanted = false;
  options.control = &control;
  options.stats = &recorder;
  GARUDA_TRY_ASSIGN(auto const backend, compute::open_compute_condition_join(device, pipelines, options, condition));
  {
    GARUDA_TRY_ASSIGN(auto const kernel, backend->begin({{0, rows}, {0, rows}}, 0));
    GARUDA_TRY(kernel->count());
  }
  std::uint64_t ns = 0;
  for (auto const& phase : recorder.phases())
    if (phase.name == vulkan::phase::kCount) ns += phase.ns;
  return ns;
}

}  // namespace garuda::calibrate
