// The text form of a tuning, `key=value[,key=value…]`: one table of knobs serves parsing and printing.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "garuda/error.hpp"
#include "garuda/group_by.hpp"
#include "garuda/join.hpp"
#include "garuda/run.hpp"

namespace garuda::resolve {

/// A named value of an enumeration.
struct Choice {
  std::string_view name;
  std::uint8_t value;
};

inline constexpr std::array kJoinMethodChoices{Choice{"auto", 0},          Choice{"partitioned", 1},
                                               Choice{"global", 2},        Choice{"nested_loops", 3},
                                               Choice{"sorted_ranges", 4}, Choice{"bitmap", 5}};
inline constexpr std::array kPayloadChoices{Choice{"auto", 0}, Choice{"carry", 1}, Choice{"gather", 2}};

/// One key of the text form: either a list of choices or a range of integers.
template <class Tuning>
struct Knob {
  std::string_view name;
  // Both empty where no table shows them.
  std::string_view paths;  ///< that it changes: "all", or names separated by commas
  std::string_view about;  ///< what it decides
  std::span<Choice const> choices;
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::int64_t automatic = 0;  ///< the value that leaves the choice to the planner
  std::function<std::int64_t(Tuning const&)> get;
  std::function<void(Tuning&, std::int64_t)> set;
};

/// Every key of the join's tuning, in the order in which they are printed.
std::span<Knob<JoinTuning> const> join_knobs();
/// Every key of the group-by's tuning, in that order.
std::span<Knob<GroupByTuning> const> group_by_knobs();

/// `Of`: the tuning, where the member is of its base.
template <class Of = void, class Owner, class Member, class Tuning = std::conditional_t<std::is_void_v<Of>, Owner, Of>>
Knob<Tuning> choice_knob(std::string_view name, std::span<Choice const> choices, Member Owner::*member,
                         std::string_view paths = {}, std::string_view about = {}) {
  return {name,
          paths,
          about,
          choices,
          0,
          0,
          0,
          [member](Tuning const& t) { return static_cast<std::int64_t>(t.*member); },
          [member](Tuning& t, std::int64_t value) { t.*member = static_cast<Member>(value); }};
}

template <class Of = void, class Owner, class Member, class Tuning = std::conditional_t<std::is_void_v<Of>, Owner, Of>>
Knob<Tuning> number_knob(std::string_view name, std::int64_t low, std::int64_t high, Member Owner::*member,
                         std::string_view paths = {}, std::string_view about = {}, std::int64_t automatic = 0) {
  return {name,
          paths,
          about,
          {},
          low,
          high,
          automatic,
          [member](Tuning const& t) { return static_cast<std::int64_t>(t.*member); },
          [member](Tuning& t, std::int64_t value) { t.*member = static_cast<Member>(value); }};
}

/// The values that a key takes, in words.
template <class Tuning>
std::string allowed_values(Knob<Tuning> const& knob) {
  if (knob.choices.empty()) return fmt::format("auto or {} to {}", knob.low, knob.high);
  std::string text;
  for (auto const& choice : knob.choices) text += fmt::format("{}{}", text.empty() ? "" : ", ", choice.name);
  return text;
}

template <class Tuning>
std::optional<std::int64_t> parse_value(Knob<Tuning> const& knob, std::string_view value) {
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

template <class Tuning>
Result<void> parse_setting(std::span<Knob<Tuning> const> knobs, std::string_view setting, Tuning& tuning) {
  auto const equals = setting.find('=');
  if (equals == std::string_view::npos)
    return fail(ErrorCode::usage, fmt::format("tuning setting is not of the form key=value: {}", setting));
  auto const name = setting.substr(0, equals);
  auto const value = setting.substr(equals + 1);
  for (auto const& knob : knobs) {
    if (knob.name != name) continue;
    auto const parsed = parse_value(knob, value);
    if (!parsed)
      return fail(ErrorCode::usage,
                  fmt::format("tuning value of {} must be {}: {}", name, allowed_values(knob), value));
    knob.set(tuning, *parsed);
    return {};
  }
  std::string names;
  for (auto const& knob : knobs) names += fmt::format("{}{}", names.empty() ? "" : ", ", knob.name);
  return fail(ErrorCode::usage, fmt::format("tuning key must be one of {}: {}", names, name));
}

/// Parses `text` by `knobs`; what it does not name is left to the planner. Errors: usage, naming the key or value and
/// what is allowed.
template <class Tuning>
Result<Tuning> parse_tuning(std::span<Knob<Tuning> const> knobs, std::string_view text) {
  Tuning tuning{};
  while (!text.empty()) {
    auto const comma = text.find(',');
    GARUDA_TRY(parse_setting(knobs, text.substr(0, comma), tuning));
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return tuning;
}

/// Checks a tuning that no text was parsed to. Errors: usage for a value that the text could not have named.
template <class Tuning>
Result<void> check_tuning(std::span<Knob<Tuning> const> knobs, Tuning const& tuning) {
  for (auto const& knob : knobs) {
    auto const value = knob.get(tuning);
    bool const is_allowed = knob.choices.empty()
                                ? knob.low <= value && value <= knob.high
                                : std::ranges::find(knob.choices, value, &Choice::value) != knob.choices.end();
    if (value != knob.automatic && !is_allowed)
      return fail(ErrorCode::usage,
                  fmt::format("tuning value of {} must be {}: {}", knob.name, allowed_values(knob), value));
  }
  return {};
}

/// The text of the values that differ from the automatic ones.
template <class Tuning>
std::string print_tuning(std::span<Knob<Tuning> const> knobs, Tuning const& tuning) {
  std::string text;
  for (auto const& knob : knobs) {
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

/// The keys of both tunings as a table of Markdown, aligned for a terminal: option, operators that have it, paths that
/// it changes, values, what it decides. Where joins and group-bys differ, a cell says both.
std::string tuning_table();

}  // namespace garuda::resolve
