#include "report/comparison.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <tuple>
#include <utility>

#include "bench/record.hpp"
#include "core/os/environment.hpp"
#include "report/report.hpp"

namespace garuda::report {
namespace {

constexpr std::uintmax_t kMostBytes = std::uintmax_t{64} << 20;

void read_visits(Json const& visits) {
  if (!visits.is_array() || visits.empty()) throw std::out_of_range("a result without visits");
  for (auto const& visit : visits) {
    if (median_of(visit) == 0) throw std::out_of_range("a visit without a time");
    (void)visit.at("mad_ns").get<std::uint64_t>();
    if (visit.at("samples").get<std::uint64_t>() == 0) throw std::out_of_range("a visit without samples");
  }
}

/// Reads every value that a comparison reads. Throws Json::exception, or std::out_of_range of an index.
void read_all(Json const& report) {
  (void)report.at("suite").get<int>();
  for (auto const* const name : {"garuda", "date"}) (void)report.at(name).get<std::string>();
  (void)report.at("host").at("processor").get<std::string>();
  std::set<std::string> cells;
  for (auto const& cell : report.at("cells")) {
    cells.insert(cell.at("id").get<std::string>());
    for (auto const* const name : {"title", "series", "op"}) (void)cell.at(name).get<std::string>();
    (void)cell.at("rows").get<double>();
  }
  for (auto const& result : report.at("results")) {
    auto const column = column_of(result);
    if (column.device) (void)report.at("devices").at(*column.device).at("name").get<std::string>();
    if (!cells.contains(result.at("cell").get<std::string>())) throw std::out_of_range("a result of an unknown cell");
    if (median_of(result) == 0) throw std::out_of_range("a result without a time");
    for (auto const* const name : {"mad_ns", "min_ns", "max_ns"}) (void)result.at(name).get<std::uint64_t>();
    if (result.at("samples").get<std::uint64_t>() == 0) throw std::out_of_range("a result without samples");
    if (report.at("format_version") == kFormatVersion) read_visits(result.at("visits"));
    (void)result.at("rows_per_s").get<double>();
    (void)result.at("digest").get<std::string>();
    if (!result.at("share").is_null())
      (void)fmt::format("{:.0f}{}", result.at("share").get<double>(), result.at("ceiling").get<std::string>());
  }
}

/// Why it cannot be compared; empty when it can.
std::string fault_of(Json const& report) {
  if (report.is_discarded()) return "it is damaged or cut short";
  if (!report.is_object() || report.value("format", Json()) != "garuda report") return "it is not a garuda report";
  auto const version = report.value("format_version", Json());
  if (version != kFormatVersion && version != kFormatOfOneVisit)
    return fmt::format("its format_version is neither {} nor {}", kFormatOfOneVisit, kFormatVersion);
  try {
    read_all(report);
  } catch (Json::exception const& missing) {
    return fmt::format("it is damaged: {}", missing.what());
  } catch (std::out_of_range const& wrong) {
    return fmt::format("it is damaged: {}", wrong.what());
  }
  return {};
}

Result<std::string> contents_of(std::string const& file) {
  std::error_code error;
  auto const bytes = std::filesystem::file_size(os::to_path(file), error);
  std::ifstream in(os::to_path(file), std::ios::binary);
  if (error || !in) return fail(ErrorCode::invalid_input, fmt::format("cannot read the report: {}", file));
  if (bytes > kMostBytes) return fail(ErrorCode::invalid_input, fmt::format("a report has at most 64 MiB: {}", file));
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

/// A report is one side, one with several devices a side for each.
std::vector<Side> sides_of(std::vector<NamedReport> const& reports) {
  std::vector<Side> sides;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    std::set<std::size_t> devices;
    Results const results(reports[i].report);
    for (auto const& column : results.columns())
      if (column.device) devices.insert(*column.device);
    if (devices.size() < 2) {
      sides.push_back({reports[i].name, i, std::nullopt, true});
      continue;
    }
    for (auto const device : devices) {
      bool const is_cuda = reports[i].report.at("devices").at(device).value("api", "") == "cuda";
      sides.push_back(
          {fmt::format("{}: {}{}", reports[i].name, results.device_name({"", "", device}), is_cuda ? " by CUDA" : ""),
           i, device, device == *devices.begin()});
    }
  }
  return sides;
}

class Comparer {
 public:
  explicit Comparer(std::vector<NamedReport> const& reports) : reports_(reports) {
    comparison_.sides = sides_of(reports);
    for (auto const& one : reports) {
      std::vector<Json const*> results;
      for (auto const& result : one.report.at("results")) results.push_back(&result);
      noise_.emplace_back(results);
      if (one.report.at("format_version") == kFormatOfOneVisit) comparison_.of_one_visit.push_back(one.name);
    }
    for (std::size_t s = 0; s < comparison_.sides.size(); ++s) add_side(s);
  }

