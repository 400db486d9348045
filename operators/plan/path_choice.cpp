#include "operators/plan/path_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "operators/cpu/cpu_path.hpp"
#include "operators/cuda/cuda_path.hpp"
#include "operators/graphics/group_by/graphics_path.hpp"
#include "operators/placement/compute_path.hpp"

namespace garuda::plan {
namespace {

bool is_cuda(contract::DeviceFacts const& facts) { return facts.info->api == DeviceApi::cuda; }

/// `named`: the path that was asked for; nullptr: the first that needs a device stands for all.
Error no_path(std::span<contract::DeviceFacts const> devices, contract::PathRow const* named) {
  if (named == nullptr)
    named = *std::ranges::find_if(paths(), [](contract::PathRow const* path) { return path->api.has_value(); });
  return Error(ErrorCode::no_device,
               fmt::format("the {} path cannot run: {}", named->name,
                           devices.empty() ? "no Vulkan device was found" : "no Vulkan device is usable"));
}

/// Whether there is a usable GPU for a path that needs no permission.
bool has_free_gpu(std::span<contract::DeviceFacts const> devices) {
  return std::ranges::any_of(devices, [](contract::DeviceFacts const& facts) {
    return facts.info->usable && !facts.is_software() &&
           std::ranges::any_of(paths(), [&](contract::PathRow const* path) {
             return path->api == facts.info->api && !path->asks_permission;
           });
  });
}

/// Why a path is not asked about tables on a device.
constexpr char const* kElsewhere = "the tables live on a device that it does not take them on";

/// The offers of all paths for a node, and the reasons of those that offer nothing.
class OfferList {
 public:
  OfferList(Node const& node, contract::Place place) : node_(node), place_(place) {}

  /// Asks every path on every place, or the one that was asked for where no key was looked at.
  Result<AnyOffers> ask_all() {
    GARUDA_TRY(ask_host());
    for (std::size_t i = 0; i < place_.machine.devices.size(); ++i) GARUDA_TRY(ask_device(i));
    return std::move(offers_);
  }

 private:
  bool is_listed(contract::PathRow const& path) const {
    bool const is_alone = node_.known().is_unseen && !node_.run_options().picks_path();
    return node_.is_of(path) && (!is_alone || path.path == node_.run_options().path);
  }

  Result<void> ask(contract::PathRow const& path) {
    GARUDA_TRY_ASSIGN(auto offered, node_.ask(path, place_));
    for (auto& offer : offered.list) {
      if (place_.device && place_.is_idle()) offer->candidate.reason = "a software device: not taken unless asked for";
      offers_.list.push_back(std::move(offer));
    }
    std::ranges::move(offered.notes, std::back_inserter(offers_.notes));
    return {};
  }

  void refuse(contract::PathRow const& path, std::string device, std::string reason) {
    auto& refused = *offers_.list.emplace_back(std::make_unique<contract::Offer>());
    refused.candidate = {path.path, std::move(device), "", 0, std::move(reason), {}};
    refused.device = place_.device;
    refused.can_run = false;
  }

  Result<void> ask_host() {
    place_.device.reset();
    for (auto const* path : paths()) {
      if (path->api || !is_listed(*path)) continue;
      if (node_.known().resident_on) {
        refuse(*path, std::string(path->name), kElsewhere);
        continue;
      }
      // What the host refuses is no one's business when a device was asked for.
      auto asked = ask(*path);
      if (!asked && !place_.requested) return asked;
    }
    return {};
  }

  Result<void> ask_device(std::size_t device) {
    auto const& info = *place_.machine.devices[device].info;
    auto const& resident_on = node_.known().resident_on;
    place_.device = device;
    bool is_first = true;
    for (auto const* path : paths()) {
      if (path->api != info.api || !is_listed(*path)) continue;
      bool const is_elsewhere = resident_on && (resident_on != device || !path->takes_whole_tables);
      auto asked = is_elsewhere  ? fail(ErrorCode::no_device, kElsewhere)
                   : info.usable ? ask(*path)
                                 : fail(ErrorCode::no_device, info.reason);
      bool const is_front = std::exchange(is_first, false);
      if (asked) continue;
      // What was asked for and cannot run is an error; another path of the device may still take its place otherwise.
      bool const is_asked =
          resident_on ? !is_elsewhere
                      : place_.requested == device && (node_.run_options().path == path->path ||
                                                       (is_front && asked.error().code() == ErrorCode::usage));
      if (info.usable && is_asked) return asked;
      refuse(*path, info.name, asked.error().message());
    }
    return {};
  }

