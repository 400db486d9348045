// Reports side by side: which cells differ beyond noise, and whether all have the same bits.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "garuda/error.hpp"
#include "report/change.hpp"
#include "report/results.hpp"

namespace garuda::report {

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
