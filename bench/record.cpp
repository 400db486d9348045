#include "bench/record.hpp"

#include <fmt/format.h>
#include <tbb/info.h>
#include <tbb/version.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "bench/workloads/words.hpp"
#include "garuda/error.hpp"

namespace garuda::bench {
namespace {

std::uint64_t input_rows(Record const& record) noexcept {
  return record.rows_left.value_or(0) + record.rows_right.value_or(0) + record.rows.value_or(0);
}

std::string rows_text(Record const& record) {
  if (record.groups) return fmt::format("{} rows -> {}", to_row_count(*record.rows), to_row_count(record.rows_out));
  if (record.rows) return fmt::format("{} rows", to_row_count(*record.rows));
  return fmt::format("{} x {} rows -> {}", to_row_count(record.rows_left.value_or(0)),
                     to_row_count(record.rows_right.value_or(0)), to_row_count(record.rows_out));
}

template <class T>
T median_of_sorted(std::vector<T> const& sorted) {
  auto const middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : std::midpoint(sorted[middle - 1], sorted[middle]);
}

}  // namespace

Summary summarise(std::span<std::uint64_t const> samples_ns) {
  if (samples_ns.empty()) return {};
  std::vector<std::uint64_t> sorted(samples_ns.begin(), samples_ns.end());
  std::sort(sorted.begin(), sorted.end());
  Summary summary;
  summary.samples = sorted.size();
  summary.min_ns = sorted.front();
  summary.max_ns = sorted.back();
  summary.median_ns = median_of_sorted(sorted);
  for (auto& sample : sorted)
    sample = sample > summary.median_ns ? sample - summary.median_ns : summary.median_ns - sample;
  std::sort(sorted.begin(), sorted.end());
  summary.mad_ns = median_of_sorted(sorted);
  return summary;
}

std::size_t median_position(std::span<std::uint64_t const> samples_ns) {
  GARUDA_EXPECTS(!samples_ns.empty());
  std::vector<std::size_t> order(samples_ns.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  auto const middle = order.begin() + static_cast<std::ptrdiff_t>((order.size() - 1) / 2);
  std::nth_element(order.begin(), middle, order.end(),
                   [&](std::size_t a, std::size_t b) { return samples_ns[a] < samples_ns[b]; });
  return *middle;
}

double per_second(std::uint64_t units, std::uint64_t ns) noexcept {
  return ns == 0 ? 0 : static_cast<double>(units) * 1e9 / static_cast<double>(ns);
}

RatioSummary summarise_ratios(std::span<std::uint64_t const> numerators, std::span<std::uint64_t const> denominators) {
  GARUDA_EXPECTS(numerators.size() == denominators.size());
  std::vector<double> ratios;
  for (std::size_t i = 0; i < numerators.size(); ++i) {
    GARUDA_EXPECTS(denominators[i] > 0);
    ratios.push_back(static_cast<double>(numerators[i]) / static_cast<double>(denominators[i]));
  }
  if (ratios.empty()) return {};
  std::sort(ratios.begin(), ratios.end());
  return {median_of_sorted(ratios), ratios.front(), ratios.back()};
}

Record resident_record(std::string_view op, Path path, std::string device, std::string driver, std::uint64_t rows) {
  Record record;
  record.op = op;
  record.path = to_string(path);
  record.device = std::move(device);
  record.driver = std::move(driver);
  record.mode = "resident";
  record.rows = record.rows_out = rows;
  return record;
}

double rows_per_second(Record const& record) noexcept { return per_second(input_rows(record), record.time.median_ns); }

double bytes_per_second(Record const& record) noexcept { return per_second(record.bytes, record.time.median_ns); }

std::string to_json_line(Record const& record) {
  nlohmann::ordered_json line;
  line["op"] = record.op;
  line["path"] = record.path;
  line["device"] = record.device;
  line["driver"] = record.driver;
  line["mode"] = record.mode;
  if (!record.choices.empty()) line["choices"] = record.choices;
  if (record.rows_left) line["rows_left"] = *record.rows_left;
  if (record.rows_right) line["rows_right"] = *record.rows_right;
  if (record.rows) line["rows"] = *record.rows;
  if (record.groups) line["groups"] = *record.groups;
  line["rows_out"] = record.rows_out;
  line["median_ns"] = record.time.median_ns;
  line["mad_ns"] = record.time.mad_ns;
  line["min_ns"] = record.time.min_ns;
  line["max_ns"] = record.time.max_ns;
  line["samples"] = record.time.samples;
  if (record.host_time) line["host_median_ns"] = record.host_time->median_ns;
  line["rows_per_s"] = std::round(rows_per_second(record));
  line["bytes_per_s"] = std::round(bytes_per_second(record));
  if (record.bound_ns) line["bound_ns"] = *record.bound_ns;
  line["phases"] = nlohmann::ordered_json::array();
  for (auto const& phase : record.phases)
    line["phases"].push_back({{"name", phase.name}, {"ns", phase.ns}, {"bytes", phase.bytes}});
  line["verified"] = record.verified;
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string driver_of(Plan const& plan, std::uint32_t threads) {
  if (plan.path != Path::cpu) return plan.driver;
  auto const used = threads != 0 ? static_cast<int>(threads) : tbb::info::default_concurrency();
  return fmt::format("oneTBB {}, {} threads", TBB_runtime_version(), used);
}

std::uint64_t row_bytes(Schema const& schema) {
  std::uint64_t bytes = 0;
  for (auto const& field : schema) bytes += static_cast<std::uint64_t>(byte_width(field.type));
  return bytes;
}

std::string format_ns(std::uint64_t ns) {
  auto const value = static_cast<double>(ns);
  if (value < 1e3) return fmt::format("{} ns", ns);
  if (value < 1e6) return fmt::format("{:.3g} us", value / 1e3);
  if (value < 1e9) return fmt::format("{:.4g} ms", value / 1e6);
  return fmt::format("{:.4g} s", value / 1e9);
}

std::string format_rate(double per_s) {
  if (per_s >= 1e9) return fmt::format("{:.3g} G", per_s / 1e9);
  if (per_s >= 1e6) return fmt::format("{:.3g} M", per_s / 1e6);
  if (per_s >= 1e3) return fmt::format("{:.3g} K", per_s / 1e3);
  return fmt::format("{:.3g} ", per_s);
}

std::string to_text(Record const& record, CopyBandwidth const& bandwidth) {
  auto text = fmt::format("{} {} on {} ({}), {}, {}, {}\n", record.op, record.path, record.device, record.driver,
                          record.mode, rows_text(record), record.verified ? "verified" : "not verified");
  text += fmt::format("  median {} ± {} MAD ({} … {}, {} samples), {}rows/s, {}B/s", format_ns(record.time.median_ns),
                      format_ns(record.time.mad_ns), format_ns(record.time.min_ns), format_ns(record.time.max_ns),
                      record.time.samples, format_rate(rows_per_second(record)), format_rate(bytes_per_second(record)));
  if (bandwidth.bytes_per_s > 0)
    text += fmt::format(", {:.3g} % of {} {}B/s", 100 * bytes_per_second(record) / bandwidth.bytes_per_s,
                        bandwidth.what, format_rate(bandwidth.bytes_per_s));
  text += "\n";
  if (record.host_time)
    text += fmt::format("  from call to completion {} ± {} MAD\n", format_ns(record.host_time->median_ns),
                        format_ns(record.host_time->mad_ns));
  if (record.phases.empty()) return text;
  text += "  phases [points or rows]:";
  for (auto const& phase : record.phases) {
    text += fmt::format(" {} {}", phase.name, format_ns(phase.ns));
    if (phase.items > 0) text += fmt::format(" [{}]", to_row_count(phase.items));
  }
  return text + "\n";
}

}  // namespace garuda::bench