  Node const& node_;
  contract::Place place_;
  AnyOffers offers_;
};

bool is_allowed(contract::Offer const& offer, contract::Place const& place, RunOptions const& options) {
  if (!offer.can_run || (!options.picks_path() && options.path != offer.candidate.path)) return false;
  if (!offer.device) return !options.picks_path() || !options.device;
  if (place.requested) return place.requested == offer.device;
  if (options.picks_path() && find_path(offer.candidate.path)->asks_permission)
    return options.allow_cuda || !has_free_gpu(place.machine.devices);
  return !place.machine.devices[*offer.device].is_software();
}

Plan plan_of(contract::Offer const& chosen, AnyOffers const& offers, contract::Machine const& machine,
             RunOptions const& options) {
  auto const* const facts = chosen.device ? &machine.devices[*chosen.device] : nullptr;
  Plan plan;
  static_cast<Candidate&>(plan) = chosen.candidate;
  plan.on_device = facts != nullptr;
  if (facts != nullptr) plan.driver = facts->info->driver;
  plan.reason = !options.picks_path() ? fmt::format("path {} was asked for", to_string(options.path))
                : options.device      ? "the device was asked for"
                                      : "the least estimated time of all candidates";
  plan.key_bits = chosen.key_bits;
  plan.radix_bits = chosen.radix_bits;
  plan.slice_rows = chosen.slice_rows;
  plan.lanes = chosen.lanes;
  plan.chunk_rows = chosen.chunk_rows;
  plan.device_bytes = chosen.device_bytes;
  plan.host_bytes = chosen.host_bytes;
  for (auto const& offer : offers.list) plan.candidates.push_back(offer->candidate);
  std::ranges::stable_sort(plan.candidates, {}, [](Candidate const& candidate) {
    return std::pair(candidate.estimated_ns == 0, candidate.estimated_ns);
  });
  plan.details.emplace_back(
      "rates", fmt::format("of the host {}{}{}", machine.measured_host ? "measured" : "assumed, not calibrated",
                           facts != nullptr ? "; of the device: " + contract::source_of(*facts) : "",
                           machine.is_being_measured ? "; what is assumed is being measured in the background" : ""));
  plan.notes = machine.notes;
  if (facts != nullptr && facts->is_software())
    plan.notes.emplace_back("the device is a software rasteriser: results are right, speed says nothing about a GPU");
  plan.notes.insert(plan.notes.end(), offers.notes.begin(), offers.notes.end());
  return plan;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return result;
}

std::optional<std::uint32_t> parse_index(std::string_view text) {
  std::uint32_t index = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(index) : std::nullopt;
}

/// Smaller is better.
int rank(DeviceKind kind) {
  // A software device is the last resort.
  return kind == DeviceKind::cpu ? static_cast<int>(DeviceKind::other) + 1 : static_cast<int>(kind);
}

/// The devices of one API, as positions.
struct Listed {
  std::span<DeviceInfo const* const> devices;
  std::vector<std::size_t> positions;
  std::string_view api;

  DeviceInfo const& at(std::size_t position) const { return *devices[position]; }

