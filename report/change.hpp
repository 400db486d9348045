// Whether a cell differs between two reports by more than the machine's noise.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "report/results.hpp"

namespace garuda::report {

enum class Change : std::uint8_t { none, faster, slower };

/// How far the visits of a report's cells lie apart: the variance of a visit's median, relative to the time. Two visits
/// of a cell tell little of that cell's variance, those of all cells tell much of what variances there are.
class VisitNoise {
 public:
  /// The noise of no report: nothing is known.
  VisitNoise() = default;
  /// The noise of a report's results; those that were visited once do not count.
  explicit VisitNoise(std::vector<Json const*> const& results);

  /// The noise of the cells of both.
  friend VisitNoise operator+(VisitNoise const& one, VisitNoise const& other);

  double variance() const noexcept { return variance_; }
  /// Variance of a cell whose own visits say `own`, with `freedom` degrees, drawn towards that of all cells as by Smyth
  /// 2004, "Linear models and empirical Bayes methods", eq. (3). 0 where no cell was visited twice.
  double moderated(double own, double freedom) const;

 private:
  double variance_ = 0;
  double cells_ = 0;  ///< that it was estimated from
};

/// Whether two results of a cell differ: the logarithms of their medians by more than 4.5 standard errors, times by a
/// tenth and by 0.1 ms, the least times by a twentieth, and all visits of one are slower than those of the other (of
/// one visit: its samples than the other's median). `noise`: of both reports. The error of a visit is the deviation
/// between visits, at least that which its samples show.
Change change_of(Json const& before, Json const& after, VisitNoise const& noise = {});

}  // namespace garuda::report
