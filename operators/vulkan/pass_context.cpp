#include "operators/vulkan/pass_context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

#include "shaders/shared/pass_layout.h"

namespace garuda::vulkan {
namespace {

// Half of what a phase timer holds between two readings.
constexpr std::uint32_t kPhasesPerReading = 512;
constexpr std::size_t kInFlight = 2;
// A submission that the host's clock times is waited for at once: it would be charged with whatever the host does
// meanwhile.
constexpr std::size_t kInFlightByHostClock = 0;
// The first submission of a phase takes this share of the aim, since the cost of its points depends on the rows, too:
// 2^24 rows added up in 16 groups took an H100 three times as long as in as many groups as rows (2026-11).
constexpr double kFirstPart = 0.25;

constexpr std::uint64_t kReadBackBytes = 4096;

/// Bytes of a texel of the formats that passes draw into.
std::uint64_t texel_bytes(VkFormat format) {
  switch (format) {
    case VK_FORMAT_R32G32B32A32_UINT:
    case VK_FORMAT_R32G32B32A32_SFLOAT:
      return 16;
    case VK_FORMAT_R32G32_UINT:
    case VK_FORMAT_R32G32_SFLOAT:
      return 8;
    default:
      return 4;
  }
}

}  // namespace

ImageShape image_for(std::uint64_t texels, std::uint32_t extent) noexcept {
  auto const widest = log2_floor(extent);
  ImageShape shape;
  shape.log2_width = std::min((log2_ceil(texels) + 1) / 2, widest);
  auto height = (texels + shape.width() - 1) / shape.width();
  if (height > extent) {
    shape.log2_width = widest;
    height = std::min<std::uint64_t>((texels + shape.width() - 1) / shape.width(), extent);
  }
  shape.height = static_cast<std::uint32_t>(height);
  return shape;
}

std::uint64_t most_texels(std::uint32_t extent) noexcept {
  return image_for(std::uint64_t{extent} * extent, extent).pixels();
}

Submissions::Submissions(vk::Lane& lane, Control const* control, contract::StatsSink* stats)
    : lane_(lane),
      control_(control),
      stats_(stats),
      pace_(lane.device().pace()),
      uploaded_bytes_(lane.transfer().uploaded_bytes()),
      downloaded_bytes_(lane.transfer().downloaded_bytes()) {}

vk::WaitOptions Submissions::wait_options() const noexcept {
  vk::WaitOptions options;
  if (control_ != nullptr) options.cancelled = control_->cancelled;
  return options;
}

Submissions::Work& Submissions::work_of(std::string_view phase) {
  auto const found = std::ranges::find(work_, phase, &Work::phase);
  if (found != work_.end()) return *found;
  return work_.emplace_back(Work{phase});
}

double Submissions::most_ns(std::string_view phase) const {
  return std::ranges::find(measured_, phase) == measured_.end() ? kFirstPart * pace_.aim_ns() : pace_.aim_ns();
}

Result<vk::CommandRecorder*> Submissions::record(char const* phase, std::uint64_t points) {
  bool const other_phase = recorder_ && phase_ != phase;
  if (other_phase && lane_.timer().source() == vk::ClockSource::host) GARUDA_TRY(finish());
  // What is cut is waited for, so that the next part knows what this one took: a tenth of a millisecond in fifty.
  if (recorder_ && points > 0 && expected_ns_ > 0 && expected_ns_ + pace_.expected_ns(phase, points) > most_ns(phase))
    GARUDA_TRY(finish());
  if (!recorder_) {
    GARUDA_TRY_ASSIGN(recorder_, lane_.begin());
    phase_ = nullptr;
  }
  if (phase_ != phase) {
    if (phase_ != nullptr) recorder_->end_phase();
    recorder_->begin_phase(phase);
    phase_ = phase;
    ++phases_begun_;
  }
  expected_ns_ += pace_.expected_ns(phase, points);
  work_of(phase).points += points;
  return &*recorder_;
}

Result<void> Submissions::submit() {
  if (!recorder_) return {};
  if (control_ != nullptr && control_->is_cancelled())
    return settled<void>(lane_, fail(ErrorCode::cancelled, "the query was cancelled"));
  if (phase_ != nullptr) recorder_->end_phase();
  phase_ = nullptr;
  expected_ns_ = 0;
  auto recorder = *std::exchange(recorder_, std::nullopt);
  GARUDA_TRY_ASSIGN(last_, settled(lane_, lane_.submit(std::move(recorder), waits_)));
  waits_.clear();
  in_flight_.push_back(last_);
  auto const most = lane_.timer().source() == vk::ClockSource::host ? kInFlightByHostClock : kInFlight;
  if (in_flight_.size() > most) {
    GARUDA_TRY(settled(lane_, lane_.wait(in_flight_.front(), wait_options())));
    in_flight_.pop_front();
  }
  if (phases_begun_ >= kPhasesPerReading) return finish();
  return {};
}

Result<void> Submissions::finish() {
  GARUDA_TRY(submit());
  for (; !in_flight_.empty(); in_flight_.pop_front())
    GARUDA_TRY(settled(lane_, lane_.wait(in_flight_.front(), wait_options())));
  return report();
}

Result<void> Submissions::report() {
  GARUDA_TRY(lane_.recycle());
  phases_begun_ = 0;
  for (auto const& time : lane_.timer().times()) {
    auto const known = std::ranges::find(work_, std::string_view(time.name), &Work::phase);
    if (known == work_.end()) continue;
    auto const ns = static_cast<std::uint64_t>(std::max<std::int64_t>(time.ns, 0));
    if (!time.compiles) {
      pace_.took(time.name, known->points, ns, lane_.timer().source());
      if (known->points > 0 && std::ranges::find(measured_, known->phase) == measured_.end())
        measured_.push_back(known->phase);
    }
    known->ns += ns;
  }
  for (auto const& time : lane_.timer().submission_times()) {
    auto const ns = static_cast<std::uint64_t>(std::max<std::int64_t>(time.ns, 0));
    vk::Pace::submission_took(time);
    if (stats_ != nullptr)
      stats_->max_counter(time.compiles ? contract::kLongestCompiling : contract::kLongestSubmission, ns / 1000);
  }
  if (stats_ != nullptr) {
    if (auto const count = lane_.timer().submission_times().size(); count != 0)
      stats_->add_counter(contract::kSubmissions, count);
    for (auto const& work : work_) stats_->add_phase(work.phase, work.ns, work.bytes, work.items);
    report_copies();
    if (auto const bytes = lane_.arena().take_bytes_elsewhere(); bytes != 0) {
      stats_->add_counter(contract::kElsewhere, bytes);
      stats_->note("the device refused memory of its best kind; elsewhere_bytes lie in another heap");
    }
  }
  lane_.timer().clear();
  work_.clear();
  return {};
}

void Submissions::report_copies() {
  auto const& transfer = lane_.transfer();
  stats_->add_counter(contract::kCopiedUp, transfer.uploaded_bytes() - uploaded_bytes_);
  stats_->add_counter(contract::kCopiedDown, transfer.downloaded_bytes() - downloaded_bytes_);
  uploaded_bytes_ = transfer.uploaded_bytes();
  downloaded_bytes_ = transfer.downloaded_bytes();
}

Result<void> Submissions::draw(PointPass const& pass) {
  GARUDA_EXPECTS(pass.instances > 0 && pass.vertices > 0);
  for (std::uint64_t done = 0; done < pass.vertices;) {
    auto const ns_a_vertex = pace_.expected_ns(pass.phase, pass.instances);
    auto const most = std::max(static_cast<std::uint64_t>(most_ns(pass.phase) / ns_a_vertex), std::uint64_t{1});
    auto const vertices = static_cast<std::uint32_t>(std::min<std::uint64_t>(pass.vertices - done, most));
    GARUDA_TRY(draw_range(pass, done == 0, pass.first_vertex + static_cast<std::uint32_t>(done), vertices));
    done += vertices;
  }
  // Everything drawn, before it is read.
  GARUDA_TRY_ASSIGN(auto* recorder, record(pass.phase));
  recorder->barrier(*pass.target, pass.layer, pass.attachments, vk::use::kColorAttachment, pass.next_use);
  return {};
}

Result<void> Submissions::draw_range(PointPass const& pass, bool first, std::uint32_t vertex, std::uint32_t vertices) {
  auto const points = std::uint64_t{vertices} * pass.instances;
  GARUDA_TRY_ASSIGN(auto* recorder, record(pass.phase, points));
  work_of(pass.phase).items += points;
  if (stats_ != nullptr) stats_->add_counter("points", points);
  recorder->begin_label(pass.label);
  if (first) {
    // Earlier readers of the layer, before it is overwritten; what it held is dropped.
    auto from = pass.last_use;
    from.layout = VK_IMAGE_LAYOUT_UNDEFINED;
    recorder->barrier(*pass.target, pass.layer, pass.attachments, from, vk::use::kColorAttachment);
  } else {
    // Points drawn before, by an earlier rendering of the same pass: blended with, or overwritten in primitive order.
    recorder->barrier(*pass.target, pass.layer, pass.attachments, vk::use::kColorAttachment, vk::use::kColorAttachment);
  }
  std::vector<vk::ColorAttachment> attachments(pass.attachments);
  for (std::uint32_t i = 0; i < pass.attachments; ++i) {
    attachments[i].view = pass.target->layer_view(pass.layer + i);
    attachments[i].clear = first && pass.clear.has_value();
    if (attachments[i].clear) attachments[i].clear_value = *pass.clear;
  }
  recorder->begin_rendering(pass.area, attachments);
  GARUDA_TRY(recorder->bind(*pass.pipeline, pass.resources, pass.push));
  recorder->draw(vertices, pass.instances, vertex, 0);
  recorder->end_rendering();
  recorder->end_label();
  return {};
}

Result<void> Submissions::dispatch(char const* phase, char const* label, vk::Pipeline const& pipeline,
                                   std::span<vk::BoundResource const> resources, std::span<std::byte const> push,
                                   std::uint64_t groups, std::uint64_t items_each) {
  GARUDA_EXPECTS(!pipeline.strides());
  auto const points = groups * shaders::kGroupSize * items_each / kItemsPerPoint;
  auto const parts = parts_of(phase, points, groups);
  for (std::uint32_t part = 0; part < parts; ++part) {
    GARUDA_TRY_ASSIGN(auto* recorder, record(phase, points / parts));
    recorder->begin_label(label);
    GARUDA_TRY(recorder->bind(pipeline, resources, push));
    recorder->dispatch_part(groups, part, parts);
    recorder->end_label();
  }
  return {};
}

std::uint32_t Submissions::parts_of(char const* phase, std::uint64_t points, std::uint64_t most) const {
  auto const greatest = static_cast<double>(std::clamp<std::uint64_t>(most, 1, kMostParts));
  return static_cast<std::uint32_t>(
      std::clamp(std::ceil(pace_.expected_ns(phase, points) / most_ns(phase)), 1.0, greatest));
}

std::uint64_t PassContext::bytes_left() const noexcept {
  auto const& arena = lane_.arena();
  auto const used = arena.used_bytes();
  auto const left = used < budget_bytes_ ? budget_bytes_ - used : 0;
  auto const room = lane_.device().memory().room_after_refusal();
  return room ? std::min(left, *room + arena.reserved_bytes() - used) : left;
}

Result<void> PassContext::check_budget(std::uint64_t bytes, char const* name) const {
  if (bytes <= bytes_left()) return {};
  return fail(ErrorCode::limit_exceeded,
              fmt::format("no room in a lane's share of device memory for {} of {} bytes: {} of {} bytes left", name,
                          bytes, bytes_left(), budget_bytes_));
}

Result<vk::Buffer> PassContext::buffer(std::uint64_t bytes, char const* name, vk::MemoryUse use) {
  auto const& limits = lane_.device().traits().limits;
  bool const for_shaders = use == vk::MemoryUse::device || use == vk::MemoryUse::device_mapped;
  if (for_shaders && bytes > limits.max_storage_buffer_range) {
    return settled<vk::Buffer>(lane_, fail(ErrorCode::limit_exceeded,
                                           fmt::format("{} of {} bytes is larger than the device's storage buffers: {}",
                                                       name, bytes, limits.max_storage_buffer_range)));
  }
  GARUDA_TRY(settled(lane_, check_budget(bytes, name)));
  vk::BufferSpec spec;
  spec.bytes = std::max<std::uint64_t>((bytes + 3) / 4 * 4, 4);
  spec.use = use;
  spec.name = name;
  return settled(lane_, lane_.arena().buffer(spec));
}

Result<vk::Buffer> PassContext::zeroed_buffer(std::uint64_t bytes, char const* name, char const* phase) {
  GARUDA_TRY_ASSIGN(auto zeroed, buffer(bytes, name));
  GARUDA_TRY_ASSIGN(auto* recorder, submissions_.record(phase));
  recorder->fill(zeroed.view(), 0);
  recorder->barrier(zeroed, vk::use::kTransferWrite, vk::use::kComputeWrite | vk::use::kVertexRead);
  return zeroed;
}

Result<vk::Image> PassContext::image(VkFormat format, ImageShape const& shape, std::uint32_t layers, char const* name) {
  GARUDA_TRY(settled(lane_, check_budget(shape.pixels() * texel_bytes(format) * layers, name)));
  vk::ImageSpec spec;
  spec.format = format;
  spec.width = shape.width();
  spec.height = shape.height;
  spec.layers = layers;
  spec.name = name;
  return settled(lane_, lane_.arena().image(spec));
}

vk::MemoryUse PassContext::upload_use() const noexcept {
  bool const mapped = lane_.transfer().mode() == vk::UploadMode::map;
  return mapped && lane_.device().traits().device_memory_mappable() ? vk::MemoryUse::device_mapped
                                                                    : vk::MemoryUse::device;
}

Result<vk::Buffer> PassContext::upload_buffer(std::uint64_t bytes, char const* name) {
  return buffer(bytes, name, upload_use());
}

Result<void> PassContext::upload(vk::Buffer const& destination, std::uint64_t offset,
                                 std::span<std::byte const> source) {
  auto const start = std::chrono::steady_clock::now();
  GARUDA_TRY_ASSIGN(auto const ticket, settled(lane_, lane_.transfer().upload(destination, offset, source, {},
                                                                              submissions_.wait_options())));
  submissions_.start_after(ticket);
  auto const elapsed = std::chrono::steady_clock::now() - start;
  submissions_.count_time(phase::kUpload, static_cast<std::uint64_t>(std::chrono::nanoseconds(elapsed).count()));
  submissions_.count_bytes(phase::kUpload, source.size());
  return {};
}

Result<vk::Buffer> PassContext::input(std::span<std::byte const> source, char const* name, std::uint64_t alignment) {
  if (alignment == 0) alignment = lane_.device().traits().limits.min_storage_buffer_offset_alignment;
  if (lane_.reads_in_place() && reinterpret_cast<std::uintptr_t>(source.data()) % alignment == 0) {
    // The device only reads; Vulkan has no import of const memory.
    auto imported = lane_.arena().import_host({const_cast<std::byte*>(source.data()), source.size()}, 0, name);
    if (imported) return imported;
  }
  GARUDA_TRY_ASSIGN(auto copied, upload_buffer(source.size(), name));
  GARUDA_TRY(upload(copied, 0, source));
  return copied;
}

Result<void> PassContext::dispatch(char const* phase, char const* label, vk::Pipeline const& pipeline,
                                   std::span<vk::BoundResource const> resources, std::span<std::byte const> push,
                                   std::uint64_t invocations, std::uint64_t items_each) {
  auto const groups = (invocations + shaders::kGroupSize - 1) / shaders::kGroupSize;
  return submissions_.dispatch(phase, label, pipeline, resources, push, groups, items_each);
}

Result<void> PassContext::order(char const* phase, vk::ResourceUse producer, vk::ResourceUse consumer) {
  GARUDA_TRY_ASSIGN(auto* recorder, submissions_.record(phase));
  recorder->barrier(producer, consumer);
  return {};
}

Result<void> PassContext::reserve_read_back() {
  if (staging_) return {};
  GARUDA_TRY_ASSIGN(staging_, buffer(kReadBackBytes, "read back", vk::MemoryUse::download));
  return {};
}

Result<void> PassContext::read_back(char const* phase, vk::Buffer const& source, std::uint64_t offset,
                                    std::span<std::byte> values) {
  GARUDA_EXPECTS(values.size() <= kReadBackBytes);
  GARUDA_TRY(reserve_read_back());
  GARUDA_TRY_ASSIGN(auto* recorder, submissions_.record(phase));
  recorder->barrier(source, vk::use::kComputeWrite, vk::use::kTransferRead);
  recorder->copy(source.view(offset, values.size()), staging_.view(0, values.size()));
  recorder->barrier(staging_, vk::use::kTransferWrite, vk::use::kHostRead);
  GARUDA_TRY(submissions_.finish());
  GARUDA_TRY(staging_.invalidate(0, values.size()));
  std::memcpy(values.data(), staging_.mapped(), values.size());
  return {};
}

Result<std::byte const*> PassContext::written(vk::Buffer const& source, std::uint64_t offset, std::uint64_t bytes) {
  GARUDA_EXPECTS(offset <= source.bytes() && bytes <= source.bytes() - offset);
  if (lane_.transfer().mode() != vk::UploadMode::map || !source.host_cached()) return nullptr;
  GARUDA_TRY_ASSIGN(auto* recorder, submissions_.record(phase::kDownload));
  recorder->barrier(source, vk::use::kComputeWrite, vk::use::kHostRead);
  recorder->barrier(source, vk::use::kTransferWrite, vk::use::kHostRead);
  GARUDA_TRY(submissions_.finish());
  GARUDA_TRY(source.invalidate(offset, bytes));
  return source.mapped() + offset;
}

Result<void> PassContext::download(vk::Buffer const& source, std::span<std::byte> destination, std::uint64_t offset) {
  GARUDA_TRY(submissions_.finish());
  auto const start = std::chrono::steady_clock::now();
  GARUDA_TRY(settled(
      lane_, lane_.transfer().download(source, offset, destination, submissions_.last(), submissions_.wait_options())));
  auto const elapsed = std::chrono::steady_clock::now() - start;
  submissions_.count_time(phase::kDownload, static_cast<std::uint64_t>(std::chrono::nanoseconds(elapsed).count()));
  submissions_.count_bytes(phase::kDownload, destination.size());
  // A download may be the last that its kernel does.
  return submissions_.finish();
}

}  // namespace garuda::vulkan
