// Test cases that cover every pair of values of every two axes.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace garuda::testing {

/// One thing that varies between cases, and the names of its values.
struct Axis {
  std::string name;
  std::vector<std::string> values;
};

/// The position of the value chosen on each axis.
using Choice = std::vector<std::size_t>;

/// An axis on which nothing has been chosen yet.
inline constexpr std::size_t kOpen = static_cast<std::size_t>(-1);

/// Says whether a choice, in which some axes may be kOpen, can become a case. Once it says no, it has to say no to
/// every completion of that choice as well.
using Allowed = std::function<bool(std::span<std::size_t const>)>;

/// A value of one axis: axis, value.
using AxisValue = std::pair<std::size_t, std::size_t>;

struct PairwiseCases {
  std::vector<Choice> cases;
  std::vector<std::pair<AxisValue, AxisValue>> impossible;  ///< pairs that no allowed case can hold
};

/// Chooses few cases such that every two values of different axes occur together in at least one of them, where
/// `allowed` lets them. The same axes always give the same cases. Requires: at least two axes, none without values.
PairwiseCases pairwise_cases(std::span<Axis const> axes, Allowed const& allowed);

/// "axis=value axis=value …".
std::string describe(std::span<Axis const> axes, Choice const& choice);

}  // namespace garuda::testing
