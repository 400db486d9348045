#include "report/change.hpp"

#include <algorithm>
#include <cmath>

namespace garuda::report {
namespace {

double square(double value) { return value * value; }

/// A result, in logarithms of nanoseconds: noise grows with the time, and a fifth slower is the same everywhere.
struct Times {
  explicit Times(Json const& result)
      : median_ns(static_cast<double>(median_of(result))), least_ns(result.at("min_ns").get<double>()) {
    auto const most_ns = result.at("max_ns").get<double>();
    // A report that somebody wrote by hand may contradict itself: only its median counts.
    bool const is_sound = least_ns <= median_ns && median_ns <= most_ns;
    if (!is_sound) least_ns = median_ns;
    if (!result.contains("visits")) {
      add_visit(result);
    } else {
      for (auto const& visit : result.at("visits")) add_visit(visit);
    }
    for (auto const visit : visits) center += visit / count();
    for (auto const visit : visits) squares += square(visit - center);
    auto const [first, last] = std::ranges::minmax(visits);
    low = least_visit_ns = std::exp(first);
    high = most_visit_ns = std::exp(last);
    if (visits.size() == 1 && is_sound) {
      low = least_ns;
      high = most_ns;
    }
  }

  double count() const { return static_cast<double>(visits.size()); }
  double freedom() const { return count() - 1; }
  /// Square of the error of `center`.
  double error_square(double variance) const { return std::max(variance, within / count()) / count(); }

  double median_ns;
  double least_ns;
  double least_visit_ns = 0;  ///< median of a visit
  double most_visit_ns = 0;
  double low = 0;   ///< nanoseconds: the least visit, of one visit the least sample
  double high = 0;  ///< and the most
  std::vector<double> visits;
  double center = 0;
  double squares = 0;  ///< of the visits' distances from the center
  double within = 0;   ///< squares of the errors of the visits' medians, by their samples

 private:
  void add_visit(Json const& visit) {
    // A normal distribution's deviation, by the median of absolute ones, and a median's error, by that of a mean.
    constexpr double kDeviation = 1.4826;
    constexpr double kErrorOfMedian = 1.2533;
    auto const median = static_cast<double>(median_of(visit));
    visits.push_back(std::log(median));
    within += square(kErrorOfMedian * kDeviation * visit.at("mad_ns").get<double>() / median) /
              visit.at("samples").get<double>();
  }
};

}  // namespace

VisitNoise::VisitNoise(std::vector<Json const*> const& results) {
  // A few cells that something disturbed say nothing of the others: each counts as this many times the middle at most.
  // Variances by one degree of freedom, whose middle is less than half their mean, are hardly ever above it.
  constexpr double kMostOfMiddle = 20;
  std::vector<double> variances;
  for (auto const* const result : results)
    if (Times const times(*result); times.freedom() > 0) variances.push_back(times.squares / times.freedom());
  if (variances.empty()) return;
  auto const middle = variances.begin() + static_cast<std::ptrdiff_t>(variances.size() / 2);
  std::ranges::nth_element(variances, middle);
  auto const most = kMostOfMiddle * *middle;
  cells_ = static_cast<double>(variances.size());
  for (auto const variance : variances) variance_ += std::min(variance, most) / cells_;
}

VisitNoise operator+(VisitNoise const& one, VisitNoise const& other) {
  VisitNoise both;
  both.cells_ = one.cells_ + other.cells_;
  if (both.cells_ > 0) both.variance_ = (one.variance_ * one.cells_ + other.variance_ * other.cells_) / both.cells_;
  return both;
}

double VisitNoise::moderated(double own, double freedom) const {
  // Degrees of freedom that all cells count beside a cell's own: by simulation with deviations of 1 to 5 %
  // (tests/report/change_test.cpp); fewer raise false alarms, more hide that a cell is noisy.
  constexpr double kFreedomOfAll = 8;
  if (cells_ == 0) return 0;
  return (kFreedomOfAll * variance_ + freedom * own) / (kFreedomOfAll + freedom);
}

Change change_of(Json const& before, Json const& after, VisitNoise const& noise) {
  constexpr double kErrors = 4.5;
  constexpr double kLeastTimes = 1.1;
  constexpr double kLeastNs = 1e5;
  constexpr double kLeastOfLeast = 0.05;
  Times const old_times(before);
  Times const new_times(after);
  auto const freedom = old_times.freedom() + new_times.freedom();
  auto const own = freedom > 0 ? (old_times.squares + new_times.squares) / freedom : 0;
  auto const variance = noise.moderated(own, freedom);
  auto const error = std::sqrt(old_times.error_square(variance) + new_times.error_square(variance));
  auto const difference = new_times.center - old_times.center;
  if (std::abs(difference) <= std::max(kErrors * error, std::log(kLeastTimes))) return Change::none;
  if (std::abs(std::exp(new_times.center) - std::exp(old_times.center)) <= kLeastNs) return Change::none;
  bool const is_slower = difference > 0;
  auto const& less = is_slower ? old_times : new_times;
  auto const& more = is_slower ? new_times : old_times;
  // The rest of a machine makes runs slower, never faster: what is slower by itself is so at its best, too.
  if (more.least_ns - less.least_ns <= kLeastOfLeast * less.least_ns) return Change::none;
  // Times of two kinds, by where memory lies, have a small deviation as long as most samples are of one kind.
  if (less.high >= more.least_visit_ns || more.low <= less.most_visit_ns) return Change::none;
  return is_slower ? Change::slower : Change::faster;
}

}  // namespace garuda::report