  /// Beneath `message`, what is said against each of these.
  tl::unexpected<Error> refuse(std::string message, std::vector<std::pair<std::size_t, std::string>> const& why) const {
    std::string reasons;
    for (auto const& [position, reason] : why)
      reasons += fmt::format("{}device {} ({}): {}", reasons.empty() ? "" : "; ", position, at(position).name, reason);
    if (reasons.empty()) return fail(ErrorCode::no_device, std::move(message));
    return tl::unexpected<Error>(Error(ErrorCode::no_device, std::move(reasons)).wrap(std::move(message)));
  }
};

Result<std::size_t> choose_best(Listed const& listed) {
  std::optional<std::size_t> best;
  std::vector<std::pair<std::size_t, std::string>> why;
  for (auto const position : listed.positions) {
    auto const& info = listed.at(position);
    if (!info.usable)
      why.emplace_back(position, info.reason);
    else if (!best || rank(info.kind) < rank(listed.at(*best).kind))
      best = position;
  }
  if (best) return *best;
  return listed.refuse(fmt::format("no usable {} device", listed.api), why);
}

Result<std::size_t> choose_index(Listed const& listed, std::uint32_t index) {
  auto const found = std::ranges::find_if(listed.positions, [&](std::size_t position) {
    return position == index || listed.at(position).same_gpu == index;
  });
  if (found == listed.positions.end())
    return fail(ErrorCode::no_device,
                fmt::format("no {} device with index {}: there are {}", listed.api, index, listed.positions.size()));
  if (listed.at(*found).usable) return *found;
  return listed.refuse(fmt::format("{} device {} cannot be used", listed.api, index),
                       {{*found, listed.at(*found).reason}});
}

Result<std::size_t> choose_name(Listed const& listed, std::string_view name) {
  std::optional<std::size_t> first;
  std::vector<std::pair<std::size_t, std::string>> why;
  for (auto const position : listed.positions) {
    auto const& info = listed.at(position);
    bool const fits = lower(info.name).find(lower(name)) != std::string::npos;
    if (info.usable && !fits) why.emplace_back(position, "another name");
    if (!info.usable && fits) why.emplace_back(position, info.reason);
    if (!info.usable || !fits) continue;
    if (!first) first = position;
    if (info.name != listed.at(*first).name)
      return fail(ErrorCode::usage,
                  fmt::format("device name fits both \"{}\" and \"{}\": {}", listed.at(*first).name, info.name, name));
  }
  if (first) return *first;
  return listed.refuse(fmt::format("no usable {} device with this name: {}", listed.api, name), why);
}

/// The table of paths; those of a device come in the order of preference, for when they cost the same.
std::vector<contract::PathRow const*>& rows() {
  static std::vector<contract::PathRow const*> all{&cpu::kCpuPath, &graphics::kGraphicsPath, &placement::kComputePath,
                                                   &cuda::kCudaPath};
  return all;
}

}  // namespace

contract::Machine machine_of(contract::DeviceSet& devices, std::uint32_t threads) {
  contract::Machine machine;
  auto const& known = devices.calibrations();
  for (std::size_t i = 0; i < devices.devices().size(); ++i) {
    contract::DeviceFacts facts{&devices.devices()[i], devices.vulkan_traits(i)};
    // A GPU is as fast under CUDA as it was measured to be under Vulkan.
    auto const measured_as = is_cuda(facts) ? facts.info->same_gpu : static_cast<std::uint32_t>(i);
    if (measured_as)
      if (auto const rates = known.device(*measured_as); rates.measured) facts.measured = rates.rates;
    machine.devices.push_back(std::move(facts));
  }
  if (auto host = known.host(threads); host.measured) machine.measured_host = std::move(host.rates);
  machine.is_being_measured = known.is_being_measured();
  machine.notes = known.notes();
  return machine;
}

Result<std::optional<std::size_t>> requested_device(std::span<contract::DeviceFacts const> devices,
                                                    RunOptions const& options) {
  auto const* const named = find_path(options.path);
  if (named != nullptr ? !named->api : !options.device) return std::nullopt;
  if (devices.empty()) return tl::unexpected<Error>(no_path(devices, named));
  std::vector<DeviceInfo const*> infos;
  for (auto const& facts : devices) infos.push_back(facts.info);
  auto const request = options.device.value_or("auto");
  auto choice = choose_device(infos, request, named != nullptr ? *named->api : DeviceApi::vulkan);
  if (choice || named != nullptr || choice.error().code() != ErrorCode::no_device) return choice;
  if (auto const cuda = choose_device(infos, request, DeviceApi::cuda)) return *cuda;
  return choice;
}

Result<void> check_path(RunOptions const& options, Placement placement, std::optional<std::size_t> resident_on) {
  auto const* const path = find_path(options.path);
  if (!options.picks_path() && path == nullptr)
    return fail(ErrorCode::no_device, fmt::format("path {} is not part of this build", to_string(options.path)));
  if (path != nullptr && !path->api && options.device)
    return fail(ErrorCode::usage, fmt::format("path {} takes no device: {}", path->name, *options.device));
  if (resident_on && placement == Placement::slices)
    return fail(ErrorCode::usage,
                fmt::format("placement=slices takes tables of the host, not of device {}", *resident_on));
  if (resident_on && path != nullptr && !path->takes_whole_tables)
    return fail(ErrorCode::usage,
                fmt::format("path {} takes tables of the host, not of device {}", path->name, *resident_on));
  bool const takes_whole = path != nullptr ? path->takes_whole_tables : resident_on.has_value();
  if (placement != Placement::device || takes_whole) return {};
  std::string names;
  for (auto const* row : paths())
    if (row->takes_whole_tables) names += fmt::format("{}{}", names.empty() ? "" : ", ", row->name);
  return fail(ErrorCode::usage, fmt::format("placement=device is of path {}", names));
}

bool may_take_tables(RunOptions const& options, Placement placement, std::span<DeviceInfo const> devices) {
  if (placement == Placement::slices) return false;
  bool const is_open = options.picks_path();
  return std::ranges::any_of(paths(), [&](contract::PathRow const* path) {
    if (!path->takes_whole_tables || (!is_open && path->path != options.path)) return false;
    return !is_open || std::ranges::any_of(devices, [&](DeviceInfo const& info) {
      return info.usable && info.api == path->api && info.kind != DeviceKind::cpu;
    });
  });
}

Plan plan_of_table(contract::DeviceSet const& devices, std::optional<std::size_t> resident_on, std::int64_t rows) {
  Plan plan;
  plan.operation = "table";
  plan.device = resident_on ? devices.devices()[*resident_on].name : "host";
  plan.on_device = resident_on.has_value();
  plan.estimated_rows = static_cast<double>(rows);
  return plan;
}

Result<Chosen> choose_offer(Node const& node, contract::Machine const& machine) {
  auto const& options = node.run_options();
  auto const& resident_on = node.known().resident_on;
  GARUDA_TRY(check_path(options, node.placement(), resident_on));
  GARUDA_TRY_ASSIGN(auto requested, requested_device(machine.devices, options));
  if (resident_on && options.device && requested != resident_on)
    return fail(ErrorCode::usage, fmt::format("the tables are on device {}, not on the one that was asked for: {}",
                                              *resident_on, *options.device));
  if (resident_on) requested = resident_on;
  auto const host = machine.host(node.known().threads);
  contract::Place const place{machine, host, std::nullopt, requested};
  GARUDA_TRY_ASSIGN(auto offers, OfferList(node, place).ask_all());
  std::unique_ptr<contract::Offer>* best = nullptr;
  for (auto& offer : offers.list)
    if (is_allowed(*offer, place, options) &&
        (best == nullptr || offer->candidate.estimated_ns < (*best)->candidate.estimated_ns))
      best = &offer;
  if (best == nullptr) return tl::unexpected<Error>(no_path(machine.devices, find_path(options.path)));
  auto plan = plan_of(**best, offers, machine, options);
  return Chosen{std::move(*best), std::move(plan)};
}

Result<std::size_t> choose_device(std::span<DeviceInfo const* const> devices, std::string_view request, DeviceApi api) {
  Listed listed{devices, {}, api == DeviceApi::cuda ? "CUDA" : "Vulkan"};
  for (std::size_t i = 0; i < devices.size(); ++i)
    if (devices[i]->api == api) listed.positions.push_back(i);
  if (listed.positions.empty())
    return fail(ErrorCode::no_device, fmt::format("no {} device on this machine", listed.api));
  if (request == "auto") return choose_best(listed);
  if (auto const index = parse_index(request)) return choose_index(listed, *index);
  return choose_name(listed, request);
}

std::span<contract::PathRow const* const> paths() noexcept { return rows(); }

void add_path(contract::PathRow const& row) {
  GARUDA_EXPECTS(find_path(row.path) == nullptr && row.path != Path::automatic);
  GARUDA_EXPECTS(std::ranges::none_of(rows(), [&](contract::PathRow const* other) { return other->name == row.name; }));
  rows().push_back(&row);
}

contract::PathRow const* find_path(Path path) noexcept {
  auto const found = std::ranges::find(rows(), path, &contract::PathRow::path);
  return found == rows().end() ? nullptr : *found;
}

}  // namespace garuda::plan
