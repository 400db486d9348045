// The results of a report's JSON, looked up by cell and by what they were measured on.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace garuda::report {

using Json = nlohmann::ordered_json;

/// The path and device that results were measured on, as the JSON has them.
struct Column {
  std::string path;
  std::string mode;
  std::optional<std::size_t> device;

  bool is_resident() const { return mode == "resident"; }
  friend bool operator==(Column const&, Column const&) = default;
};

/// Borrows the report, which has the form that docs/report.schema.json says.
class Results {
 public:
  explicit Results(Json const& report);

  Json const& report() const noexcept { return report_; }
  /// Columns in the order of first appearance, those on the host before those on a device.
  std::vector<Column> const& columns() const noexcept { return columns_; }
  /// Null where it was not measured.
  Json const* find(std::string_view cell, Column const& column) const;
  /// The one with the most rows a second among the operator's cells that differ by size alone; null without any.
  Json const* fastest(std::string_view op) const;
  /// Title of a cell.
  std::string title(std::string_view cell) const;
  /// The CPU path's, or null.
  Json const* on_cpu(std::string_view cell) const { return find(cell, {"cpu", "end-to-end", std::nullopt}); }

  /// "graphics", "compute, resident"; with the device's index where the report has several.
  std::string label(Column const& column) const;
  /// Name of its device, of the host's processor on the CPU path.
  std::string device_name(Column const& column) const;
  /// The names of what was measured, each once; that of the processor only where `with_host`.
  std::string device_names(std::string_view separator, bool with_host) const;

 private:
  Json const& report_;
  std::vector<Column> columns_;
  bool has_several_devices_ = false;
};

Column column_of(Json const& result);
/// A number of nanoseconds.
std::uint64_t median_of(Json const& result);
/// How often it was measured, each time after all other cells; 1 in reports of kFormatOfOneVisit.
std::size_t visits_of(Json const& result);
/// Nanoseconds: the median absolute deviation, or half of what lies between its visits' medians where that is more.
std::uint64_t spread_of(Json const& result);
/// ", 63 % of bus": a result's share of its ceiling; empty where there is none.
std::string share_text(Json const& result);
/// "5.9 G" of a result's rows a second.
std::string rate_text(Json const& result);

}  // namespace garuda::report
