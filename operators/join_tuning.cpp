// The text form of JoinTuning, for --tuning and for plans: one table of knobs serves both directions.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "garuda/join.hpp"

namespace garuda {
namespace {

struct Choice {
  std::string_view name;
  std::uint8_t value;
};

constexpr std::array kAddress{Choice{"auto", 0}, Choice{"hash", 1}, Choice{"direct", 2}};
constexpr std::array kStorage{Choice{"auto", 0}, Choice{"stack", 1}, Choice{"runs", 2}};
constexpr std::array kProbe{Choice{"auto", 0}, Choice{"instanced", 1}, Choice{"output", 2}, Choice{"atomic", 3}};
constexpr std::array kBuild{Choice{"auto", 0}, Choice{"left", 1}, Choice{"right", 2}};
constexpr std::array kCounting{Choice{"auto", 0}, Choice{"blend", 1}, Choice{"compute", 2}};
constexpr std::array kUpload{Choice{"auto", 0}, Choice{"map", 1}, Choice{"stage", 2}, Choice{"import", 3}};

/// One key of the text form: either a list of choices or a range of integers; 0 (or -1 for radix_bits) means automatic.
struct Knob {
  std::string_view name;
  std::span<Choice const> choices;
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::int64_t automatic = 0;
  std::function<std::int64_t(JoinTuning const&)> get;
  std::function<void(JoinTuning&, std::int64_t)> set;
};

template <class Member>
Knob choice_knob(std::string_view name, std::span<Choice const> choices, Member JoinTuning::*member) {
  return {name,
          choices,
          0,
          0,
          0,
          [member](JoinTuning const& t) { return static_cast<std::int64_t>(t.*member); },
          [member](JoinTuning& t, std::int64_t value) { t.*member = static_cast<Member>(value); }};
}

template <class Member>
Knob number_knob(std::string_view name, std::int64_t low, std::int64_t high, Member JoinTuning::*member,
                 std::int64_t automatic = 0) {
  return {name,
          {},
          low,
          high,
          automatic,
          [member](JoinTuning const& t) { return static_cast<std::int64_t>(t.*member); },
          [member](JoinTuning& t, std::int64_t value) { t.*member = static_cast<Member>(value); }};
}

std::span<Knob const> knobs() {
  static std::array const all{
      choice_knob("address", kAddress, &JoinTuning::address),
      choice_knob("storage", kStorage, &JoinTuning::storage),
      choice_knob("probe", kProbe, &JoinTuning::probe),
      choice_knob("build", kBuild, &JoinTuning::build),
      choice_knob("counting", kCounting, &JoinTuning::counting),
      choice_knob("upload", kUpload, &JoinTuning::upload),
      number_knob("image", 1, 32'768, &JoinTuning::image),
      number_knob("result", 1, 16'384, &JoinTuning::result),
      number_knob("sh_limit", 1, 24, &JoinTuning::sh_limit),
      number_knob("radix_bits", 0, 16, &JoinTuning::radix_bits, -1),
      number_knob("slice_rows", 1, 1 << 24, &JoinTuning::slice_rows),
      number_knob("lanes", 1, 256, &JoinTuning::lanes),
      number_knob("chunk_rows", 1, 1 << 30, &JoinTuning::chunk_rows),
  };
  return all;
}

std::string allowed_values(Knob const& knob) {
  if (knob.choices.empty()) return fmt::format("auto or {} to {}", knob.low, knob.high);
  std::string text;
  for (auto const& choice : knob.choices) text += fmt::format("{}{}", text.empty() ? "" : ", ", choice.name);
  return text;
}

std::optional<std::int64_t> parse_value(Knob const& knob, std::string_view value) {
  if (value == "auto") return knob.automatic;
  for (auto const& choice : knob.choices)
    if (choice.name == value) return choice.value;
  if (!knob.choices.empty()) return std::nullopt;
  std::int64_t number = 0;
  auto const [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size()) return std::nullopt;
  if (number < knob.low || number > knob.high) return std::nullopt;
  return number;
}

Result<void> parse_setting(std::string_view setting, JoinTuning& tuning) {
  auto const equals = setting.find('=');
  if (equals == std::string_view::npos)
    return fail(ErrorCode::usage, fmt::format("tuning setting is not of the form key=value: {}", setting));
  auto const name = setting.substr(0, equals);
  auto const value = setting.substr(equals + 1);
  for (auto const& knob : knobs()) {
    if (knob.name != name) continue;
    auto const parsed = parse_value(knob, value);
    if (!parsed)
      return fail(ErrorCode::usage,
                  fmt::format("tuning value of {} must be {}: {}", name, allowed_values(knob), value));
    knob.set(tuning, *parsed);
    return {};
  }
  std::string names;
  for (auto const& knob : knobs()) names += fmt::format("{}{}", names.empty() ? "" : ", ", knob.name);
  return fail(ErrorCode::usage, fmt::format("tuning key must be one of {}: {}", names, name));
}

}  // namespace

Result<JoinTuning> parse_join_tuning(std::string_view text) {
  JoinTuning tuning;
  while (!text.empty()) {
    auto const comma = text.find(',');
    GARUDA_TRY(parse_setting(text.substr(0, comma), tuning));
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return tuning;
}

std::string to_string(JoinTuning const& tuning) {
  std::string text;
  for (auto const& knob : knobs()) {
    auto const value = knob.get(tuning);
    if (value == knob.automatic) continue;
    auto const separator = text.empty() ? "" : ",";
    if (knob.choices.empty())
      text += fmt::format("{}{}={}", separator, knob.name, value);
    else
      text += fmt::format("{}{}={}", separator, knob.name, knob.choices[static_cast<std::size_t>(value)].name);
  }
  return text;
}

}  // namespace garuda
