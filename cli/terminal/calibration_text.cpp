#include "cli/terminal/calibration_text.hpp"

#include <fmt/format.h>

#include <string_view>

namespace garuda::cli {
namespace {

std::string number(double value) {
  constexpr std::string_view kPrefixes = " kMGTP";
  std::size_t prefix = 0;
  while (value >= 1000 && prefix + 1 < kPrefixes.size()) {
    value /= 1000;
    ++prefix;
  }
  return prefix == 0 ? fmt::format("{:.4g}", value) : fmt::format("{:.4g} {}", value, kPrefixes[prefix]);
}

std::string value_text(RateInfo const& rate) {
  if (rate.unit == "ns") return fmt::format("{:.0f} ns", rate.value);
  if (rate.points.empty()) return fmt::format("{}{}{}", number(rate.value), rate.value >= 1000 ? "" : " ", rate.unit);
  std::string text;
  for (auto const& [size, per_s] : rate.points)
    text += fmt::format("{}{}{}{} at {}", text.empty() ? "" : ", ", number(per_s), per_s >= 1000 ? "" : " ", rate.unit,
                        size);
  return fmt::format("{} {}", text, rate.size);
}

}  // namespace

std::string calibration_state(CalibrationInfo const& info) {
  auto const* const state = info.measured ? "measured" : "assumed by type; garuda calibrate measures it";
  return fmt::format("{}{}{}{}{}", state, info.file.empty() ? "" : ", ", info.file, info.note.empty() ? "" : "; ",
                     info.note);
}

std::string calibration_text(CalibrationInfo const& info) {
  std::string text;
  for (auto const& rate : info.rates) text += fmt::format("   {:<26}  {}\n", rate.name, value_text(rate));
  return text;
}

nlohmann::ordered_json calibration_json(CalibrationInfo const& info) {
  auto rates = nlohmann::ordered_json::object();
  for (auto const& rate : info.rates) {
    nlohmann::ordered_json entry{{"unit", rate.unit}};
    if (rate.points.empty()) {
      entry["value"] = rate.value;
    } else {
      entry["size"] = rate.size;
      entry["points"] = rate.points;
    }
    rates[rate.name] = std::move(entry);
  }
  return {{"measured", info.measured}, {"file", info.file}, {"note", info.note}, {"rates", std::move(rates)}};
}

}  // namespace garuda::cli
