// One measurement: the operation, its place, its timings and their statistics; as a line of JSON and as rows of a
// table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "garuda/plan.hpp"
#include "garuda/types.hpp"

namespace garuda::bench {

/// Location and spread of timings. All zero without samples.
struct Summary {
  std::uint64_t median_ns = 0;
  std::uint64_t mad_ns = 0;  ///< median absolute deviation from the median
  std::uint64_t min_ns = 0;
  std::uint64_t max_ns = 0;
  std::size_t samples = 0;

  friend bool operator==(Summary const&, Summary const&) = default;
};

/// Summarises timings in any order. The median of an even number is the mean of the middle two, rounded down.
Summary summarise(std::span<std::uint64_t const> samples_ns);

/// The position of the sample that is, or is next below, the median. Requires samples.
std::size_t median_position(std::span<std::uint64_t const> samples_ns);

/// `units` in `ns` nanoseconds as units a second; 0 when no time passed.
double per_second(std::uint64_t units, std::uint64_t ns) noexcept;

/// Median, least and greatest ratio of paired samples.
struct RatioSummary {
  double median = 0;
  double min = 0;
  double max = 0;
};

/// Summarises numerators[i] / denominators[i]. Requires equally many of both, denominators > 0.
RatioSummary summarise_ratios(std::span<std::uint64_t const> numerators, std::span<std::uint64_t const> denominators);

/// The copy rates that a record's bytes/s are compared with.
struct CopyBandwidth {
  std::string what;  ///< "host copy", "device copy in"
  double bytes_per_s = 0;
};

struct Record {
  std::string op;    ///< "join", "group-by", "histogram", "raster-floor"
  std::string path;  ///< the path that ran, never "auto"
  std::string device;
  std::string driver;
  std::string mode;                        ///< "end-to-end" or "resident"
  std::string choices;                     ///< by which a bench's records differ beside the above; may be empty
  std::optional<std::uint64_t> rows_left;  ///< both or neither
  std::optional<std::uint64_t> rows_right;
  std::optional<std::uint64_t> rows;    ///< of operations on one table
  std::optional<std::uint64_t> groups;  ///< asked for; rows_out says how many there are
  std::uint64_t rows_out = 0;
  Summary time;
  std::vector<std::uint64_t> samples_ns;  ///< what `time` sums up, in the order of the runs
  std::optional<Summary> host_time;       ///< of mode resident where `time` is the device's: from call to completion
  std::uint64_t bytes = 0;                ///< read and written once: inputs and result
  std::optional<std::uint64_t> bound_ns;  ///< what copying host to host alone takes, where that was measured
  std::vector<PhaseStats> phases;
  bool verified = false;  ///< the whole result was compared with the reference before timing
};

/// A record of a resident run on one table, its rows the result's too.
Record resident_record(std::string_view op, Path path, std::string device, std::string driver, std::uint64_t rows);

/// Input rows of both sides a second.
double rows_per_second(Record const& record) noexcept;
double bytes_per_second(Record const& record) noexcept;

/// One JSON object without line break: op, path, device, driver, mode, choices (where there are), rows_left, rows_right
/// | rows, groups, rows_out, median_ns, mad_ns, samples (their number), host_median_ns (where host_time is),
/// rows_per_s, bytes_per_s, bound_ns (where measured), phases [{name, ns, bytes}], verified.
std::string to_json_line(Record const& record);

/// A few lines for people: every number with mode, device, driver, rows and spread.
std::string to_text(Record const& record, CopyBandwidth const& bandwidth = {});

/// The plan's driver; oneTBB and its threads (0: all) on the CPU path.
std::string driver_of(Plan const& plan, std::uint32_t threads);

/// Bytes of a row of fixed-width columns.
std::uint64_t row_bytes(Schema const& schema);

/// 12.3 ms, 4.56 s.
std::string format_ns(std::uint64_t ns);
/// 1.23 G, 45.6 M.
std::string format_rate(double per_s);

}  // namespace garuda::bench
