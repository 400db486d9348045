#include "vk_runtime/timestamps.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace garuda::vk {
namespace {

using Clock = std::chrono::steady_clock;

std::uint64_t mask_of(std::uint32_t valid_bits) {
  return valid_bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << valid_bits) - 1;
}

}  // namespace

Result<PhaseTimer> PhaseTimer::create(Device& device, Queue const& queue, std::uint32_t capacity) {
  GARUDA_EXPECTS(capacity >= 1);
  auto const& families = device.traits().queue_families;
  auto const family = std::ranges::find(families, queue.family(), &QueueFamily::index);
  GARUDA_EXPECTS(family != families.end());
  bool const usable = device.traits().timestamps_reliable && family->timestamp_valid_bits > 0;
  PhaseTimer timer(device, usable ? ClockSource::device : ClockSource::host);
  timer.capacity_ = capacity;
  timer.valid_mask_ = mask_of(family->timestamp_valid_bits);
  if (!usable) return timer;
  VkQueryPoolCreateInfo const info{.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                   .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                   .queryCount = 2 * capacity};
  VkQueryPool pool = VK_NULL_HANDLE;
  GARUDA_TRY(check(device.fn().vkCreateQueryPool(device.handle(), &info, nullptr, &pool), "vkCreateQueryPool"));
  timer.pool_ = Unique<VkQueryPool>(device.owner(), pool);
  return timer;
}

void PhaseTimer::begin(VkCommandBuffer commands, std::string_view name) {
  GARUDA_EXPECTS(!open_);
  open_ = true;
  timed_ = phases_.size() < capacity_;
  if (!timed_) {
    ++dropped_;
    return;
  }
  auto const query = static_cast<std::uint32_t>(2 * phases_.size());
  phases_.push_back({std::string(name)});
  if (source_ == ClockSource::host) return;
  device_->fn().vkCmdResetQueryPool(commands, pool_.get(), query, 2);
  device_->fn().vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, pool_.get(), query);
}

void PhaseTimer::end(VkCommandBuffer commands) {
  GARUDA_EXPECTS(open_);
  open_ = false;
  if (!timed_ || source_ == ClockSource::host) return;
  auto const query = static_cast<std::uint32_t>(2 * phases_.size() - 1);
  device_->fn().vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, pool_.get(), query);
}

void PhaseTimer::compiles() {
  if (open_ && timed_) phases_.back().compiles = true;
}

void PhaseTimer::submitted(Ticket ticket) {
  GARUDA_EXPECTS(!open_);
  if (phases_.size() == submitted_phases_) return;
  submissions_.push_back({.ticket = ticket,
                          .first_phase = submitted_phases_,
                          .end_phase = phases_.size(),
                          .submitted = Clock::now(),
                          .completed = {},
                          .done = false});
  submitted_phases_ = phases_.size();
  auto& submission = submissions_.back();
  auto& pace = device_->pace();
  submission.own_compiles = std::ranges::any_of(phases_of(submission), &Phase::compiles);
  submission.compiles = submission.own_compiles || (source_ == ClockSource::host && pace.is_compiling());
  if (submission.own_compiles) pace.compiling_began();
  submission.compilations = pace.compilations();
}

void PhaseTimer::discard() {
  phases_.resize(submitted_phases_);
  open_ = false;
}

void PhaseTimer::completed(Ticket ticket) {
  auto const now = Clock::now();
  for (Submission& submission : submissions_) {
    if (submission.done || submission.ticket.semaphore != ticket.semaphore) continue;
    if (submission.ticket.value > ticket.value) continue;
    submission.done = true;
    submission.completed = now;
    auto& pace = device_->pace();
    if (submission.own_compiles) pace.compiling_ended();
    if (source_ == ClockSource::host && pace.compilations() != submission.compilations) submission.compiles = true;
  }
}

Result<void> PhaseTimer::collect() {
  GARUDA_EXPECTS(std::ranges::all_of(submissions_, &Submission::done));
  GARUDA_EXPECTS(!open_ && submitted_phases_ == phases_.size());
  if (source_ == ClockSource::device) {
    GARUDA_TRY(collect_device());
  } else {
    collect_host();
  }
  phases_.clear();
  submissions_.clear();
  submitted_phases_ = 0;
  return {};
}

Result<void> PhaseTimer::collect_device() {
  if (phases_.empty()) return {};
  std::vector<std::uint64_t> ticks(2 * phases_.size());
  GARUDA_TRY(check(
      device_->fn().vkGetQueryPoolResults(device_->handle(), pool_.get(), 0, static_cast<std::uint32_t>(ticks.size()),
                                          ticks.size() * sizeof(std::uint64_t), ticks.data(), sizeof(std::uint64_t),
                                          VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
      "vkGetQueryPoolResults"));
  double const period = device_->traits().limits.timestamp_period_ns;
  auto const elapsed_ns = [&](std::size_t begin, std::size_t end) {
    return static_cast<std::int64_t>(static_cast<double>((ticks[end] - ticks[begin]) & valid_mask_) * period);
  };
  for (std::size_t i = 0; i < phases_.size(); ++i)
    add(phases_[i].name, elapsed_ns(2 * i, 2 * i + 1), phases_[i].compiles);
  for (auto const& submission : submissions_)
    submission_times_.push_back({names_of(submission),
                                 elapsed_ns(2 * submission.first_phase, 2 * submission.end_phase - 1),
                                 submission.compiles});
  return {};
}

void PhaseTimer::collect_host() {
  for (Submission const& submission : submissions_) {
    auto name = names_of(submission);
    auto const started = std::max(submission.submitted, last_completed_.value_or(submission.submitted));
    last_completed_ = submission.completed;
    auto const ns = std::chrono::nanoseconds(submission.completed - started).count();
    add(name, ns, submission.compiles);
    submission_times_.push_back({std::move(name), ns, submission.compiles});
  }
}

std::span<PhaseTimer::Phase const> PhaseTimer::phases_of(Submission const& submission) const {
  return std::span(phases_).subspan(submission.first_phase, submission.end_phase - submission.first_phase);
}

std::string PhaseTimer::names_of(Submission const& submission) const {
  std::string names;
  for (auto const& phase : phases_of(submission)) names += (names.empty() ? "" : "+") + phase.name;
  return names;
}

void PhaseTimer::add(std::string const& name, std::int64_t ns, bool compiles) {
  auto const found = std::ranges::find(times_, name, &PhaseTime::name);
  if (found != times_.end()) {
    found->ns += ns;
    found->compiles = found->compiles || compiles;
  } else {
    times_.push_back({name, ns, compiles});
  }
}

}  // namespace garuda::vk
