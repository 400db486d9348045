#include "operators/plan/device_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace garuda::plan {
namespace {

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

}  // namespace

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

}  // namespace garuda::plan