  Comparison finish() {
    // Reports measure the paths of a cell in the order of what they will take; here all have one order.
    std::ranges::stable_sort(comparison_.rows, {}, [&](ComparedRow const& row) {
      return std::tuple(cells_.at(row.cell), place_of(row.path), row.mode == "resident");
    });
    for (auto& row : comparison_.rows) judge(row);
    return std::move(comparison_);
  }

 private:
  void add_side(std::size_t index) {
    auto const& side = comparison_.sides[index];
    auto const& report = reports_[side.report].report;
    std::map<std::string, std::string> titles;
    for (auto const& cell : report.at("cells"))
      titles[cell.at("id").get<std::string>()] = cell.at("title").get<std::string>();
    for (auto const& result : report.at("results")) {
      auto const column = column_of(result);
      bool const is_here = column.device ? !side.device || side.device == column.device : side.has_cpu;
      if (!is_here) continue;
      auto const cell = result.at("cell").get<std::string>();
      auto& row = row_of(cell, titles[cell], column);
      row.entries[index].result = &result;
    }
  }

  ComparedRow& row_of(std::string const& cell, std::string const& title, Column const& column) {
    cells_.try_emplace(cell, cells_.size());
    for (auto& row : comparison_.rows)
      if (row.cell == cell && row.path == column.path && row.mode == column.mode) return row;
    ComparedRow row{cell, title, column.path, column.mode, std::vector<Entry>(comparison_.sides.size())};
    return comparison_.rows.emplace_back(std::move(row));
  }

  static std::size_t place_of(std::string_view path) {
    constexpr std::array<std::string_view, 4> kPaths{"cpu", "graphics", "compute", "cuda"};
    return static_cast<std::size_t>(std::ranges::find(kPaths, path) - kPaths.begin());
  }

  void judge(ComparedRow& row) {
    Json const* first = nullptr;
    VisitNoise first_noise;
    for (std::size_t s = 0; s < row.entries.size(); ++s) {
      auto& entry = row.entries[s];
      auto const& noise = noise_[comparison_.sides[s].report];
      if (entry.result == nullptr) continue;
      auto const digest = entry.result->at("digest").get<std::string>();
      entry.differs = digests_.try_emplace(row.cell, digest).first->second != digest;
      if (first == nullptr) {
        first = entry.result;
        first_noise = noise;
        continue;
      }
      entry.times = static_cast<double>(median_of(*entry.result)) / static_cast<double>(median_of(*first));
      entry.change = change_of(*first, *entry.result, first_noise + noise);
    }
  }

