#include "tests/workloads/pairwise_cases.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace garuda::testing {
namespace {

/// Greedy covering: each case starts from an uncovered pair and takes, axis by axis, the value that covers most.
class Covering {
 public:
  Covering(std::span<Axis const> axes, Allowed const& allowed) : axes_(axes), allowed_(allowed) {
    for (std::size_t a = 0; a < axes.size(); ++a)
      for (std::size_t b = a + 1; b < axes.size(); ++b)
        for (std::size_t i = 0; i < axes[a].values.size(); ++i)
          for (std::size_t j = 0; j < axes[b].values.size(); ++j) uncovered_.insert({{a, i}, {b, j}});
  }

  PairwiseCases run() {
    PairwiseCases result;
    while (!uncovered_.empty()) {
      auto const pair = *uncovered_.begin();
      Choice choice(axes_.size(), kOpen);
      choice[pair.first.first] = pair.first.second;
      choice[pair.second.first] = pair.second.second;
      if (complete(choice)) {
        cover(choice);
        result.cases.push_back(std::move(choice));
      } else {
        uncovered_.erase(uncovered_.begin());
        result.impossible.push_back(pair);
      }
    }
    return result;
  }

 private:
  using Pair = std::pair<AxisValue, AxisValue>;

  static Pair ordered(AxisValue a, AxisValue b) { return a < b ? Pair{a, b} : Pair{b, a}; }

  /// Uncovered pairs that `value` of `axis` would form with what is chosen.
  std::size_t gain(Choice const& choice, std::size_t axis, std::size_t value) const {
    std::size_t pairs = 0;
    for (std::size_t other = 0; other < choice.size(); ++other)
      if (choice[other] != kOpen) pairs += uncovered_.count(ordered({axis, value}, {other, choice[other]}));
    return pairs;
  }

  /// Fills the open axes, best values first, going back where `allowed` leaves no way on.
  bool complete(Choice& choice) {
    if (!allowed_(choice)) return false;
    auto const open = std::find(choice.begin(), choice.end(), kOpen);
    if (open == choice.end()) return true;
    auto const axis = static_cast<std::size_t>(open - choice.begin());
    auto const num_values = axes_[axis].values.size();
    std::vector<std::size_t> values(num_values);
    std::iota(values.begin(), values.end(), 0);
    // Values that gain nothing take turns, so that combinations beyond the pairs vary too.
    std::rotate(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(turn_++ % num_values), values.end());
    std::stable_sort(values.begin(), values.end(),
                     [&](std::size_t a, std::size_t b) { return gain(choice, axis, a) > gain(choice, axis, b); });
    for (auto const value : values) {
      choice[axis] = value;
      if (complete(choice)) return true;
    }
    choice[axis] = kOpen;
    return false;
  }

  void cover(Choice const& choice) {
    for (std::size_t a = 0; a < choice.size(); ++a)
      for (std::size_t b = a + 1; b < choice.size(); ++b) uncovered_.erase({{a, choice[a]}, {b, choice[b]}});
  }

  std::span<Axis const> axes_;
  Allowed const& allowed_;
  std::set<Pair> uncovered_;
  std::size_t turn_ = 0;
};

}  // namespace

PairwiseCases pairwise_cases(std::span<Axis const> axes, Allowed const& allowed) {
  return Covering(axes, allowed).run();
}

std::string describe(std::span<Axis const> axes, Choice const& choice) {
  std::string text;
  for (std::size_t a = 0; a < axes.size(); ++a)
    text += (a == 0 ? "" : " ") + axes[a].name + "=" + axes[a].values.at(choice.at(a));
  return text;
}

}  // namespace garuda::testing
