// Queries whose columns go to a device whole: on which device, and what of its memory and the host's they may take.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "garuda/error.hpp"
#include "garuda/plan.hpp"
#include "garuda/run.hpp"
#include "operators/path_choice.hpp"
#include "vk_runtime/copy_team.hpp"
#include "vk_runtime/device_traits.hpp"

namespace garuda::operators {

/// Either a plan or the reason why the query goes another way.
template <class Plan>
struct StreamedChoice {
  std::optional<Plan> plan;
  std::string refusal;
  ErrorCode code = ErrorCode::usage;  ///< of the refusal, where placement=device was asked for
};

/// Bytes of device memory that the query may take.
std::uint64_t device_budget(RunOptions const& options, vk::DeviceTraits const& traits) noexcept;

/// Bytes of host memory for batches under way, half of what the query may take; nullopt when that is not known.
std::optional<std::uint64_t> batch_budget(RunOptions const& options);

/// Why a query that may take slices as well leaves this device alone; empty when it does not. Errors: no_device, usage
/// for a device without the compute path.
Result<std::string> refuse_placement(DeviceFacts const& facts, Placement asked);

/// Whether path automatic takes the device for this.
bool is_streaming_gpu(DeviceInfo const& info) noexcept;

/// Writes device, rates, threads and choice into a plan, whose tuning is the caller's.
template <class Plan>
void place_on(Plan& plan, Machine const& machine, std::size_t device, std::uint32_t threads,
              RunOptions const& options) {
  auto const& facts = machine.devices[device];
  plan.device = device;
  plan.tuning.placement = Placement::device;
  auto const asked = plan.tuning.lanes;
  plan.copy_threads = asked != 0 ? asked : std::min(threads, vk::kMostStreamingThreads);
  plan.device_rates = facts.rates();
  plan.host_rates = machine.host(threads);
  plan.reason = source_of(facts);
  PathOption option;
  option.candidate.path = Path::compute;
  option.candidate.device = facts.info->name;
  option.device = device;
  describe_choice(option, machine, options, plan.plan);
}

/// `threads` as asked for, or all of the host's.
std::uint32_t threads_of(RunOptions const& options) noexcept;

/// The plan, or a refusal. Path automatic may take any GPU that has Vulkan, or the one that was asked for; the least
/// estimate decides. refuse_shape(request) says why no device takes the query, plan_on(request, machine, device,
/// threads) gives the StreamedChoice of one device. Errors: those of requested_device and plan_on; with the refusal's
/// code, when placement=device is asked for and cannot be had.
template <class Plan, class Request, class RefuseShape, class PlanOn>
Result<StreamedChoice<Plan>> choose_streamed(Request const& request, RefuseShape const& refuse_shape,
                                             PlanOn const& plan_on) {
  auto const choose = [&]() -> Result<StreamedChoice<Plan>> {
    StreamedChoice<Plan> choice;
    bool const is_open = request.options.path == Path::automatic;
    // Known before calibrations are looked up, which takes as long as a query of a few rows.
    if (is_open && std::ranges::none_of(request.devices->devices(), is_streaming_gpu)) {
      choice.refusal = "there is no GPU";
      return choice;
    }
    auto const threads = threads_of(request.options);
    auto const machine = machine_of(*request.devices, threads);
    GARUDA_TRY(check_path(request.options, true));
    GARUDA_TRY_ASSIGN(auto const requested, requested_device(machine.devices, request.options));
    choice.refusal = refuse_shape(request);
    if (!choice.refusal.empty()) return choice;
    if (!is_open) return plan_on(request, machine, *requested, threads);
    for (std::size_t i = 0; i < machine.devices.size(); ++i) {
      if (!is_streaming_gpu(*machine.devices[i].info) || (requested && requested != i)) continue;
      auto one = plan_on(request, machine, i, threads);
      if (!one) continue;  // the other ways say why, when the device was asked for
      if (!choice.plan ||
          (one->plan && one->plan->plan.estimated.estimated_ns < choice.plan->plan.estimated.estimated_ns))
        choice = std::move(*one);
    }
    if (!choice.plan && choice.refusal.empty()) choice.refusal = "no GPU that may be taken has a compute path";
    return choice;
  };
  GARUDA_TRY_ASSIGN(auto choice, choose());
  if (!choice.plan && request.options.tuning.placement == Placement::device)
    return fail(choice.code, fmt::format("placement=device cannot be had: {}", choice.refusal));
  return choice;
}

}  // namespace garuda::operators
