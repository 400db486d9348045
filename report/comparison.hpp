// Reports side by side: which cells differ beyond noise, and whether all have the same bits.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "garuda/error.hpp"
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

/// A report that was read from a file, under the file's name without folder and ending.
struct NamedReport {
  std::string name;
  Json report;
};

/// Reads a report and checks that it has what comparing needs. Errors: invalid_input, for a file that cannot be read,
/// is damaged, no report, or of a version of the format that is neither kFormatVersion nor
/// kFormatOfOneVisit.
Result<NamedReport> read_report(std::string const& file);

/// One side of a comparison: a report, or one of several devices of a report.
struct Side {
  std::string title;
  std::size_t report = 0;
  std::optional<std::size_t> device;  ///< nullopt: all that the report has
  bool has_cpu = true;                ///< of a report's sides the first
};

/// A cell on one side, and how it stands to the first side that has it.
struct Entry {
  Json const* result = nullptr;  ///< null: not measured
  double times = 1;              ///< median over that of the first side
  Change change = Change::none;  ///< beyond noise
  bool differs = false;          ///< its digest from that of the first side that has the cell, on any path
};

struct ComparedRow {
  std::string cell;
  std::string title;
  std::string path;
  std::string mode;
  std::vector<Entry> entries;  ///< by side
};

struct Comparison {
  std::vector<Side> sides;
  std::vector<ComparedRow> rows;
  std::vector<std::string> of_one_visit;  ///< names of the reports of kFormatOfOneVisit

  std::size_t count(Change change) const;
  std::size_t count_different_bits() const;
};

/// Requires reports of read_report(), which the comparison borrows. Errors: invalid_input for fewer than two, of
/// different suites, or with no cell in common.
Result<Comparison> compare(std::vector<NamedReport> const& reports);

/// Regressions that fail a build: a sentence for each row that is slower than on the first side by more than `percent`
/// and beyond noise, and for each that has other bits.
std::vector<std::string> regressions(Comparison const& comparison, double percent);

/// Names the reports that know nothing of drift between visits; empty without any.
std::string one_visit_sentence(Comparison const& comparison);

/// A few lines of Markdown: how many rows changed, and which.
std::string to_markdown(Comparison const& comparison);

/// A file of HTML.
std::string to_page(Comparison const& comparison, std::vector<NamedReport> const& reports);

}  // namespace garuda::report