  std::vector<NamedReport> const& reports_;
  Comparison comparison_;
  std::vector<VisitNoise> noise_;               ///< by report
  std::map<std::string, std::size_t> cells_;    ///< their order
  std::map<std::string, std::string> digests_;  ///< by cell: the first
};

std::string label_of(ComparedRow const& row, Side const& side) {
  return fmt::format("{}, {}{}, {}", row.title, row.path, row.mode == "resident" ? " resident" : "", side.title);
}

/// Calls `visit` with every entry that is there, its row and its side.
template <class Visit>
void each_entry(Comparison const& comparison, Visit const& visit) {
  for (auto const& row : comparison.rows)
    for (std::size_t s = 0; s < row.entries.size(); ++s)
      if (row.entries[s].result != nullptr) visit(row, comparison.sides[s], row.entries[s]);
}

std::string percent_text(double times) { return fmt::format("{:+.0f} %", (times - 1) * 100); }

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

Result<NamedReport> read_report(std::string const& file) {
  GARUDA_TRY_ASSIGN(auto const text, contents_of(file));
  auto report = Json::parse(text, nullptr, false);
  if (auto const fault = fault_of(report); !fault.empty())
    return fail(ErrorCode::invalid_input, fmt::format("cannot compare, {}: {}", fault, file));
  return NamedReport{os::to_path(file).stem().string(), std::move(report)};
}

std::size_t Comparison::count(Change change) const {
  std::size_t count = 0;
  each_entry(*this, [&](auto const&, auto const&, Entry const& entry) { count += entry.change == change ? 1 : 0; });
  return count;
}

std::size_t Comparison::count_different_bits() const {
  std::size_t count = 0;
  each_entry(*this, [&](auto const&, auto const&, Entry const& entry) { count += entry.differs ? 1 : 0; });
  return count;
}

Result<Comparison> compare(std::vector<NamedReport> const& reports) {
  if (reports.size() < 2) return fail(ErrorCode::usage, "comparing wants two reports or more");
  auto const suite_of = [](NamedReport const& report) { return report.report.at("suite").get<int>(); };
  for (auto const& report : reports)
    if (suite_of(report) != suite_of(reports.front()))
      return fail(ErrorCode::invalid_input,
                  fmt::format("reports of different suites cannot be compared: {} is of suite {}, {} of {}",
                              reports.front().name, suite_of(reports.front()), report.name, suite_of(report)));
  auto comparison = Comparer(reports).finish();
  bool const has_common = std::ranges::any_of(comparison.rows, [](ComparedRow const& row) {
    return std::ranges::count_if(row.entries, [](Entry const& entry) { return entry.result != nullptr; }) > 1;
  });
  if (!has_common) return fail(ErrorCode::invalid_input, "the reports have no cell in common on any path");
  return comparison;
}

std::string one_visit_sentence(Comparison const& comparison) {
  if (comparison.of_one_visit.empty()) return {};
  return fmt::format(
      "Of format {}, whose cells were visited once, so that drift of the machine is not in their noise: {}.",
      kFormatOfOneVisit, fmt::join(comparison.of_one_visit, ", "));
}

std::vector<std::string> regressions(Comparison const& comparison, double percent) {
  std::vector<std::string> found;
  each_entry(comparison, [&](ComparedRow const& row, Side const& side, Entry const& entry) {
    if (entry.differs) found.push_back(fmt::format("other bits: {}", label_of(row, side)));
    if (entry.change == Change::slower && (entry.times - 1) * 100 > percent)
      found.push_back(fmt::format("slower by {}: {}", percent_text(entry.times), label_of(row, side)));
  });
  return found;
}

std::string to_markdown(Comparison const& comparison) {
  auto text = fmt::format(
      "{} measurements: {} faster and {} slower beyond noise than the first report that has them, {} with other "
      "bits.\n",
      comparison.rows.size(), comparison.count(Change::faster), comparison.count(Change::slower),
      comparison.count_different_bits());
  if (auto const sentence = one_visit_sentence(comparison); !sentence.empty()) text += sentence + '\n';
  each_entry(comparison, [&](ComparedRow const& row, Side const& side, Entry const& entry) {
    if (entry.differs) text += fmt::format("- **other bits**: {}\n", label_of(row, side));
    if (entry.change != Change::none)
      text += fmt::format("- {} ({}): {}\n", percent_text(entry.times), bench::format_ns(median_of(*entry.result)),
                          label_of(row, side));
  });
  return text;
}

}  // namespace garuda::report
